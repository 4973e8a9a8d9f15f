// The view on which one swaps: the form on one side, the answer on the other.
import { useEffect, useMemo, useState } from "preact/hooks";
import { asked, form } from "../form/request";
import { SwapForm } from "../form/form";
import { linkOf, reading } from "../form/link";
import { Approvals } from "../quote/approvals";
import { CertificateCard } from "../quote/certificate";
import { Code } from "../quote/code";
import { Costs } from "../quote/costs";
import { again, answers, leftMs, live, want, type Live } from "../quote/live";
import { Outputs } from "../quote/outputs";
import { Problems } from "../quote/problems";
import { Steps } from "../quote/steps";
import { Picture, stepsText } from "../route/picture";
import { freshness, service } from "../service";
import { useStore } from "../store";
import { Send } from "../wallet/send";
import { account } from "../wallet/account";

/** Gives the time once a second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Says how old the quote is, and whether it can still be sent. */
function Age({ state, now, past }: { state: Live; now: number; past: boolean }) {
  const { ready, ...rest } = useStore(service);
  const { quote, asking, pausedUntilMs } = state;
  if (!quote) return null;
  const left = Math.ceil(Math.min(leftMs(state, now), quote.ttl_ms) / 1_000);
  const behind = ready?.block ? ready.block.number - quote.block.number : 0;
  const how = freshness({ ready, ...rest });
  const old = left <= 0 || how === "gone" || how === "stale";
  const text = past
    ? "This is the quote of what you asked for before: the new one is on its way."
    : left <= 0
      ? "This quote is over."
      : how === "gone"
        ? "The service is not there: this quote may be old."
        : how === "stale"
          ? "The service's market is stale: this quote may be old."
          : `Block ${quote.block.number.toLocaleString("en")}${behind > 0 ? `, ${behind} behind the newest` : ", the newest"} · good for ${left} s`;
  return (
    <p class={`age ${old ? "old" : ""}`}>
      <span class={asking ? "pulse on" : "pulse"} aria-hidden="true" /> {text}
      {pausedUntilMs > now && <> · the limit for quotes is used up for {Math.ceil((pausedUntilMs - now) / 1_000)} s</>}
      {(left <= 0 || behind > 0) && (
        <button type="button" class="link" onClick={again}>
          Refresh
        </button>
      )}
    </p>
  );
}

function Empty({ asking }: { asking: boolean }) {
  if (asking) {
    return (
      <section class="card" aria-busy="true">
        <h2>Looking for the best route…</h2>
        <div class="skeleton" />
        <div class="skeleton short" />
        <div class="skeleton tall" />
      </section>
    );
  }
  return (
    <section class="card empty">
      <h2>No quote yet</h2>
      <p>Choose what to sell and what to get. The route appears here and follows every block.</p>
    </section>
  );
}

export function SwapView() {
  const now = useNow();
  const asking = useStore(form);
  const { address } = useStore(account);
  const state = useStore(live);
  const { body, flaws } = useMemo(() => asked(asking, address), [asking, address]);

  useEffect(() => want(body), [JSON.stringify(body)]);
  const { open } = useStore(reading);
  useEffect(() => {
    const link = linkOf(asking);
    if (!open && location.hash !== link) history.replaceState(null, "", link);
  }, [asking, open]);

  const { quote } = state;
  const past = quote !== null && !answers(state, body);
  const old = quote && (past || leftMs(state, now) <= 0 || state.problem);
  return (
    <div class="columns">
      <div class="side">
        <SwapForm flaws={open ? null : flaws} past={past} />
        <Send state={state} now={now} body={body} />
      </div>
      <div class={`results${old ? " old" : ""}${past ? " past" : ""}`} aria-busy={past}>
        <Problems state={state} now={now} />
        {quote ? (
          <>
            <Age state={state} now={now} past={past} />
            <Outputs quote={quote} />
            <section class="card" aria-labelledby="route-title">
              <h2 id="route-title">
                The route: {stepsText(quote.path.steps)}
              </h2>
              <Picture quote={quote} />
            </section>
            <div class="pair">
              <div class="stack">
                <CertificateCard quote={quote} />
                <Approvals quote={quote} />
              </div>
              <Costs quote={quote} />
            </div>
            <Steps quote={quote} />
            {state.body && <Code body={state.body} />}
          </>
        ) : (
          !state.problem && <Empty asking={state.asking || open} />
        )}
      </div>
    </div>
  );
}
