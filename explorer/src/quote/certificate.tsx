// The certificate in words: how much better any route over the same pools could be.
import { atomic, brief, ether, exact } from "../amounts";
import type { Quote } from "../api/types";
import { symbolOf } from "../text";

/** Writes a gap so that it is never shown smaller than it is. */
export function gapText(bps: number): string {
  if (bps <= 0) return "0 bps";
  if (bps < 0.001) return "0.001 bps";
  const digits = bps < 1 ? 3 : bps < 100 ? 2 : 0;
  const scale = 10 ** digits;
  return `${(Math.ceil(bps * scale) / scale).toLocaleString("en", { maximumFractionDigits: digits })} bps`;
}

/** Says why nothing is known of better routes; undefined if the certificate states it. */
export function unproven({ certificate, warnings }: Pick<Quote, "certificate" | "warnings">): string | undefined {
  const why = (wanted: string) => warnings.find(({ code }) => code === wanted)?.message ?? "";
  if (!certificate) return `There is no certificate for this route. ${why("CERTIFICATE_UNAVAILABLE")}`;
  const exceeded = why("BOUND_EXCEEDED");
  return exceeded ? `There is no bound for this route: ${exceeded}.` : undefined;
}

export function CertificateCard({ quote }: { quote: Quote }) {
  const { certificate } = quote;
  const reason = unproven(quote);
  if (!certificate || reason) {
    return (
      <section class="card" aria-labelledby="certificate-title">
        <h2 id="certificate-title">How good is it?</h2>
        <p>{reason}</p>
      </section>
    );
  }
  const { upper_bound_value_wei, achieved_value_wei, gap_bps, pools_covered, excluded, least_input } = certificate;
  const input = quote.estimated_inputs[0];
  const [bound, achieved] = [atomic(upper_bound_value_wei) ?? 0n, atomic(achieved_value_wei) ?? 0n];
  const better = bound > achieved ? bound - achieved : 0n;
  const left = [
    excluded.quarantined ? `${excluded.quarantined.toLocaleString("en")} quarantined` : "",
    excluded.filtered ? `${excluded.filtered.toLocaleString("en")} excluded by your choice` : "",
  ].filter(Boolean);
  return (
    <section class="card" aria-labelledby="certificate-title">
      <h2 id="certificate-title">How good is it?</h2>
      <p class="certificate">
        At most <strong>{gapText(gap_bps)}</strong> better exists in these {pools_covered.toLocaleString("en")} pools, net of gas.
      </p>
      {least_input && input && (
        <p title={exact(atomic(least_input) ?? 0n, input.decimals)}>
          No route buys the amount for less than {brief(atomic(least_input) ?? 0n, input.decimals, 8)} <bdi>{symbolOf({ symbol: input.symbol, address: input.token })}</bdi>.
        </p>
      )}
      <p class="quiet">
        No route over them, with at most {excluded.max_hops} {excluded.max_hops === 1 ? "pool" : "pools"} on a path, can be worth more than {ether(bound)}. This one is worth {ether(achieved)}:
        at most {ether(better)} is missed.{left.length > 0 && <> Not covered: {left.join(", ")}.</>}
      </p>
    </section>
  );
}
