// Which colour a protocol has: products of one protocol share it.
const FAMILIES = ["uniswap", "sushiswap", "pancakeswap", "balancer", "curve", "erc4626", "lido", "fluid", "morpho", "wrapped_ether"];

/** Finds the protocol of a product; one that this page does not know has a colour of its own. */
export function familyOf(product: string): string {
  return FAMILIES.find((family) => product === family || product.startsWith(`${family}_`)) ?? "other";
}
