// The settings of a swap: slippage, gas tier, protocols, accounts, API key.
import { useEffect, useState } from "preact/hooks";
import { percent } from "../amounts";
import { api, apiKey, setApiKey } from "../api/client";
import { TIERS, type Family } from "../api/types";
import { familyName } from "../families";
import { PercentField } from "../parts/percent-field";
import { renewed } from "../quote/live";
import { service } from "../service";
import { useStore } from "../store";
import { account } from "../wallet/account";
import { form, type Flaws } from "./request";

const SLIPPAGES = [10, 50, 100];

/** Bounds the slippage without a warning, in basis points. */
const MUCH_BPS = 300;

function Slippage() {
  const { slippageBps } = useStore(form);
  const set = (bps: number) => form.set((now) => ({ ...now, slippageBps: Math.min(Math.max(bps, 0), 5_000) }));
  return (
    <fieldset class="setting">
      <legend>Most slippage</legend>
      <div class="chips">
        {SLIPPAGES.map((bps) => (
          <button type="button" key={bps} class="chip" aria-pressed={bps === slippageBps} onClick={() => set(bps)}>
            {percent(bps)}
          </button>
        ))}
        <PercentField label="Most slippage in per cent" bps={slippageBps} min={0} max={50} set={set} />
      </div>
      {slippageBps >= MUCH_BPS && <p class="warn-text">Others can trade ahead of you and leave you up to {percent(slippageBps)} less than is quoted.</p>}
    </fieldset>
  );
}

function Tiers() {
  const { tier } = useStore(form);
  return (
    <fieldset class="setting">
      <legend>Gas tier</legend>
      <div class="chips">
        {TIERS.map((name) => (
          <button type="button" key={name} class="chip" aria-pressed={name === tier} onClick={() => form.set((now) => ({ ...now, tier: name }))}>
            {name}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

/** Reads the list of protocols once, and again when a service that was gone is back. */
export function useFamilies(): Family[] {
  const [families, setFamilies] = useState<Family[]>([]);
  const gone = useStore(service).problem !== null;
  useEffect(() => {
    let left = false;
    if (!gone) void api.protocols().then((list) => left || setFamilies(list), () => {});
    return () => void (left = true);
  }, [gone]);
  return families;
}

/** Leaves out the wrapping of ether, which the service does not exclude. */
export function excludable(families: Family[]): Family[] {
  return families.filter(({ name }) => name !== "wrapped_ether");
}

function Protocols() {
  const { excluded } = useStore(form);
  const families = excludable(useFamilies());
  const toggle = (name: string, use: boolean) =>
    form.set((now) => ({ ...now, excluded: use ? now.excluded.filter((one) => one !== name) : [...now.excluded, name] }));
  return (
    <fieldset class="setting">
      <legend>Protocols that the route may use</legend>
      <div class="checks">
        {families.map(({ name }) => (
          <label key={name}>
            <input type="checkbox" checked={!excluded.includes(name)} onChange={(event) => toggle(name, event.currentTarget.checked)} /> {familyName(name)}
          </label>
        ))}
      </div>
      {families.length === 0 && <p class="quiet">The list of protocols is not there yet.</p>}
      <small class="quiet">Wrapping and unwrapping ether is always allowed: it costs no fee, and most pools take ether only when it is wrapped.</small>
    </fieldset>
  );
}

const KEY_FIELD = "api-key";

/** Opens the settings at the field of the API key. */
export function openKey(): void {
  const field = document.getElementById(KEY_FIELD);
  const settings = field?.closest("details");
  if (settings) settings.open = true;
  field?.focus();
}

function Key() {
  const [key, setKey] = useState(apiKey());
  // waits for the end of the typing: the service would refuse a part of a key
  const save = () => {
    if (key.trim() === apiKey()) return;
    setApiKey(key);
    renewed();
  };
  return (
    <label class="setting">
      <span>API key</span>
      <input id={KEY_FIELD} type="password" autocomplete="off" maxLength={200} value={key} aria-describedby="key-note" onInput={(event) => setKey(event.currentTarget.value)} onChange={save} />
      <small id="key-note" class="quiet">Needed to swap; quotes may work without. It stays in this tab.</small>
    </label>
  );
}

type TextProps = { label: string; note: string; value: string; flaw: string | null; set: (text: string) => void };

function AddressField({ label, note, value, flaw, set }: TextProps) {
  const id = label.toLowerCase().replaceAll(" ", "-");
  return (
    <label class="setting">
      <span>{label}</span>
      <input autocomplete="off" spellcheck={false} maxLength={60} placeholder="0x…" value={value} aria-invalid={flaw ? true : undefined} aria-describedby={`${id}-note`} onInput={(event) => set(event.currentTarget.value)} />
      <small id={`${id}-note`} class={flaw ? "flaw" : "quiet"}>
        {flaw ?? note}
      </small>
    </label>
  );
}

export function Settings({ flaws }: { flaws: Flaws | null }) {
  const { slippageBps, tier, excluded, maxHops, recipient, account: taker } = useStore(form);
  const { address } = useStore(account);
  const left = excluded.length ? `, without ${excluded.map(familyName).join(", ")}` : "";
  return (
    <details class="settings">
      <summary>
        Slippage {percent(slippageBps)}, {tier} gas{left}
      </summary>
      <Slippage />
      <Tiers />
      <Protocols />
      <label class="setting">
        <span>Most pools on a path</span>
        <select aria-describedby="hops-note" value={String(maxHops)} onChange={(event) => form.set((now) => ({ ...now, maxHops: Number(event.currentTarget.value) }))}>
          {[1, 2, 3, 4, 5, 6, 7, 8].map((hops) => (
            <option key={hops} value={String(hops)}>
              {hops}
            </option>
          ))}
        </select>
        <small id="hops-note" class="quiet">From a token that you sell to one that you get. Wrapping ether does not count.</small>
      </label>
      <AddressField label="Recipient" note="Empty: the account that sends." value={recipient} flaw={flaws?.recipient ?? null} set={(recipient) => form.set((now) => ({ ...now, recipient }))} />
      {!address && (
        <AddressField label="Quote for account" note="Empty: nobody's. Balances and allowances are then made up for the simulation." value={taker} flaw={flaws?.account ?? null} set={(text) => form.set((now) => ({ ...now, account: text }))} />
      )}
      <Key />
    </details>
  );
}
