// The form in the page's address, so that a swap can be sent as a link: `#sell=TOKEN:AMOUNT,…&buy=TOKEN:BPS,…`, and `&exactly=AMOUNT` where
// that much is bought.
import { isAddress } from "viem";
import { api } from "../api/client";
import type { Token } from "../api/types";
import { exact, parseAmount } from "../amounts";
import { store } from "../store";
import { evenly, exactlyOf, form, MOST_TOKENS, type Form } from "./request";

/** Tells whether a link is being read: its tokens come from the service. `unknown` are the addresses that are no tokens there. */
export const reading = store<{ open: boolean; unknown: string[] }>({ open: false, unknown: [] });

/** Writes a form as the page's address. */
export function linkOf(form: Form): string {
  const { inputs, outputs } = form;
  const exactly = exactlyOf(form);
  const amount = (token: Token, text: string) => {
    const parsed = parseAmount(text, token.decimals);
    return "amount" in parsed ? exact(parsed.amount, token.decimals) : "";
  };
  const sell = inputs.filter(({ token }) => token).map(({ token, text }) => `${token!.address}:${exactly === null ? amount(token!, text) : ""}`);
  const buy = outputs.filter(({ token }) => token).map(({ token, bps }) => `${token!.address}:${bps}`);
  const bought = outputs[0]?.token && exactly !== null ? `&exactly=${amount(outputs[0].token, exactly)}` : "";
  return `#sell=${sell.join(",")}&buy=${buy.join(",")}${bought}`;
}

type Pair = { address: string; rest: string };

function pairs(text: string | null): Pair[] {
  const parts = (text ?? "").split(",").slice(0, MOST_TOKENS).map((part) => part.split(":"));
  const read = parts.map(([address = "", rest = ""]) => ({ address, rest }));
  return read.filter(({ address }) => isAddress(address, { strict: false }));
}

async function token(address: string): Promise<Token | null> {
  const { tokens } = await api.tokens(address);
  return tokens.find((row) => row.address.toLowerCase() === address.toLowerCase()) ?? null;
}

/** Counts the links that were opened: the tokens of one come after those of the next where the service takes longer for them. */
let opened = 0;

/** Reads the page's address into the form; what it does not name stays as it is. The form is empty until the tokens are known. */
export async function readLink(hash: string): Promise<void> {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const [sell, buy] = [pairs(asked.get("sell")), pairs(asked.get("buy"))];
  if (sell.length === 0 && buy.length === 0) return;
  const fill = (found: Map<string, Token | null>) =>
    form.set((now) => {
      const inputs = sell.map(({ address, rest }) => ({ token: found.get(address) ?? null, text: rest.slice(0, 100) }));
      const shares = buy.map(({ rest }) => (/^\d{1,5}$/.test(rest) ? Number(rest) : 0));
      const outputs = buy.map(({ address }, at) => ({ token: found.get(address) ?? null, bps: shares[at]! }));
      const whole = shares.reduce((sum, share) => sum + share, 0) === 10_000 && shares.every((share) => share > 0);
      const sides = { inputs: inputs.length ? inputs : now.inputs, outputs: outputs.length ? (whole ? outputs : evenly(outputs)) : now.outputs };
      // kept for one token of each alone: otherwise it would count once somebody removed the others
      return { ...now, ...sides, exactly: exactlyOf({ ...sides, exactly: asked.get("exactly")?.slice(0, 100) ?? null }) };
    });
  const own = (opened += 1);
  reading.set({ open: true, unknown: [] });
  fill(new Map());
  const found = new Map<string, Token | null>();
  const addresses = [...new Set([...sell, ...buy].map(({ address }) => address))];
  await Promise.all(addresses.map(async (address) => void found.set(address, await token(address).catch(() => null))));
  if (own !== opened) return;
  fill(found);
  reading.set({ open: false, unknown: addresses.filter((address) => !found.get(address)) });
}
