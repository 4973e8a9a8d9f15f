// The service's problems in the page's words: what went wrong with the swap, and what to change on the page.
import { clean } from "../text";
import type { Problem } from "./client";

/** Replaces the messages of problems that somebody mends on the page. Others are the service's own. */
const WORDS: Record<string, string> = {
  API_KEY_INVALID: "The API key in the settings is not valid: it is mistyped, revoked or expired. Correct it, or delete it to ask without a key, which some services allow.",
  API_KEY_MISSING: "This service needs an API key. Give one in the settings of the swap.",
  NO_ROUTE_FOUND: "No path through the allowed pools leads to this token. Allow more protocols, or more pools on a path, in the settings.",
  AMOUNT_TOO_SMALL: "The amount is so small that nothing would arrive. Sell more.",
  QUOTE_STALE: "The market has moved below the minimum of this quote, so nothing was sent. Swap again with the new quote.",
  QUOTE_EXPIRED: "This quote is over, so nothing was sent. Swap again with the new quote.",
};

/** Says whether a problem is one of the API key. */
export const isOfKey = (code: string) => code === "API_KEY_INVALID" || code === "API_KEY_MISSING";

/** Makes a sentence of a message of the service. */
export function sentence(text: string): string {
  const line = clean(text, 400);
  if (!line) return "";
  return `${line[0]!.toUpperCase()}${line.slice(1)}${/[.!?…]$/.test(line) ? "" : "."}`;
}

/** Matches what the service says of a problem whose fields say more. */
const COUNT = /^\d+ fields? (is|are) invalid$/;

/** Says what a problem is. */
export function wordsOf({ code, message }: Pick<Problem, "code" | "message">): string {
  return WORDS[code] ?? (COUNT.test(message) ? "The service cannot quote what you ask for." : sentence(message));
}

/** Names a field of the request as the form does; one that the form does not have keeps its pointer. */
function fieldName(pointer: string): string {
  const [, side, index, part] = /^\/(inputs|outputs)\/(\d)(?:\/(\w+))?$/.exec(pointer) ?? [];
  if (side) return `${part === "amount" ? "Amount" : part === "ratio_bps" ? "Share" : "Token"} to ${side === "inputs" ? "sell" : "get"} ${Number(index) + 1}`;
  return { "/taker": "Account", "/recipient": "Recipient", "/outputs": "Shares" }[pointer] ?? pointer;
}

/** Says which fields are wrong, and how; what the problem says already is not repeated. */
export function fieldsOf({ code, message, fields }: Pick<Problem, "code" | "message" | "fields">): { name: string; text: string }[] {
  const said = wordsOf({ code, message });
  const texts = fields.map((field) => ({ name: fieldName(field.pointer), text: wordsOf({ code: field.code, message: field.detail }) }));
  return texts.map(({ name, text }) => ({ name, text: text === said ? "" : text }));
}
