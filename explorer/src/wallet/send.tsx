// The button under the form, and what happens after it is pressed.
import { useEffect, useState } from "preact/hooks";
import { brief, exact, ether } from "../amounts";
import { apiKey } from "../api/client";
import type { Quote, QuoteBody } from "../api/types";
import { asked, form } from "../form/request";
import { impactOf, impactText, lossNote, lossText, mustConfirm, useLoss } from "../quote/impact";
import { answers, leftMs, live, type Live } from "../quote/live";
import { Dialog } from "../parts/dialog";
import { useStore } from "../store";
import { short, symbolOf } from "../text";
import { account, toEthereum } from "./account";
import { ConfirmLoss } from "./confirm";
import { ConnectDialog } from "./connect";
import { bundles, close, start, swap, wayOf, waysOf, type Swap, type Way } from "./swap";

const WAYS: Record<Way, { name: string; note: string }> = {
  bundle: { name: "As one", note: "Approval and swap in one go: the wallet sends both, or neither." },
  permit2: { name: "By signature", note: "Sign a Permit2 message for exactly this swap." },
  approve: { name: "By approval", note: "Approve the exact amount, then swap." },
};

/** Asks the wallet once what it can do. */
function useBundles(): boolean {
  const now = useStore(account);
  const [able, setAble] = useState(false);
  useEffect(() => {
    let gone = false;
    setAble(false);
    void bundles(now).then((answer) => gone || setAble(answer));
    return () => void (gone = true);
  }, [now.wallet?.id, now.address, now.chainId]);
  return able;
}

