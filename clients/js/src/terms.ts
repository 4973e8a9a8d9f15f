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

type TypedData = NonNullable<Quote["permit2"]>["eip712"];

/** The Permit2 contract, on every chain. */
export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

/** The execution proxy of this release, at the same address on every chain. */
export const PROXY = "0x870832a6f7B655159152fcC131233A4850240F66";

/** The fields of a permit, but for what it permits. */
const PERMIT = "address spender,uint256 nonce,uint256 deadline,BraidOrder witness";

/** The only types that may be signed. A service could name others, with the same values beside those that are then signed. */
const TYPES: Record<string, string> = {
  EIP712Domain: "string name,uint256 chainId,address verifyingContract",
  PermitWitnessTransferFrom: `TokenPermissions permitted,${PERMIT}`,
  PermitBatchWitnessTransferFrom: `TokenPermissions[] permitted,${PERMIT}`,
  TokenPermissions: "address token,uint256 amount",
  BraidOrder:
    "Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,address sender,bytes32 programHash",
  Input: "address token,uint256 amount",
  Output: "address token,uint256 minimum",
};

/**
 * Reads what a signature would allow, from the message itself, to be compared with what was asked before it is signed. Throws where another
 * message than Permit2's with an order of Braid's would be signed.
 */
export function terms({ eip712 }: Pick<NonNullable<Quote["permit2"]>, "eip712">): Terms {
  const { message } = eip712;
  const order = fields(message["witness"]);
  const permitted = permittedBy(eip712);
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

/** Gives what a message permits, once its types and its domain are those of Permit2 and Braid. */
function permittedBy({ domain, types, primaryType, message }: TypedData): unknown[] {
  const isPermit2 = domain.name === "Permit2" && domain.chainId === 1 && sameAddress(domain.verifyingContract, PERMIT2);
  const used = ["EIP712Domain", primaryType, "TokenPermissions", "BraidOrder", "Input", "Output"];
  const isOrder = used.every((name) => types[name]?.map(({ type, name }) => `${type} ${name}`).join() === TYPES[name]);
  if (isPermit2 && isOrder && primaryType === "PermitWitnessTransferFrom") return [message["permitted"]];
  if (isPermit2 && isOrder && primaryType === "PermitBatchWitnessTransferFrom") return list(message["permitted"]);
  throw notOfBraid();
}

function fields(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw notOfBraid();
  return { ...value };
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw notOfBraid();
  return value;
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw notOfBraid();
}

function notOfBraid(): TypeError {
  return new TypeError("the typed data is not an order of Braid's");
}
