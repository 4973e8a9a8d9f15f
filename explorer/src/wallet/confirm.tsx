// Asks before a swap whose loss is large or unknown. The quote stands still meanwhile: what is confirmed is what is sent.
import { useEffect, useState } from "preact/hooks";
import { atomic, brief, grouped } from "../amounts";
import type { Quote } from "../api/types";
import { Dialog } from "../parts/dialog";
import { about, lossText, useLoss } from "../quote/impact";
import { hold } from "../quote/live";
import { symbolOf } from "../text";
import { swap } from "./swap";

type Row = { token: string; symbol: string; decimals: number; expected_amount: string };

function Amounts({ rows, worth }: { rows: Row[]; worth: number | null }) {
  const text = about(worth);
  return (
    <>
      {rows.map(({ token, symbol, decimals, expected_amount }, index) => (
        <span key={token}>
          {index > 0 && " and "}
          {brief(atomic(expected_amount) ?? 0n, decimals, 8)} <bdi>{symbolOf({ symbol, address: token })}</bdi>
        </span>
      ))}
      {text && `, worth ${text}`}
    </>
  );
}

type Props = { quote: Quote; why: string | null; send: () => void; close: () => void };

/** Asks; `why` says what hinders the swap meanwhile. */
export function ConfirmLoss({ quote, why, send, close }: Props) {
  const [accepted, setAccepted] = useState(false);
  const loss = useLoss(quote)!;
  const unknown = loss.level === "unknown";
  const open = accepted && why === null;
  useEffect(() => {
    hold(true);
    // a swap that began holds the quote until it ends
    return () => void (swap.get() || hold(false));
  }, []);
  const amount = (text: string, decimals: number) => grouped(atomic(text) ?? 0n, decimals);
  const [paid] = quote.estimated_inputs;
  const least = quote.estimated_outputs.map(({ minimum_amount, decimals, symbol, token }) => `${amount(minimum_amount, decimals)} ${symbolOf({ symbol, address: token })}`);
  return (
    <Dialog title={unknown ? "Swap at an unknown price?" : `Lose ${lossText(loss)}?`} close={close}>
      <p>
        You sell <Amounts rows={quote.estimated_inputs} worth={loss.sold} />
        {quote.exact_output && paid && `; at most ${amount(paid.maximum_amount, paid.decimals)} ${symbolOf({ symbol: paid.symbol, address: paid.token })}`}.
      </p>
      <p>
        You get <Amounts rows={quote.estimated_outputs} worth={loss.got} />; at least <span class="breaks">{least.join(" and ")}</span>.
      </p>
      <label class="accept">
        <input type="checkbox" checked={accepted} onChange={(event) => setAccepted(event.currentTarget.checked)} />{" "}
        {unknown ? "I compared the amounts with another source, and accept a loss that this page cannot tell." : `I accept to lose ${loss.on ? lossText(loss) : `${loss.text} of what I sell`}.`}
      </label>
      {why && (
        <p class="flaw" role="alert">
          {why}
        </p>
      )}
      <div class="chips">
        <button type="button" class="chip" onClick={close}>
          Do not swap
        </button>
        <button type="button" class="primary danger" aria-disabled={!open} onClick={() => open && send()}>
          Swap anyway
        </button>
      </div>
    </Dialog>
  );
}
