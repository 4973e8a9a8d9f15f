// The request that the form describes, and the body that is sent for it.
import { getAddress, isAddress } from "viem";
import { parseAmount } from "../amounts";
import { ETHER, type QuoteBody, type Tier, type Token } from "../api/types";
import { store } from "../store";
import { symbolOf } from "../text";

export type Input = { token: Token | null; text: string };
export type Output = { token: Token | null; bps: number };

export type Form = {
  inputs: Input[];
  outputs: Output[];
  /** Exactly how much to get, where that is given instead of what is sold. Means something with one input and one output alone. */
  exactly: string | null;
  slippageBps: number;
  tier: Tier;
  maxHops: number;
  excluded: string[];
  /** The recipient, if it is not the sender. */
  recipient: string;
  /** For whom to quote while no wallet is connected. */
  account: string;
};

export const MOST_TOKENS = 6;

/** Quotes for nobody in particular: an address whose key nobody has. */
export const NOBODY = "0x000000000000000000000000000000000000dEaD";

const ETH: Token = { address: ETHER, symbol: "ETH", name: "Ether", decimals: 18, pool_count: 1 };
const USDC: Token = { address: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", symbol: "USDC", name: "USD Coin", decimals: 6, pool_count: 1 };

export const form = store<Form>({
  inputs: [{ token: ETH, text: "1" }],
  outputs: [{ token: USDC, bps: 10_000 }],
  exactly: null,
  slippageBps: 50,
  tier: "standard",
  maxHops: 4,
  excluded: [],
  recipient: "",
  account: "",
});

/** Says where a field of the form is wrong. */
export type Flaws = { inputs: (string | null)[]; outputs: (string | null)[]; recipient: string | null; account: string | null };

export type Asked = { body: QuoteBody; flaws: null } | { body: null; flaws: Flaws };

/** Reads an address in any case; a mistyped checksum is refused. */
export function addressProblem(text: string): string | null {
  if (!text) return null;
  if (!isAddress(text, { strict: false })) return "An address is 0x and 40 hex digits.";
  const mixed = /[a-f]/.test(text.slice(2)) && /[A-F]/.test(text.slice(2));
  return mixed && !isAddress(text) ? "The checksum of this address is wrong: a character may be mistyped." : null;
}

function outputFlaw(index: number, outputs: Output[], inputs: Input[]): string | null {
  const { token, bps } = outputs[index]!;
  if (!token) return "Choose a token.";
  const same = (other: { token: Token | null }) => other.token?.address === token.address;
  if (inputs.some(same)) return `${symbolOf(token)} is sold already.`;
  if (outputs.findIndex(same) < index) return `${symbolOf(token)} is listed twice.`;
  return bps < 1 ? "Give this output a share." : null;
}

function inputFlaw(index: number, inputs: Input[], sells: boolean): string | null {
  const { token, text } = inputs[index]!;
  if (!token) return "Choose a token.";
  if (inputs.findIndex((other) => other.token?.address === token.address) < index) return `${symbolOf(token)} is listed twice.`;
  return sells ? amountFlaw(token, text) : null;
}

function amountFlaw(token: Token | null, text: string | null): string | null {
  if (!token || text === null) return null;
  const parsed = parseAmount(text, token.decimals);
  return "problem" in parsed ? parsed.problem : null;
}

/** Says exactly how much to get, where the form does. */
export function exactlyOf({ inputs, outputs, exactly }: Pick<Form, "inputs" | "outputs" | "exactly">): string | null {
  return inputs.length === 1 && outputs.length === 1 ? exactly : null;
}

/** Turns the swap around. Of one token for one other the amount stays with its token; otherwise the first input keeps its text. */
export function turned(form: Form): Pick<Form, "inputs" | "outputs" | "exactly"> {
  const { inputs, outputs } = form;
  const [text, exactly] = [inputs[0]?.text ?? "", exactlyOf(form)];
  const single = inputs.length === 1 && outputs.length === 1;
  return {
    inputs: outputs.map(({ token }, at) => ({ token, text: at === 0 ? (exactly ?? (single ? "" : text)) : "" })),
    outputs: evenly(inputs.map(({ token }) => ({ token, bps: 0 }))),
    exactly: single && exactly === null ? text : null,
  };
}

/** Makes the body of a form, or says all that is wrong with it. */
export function asked(form: Form, wallet: string | null): Asked {
  const exactly = exactlyOf(form);
  const flaws: Flaws = {
    inputs: form.inputs.map((_, index) => inputFlaw(index, form.inputs, exactly === null)),
    outputs: form.outputs.map((_, index) => outputFlaw(index, form.outputs, form.inputs) ?? amountFlaw(form.outputs[index]!.token, exactly)),
    recipient: addressProblem(form.recipient.trim()),
    account: wallet ? null : addressProblem(form.account.trim()),
  };
  if ([...flaws.inputs, ...flaws.outputs, flaws.recipient, flaws.account].some(Boolean)) return { body: null, flaws };
  const entry = (token: Token | null) => ({ chain_id: 1, address: token!.address });
  const amount = (token: Token | null, text: string) => {
    const parsed = parseAmount(text, token!.decimals);
    return { amount: "amount" in parsed ? parsed.amount.toString() : "0" };
  };
  const sides =
    exactly === null
      ? {
          inputs: form.inputs.map(({ token, text }) => ({ ...entry(token), ...amount(token, text) })),
          outputs: form.outputs.map(({ token, bps }) => ({ ...entry(token), ratio_bps: bps })),
        }
      : { inputs: form.inputs.map(({ token }) => entry(token)), outputs: form.outputs.map(({ token }) => ({ ...entry(token), ...amount(token, exactly) })) };
  const recipient = form.recipient.trim();
  const taker = getAddress(wallet ?? (form.account.trim() || NOBODY));
  const body: QuoteBody = {
    ...sides,
    taker,
    slippage_tolerance_bps: form.slippageBps,
    max_hops: form.maxHops,
    gas_priority: form.tier,
    exclude_protocols: form.excluded,
    simulate: true,
    include_usd_pricing: true,
    include_permit2: Boolean(wallet),
    ...(recipient ? { recipient: getAddress(recipient) } : {}),
  };
  return { body, flaws: null };
}

/** Sets one share and lets the others share the rest as they did before; the sum stays 10,000. */
export function withShare(outputs: Output[], index: number, bps: number): Output[] {
  const others = outputs.length - 1;
  if (others === 0) return outputs.map((output) => ({ ...output, bps: 10_000 }));
  const own = Math.min(Math.max(Math.round(bps), 1), 10_000 - others);
  const rest = 10_000 - own;
  const before = outputs.reduce((sum, output, at) => (at === index ? sum : sum + output.bps), 0);
  let left = rest;
  let open = others;
  return outputs.map((output, at) => {
    if (at === index) return { ...output, bps: own };
    open -= 1;
    const share = before > 0 ? Math.round((output.bps * rest) / before) : Math.round(rest / others);
    const given = open === 0 ? left : Math.min(Math.max(share, 1), left - open);
    left -= given;
    return { ...output, bps: given };
  });
}

/** Spreads 10,000 evenly. */
export function evenly(outputs: Output[]): Output[] {
  const base = Math.floor(10_000 / outputs.length);
  const extra = 10_000 - base * outputs.length;
  return outputs.map((output, at) => ({ ...output, bps: base + (at < extra ? 1 : 0) }));
}
