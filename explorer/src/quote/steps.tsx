// The simulation, step by step: what each step takes and pays, and how the whole ended.
import { Fragment, type ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { atomic, percent } from "../amounts";
import type { PathStep, Quote, Simulation } from "../api/types";
import { NOBODY } from "../form/request";
import { familyOf, productName } from "../families";
import { amountOf, nameIn } from "../route/picture";
import { sharesOf, type Shares } from "../route/shares";
import { clean, short, words } from "../text";

type Fate = { mark: string; text: string };

/** Says how each step went; those after a failure did not run. */
function fate(simulation: Simulation | null, index: number, failed: number): Fate {
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

const COLUMNS = ["Step", "Protocol and pool", "In", "Out", "Share", "Impact", "Gas"] as const;

/** Shows a cell, which names its column where the table's head is not drawn. */
function Cell({ column, title, children }: { column: (typeof COLUMNS)[number]; title?: string; children: ComponentChildren }) {
  return (
    <td role="cell" data-column={column} title={title}>
      {children}
    </td>
  );
}

type RowProps = { quote: Quote; shares: Shares };

function StepRow({ quote, shares, step, fate: { mark, text } }: RowProps & { step: PathStep; fate: Fate }) {
  return (
    <tr role="row">
      <th scope="row" role="rowheader">
        <span class="fate" role="img" aria-label={text} title={text}>
          {mark}
        </span>{" "}
        {step.id.replace(/^s/, "")}
      </th>
      <Cell column="Protocol and pool">
        <span class={`dot family-${familyOf(step.protocol)}`} /> {productName(step.protocol)} <code class="quiet">{short(step.pool)}</code>
      </Cell>
      <Cell column="In" title={amountOf(quote, step.token_in, step.amount_in, true)}>
        {amountOf(quote, step.token_in, step.amount_in)}
      </Cell>
      <Cell column="Out" title={amountOf(quote, step.token_out, step.amount_out, true)}>
        {amountOf(quote, step.token_out, step.amount_out)}
      </Cell>
      <Cell column="Share">{percent(shares.steps.get(step.id) ?? 0)}</Cell>
      <Cell column="Impact">{step.price_impact_bps === null ? "–" : percent(step.price_impact_bps)}</Cell>
      <Cell column="Gas">{step.gas_units.toLocaleString("en")}</Cell>
    </tr>
  );
}

/** Shows what is kept of a token that steps also spend: with it their shares add up. */
function KeptRow({ quote, shares, token }: RowProps & { token: string }) {
  const kept = shares.kept.get(token);
  if (!kept) return null;
  const amount = kept.amount.toString();
  return (
    <tr role="row" class="kept">
      <th scope="row" role="rowheader">
        kept
      </th>
      <Cell column="Protocol and pool">
        <bdi>{nameIn(quote, token)}</bdi> that you get
      </Cell>
      <Cell column="In" title={amountOf(quote, token, amount, true)}>
        {amountOf(quote, token, amount)}
      </Cell>
      <Cell column="Out">–</Cell>
      <Cell column="Share">{percent(kept.bps)}</Cell>
      <Cell column="Impact">–</Cell>
      <Cell column="Gas">–</Cell>
    </tr>
  );
}

export function Steps({ quote }: { quote: Quote }) {
  const { simulation } = quote;
  const { steps } = quote.path;
  const failed = steps.findIndex(({ id }) => id === simulation?.revert?.step);
  const shares = useMemo(() => sharesOf(quote), [quote]);
  const lastSpent = new Map(steps.map(({ token_in }, index) => [token_in, index]));
  return (
    <section class="card" aria-labelledby="steps-title">
      <h2 id="steps-title">Simulation, step by step</h2>
      <p class={simulation?.status === "reverted" ? "flaw" : ""}>{outcome(quote)}</p>
      {/* on a narrow screen the rows are drawn as blocks: the roles keep the table for those who hear it */}
      <div class="steps-box">
        <table class="steps" role="table" aria-labelledby="steps-title">
          <thead role="rowgroup">
            <tr role="row">
              {COLUMNS.map((name) => (
                <th scope="col" role="columnheader" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {steps.map((step, index) => (
              <Fragment key={step.id}>
                <StepRow quote={quote} shares={shares} step={step} fate={fate(simulation, index, failed)} />
                {lastSpent.get(step.token_in) === index && <KeptRow quote={quote} shares={shares} token={step.token_in} />}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
