// Which colour and which name a protocol has: products of one protocol share a colour.
import { clean } from "./text";

const FAMILIES = ["uniswap", "sushiswap", "pancakeswap", "balancer", "curve", "erc4626", "lido", "fluid", "morpho", "wrapped_ether"];

/** Products of a family whose ids do not begin with its name. */
const KIN: Record<string, string> = { metamorpho: "morpho" };

/** Finds the protocol of a product; one that this page does not know has a colour of its own. */
export function familyOf(product: string): string {
  return KIN[product] ?? FAMILIES.find((family) => product === family || product.startsWith(`${family}_`)) ?? "other";
}

/** Parts of names that are not written as a word is. */
const PARTS: Record<string, string> = {
  uniswap: "Uniswap", sushiswap: "SushiSwap", pancakeswap: "PancakeSwap", balancer: "Balancer", curve: "Curve", erc4626: "ERC-4626", lido: "Lido",
  fluid: "Fluid", morpho: "Morpho", metamorpho: "MetaMorpho", wrapped: "Wrapped", steth: "stETH", wsteth: "wstETH", ftoken: "fToken", ng: "NG", dex: "DEX",
};

/** Names a protocol or a product as it names itself: `uniswap_v3` is Uniswap V3. */
export function protocolName(id: string): string {
  const parts = clean(id, 60).split("_");
  return parts.map((part) => PARTS[part] ?? (/^[vt]\d/.test(part) ? part.toUpperCase() : part)).join(" ");
}
