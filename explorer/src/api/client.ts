// The one way to the service: every request of the page goes to its own origin and ends in an answer or a `Problem`.
import { clean } from "../text";
import type { Build, Family, Health, Network, ProblemBody, Quote, QuoteBody, Ready, TokenRow } from "./types";

/** Says why there is no answer. `gone`: the service was not reached. `slow`: it did not answer in time. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: { pointer: string; code: string; detail: string }[];
  readonly retryAfterS: number;
  readonly requestId: string;

  constructor(code: string, detail: string, more: { status?: number; body?: Partial<ProblemBody> | null; retryAfterS?: number } = {}) {
    super(detail);
    this.code = code;
    this.status = more.status ?? 0;
    const errors = Array.isArray(more.body?.errors) ? more.body.errors : [];
    this.fields = errors.map(({ pointer, code, detail }) => ({ pointer: clean(pointer, 80), code: clean(code, 60), detail: clean(detail, 300) }));
    this.retryAfterS = more.retryAfterS ?? 0;
    this.requestId = clean(more.body?.request_id, 64);
  }
}

/** Durations of requests, newest last. */
export const timings: { path: string; ms: number; ok: boolean }[] = [];

/** Remaining quotes of the caller's minute; unknown before the first quote. */
export let allowance: { remaining: number; resetS: number } | null = null;

const KEY = "braid-api-key";

/** Gives the API key of this tab, if there is one. */
export function apiKey(): string {
  return sessionStorage.getItem(KEY) ?? "";
}

/** Keeps an API key for as long as this tab lives. */
export function setApiKey(key: string): void {
  const plain = key.trim();
  if (plain) sessionStorage.setItem(KEY, plain);
  else sessionStorage.removeItem(KEY);
}

type Options = { body?: unknown; signal?: AbortSignal | undefined; timeoutMs?: number };

async function answerOf(path: string, { body, signal, timeoutMs = 15_000 }: Options): Promise<{ answer: Response; text: string }> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const headers: Record<string, string> = { accept: "application/json" };
  const key = apiKey();
  // a header takes visible ASCII alone; any other key is wrong anyway, and the service says so
  if (key) headers["x-api-key"] = /^[\x21-\x7e]+$/.test(key) ? key : "not-a-key";
  if (body !== undefined) headers["content-type"] = "application/json";
  const started = performance.now();
  let ok = false;
  try {
    const answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      cache: "no-store",
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    ok = answer.ok;
    return { answer, text };
  } catch (error) {
    if (signal?.aborted) throw error;
    if (late.signal.aborted) throw new Problem("slow", `The service did not answer within ${timeoutMs / 1000} seconds.`);
    throw new Problem("gone", "The service cannot be reached.");
  } finally {
    clearTimeout(timer);
    timings.push({ path: path.split("?")[0] ?? path, ms: performance.now() - started, ok });
    if (timings.length > 200) timings.shift();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function call<T>(path: string, options: Options = {}): Promise<T> {
  const { answer, text } = await answerOf(path, options);
  const standing = /"(?:anonymous-quotes|keyed)";r=(\d+);t=(\d+)/.exec(answer.headers.get("ratelimit") ?? "");
  if (standing) allowance = { remaining: Number(standing[1]), resetS: Number(standing[2]) };
  const json = parsed(text) as (Partial<ProblemBody> & { data?: T }) | null;
  if (!answer.ok) {
    const retryAfterS = Number(answer.headers.get("retry-after") ?? 0) || 0;
    const code = clean(json?.code, 60) || `HTTP_${answer.status}`;
    const detail = clean(json?.detail, 400) || `The service answered with status ${answer.status}.`;
    throw new Problem(code, detail, { status: answer.status, body: json, retryAfterS });
  }
  if (json?.data === undefined) throw new Problem("unreadable", "The service's answer could not be read.");
  return json.data;
}

/** Asks for a state that is an answer whatever its status. */
async function state<T extends { status: string }>(path: string): Promise<T> {
  const { answer, text } = await answerOf(path, { timeoutMs: 5_000 });
  const json = parsed(text) as T | null;
  if (json && "status" in json && typeof json.status === "string") return json;
  throw new Problem("unreadable", `The service answered with status ${answer.status} and nothing that can be read.`);
}

export const api = {
  quote: (body: QuoteBody, signal?: AbortSignal) => call<Quote>("/v1/quote", { body, signal }),
  build: (quote_id: string, permit2_signature: string | null) =>
    call<Build>("/v1/build", { body: { quote_id, permit2_signature, simulate: true } }),
  tokens: (search: string, signal?: AbortSignal) =>
    call<{ tokens: TokenRow[] }>(`/v1/tokens?chain_id=1&limit=60&search=${encodeURIComponent(search)}`, { signal }),
  prices: (addresses: string[]) => call<{ prices: Record<string, number> }>(`/v1/prices?chain_id=1&addresses=${addresses.join(",")}`),
  balances: (owner: string, tokens: string[]) =>
    call<{ balances: Record<string, string> }>("/v1/balances", { body: { chain_id: 1, owner, tokens } }),
  protocols: () => call<Family[]>("/v1/protocols?chain_id=1"),
  network: () => call<Network>("/v1/network?chain_id=1"),
  ready: () => state<Ready>("/ready"),
  health: () => state<Health>("/health"),
};
