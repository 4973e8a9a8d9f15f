// The form of a swap: tokens to sell and to buy, and settings.
import { useEffect, useState } from "preact/hooks";
import { atomic, brief, exact, percent, typed } from "../amounts";
import { ETHER, type Token } from "../api/types";
import { PercentField } from "../parts/percent-field";
import { TokenNote } from "../parts/token-note";
import { Disc, TokenPicker } from "../parts/token-picker";
import { live, type Live } from "../quote/live";
import { useStore } from "../store";
import { service } from "../service";
import { short, symbolOf } from "../text";
import { account, readBalances } from "../wallet/account";
import { reading } from "./link";
import { evenly, exactlyOf, form, MOST_TOKENS, turned, withShare, type Flaws, type Form, type Input, type Output } from "./request";
import { Settings } from "./settings";

const change = (patch: (now: Form) => Partial<Form>) => form.set((now) => ({ ...now, ...patch(now) }));

function TokenButton({ token, label, open }: { token: Token | null; label: string; open: () => void }) {
  return (
    <button type="button" class="token" aria-haspopup="dialog" onClick={open}>
      <span class="unseen">{label}: </span>
      {token ? (
        <>
          <Disc token={token} /> <bdi>{symbolOf(token)}</bdi>
        </>
      ) : (
        "Choose a token"
      )}
      <span aria-hidden="true">▾</span>
    </button>
  );
}

type Picking = { side: "inputs" | "outputs"; index: number };

type AmountProps = { label: string; text: string; about: boolean; flaw: string | null; id: string; set: (text: string) => void };

/** An amount that is given, or what the quote makes of it, which is `about` right until the quote is sent. */
function Amount({ label, text, about, flaw, id, set }: AmountProps) {
  // what is typed replaces an estimate whole
  const replace = about ? (event: { currentTarget: HTMLInputElement }) => event.currentTarget.select() : undefined;
  return (
    <input
      class={about ? "amount about" : "amount"}
      inputMode="decimal"
      autocomplete="off"
      spellcheck={false}
      maxLength={120}
      placeholder={about ? "…" : "0"}
      aria-label={label}
      aria-invalid={flaw ? true : undefined}
      aria-describedby={flaw ? id : undefined}
      title={about ? "From the quote. Type here to fix this amount instead." : undefined}
      value={text}
      onFocus={replace}
      onClick={replace}
      onInput={(event) => set(event.currentTarget.value)}
    />
  );
}

type RowProps<T> = { index: number; flaw: string | null; count: number; pick: () => void; about: string | null } & T;

function InputRow({ index, input, flaw, count, pick, about }: RowProps<{ input: Input }>) {
  const { balances, address } = useStore(account);
  const { token, text } = input;
  const held = token ? balances[token.address] : undefined;
  const set = (next: string) => change(({ inputs }) => ({ inputs: inputs.map((one, at) => (at === index ? { ...one, text: next } : one)), exactly: null }));
  const remove = () => change(({ inputs }) => ({ inputs: inputs.filter((_, at) => at !== index) }));
  const isEther = token?.address === ETHER;
  const shown = flaw && (about ?? text) !== "" ? flaw : null;
  const number = count > 1 ? ` ${index + 1}` : "";
  return (
    <div class="row">
      <div class="row-main">
        <Amount label={`Amount to sell${number}`} text={about ?? text} about={about !== null} flaw={shown} id={`input-flaw-${index}`} set={set} />
        <TokenButton token={token} label={`Token to sell${number}`} open={pick} />
        {count > 1 && (
          <button type="button" class="icon" aria-label={`Remove input ${index + 1}`} onClick={remove}>
            ×
          </button>
        )}
      </div>
      {token && <TokenNote token={token} />}
      {address && token && held !== undefined && (
        <p class="row-note">
          Balance {brief(held, token.decimals)}{" "}
          {held > 0n && !isEther && (
            <button type="button" class="link" onClick={() => set(exact(held, token.decimals))}>
              Use all
            </button>
          )}
        </p>
      )}
      {shown && (
        <p class="flaw" id={`input-flaw-${index}`}>
          {shown}
        </p>
      )}
    </div>
  );
}

function OutputRow({ index, output, flaw, count, pick, about, exactly }: RowProps<{ output: Output; exactly: string | null }>) {
  const { token, bps } = output;
  const share = (next: number) => change(({ outputs }) => ({ outputs: withShare(outputs, index, next) }));
  const remove = () => change(({ outputs }) => ({ outputs: evenlyKept(outputs.filter((_, at) => at !== index)) }));
  const name = token ? symbolOf(token) : `output ${index + 1}`;
  const shown = flaw && token && exactly !== "" ? flaw : null;
  return (
    <div class="row">
      <div class="row-main">
        {count === 1 && about !== null && (
          <Amount label="Amount to get" text={exactly ?? about} about={exactly === null} flaw={shown} id="output-flaw" set={(exactly) => change(() => ({ exactly }))} />
        )}
        <TokenButton token={token} label={count > 1 ? `Token to get ${index + 1}` : "Token to get"} open={pick} />
        {count > 1 && (
          <button type="button" class="icon" aria-label={`Remove output ${index + 1}`} onClick={remove}>
            ×
          </button>
        )}
      </div>
      {token && <TokenNote token={token} />}
      {count > 1 && (
        <div class="row-main shares">
          <input
            class="share"
            type="range"
            min={100}
            max={9_900}
            step={100}
            value={bps}
            aria-label={`Share of ${name}`}
            aria-valuetext={percent(bps)}
            onInput={(event) => share(Number(event.currentTarget.value))}
          />
          <PercentField label={`Share of ${name} in per cent`} bps={bps} min={0.01} max={99.99} set={share} />
        </div>
      )}
      {shown && (
        <p class="flaw" id="output-flaw">
          {shown}
        </p>
      )}
    </div>
  );
}

