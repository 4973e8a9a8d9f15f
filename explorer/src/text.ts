// Cleans text that strangers wrote: a token's maker chooses its name and symbol.

/** Matches controls, marks of direction, invisible and unassigned characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]/gu;

/** Matches what begins a new line: words on both sides of it stay apart. */
const BREAKS = /[\t-\r\u0085\u2028\u2029]+/g;

/** Matches what is stacked on a letter beyond two marks. */
const STACKED = /(\p{M}{2})\p{M}+/gu;

/** Makes one short line of any text: no controls, no marks of direction, no stacks of accents, at most `most` characters. */
export function clean(text: unknown, most: number): string {
  const raw = typeof text === "string" ? text.slice(0, 4096) : "";
  const line = raw.replace(BREAKS, " ").replace(UNSEEN, "").replace(STACKED, "$1").replace(/\s+/gu, " ").trim();
  const letters = Array.from(line);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : line;
}

/** Makes a symbol that fits a button; a token without a readable one is named by its address. */
export function symbolOf(token: { symbol: string; address: string }): string {
  return clean(token.symbol, 12) || short(token.address);
}

/** Makes a name that fits a line. */
export function nameOf(token: { name: string }): string {
  return clean(token.name, 40);
}

/** Shortens an address or a hash to its ends. */
export function short(hex: string): string {
  return hex.length > 13 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex;
}

/** Makes words of an id: `uniswap_v3` is `uniswap v3`. */
export function words(id: string): string {
  return clean(id, 60).replaceAll("_", " ");
}
