// What to sell, what to get, and how.
import { useEffect, useState } from "preact/hooks";
import { brief, exact, percent } from "../amounts";
import { ETHER, type Token } from "../api/types";
import { Disc, TokenPicker } from "../parts/token-picker";
import { useStore } from "../store";
import { symbolOf } from "../text";
import { account, readBalances } from "../wallet/account";
import { evenly, form, MOST_TOKENS, withShare, type Flaws, type Form, type Input, type Output } from "./request";
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

function InputRow({ index, input, flaw, count, pick }: { index: number; input: Input; flaw: string | null; count: number; pick: () => void }) {
  const { balances, address } = useStore(account);
  const { token, text } = input;
  const held = token ? balances[token.address] : undefined;
  const set = (next: string) => change(({ inputs }) => ({ inputs: inputs.map((one, at) => (at === index ? { ...one, text: next } : one)) }));
  const remove = () => change(({ inputs }) => ({ inputs: inputs.filter((_, at) => at !== index) }));
  const isEther = token?.address === ETHER;
  const shown = flaw && text !== "" ? flaw : null;
  const number = count > 1 ? ` ${index + 1}` : "";
  return (
    <div class="row">
      <div class="row-main">
        <input
          class="amount"
          inputMode="decimal"
          autocomplete="off"
          spellcheck={false}
          maxLength={120}
          placeholder="0"
          aria-label={`Amount to sell${number}`}
          aria-invalid={shown ? true : undefined}
          aria-describedby={shown ? `input-flaw-${index}` : undefined}
          value={text}
          onInput={(event) => set(event.currentTarget.value)}
        />
        <TokenButton token={token} label={`Token to sell${number}`} open={pick} />
        {count > 1 && (
          <button type="button" class="icon" aria-label={`Remove input ${index + 1}`} onClick={remove}>
            ×
          </button>
        )}
      </div>
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

function OutputRow({ index, output, flaw, count, pick }: { index: number; output: Output; flaw: string | null; count: number; pick: () => void }) {
  const { token, bps } = output;
  const share = (next: number) => change(({ outputs }) => ({ outputs: withShare(outputs, index, next) }));
  const remove = () => change(({ outputs }) => ({ outputs: evenlyKept(outputs.filter((_, at) => at !== index)) }));
  const name = token ? symbolOf(token) : `output ${index + 1}`;
  return (
    <div class="row">
      <div class="row-main">
        <TokenButton token={token} label={count > 1 ? `Token to get ${index + 1}` : "Token to get"} open={pick} />
        {count > 1 && (
          <button type="button" class="icon" aria-label={`Remove output ${index + 1}`} onClick={remove}>
            ×
          </button>
        )}
      </div>
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
          <label class="share-number">
            <input
              type="number"
              min={0.01}
              max={99.99}
              step={0.01}
              aria-label={`Share of ${name} in per cent`}
              value={bps / 100}
              onChange={(event) => share(Math.round(Number(event.currentTarget.value) * 100))}
            />
            %
          </label>
        </div>
      )}
      {flaw && token && <p class="flaw">{flaw}</p>}
    </div>
  );
}

/** Gives what an output that went leaves to the others, in their proportion. */
function evenlyKept(outputs: Output[]): Output[] {
  const sum = outputs.reduce((total, { bps }) => total + bps, 0);
  if (sum === 0 || outputs.length === 1) return evenly(outputs);
  return withShare(outputs, 0, Math.round((outputs[0]!.bps * 10_000) / sum));
}

/** Turns the swap around: what was got is sold. Amounts of another token mean nothing, so one input keeps its text. */
function turned({ inputs, outputs }: Form): Partial<Form> {
  const text = inputs[0]?.text ?? "";
  return {
    inputs: outputs.map(({ token }, at) => ({ token, text: at === 0 ? text : "" })),
    outputs: evenly(inputs.map(({ token }) => ({ token, bps: 0 }))),
  };
}

export function SwapForm({ flaws }: { flaws: Flaws | null }) {
  const now = useStore(form);
  const { address } = useStore(account);
  const [picking, setPicking] = useState<Picking | null>(null);
  const { inputs, outputs } = now;
  const tokens = [...inputs, ...outputs].map(({ token }) => token?.address);

  useEffect(() => {
    void readBalances(inputs.flatMap(({ token }) => (token ? [token.address] : [])));
  }, [address, JSON.stringify(tokens)]);

  const choose = (token: Token) => {
    const { side, index } = picking!;
    const plain: Token = { address: token.address, symbol: token.symbol, name: token.name, decimals: token.decimals };
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
          <InputRow key={index} index={index} input={input} flaw={flaws?.inputs[index] ?? null} count={inputs.length} pick={() => setPicking({ side: "inputs", index })} />
        ))}
        {inputs.length < MOST_TOKENS && (
          <button type="button" class="link" onClick={() => change(({ inputs }) => ({ inputs: [...inputs, { token: null, text: "" }] }))}>
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
          <OutputRow key={index} index={index} output={output} flaw={flaws?.outputs[index] ?? null} count={outputs.length} pick={() => setPicking({ side: "outputs", index })} />
        ))}
        {outputs.length < MOST_TOKENS && (
          <button type="button" class="link" onClick={() => change(({ outputs }) => ({ outputs: evenly([...outputs, { token: null, bps: 0 }]) }))}>
            + Get another token
          </button>
        )}
      </fieldset>
      <Settings flaws={flaws} />
      {picking && <TokenPicker choose={choose} close={() => setPicking(null)} taken={tokens} />}
    </form>
  );
}