/** Gives what an output that went leaves to the others, in their proportion. */
function evenlyKept(outputs: Output[]): Output[] {
  const sum = outputs.reduce((total, { bps }) => total + bps, 0);
  if (sum === 0 || outputs.length === 1) return evenly(outputs);
  return withShare(outputs, 0, Math.round((outputs[0]!.bps * 10_000) / sum));
}

/** The quote's amounts of the side without given amounts. */
function estimates({ quote }: Live): { sold: string; bought: string } {
  const [sold, bought] = [quote?.estimated_inputs[0], quote?.estimated_outputs[0]];
  if (!sold || !bought) return { sold: "", bought: "" };
  const text = (amount: string, decimals: number) => typed(atomic(amount) ?? 0n, decimals);
  return { sold: text(sold.expected_amount, sold.decimals), bought: text(bought.expected_amount, bought.decimals) };
}

/** Says which tokens of a link are missing in the form. */
function LinkNote() {
  const { unknown } = useStore(reading);
  const { problem } = useStore(service);
  const { inputs, outputs } = useStore(form);
  // ends once somebody chose others
  if (unknown.length === 0 || [...inputs, ...outputs].every(({ token }) => token)) return null;
  return (
    <p class="flaw" role="alert">
      {problem ? "The tokens of the link could not be read: load the page again when the service answers." : `The link names tokens that this service does not know: ${unknown.map(short).join(", ")}.`}
    </p>
  );
}

type Props = { flaws: Flaws | null; past: boolean };

/** The form; `past` where the quote on the page is of what was asked before. */
export function SwapForm({ flaws, past }: Props) {
  const now = useStore(form);
  const { address } = useStore(account);
  const [picking, setPicking] = useState<Picking | null>(null);
  const { inputs, outputs } = now;
  const exactly = exactlyOf(now);
  const single = inputs.length === 1 && outputs.length === 1;
  const state = useStore(live);
  const known = past ? { sold: "", bought: "" } : estimates(state);
  /** Adds a token: what is sold is then given, whatever was given before. */
  const add = (patch: (now: Form) => Partial<Form>) =>
    change((now) => {
      const given = exactly === null ? now : { ...now, inputs: now.inputs.map((one) => ({ ...one, text: known.sold })) };
      return { inputs: given.inputs, exactly: null, ...patch(given) };
    });
  const tokens = [...inputs, ...outputs].map(({ token }) => token?.address);

  useEffect(() => {
    void readBalances(inputs.flatMap(({ token }) => (token ? [token.address] : [])));
  }, [address, JSON.stringify(tokens)]);

  const choose = (token: Token) => {
    const { side, index } = picking!;
    const plain: Token = { address: token.address, symbol: token.symbol, name: token.name, decimals: token.decimals, pool_count: token.pool_count };
    change((now) =>
      side === "inputs"
        ? { inputs: now.inputs.map((one, at) => (at === index ? { ...one, token: plain } : one)) }
        : { outputs: now.outputs.map((one, at) => (at === index ? { ...one, token: plain } : one)) },
    );
    setPicking(null);
  };

  return (
    <form class="card" aria-label="The swap" onSubmit={(event) => event.preventDefault()}>
      <fieldset>
        <legend>You sell</legend>
        {inputs.map((input, index) => (
          <InputRow key={index} index={index} input={input} flaw={flaws?.inputs[index] ?? null} count={inputs.length} pick={() => setPicking({ side: "inputs", index })} about={exactly === null ? null : known.sold} />
        ))}
        {inputs.length < MOST_TOKENS && (
          <button type="button" class="link" onClick={() => add(({ inputs }) => ({ inputs: [...inputs, { token: null, text: "" }] }))}>
            + Sell another token
          </button>
        )}
      </fieldset>
      <div class="turn">
        <button type="button" class="icon" aria-label="Turn the swap around" onClick={() => change(turned)}>
          ⇅
        </button>
      </div>
      <fieldset>
        <legend>You get</legend>
        {outputs.map((output, index) => (
          <OutputRow key={index} index={index} output={output} flaw={flaws?.outputs[index] ?? null} count={outputs.length} pick={() => setPicking({ side: "outputs", index })} about={single ? known.bought : null} exactly={exactly} />
        ))}
        {outputs.length < MOST_TOKENS && (
          <button type="button" class="link" onClick={() => add(({ outputs }) => ({ outputs: evenly([...outputs, { token: null, bps: 0 }]) }))}>
            + Get another token
          </button>
        )}
      </fieldset>
      <LinkNote />
      <Settings flaws={flaws} />
      {picking && <TokenPicker choose={choose} close={() => setPicking(null)} taken={tokens} />}
    </form>
  );
}