function Results({ done }: { done: Swap }) {
  const tokens = new Map(done.quote.estimated_outputs.map((output) => [output.token, output]));
  const input = done.quote.estimated_inputs[0];
  if (!done.paid) return null;
  return (
    <>
      {done.sold !== null && input && (
        <p data-sold={done.sold.toString()}>
          Sold {exact(done.sold, input.decimals)} <bdi>{symbolOf({ symbol: input.symbol, address: input.token })}</bdi>, quoted {exact(BigInt(input.expected_amount), input.decimals)}.
        </p>
      )}
      <table class="paid">
        <caption>Received against quoted</caption>
        <thead>
          <tr>
            <th scope="col">Token</th>
            <th scope="col">Quoted</th>
            <th scope="col">Received</th>
          </tr>
        </thead>
        <tbody>
          {done.paid.map(({ token, quoted, received }) => {
            const { symbol = "", decimals = 18 } = tokens.get(token) ?? {};
            const difference = received === null ? null : received - quoted;
            return (
              <tr key={token}>
                <th scope="row">
                  <bdi>{symbolOf({ symbol, address: token })}</bdi>
                </th>
                <td class="breaks" data-quoted={quoted.toString()}>
                  {exact(quoted, decimals)}
                </td>
                <td class="breaks" data-received={received?.toString() ?? ""}>
                  {received === null ? "could not be read" : exact(received, decimals)}
                  {difference !== null && (
                    <span class={`badge ${difference < 0n ? "open" : "good"}`}>
                      {difference === 0n ? "equal to the wei" : `${difference > 0n ? "+" : "−"}${brief(difference < 0n ? -difference : difference, decimals)}`}
                    </span>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

const MARKS = { waiting: "·", running: "…", done: "✓", failed: "✗" };

function Progress({ state }: { state: Swap }) {
  const ended = state.problem !== null || state.paid !== null;
  return (
    <Dialog title={state.paid ? "Swapped" : state.isOpen ? "Sent, and not seen yet" : state.problem ? "Not swapped" : "Swapping"} close={ended ? close : null}>
      <ol class="stages" aria-live="polite">
        {state.stages.map(({ name, state: at }) => (
          <li key={name} class={at} aria-current={at === "running" ? "step" : undefined}>
            <span class="fate" aria-hidden="true">
              {MARKS[at]}
            </span>{" "}
            {name}
            <span class="unseen">: {at}</span>
          </li>
        ))}
      </ol>
      {!ended && <p class="quiet">Your wallet may be asking you. Read there what you sign.</p>}
      {state.problem && (
        <p class="flaw" role="alert">
          {state.problem}
        </p>
      )}
      {state.isOpen && <p>It may still be mined. Look for the transaction in your wallet before you swap again.</p>}
      <Results done={state} />
      {state.hash && (
        <p class="quiet">
          Transaction <code class="breaks">{state.hash}</code>
          {state.gasUsed !== null && <> used {state.gasUsed.toLocaleString("en")} gas</>}
        </p>
      )}
      {ended && (
        <div class="chips">
          {state.oneByOne && (
            <button type="button" class="primary" onClick={() => void start(state.quote, "approve")}>
              Send one by one
            </button>
          )}
          <button type="button" class={state.oneByOne ? "chip" : "primary"} onClick={close}>
            Close
          </button>
        </div>
      )}
    </Dialog>
  );
}

function Ways({ state, way, able, set }: { state: Live; way: Way; able: boolean; set: (way: Way) => void }) {
  const open = state.quote ? waysOf(state.quote, able) : [];
  if (open.length === 0) return null;
  return (
    <fieldset class="setting">
      <legend>How the proxy gets your tokens</legend>
      {open.map((one) => (
        <label key={one} class="radio">
          <input type="radio" name="way" checked={one === way} onChange={() => set(one)} /> {WAYS[one].name}
          <small class="quiet">{WAYS[one].note}</small>
        </label>
      ))}
    </fieldset>
  );
}

type Props = { state: Live; now: number; body: QuoteBody | null };

/** Says why the quote cannot be sent, if it cannot. */
export function hindrance({ state, now, body }: Props, address: string | null): string | null {
  const { quote } = state;
  if (!body) return "Fill in the swap first.";
  if (!quote || state.problem) return "There is no quote to send.";
  if (!answers(state, body)) return "The quote for what you changed is on its way.";
  if (leftMs(state, now) < 5_000) return "The quote is over: refresh it.";
  if (quote.issues.balance.length > 0) return "The account does not hold enough.";
  if (quote.simulation?.status === "reverted") return "The simulation reverts.";
  // before an approval is asked for: the build refuses later
  if (quote.warnings.some(({ code }) => code === "PROXY_NOT_DEPLOYED")) return "Nothing can be sent: the contract that swaps is not deployed.";
  if (!apiKey()) return "Give an API key in the settings: building a transaction needs one.";
  return quote.taker === address ? null : "The quote for your account is on its way.";
}

/** Names the button of a swap that is confirmed first. */
function swapAt(quote: Quote): string {
  const { bps, output } = impactOf(quote);
  if (bps === null) return "Swap at an unknown loss…";
  const on = output && symbolOf({ symbol: output.symbol, address: output.token });
  return `Swap at a loss of ${lossText({ text: impactText(bps), on })}…`;
}

export function Send({ state, now, body }: Props) {
  const { address, chainId, problem, wallet } = useStore(account);
  const running = useStore(swap);
  const able = useBundles();
  const [chosen, setChosen] = useState<Way | null>(null);
  const [connecting, setConnecting] = useState(false);
  const [confirming, setConfirming] = useState(false);
  const { quote } = state;
  const loss = useLoss(quote);
  const note = quote && loss && answers(state, body) ? lossNote(quote, loss) : null;
  const asks = quote !== null && mustConfirm(quote);
  useEffect(() => setChosen(null), [wallet?.id, quote?.taker]);

  const way = quote ? wayOf(quote, able, chosen) : "approve";
  const why = hindrance({ state, now, body }, address);

  /** Looks once more: what is drawn may be a moment behind what was typed. */
  const sendable = () => {
    const state = live.get();
    const { body } = asked(form.get(), address);
    return hindrance({ state, now: Date.now(), body }, address) === null ? state.quote : null;
  };
  const press = () => {
    const quote = sendable();
    if (quote && mustConfirm(quote)) setConfirming(true);
    else if (quote) void start(quote, wayOf(quote, able, chosen));
  };
  /** Sends the quote that was confirmed, which the page did not replace since. */
  const confirmed = () => {
    const quote = sendable();
    if (!quote) return;
    setConfirming(false);
    void start(quote, wayOf(quote, able, chosen));
  };

  return (
    <div class="card send">
      {!address ? (
        <button type="button" class="primary" onClick={() => setConnecting(true)}>
          Connect a wallet
        </button>
      ) : chainId !== 1 ? (
        <>
          <p class="flaw">Your wallet is on another chain ({chainId}). Braid swaps on Ethereum.</p>
          <button type="button" class="primary" onClick={() => void toEthereum()}>
            Switch to Ethereum
          </button>
        </>
      ) : (
        <>
          <Ways state={state} way={way} able={able} set={setChosen} />
          {note && (
            <p id="loss-note" class={`loss ${loss!.level}`}>
              {note}
            </p>
          )}
          <button type="button" class={asks ? "primary danger" : "primary"} aria-disabled={why !== null} aria-describedby="loss-note send-note" onClick={press}>
            {asks ? swapAt(quote) : "Swap"}
          </button>
          <p id="send-note" class="quiet">
            {why ?? `From ${short(address)} to ${short(quote!.recipient)}, gas about ${ether(BigInt(quote!.costs.gas_cost_wei))}.`}
          </p>
        </>
      )}
      {problem && (
        <p class="flaw" role="alert">
          {problem}
        </p>
      )}
      {connecting && <ConnectDialog close={() => setConnecting(false)} />}
      {confirming && quote && <ConfirmLoss quote={quote} why={why} send={confirmed} close={() => setConfirming(false)} />}
      {running && <Progress state={running} />}
    </div>
  );
}
