import type { Address, Quote } from "./types.js";

/** What a signature of a quote's typed data would allow. */
export interface Terms {
  /** What leaves the signer. */
  pays: { token: string; amount: bigint }[];
  /** What the recipient gets at least, or nothing happens. */
  minimums: { token: string; minimum: bigint }[];
  recipient: string;
  /** Who may send the transaction. */
  sender: string;
  /** The contract that may use the signature: the execution proxy. */
  spender: string;
  partnerFeeBps: number;
  /** The last second at which it counts, unix seconds. */
  deadline: number;
}

/** Reads what a signature would allow, from the message itself, to be compared with what was asked before it is signed. */
export function terms({ eip712: { message } }: NonNullable<Quote["permit2"]>): Terms {
  const order = fields(message["witness"]);
  const permitted = Array.isArray(message["permitted"]) ? message["permitted"] : [message["permitted"]];
  return {
    pays: permitted.map(fields).map(({ token, amount }) => ({ token: text(token), amount: BigInt(text(amount)) })),
    minimums: list(order["outputs"]).map(fields).map(({ token, minimum }) => ({ token: text(token), minimum: BigInt(text(minimum)) })),
    recipient: text(order["recipient"]),
    sender: text(order["sender"]),
    spender: text(message["spender"]),
    partnerFeeBps: Number(text(order["partnerFeeBps"])),
    deadline: Number(text(message["deadline"])),
  };
}

/** Whether two addresses are the same, whatever their letters' case. */
export function sameAddress(one: string, other: Address): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function fields(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new TypeError("the typed data is not an order of Braid's");
  return { ...value };
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError("the typed data is not an order of Braid's");
  return value;
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw new TypeError("the typed data is not an order of Braid's");
}
