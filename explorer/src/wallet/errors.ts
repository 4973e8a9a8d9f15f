// Texts for the errors of wallets.
import { clean } from "../text";

const WORDS: Record<number, string> = {
  4001: "You rejected this in your wallet. Nothing was sent.",
  4100: "The wallet has not allowed this page to do that. Connect it again.",
  4200: "The wallet does not support this.",
  4900: "The wallet is disconnected.",
  4901: "The wallet is not connected to Ethereum.",
  4902: "The wallet does not know this chain.",
  5700: "The wallet lacks a capability that the call needs.",
  5710: "The wallet does not bundle calls on this chain.",
  5720: "The wallet has seen this bundle already.",
  5730: "The wallet does not know this bundle.",
  5740: "The bundle is too large for the wallet.",
  5750: "You rejected the account upgrade that sends approval and swap as one. Nothing was sent: send them one by one instead.",
  5760: "The wallet cannot send approval and swap as one. Nothing was sent: send them one by one instead.",
  [-32002]: "The wallet is waiting for an answer to an earlier request: open it.",
};

/** Finds the standards' code of an error, however deep a library wrapped it. */
export function codeOf(error: unknown): number | null {
  for (let at = error, depth = 0; at && depth < 8; depth += 1) {
    const { code, cause } = at as { code?: unknown; cause?: unknown };
    if (typeof code === "number" && code !== -32603) return code;
    at = cause;
  }
  return null;
}

/** Says whether bundling alone failed, so that the calls can go one by one. */
export function bundleRefused(error: unknown): boolean {
  return [4200, 5700, 5710, 5740, 5750, 5760, -32601].includes(codeOf(error) ?? 0);
}

/** Says in words what went wrong. */
export function said(error: unknown): string {
  const code = codeOf(error);
  const known = code === null ? undefined : WORDS[code];
  if (known) return known;
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: unknown; message?: unknown };
  return clean(shortMessage ?? message, 240) || "The wallet failed without a reason.";
}
