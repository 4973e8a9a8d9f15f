// What a swap loses against the reference prices, in per cent and dollars, and what the page does about it.
import { useEffect, useState } from "preact/hooks";
import { atomic, dollars, percent } from "../amounts";
import { api } from "../api/client";
import type { Quote } from "../api/types";
import { symbolOf } from "../text";

/** Starts the warnings, in basis points; the service's own begins there too. */
const WARN_BPS = 500;

/** Starts the losses that must be confirmed, in basis points. */
const CONFIRM_BPS = 1_000;

/** Bounds the losses from which the value that is sold follows: beyond, a basis point of what arrives is too coarse. */
const COARSE_BPS = 9_900;

export type Level = "small" | "warn" | "confirm" | "unknown";

/** Says what the page does about a price impact; `null` where no price is known. */
export function levelOf(bps: number | null): Level {
  if (bps === null) return "unknown";
  return bps >= CONFIRM_BPS ? "confirm" : bps >= WARN_BPS ? "warn" : "small";
}

const LEVELS: Level[] = ["small", "warn", "confirm", "unknown"];

const severity = (bps: number | null) => LEVELS.indexOf(levelOf(bps));

type Output = Quote["estimated_outputs"][number];

/** Gives the price impact that counts: that of one of several outputs, where it is more serious than the total. */
export function impactOf({ total_price_impact_bps: total, estimated_outputs }: Quote): { bps: number | null; output: Output | null } {
  const worse = (one: Output, other: Output) => (severity(other.price_impact_bps) > severity(one.price_impact_bps) ? other : one);
  const worst = estimated_outputs.length > 1 ? estimated_outputs.reduce(worse) : null;
  if (!worst || severity(worst.price_impact_bps) <= severity(total)) return { bps: total, output: null };
  return { bps: worst.price_impact_bps, output: worst };
}

/** Says whether a swap must be confirmed before it is sent: its loss, or that of an output, is large or unknown. */
export function mustConfirm(quote: Quote): boolean {
  const level = levelOf(impactOf(quote).bps);
  return level === "confirm" || level === "unknown";
}

/** Writes a price impact; it is rounded, and less than everything as long as something arrives. */
export function impactText(bps: number): string {
  return bps >= 10_000 ? "more than 99.99%" : percent(bps);
}

/** Writes dollars that are known to a basis point at best: without cents from a hundred on. */
export function about(value: number | null): string | null {
  const text = dollars(value !== null && value >= 100 ? Math.round(value) : value);
  return text && `about ${text.replace(/\.00$/, "")}`;
}

export type Loss = {
  level: Level;
  /** The loss in words: `90% (about $27,000)`; empty where it is unknown. */
  text: string;
  /** The output that loses it, where not all of them do. */
  on: string | null;
  /** Dollars that are sold and that arrive, if known. */
  sold: number | null;
  got: number | null;
};

const sum = (values: (number | null)[]) => values.reduce((total, value) => (total === null || value === null ? null : total + value), 0);

/** Gives the dollars that the inputs are worth at some prices. */
function soldAt(quote: Quote, prices: Record<string, number>): number | null {
  const values = quote.estimated_inputs.map(({ token, expected_amount, decimals }) => {
    const price = prices[token];
    return price === undefined ? null : (Number(atomic(expected_amount) ?? 0n) / 10 ** decimals) * price;
  });
  return sum(values);
}

/** Gives the dollars that were sold for what arrived at a loss, unless that is too coarse. */
function soldFor(got: number | null, bps: number): number | null {
  return got === null || bps > COARSE_BPS ? null : (got * 10_000) / (10_000 - bps);
}

/** Says what a quote loses. `prices` are dollars by token, where a loss needs them. */
export function lossOf(quote: Quote, prices: Record<string, number> | null = null): Loss {
  const total = quote.total_price_impact_bps;
  const { bps, output } = impactOf(quote);
  const level = levelOf(bps);
  const on = output && symbolOf({ symbol: output.symbol, address: output.token });
  const got = sum(quote.estimated_outputs.map(({ usd_value }) => usd_value ?? null));
  const sold = total === null ? null : total > COARSE_BPS ? prices && soldAt(quote, prices) : soldFor(got, total);
  if (bps === null) return { level, text: "", on, sold, got };
  const arrived = output ? (output.usd_value ?? null) : got;
  const spent = output ? soldFor(arrived, bps) : sold;
  const lost = spent === null || arrived === null || spent <= arrived ? null : about(spent - arrived);
  return { level, text: lost ? `${impactText(bps)} (${lost})` : impactText(bps), on, sold, got };
}

/** Writes a loss with the output that loses it: `60% (about $90) on UNI`. */
export function lossText({ text, on }: Pick<Loss, "text" | "on">): string {
  return on ? `${text} on ${on}` : text;
}

/** Does the same on the page; reads prices only for a loss that needs them. */
export function useLoss(quote: Quote | null): Loss | null {
  const [prices, setPrices] = useState<Record<string, number> | null>(null);
  const coarse = quote !== null && (quote.total_price_impact_bps ?? 0) > COARSE_BPS;
  const tokens = quote?.estimated_inputs.map(({ token }) => token) ?? [];
  useEffect(() => {
    let gone = false;
    setPrices(null);
    if (coarse) void api.prices(tokens).then(({ prices }) => gone || setPrices(prices), () => {});
    return () => void (gone = true);
  }, [coarse, tokens.join()]);
  return quote && lossOf(quote, prices);
}

/** Warns of a loss in words; `null` where it is small. */
export function lossNote(quote: Quote, loss: Loss): string | null {
  if (loss.level === "small") return null;
  if (loss.level !== "unknown") return `You lose ${lossText(loss)} against the market's prices. A smaller amount may lose less.`;
  const unpriced = quote.estimated_outputs.filter(({ reference_price }) => !reference_price);
  const names = unpriced.map(({ symbol, token }) => symbolOf({ symbol, address: token })).join(", ") || "a token that you sell";
  return `The loss of this swap is unknown: the service has no price for ${names}. Compare the amounts with another source.`;
}

/** Starts the warnings of gas, in basis points of what arrives. */
const MUCH_GAS_BPS = 1_000;

/** Warns of gas that costs much of what arrives; `null` where it does not, or where dollars are unknown. */
export function gasNote({ costs, estimated_outputs }: Pick<Quote, "costs" | "estimated_outputs">): string | null {
  const got = sum(estimated_outputs.map(({ usd_value }) => usd_value ?? null));
  const gas = costs.gas_cost_usd;
  if (got === null || gas === null || gas === 0 || gas * 10_000 < got * MUCH_GAS_BPS) return null;
  const part = gas > got ? "more than all that you get is worth" : `${percent(Math.round((gas / got) * 100) * 100)} of what you get`;
  return `Gas costs ${about(gas)}, ${part}.`;
}
