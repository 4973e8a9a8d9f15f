// The simulation, step by step: what each step takes and pays, and how the whole ended.
import { atomic, percent } from "../amounts";
import type { Quote, Simulation } from "../api/types";
import { NOBODY } from "../form/request";
import { familyOf, productName } from "../families";
import { amountOf } from "../route/picture";
import { clean, short, words } from "../text";

/** Says how each step went; those after a failure did not run. */
function fate(simulation: Simulation | null, index: number, failed: number): { mark: string; text: string } {
  if (!simulation || simulation.status === "unavailable") return { mark: "·", text: "not simulated" };
  if (simulation.status === "success") return { mark: "✓", text: "ran" };
  if (failed < 0) return { mark: "·", text: "reverted with the whole" };
  return index < failed ? { mark: "✓", text: "ran" } : index === failed ? { mark: "✗", text: "failed" } : { mark: "·", text: "did not run" };
}

function outcome(quote: Quote): string {
  const { simulation } = quote;
  if (!simulation || simulation.status === "unavailable") return "No simulation: the service had no node or no time for it. Amounts are the models' own.";
  const where = simulation.block_number === null ? "" : ` on block ${simulation.block_number.toLocaleString("en")}`;
  if (simulation.status === "reverted") return `The simulation${where} reverted: ${clean(simulation.revert?.message, 300) || "no reason is known"}.`;
  const paid = new Map(simulation.outputs.map(({ token, amount }) => [token, atomic(amount)]));
  const same = quote.estimated_outputs.every(({ token, expected_amount }) => paid.get(token) === atomic(expected_amount));
  const what = simulation.overrides.map((name) => words(name)).join(" and ");
  const lacked = quote.taker === NOBODY ? ` No wallet is connected: the simulation granted the ${what}.` : ` The account lacked its ${what}, which the simulation granted.`;
  const verdict = same ? "paid what is quoted, to the wei" : "paid other amounts than quoted";
  return `The EVM ran this transaction${where}, used ${(simulation.gas_used ?? 0).toLocaleString("en")} gas and ${verdict}.${what && lacked}`;
}

export function Steps({ quote }: { quote: Quote }) {
  const { simulation } = quote;
  const failed = quote.path.steps.findIndex(({ id }) => id === simulation?.revert?.step);
  return (
    <section class="card" aria-labelledby="steps-title">
      <h2 id="steps-title">Simulation, step by step</h2>
      <p class={simulation?.status === "reverted" ? "flaw" : ""}>{outcome(quote)}</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of steps">
        <table>
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Protocol and pool</th>
              <th scope="col">In</th>
              <th scope="col">Out</th>
              <th scope="col">Share</th>
              <th scope="col">Impact</th>
              <th scope="col">Gas</th>
            </tr>
          </thead>
          <tbody>
            {quote.path.steps.map((step, index) => {
              const { mark, text } = fate(simulation, index, failed);
              return (
                <tr key={step.id}>
                  <th scope="row">
                    <span class="fate" role="img" aria-label={text} title={text}>
                      {mark}
                    </span>{" "}
                    {step.id.replace(/^s/, "")}
                  </th>
                  <td>
                    <span class={`dot family-${familyOf(step.protocol)}`} /> {productName(step.protocol)} <code class="quiet">{short(step.pool)}</code>
                  </td>
                  <td title={amountOf(quote, step.token_in, step.amount_in, true)}>{amountOf(quote, step.token_in, step.amount_in)}</td>
                  <td title={amountOf(quote, step.token_out, step.amount_out, true)}>{amountOf(quote, step.token_out, step.amount_out)}</td>
                  <td>{percent(step.share_bps)}</td>
                  <td>{step.price_impact_bps === null ? "–" : percent(step.price_impact_bps)}</td>
                  <td>{step.gas_units.toLocaleString("en")}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
