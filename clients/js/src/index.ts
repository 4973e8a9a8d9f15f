// Braid's HTTP API. Needs nothing but `fetch`.
import { Problem } from "./problem.js";
import { PROXY, sameAddress } from "./terms.js";
import type { Address, Built, BuildRequest, Chain, Input, Network, Output, Prices, Protocol, Quote, QuoteBody, QuoteRequest, Ready, Token } from "./types.js";

export { outcome, Problem } from "./problem.js";
export type { FailureCode, Outcome } from "./problem.js";
export { sameAddress, terms } from "./terms.js";
export type { Terms } from "./terms.js";
export type * from "./types.js";

/** Stands for native ether wherever the API takes a token. */
export const ETHER = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";

export interface BraidOptions {
  /** The service's address. Default: `http://127.0.0.1:8080`. */
  base?: string | undefined;
  /** An API key. Without one only market data is answered, and quotes where the service allows it. */
  key?: string | undefined;
  /** Milliseconds after which a call is given up. Default: 20,000; the service answers within 15,000. */
  timeoutMs?: number | undefined;
  /** The same for `receipt` and `market`, whose files may be large. Default: 180,000. */
  fileTimeoutMs?: number | undefined;
  /** The execution proxy: a wallet sends to, approves and signs for no other one. Default: the one of this release. */
  proxy?: Address | undefined;
}

/** The body of an answer, read to its end. */
interface Body {
  status: number;
  bytes: Uint8Array;
}

export class Braid {
  /** The only contract that a wallet sends to, and the only one that it lets take tokens, besides Permit2. */
  readonly proxy: Address;
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #fileTimeoutMs: number;

  constructor({ base = "http://127.0.0.1:8080", key, timeoutMs = 20_000, fileTimeoutMs = 180_000, proxy = PROXY }: BraidOptions = {}) {
    this.proxy = proxy;
    this.#base = base.replace(/\/$/, "");
    this.#headers = { "content-type": "application/json", ...(key === undefined ? {} : { "x-api-key": key }) };
    this.#timeoutMs = timeoutMs;
    this.#fileTimeoutMs = fileTimeoutMs;
  }

  /** Finds the best route. Amounts are in atomic units. A quote of other tokens, amounts or accounts than were asked for is a `Problem`. */
  async quote(request: QuoteRequest): Promise<Quote> {
    const body = { ...request, inputs: request.inputs.map(input), outputs: request.outputs.map(output) };
    const quote = await this.#data<Quote>("/v1/quote", body);
    let cause: unknown;
    try {
      if (isOf(body, quote)) return quote;
    } catch (error) {
      // fields of a quote are absent
      cause = error;
    }
    throw new Problem("NOT_BRAID", 200, "the quote is of something else than was asked for", { cause });
  }

  /** A quote that was made before. */
  storedQuote(quoteId: string): Promise<Quote> {
    return this.#data(`/v1/quote/${encodeURIComponent(quoteId)}`);
  }

  /** The receipt of an open quote, word for word: written to a file, `braid verify` works it out again offline. */
  receipt(quoteId: string): Promise<Uint8Array> {
    return this.#file(`/v1/quote/${encodeURIComponent(quoteId)}/receipt`);
  }

  /** The market that an open quote was made on, as a file for `braid verify --market`. */
  market(quoteId: string): Promise<Uint8Array> {
    return this.#file(`/v1/quote/${encodeURIComponent(quoteId)}/market`);
  }

