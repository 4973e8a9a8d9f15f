// Chooses a token: by symbol, name or address, with what the account holds.
import { useEffect, useId, useState } from "preact/hooks";
import { brief } from "../amounts";
import { api, Problem } from "../api/client";
import type { Token, TokenRow } from "../api/types";
import { clean, nameOf, short, symbolOf } from "../text";
import { useStore } from "../store";
import { account, readBalances } from "../wallet/account";
import { Dialog } from "./dialog";

/** Draws a disc with a letter instead of a logo: logos live at other origins. */
export function Disc({ token }: { token: Token }) {
  const hue = Number.parseInt(token.address.slice(2, 6), 16) % 8;
  return (
    <span class={`disc disc-${hue}`} aria-hidden="true">
      {clean(symbolOf(token).replace(/^0x/, ""), 2).slice(0, 1).toUpperCase()}
    </span>
  );
}

/** Takes `null` for `of` before the first answer. */
type Found = { rows: TokenRow[]; of: string | null; problem: Problem | null; asking: boolean };

/** Searches as somebody types; `of` is the text that the rows answer. */
function useSearch(text: string): Found {
  const [found, setFound] = useState<Found>({ rows: [], of: null, problem: null, asking: true });
  useEffect(() => {
    const own = new AbortController();
    const timer = setTimeout(async () => {
      setFound((now) => ({ ...now, asking: true }));
      try {
        const { tokens } = await api.tokens(text.trim().slice(0, 100), own.signal);
        setFound({ rows: tokens, of: text, problem: null, asking: false });
        void readBalances(tokens.map(({ address }) => address));
      } catch (error) {
        if (!own.signal.aborted) setFound({ rows: [], of: text, problem: error instanceof Problem ? error : null, asking: false });
      }
    }, text ? 150 : 0);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [text]);
  return found;
}

/** Keeps the role apart: the element's own types know a combobox only with a list of suggestions. */
const COMBOBOX: object = { role: "combobox" };

type Props = { choose: (token: Token) => void; close: () => void; taken: (string | undefined)[] };

export function TokenPicker({ choose, close, taken }: Props) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [entered, setEntered] = useState(false);
  const { rows, of, problem, asking } = useSearch(text);
  const { balances } = useStore(account);
  const list = useId();
  const held = (row: TokenRow) => balances[row.address] ?? 0n;
  // what the account holds comes first, otherwise the service's own order
  const sorted = text ? rows : [...rows].sort((a, b) => Number(held(b) > 0n) - Number(held(a) > 0n));
  const current = Math.min(at, sorted.length - 1);
  useEffect(() => {
    // rows of what was typed before are drawn until the answer comes: none of them is what was searched for
    if (!entered || of !== text) return;
    setEntered(false);
    const row = sorted[current];
    if (row) choose(row);
  }, [entered, of, text]);

  const keys = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: sorted.length - 1 };
    const next = moves[event.key];
    if (next !== undefined && sorted.length > 0) {
      event.preventDefault();
      const to = Math.min(Math.max(next, 0), sorted.length - 1);
      setAt(to);
      document.getElementById(`${list}-${to}`)?.scrollIntoView({ block: "nearest" });
    }
    if (event.key === "Enter") setEntered(true);
  };

  return (
    <Dialog title="Choose a token" close={close}>
      <input
        class="search"
        type="search"
        {...COMBOBOX}
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={sorted[current] ? `${list}-${current}` : undefined}
        aria-label="Symbol, name or address"
        placeholder="Symbol, name or address"
        autocomplete="off"
        spellcheck={false}
        maxLength={100}
        autofocus
        value={text}
        onInput={(event) => (setText(event.currentTarget.value), setAt(0), setEntered(false))}
        onKeyDown={keys}
      />
      <ul id={list} class="tokens" role="listbox" aria-label="Tokens" aria-busy={asking}>
        {sorted.map((row, index) => (
          // the keyboard moves through the list from the search field, as in every combobox
          <li
            key={row.address}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === current}
            class={taken.includes(row.address) ? "taken" : ""}
            onClick={() => choose(row)}
          >
            <Disc token={row} />
            <span class="token-text">
              <bdi class="token-symbol">{symbolOf(row)}</bdi>
              <bdi class="quiet">{nameOf(row)}</bdi>
            </span>
            <span class="token-side">
              {held(row) > 0n && <span>{brief(held(row), row.decimals)}</span>}
              <code class="quiet">{short(row.address)}</code>
              {row.pool_count === 0 && <span class="warn-text">no deep pool</span>}
            </span>
          </li>
        ))}
      </ul>
      <p class="quiet" role="status">
        {problem ? problem.message : asking && rows.length === 0 ? "Searching…" : rows.length === 0 ? "No token that Braid can route has this name." : `${rows.length} tokens`}
      </p>
    </Dialog>
  );
}
