// The outputs of a quote: expected and minimum amounts, and price impact; for an exact output also its cost.
import { atomic, brief, dollars, exact, grouped, percent, rate } from "../amounts";
import { ETHER, type Quote } from "../api/types";
import { symbolOf } from "../text";
import { gasNote, impactText, levelOf, lossNote, useLoss } from "./impact";
import { warningsOf } from "./warnings";

/** Says what becomes of the maximum that an exact output may cost. */
export function purchaseNote(bought: "exactly" | "at_least", paidWith: string): string {
  if (bought === "at_least") return "All of it is sold: what it buys beyond the amount goes to the recipient.";
  return paidWith === ETHER
    ? "The transaction carries all of it; what the amount does not cost comes back in the same transaction."
    : "Only what the amount costs when the transaction runs is taken from your account.";
}

/** The expected and the maximum cost of an exact output. */
function Paid({ quote }: { quote: Quote }) {
  const [input, output] = [quote.estimated_inputs[0], quote.estimated_outputs[0]];
  if (!quote.exact_output || !input || !output) return null;
  const amount = (text: string) => atomic(text) ?? 0n;
  const symbol = symbolOf({ symbol: input.symbol, address: input.token });
  const { bought } = quote.exact_output;
  return (
    <section class="card" aria-labelledby="paid-title">
      <h2 id="paid-title">You pay</h2>
      <p class="output-main">
        <span class="output-amount" title={`${exact(amount(input.expected_amount), input.decimals)} ${symbol}`}>
          {brief(amount(input.expected_amount), input.decimals, 8)}
        </span>{" "}
        <bdi>{symbol}</bdi>
      </p>
      <p class="quiet">
        At most <span class="breaks" data-maximum={input.maximum_amount}>{grouped(amount(input.maximum_amount), input.decimals)}</span> <bdi>{symbol}</bdi>. {purchaseNote(bought, input.token)}
      </p>
    </section>
  );
}

/** The price of a whole token of the input, with one input and one output. */
function Rate({ quote }: { quote: Quote }) {
  const [input, output, ...more] = [...quote.estimated_inputs, ...quote.estimated_outputs];
  if (!input || !output || more.length > 0 || quote.estimated_inputs.length !== 1) return null;
  const [given, got] = [atomic(input.expected_amount) ?? 0n, atomic(output.expected_amount) ?? 0n];
  return (
    <>
      {" "}
      · 1 <bdi>{symbolOf({ symbol: input.symbol, address: input.token })}</bdi> = {rate(given, input.decimals, got, output.decimals)}{" "}
      <bdi>{symbolOf({ symbol: output.symbol, address: output.token })}</bdi>
    </>
  );
}

/** Shows a price impact; a high one stands out. */
function Impact({ bps }: { bps: number | null }) {
  const level = levelOf(bps);
  return (
    <>
      price impact <span class={level === "warn" || level === "confirm" ? `impact ${level}` : ""}>{bps === null ? "unknown" : impactText(bps)}</span>
    </>
  );
}

/** Shows what the quote loses, if it is much, and what else to know of it. */
function Warnings({ quote }: { quote: Quote }) {
  const loss = useLoss(quote)!;
  const note = lossNote(quote, loss);
  const gas = gasNote(quote);
  const warnings = [...(gas ? [gas] : []), ...warningsOf(quote)];
  return (
    <>
      {note && <p class={`loss ${loss.level}`}>{note}</p>}
      {warnings.length > 0 && (
        <ul class="warnings" aria-label="Warnings">
          {warnings.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </>
  );
}

export function Outputs({ quote }: { quote: Quote }) {
  const several = quote.estimated_outputs.length > 1;
  return (
    <div class="pair">
      <Paid quote={quote} />
      <section class="card" aria-labelledby="outputs-title">
        <h2 id="outputs-title">You get</h2>
        <ul class="outputs">
          {quote.estimated_outputs.map((output) => {
            const expected = atomic(output.expected_amount) ?? 0n;
            const minimum = atomic(output.minimum_amount) ?? 0n;
            const symbol = symbolOf({ symbol: output.symbol, address: output.token });
            return (
              <li key={output.token}>
                <p class="output-main">
                  <span class="output-amount" data-amount={output.expected_amount} title={`${exact(expected, output.decimals)} ${symbol}`}>
                    {brief(expected, output.decimals, 8)}
                  </span>{" "}
                  <bdi>{symbol}</bdi> {dollars(output.usd_value) && <span class="quiet">{dollars(output.usd_value)}</span>}
                </p>
                <p class="quiet">
                  {quote.exact_output?.bought === "exactly" ? "Exactly" : "At least"} <span class="breaks">{grouped(minimum, output.decimals)}</span> <bdi>{symbol}</bdi>
                <Rate quote={quote} />
                  {" "}
                  · <Impact bps={output.price_impact_bps} />
                  {several && output.realized_ratio_bps !== null && <> · share {percent(output.realized_ratio_bps)} of {percent(output.ratio_bps)} asked</>}
                </p>
              </li>
            );
          })}
        </ul>
        {several && (
          <p class="quiet">
            In total: <Impact bps={quote.total_price_impact_bps} />
          </p>
        )}
        <Warnings quote={quote} />
      </section>
    </div>
  );
}
