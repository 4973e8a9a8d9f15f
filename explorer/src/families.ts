// Colours and names of protocols; the products of one protocol share a colour.
import products from "./products.json";
import { words } from "./text";

/** The products that the service has, by id; a test of the service holds this list against its own. */
const PRODUCTS: Record<string, { family: string; name: string }> = products;

/** The protocols' own names; their products' are in the list. */
const FAMILIES: Record<string, string> = {
  uniswap: "Uniswap", sushiswap: "SushiSwap", pancakeswap: "PancakeSwap", balancer: "Balancer", curve: "Curve", erc4626: "ERC-4626", lido: "Lido",
  fluid: "Fluid", morpho: "Morpho", wrapped_ether: "Wrapped Ether", other: "Other",
};

/** Finds the protocol of a product; one that this page does not know has a colour of its own. */
export function familyOf(product: string): string {
  return PRODUCTS[product]?.family ?? "other";
}

/** Names a protocol as it names itself. */
export function familyName(family: string): string {
  return FAMILIES[family] ?? words(family);
}

/** Names a product as it names itself: `uniswap_v3` is Uniswap V3. */
export function productName(id: string): string {
  return PRODUCTS[id]?.name ?? familyName(id);
}
