// The service's warnings in the page's words: amounts in per cent, whole sentences.
import type { Quote } from "../api/types";
import { sentence } from "../api/words";

/** Replaces messages that speak of basis points or of fields of the API. */
const WORDS: Record<string, string> = {
  RATIO_NOT_MET: "The outputs' shares are not exactly those that you asked for: the share beside each amount is what you get.",
  USD_PRICE_UNAVAILABLE: "There are no dollar values: no pool of ether and a stablecoin is deep enough for a price.",
  ALLOWANCES_UNAVAILABLE: "Balances and allowances could not be read: check in your wallet that you hold enough.",
};

/** Leaves out what the page says elsewhere: the loss, the missing certificate or bound. */
const ELSEWHERE = new Set(["HIGH_PRICE_IMPACT", "CERTIFICATE_UNAVAILABLE", "BOUND_EXCEEDED"]);

/** Gives the warnings of a quote as sentences. */
export function warningsOf({ warnings }: Pick<Quote, "warnings">): string[] {
  return warnings.filter(({ code }) => !ELSEWHERE.has(code)).map(({ code, message }) => WORDS[code] ?? sentence(message)).filter(Boolean);
}