  /** The route of a quote as an SVG picture. */
  async routePicture(quoteId: string): Promise<string> {
    return text(await this.#ask(`/v1/quote/${encodeURIComponent(quoteId)}/route.svg`));
  }

  /** Turns a quote into an unsigned transaction. Can be repeated. */
  build(quoteId: string, more: BuildRequest = {}): Promise<Built> {
    return this.#data("/v1/build", { quote_id: quoteId, ...more });
  }

  /** Tokens by symbol, name or address, the best known first. */
  async tokens(search: string): Promise<Token[]> {
    const page = await this.#data<{ tokens: Token[] }>(`/v1/tokens?chain_id=1&search=${encodeURIComponent(search)}`);
    return page.tokens;
  }

  /** Prices in dollars and in ether. A token without a price is absent. */
  prices(tokens: readonly Address[]): Promise<Prices> {
    return this.#data(`/v1/prices?chain_id=1&addresses=${tokens.join(",")}`);
  }

  /** Balances in atomic units, by EIP-55 address. A token that did not answer is absent. */
  async balances(owner: Address, tokens: readonly Address[]): Promise<Record<string, bigint>> {
    const { balances } = await this.#data<{ balances: Record<string, string> }>("/v1/balances", { chain_id: 1, owner, tokens });
    return Object.fromEntries(Object.entries(balances).map(([token, amount]) => [token, BigInt(amount)]));
  }

  /** Allowances in atomic units, by EIP-55 addresses as `token:spender`. A token that did not answer is absent. */
  async allowances(owner: Address, of: readonly { token: Address; spender: Address }[]): Promise<Record<string, bigint>> {
    const { allowances } = await this.#data<{ allowances: Record<string, string> }>("/v1/allowances", { chain_id: 1, owner, allowances: of });
    return Object.fromEntries(Object.entries(allowances).map(([pair, amount]) => [pair, BigInt(amount)]));
  }

  protocols(): Promise<Protocol[]> {
    return this.#data("/v1/protocols?chain_id=1");
  }

  chains(): Promise<Chain[]> {
    return this.#data("/v1/chains");
  }

  /** The newest block and the fees of each gas tier. */
  network(): Promise<Network> {
    return this.#data("/v1/network?chain_id=1");
  }

  /** Whether quotes are answered, and on which block. A service that does not answer them yet says so here without a `Problem`. */
  async ready(): Promise<Ready> {
    return json(await this.#ask("/ready", { alsoGood: 503 }));
  }

  /** Waits until the service knows a block, so that a simulation sees what was mined in it; at most two minutes, or as long as is said. */
  async reached(blockNumber: bigint | number, { timeoutMs = 120_000 }: { timeoutMs?: number } = {}): Promise<void> {
    const until = Date.now() + timeoutMs;
    while (((await this.ready()).block?.number ?? -1) < blockNumber) {
      if (Date.now() >= until) throw new Problem("NO_ANSWER", 0, `${this.#base} does not know block ${blockNumber} yet`);
      await new Promise((done) => setTimeout(done, 200));
    }
  }

  async #data<T>(path: string, body?: unknown): Promise<T> {
    return json<{ data: T }>(await this.#ask(path, { body })).data;
  }

  async #file(path: string): Promise<Uint8Array> {
    return (await this.#ask(path, { timeoutMs: this.#fileTimeoutMs })).bytes;
  }

  /** Asks, and reads the answer to its end within the time. */
  async #ask(path: string, { body, alsoGood, timeoutMs = this.#timeoutMs }: { body?: unknown; alsoGood?: number; timeoutMs?: number } = {}): Promise<Body> {
    const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    let answer: Response;
    let bytes: Uint8Array;
    try {
      answer = await fetch(this.#base + path, { ...post, headers: this.#headers, signal: AbortSignal.timeout(timeoutMs) });
      bytes = new Uint8Array(await answer.arrayBuffer());
    } catch (cause) {
      throw new Problem("NO_ANSWER", 0, `${this.#base} does not answer`, { cause });
    }
    const isGood = answer.ok || (answer.status === alsoGood && !Problem.isIn(answer));
    if (!isGood) throw Problem.of(answer, bytes);
    return { status: answer.status, bytes };
  }
}

function text({ bytes }: Body): string {
  return new TextDecoder().decode(bytes);
}

function json<T>(answer: Body): T {
  try {
    return JSON.parse(text(answer));
  } catch (cause) {
    throw new Problem("NOT_BRAID", answer.status, "the answer is not JSON", { cause });
  }
}

/** Whether a quote is of what was asked for: somebody in the service's place could answer another one. */
function isOf({ inputs, outputs, taker, recipient }: QuoteBody, quote: Quote): boolean {
  const { estimated_inputs: sold, estimated_outputs: bought } = quote;
  const sells = inputs.length === sold.length && sold.every(({ token, maximum_amount }, index) => {
    const asked = inputs[index];
    return asked !== undefined && sameAddress(token, asked.address) && BigInt(maximum_amount) === BigInt(asked.amount ?? maximum_amount);
  });
  const buys = outputs.length === bought.length && bought.every(({ token, minimum_amount }, index) => {
    const asked = outputs[index];
    return asked !== undefined && sameAddress(token, asked.address) && BigInt(minimum_amount) >= BigInt(asked.amount ?? 1);
  });
  return sells && buys && sameAddress(quote.taker, taker) && sameAddress(quote.recipient, recipient ?? taker);
}

function input(entry: Input): QuoteBody["inputs"][number] {
  if ("address" in entry) return entry;
  const [address, amount] = entry;
  return { chain_id: 1, address, ...(amount === undefined ? {} : { amount: String(amount) }) };
}

function output(entry: Output): QuoteBody["outputs"][number] {
  if ("address" in entry) return entry;
  const [address, bought] = entry;
  return { chain_id: 1, address, ...(typeof bought === "bigint" ? { amount: String(bought) } : { ratio_bps: bought }) };
}
