// Exact amounts: BigInt in atomic units, decimal text for people. Nothing here rounds an amount that is sent.

/** The largest amount that a contract can hold. */
export const MOST = 2n ** 256n - 1n;

export type Parsed = { amount: bigint } | { problem: string };

/** Reads a decimal amount exactly; what a token cannot represent is a problem, not a rounding. */
export function parseAmount(text: string, decimals: number): Parsed {
  const plain = text.trim().replaceAll("\u202f", "").replaceAll(" ", "").replaceAll("_", "");
  if (plain === "") return { problem: "Enter an amount." };
  if (plain.length > 200) return { problem: "That is longer than any amount." };
  const match = /^(\d*)(?:\.(\d*))?$/.exec(plain);
  if (!match || plain === ".") return { problem: "Use digits and one point, as in 1500.25." };
  const [, whole = "", part = ""] = match;
  const digits = part.replace(/0+$/, "");
  if (digits.length > decimals) {
    return { problem: decimals === 0 ? "This token has no decimals." : `This token has ${decimals} decimals.` };
  }
  const amount = BigInt(whole + digits.padEnd(decimals, "0") || "0");
  if (amount === 0n) return { problem: "Enter an amount above zero." };
  return amount > MOST ? { problem: "No token holds that much: amounts end at 2^256 − 1." } : { amount };
}

/** Reads an amount as the API writes it; anything else counts as nothing known. */
export function atomic(text: string | null | undefined): bigint | null {
  return text && /^\d{1,78}$/.test(text) ? BigInt(text) : null;
}

/** Writes all digits of an amount, without superfluous zeros: the text that `parseAmount` reads back. */
export function exact(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const part = decimals === 0 ? "" : digits.slice(-decimals).replace(/0+$/, "");
  return part ? `${whole}.${part}` : whole;
}

/** Groups the thousands of a whole number. */
const thousands = (whole: string) => whole.replace(/\B(?=(\d{3})+$)/g, ",");

/** Cuts an amount (never rounds it up) to about `significant` digits; `zeros` are those between the point and the first digit. */
function cut(amount: bigint, decimals: number, significant: number): { whole: string; part: string; zeros: number } {
  const [whole = "0", part = ""] = exact(amount, decimals).split(".");
  const zeros = whole === "0" ? /^0*/.exec(part)![0].length : 0;
  const kept = whole === "0" ? zeros + significant : Math.max(significant - whole.length, 0);
  return { whole, part: part.slice(0, kept).replace(/0+$/, ""), zeros };
}

/** Writes all digits of an amount, thousands grouped, for reading. */
export function grouped(amount: bigint, decimals: number): string {
  const [whole = "0", part] = exact(amount, decimals).split(".");
  return part ? `${thousands(whole)}.${part}` : thousands(whole);
}

/** Writes an amount for a glance: thousands grouped, cut to about `significant` digits, with a power of ten where it is very large or small. */
export function brief(amount: bigint, decimals: number, significant = 6): string {
  const { whole, part, zeros } = cut(amount, decimals, significant);
  if (whole.length > 21) return `${whole[0]}.${whole.slice(1, 4)} × 10^${whole.length - 1}`;
  if (zeros > 12) return `${part.slice(zeros).replace(/^.(?=.)/, "$&.")} × 10^−${zeros + 1}`;
  return part ? `${thousands(whole)}.${part}` : thousands(whole);
}

/** Writes an amount as somebody would type it: cut to about `significant` digits. */
export function typed(amount: bigint, decimals: number, significant = 8): string {
  const { whole, part } = cut(amount, decimals, significant);
  return part ? `${whole}.${part}` : whole;
}

/** Writes how much of one token a whole one of another is in a trade, cut to about six digits; a rate may be finer than the token's decimals. */
export function rate(given: bigint, givenDecimals: number, got: bigint, gotDecimals: number): string {
  const finer = 36;
  return given === 0n ? "" : brief((got * 10n ** BigInt(givenDecimals + finer)) / given, gotDecimals + finer);
}

/** Says what part one amount is of another, in whole basis points. */
export function partBps(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 10_000n + whole / 2n) / whole);
}

/** Writes basis points as per cent. */
export function percent(bps: number): string {
  return `${(bps / 100).toLocaleString("en", { maximumFractionDigits: 2 })}%`;
}

/** Writes dollars to cents, or to two significant digits below a dollar. */
export function dollars(value: number | null | undefined): string | null {
  if (value === null || value === undefined || !Number.isFinite(value)) return null;
  if (value !== 0 && Math.abs(value) < 0.01) return `$${value.toPrecision(2)}`;
  return value.toLocaleString("en", { style: "currency", currency: "USD" });
}

/** Writes wei as ether for a glance. */
export function ether(wei: bigint): string {
  return `${brief(wei, 18, 4)} ETH`;
}
