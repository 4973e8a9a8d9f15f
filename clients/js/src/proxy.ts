// The calls by which the execution proxy swaps.
import type { Hex } from "viem";
import { decodeFunctionData, parseAbi } from "viem";
import type { Terms } from "./terms.js";

export const SWAPS = parseAbi([
  "struct Input { address token; uint256 amount; }",
  "struct Output { address token; uint256 minimum; }",
  "struct Order { Input[] inputs; Output[] outputs; address recipient; uint256 deadline; address partner; uint16 partnerFeeBps; bool partnerFeeOnOutput; }",
  "struct Swap { address tokenIn; uint256 amountIn; address tokenOut; uint256 amountOut; address recipient; uint256 deadline; }",
  "struct Permit { address owner; uint256 nonce; uint256 deadline; address sender; }",
  "function execute(Order order, bytes program) payable returns (uint256[])",
  "function executeWithPermit2(Order order, bytes program, Permit permit, bytes signature) payable returns (uint256[])",
  "function swap(Swap order, bytes path) payable returns (uint256)",
  "function swapWithPermit2(Swap order, bytes path, Permit permit, bytes signature) returns (uint256)",
]);

/** What an order makes sure of. */
export type Order = Pick<Terms, "pays" | "minimums" | "recipient">;

/** Reads the order of a swap from its calldata; `null` where it is of another call. */
export function orderOf(data: Hex): Order | null {
  try {
    const { args } = decodeFunctionData({ abi: SWAPS, data });
    const [order] = args;
    if ("inputs" in order) return { pays: [...order.inputs], minimums: [...order.outputs], recipient: order.recipient };
    const { tokenIn, amountIn, tokenOut, amountOut, recipient } = order;
    return { pays: [{ token: tokenIn, amount: amountIn }], minimums: [{ token: tokenOut, minimum: amountOut }], recipient };
  } catch {
    return null;
  }
}
