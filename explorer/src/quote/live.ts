// The quote on the page: asked for when the form changes and when a block comes, within what the caller may ask.
import { allowance, api, apiKey, Problem } from "../api/client";
import type { Quote, QuoteBody } from "../api/types";
import { store } from "../store";

export type Live = {
  /** The newest answer; kept while a newer one is on its way. */
  quote: Quote | null;
  /** The request that `quote` answers. */
  body: QuoteBody | null;
  /** The error of the newest request. */
  problem: Problem | null;
  asking: boolean;
  /** Arrival of `quote`, by the page's clock. */
  atMs: number;
  /** Until when nothing is asked since the caller's limit is used up, by the page's clock. */
  pausedUntilMs: number;
};

const NOTHING: Live = { quote: null, body: null, problem: null, asking: false, atMs: 0, pausedUntilMs: 0 };
export const live = store<Live>(NOTHING);

/** Leaves the quote as it is while a swap of it is under way. */
let held = false;
let wanted: QuoteBody | null = null;
let running: AbortController | null = null;
let lastAskedMs = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

const AFTER_TYPING_MS = 250;
const KEYED_EVERY_MS = 2_000;
const KEYLESS_EVERY_MS = 12_000;

async function ask(): Promise<void> {
  clearTimeout(timer);
  const body = wanted;
  if (!body || held) return;
  running?.abort();
  const own = new AbortController();
  running = own;
  lastAskedMs = Date.now();
  live.set((now) => ({ ...now, asking: true }));
  try {
    const quote = await api.quote(body, own.signal);
    if (own !== running) return;
    const spent = allowance && allowance.remaining === 0 ? Date.now() + allowance.resetS * 1_000 : 0;
    live.set({ quote, body, problem: null, asking: false, atMs: Date.now(), pausedUntilMs: spent });
  } catch (error) {
    if (own !== running) return;
    const problem = error instanceof Problem ? error : new Problem("gone", String(error));
    const pausedUntilMs = problem.status === 429 ? Date.now() + Math.max(problem.retryAfterS, 1) * 1_000 : 0;
    live.set((now) => ({ ...(answers(now, body) ? now : NOTHING), problem, asking: false, pausedUntilMs }));
    if (pausedUntilMs) timer = setTimeout(() => void ask(), pausedUntilMs - Date.now());
  } finally {
    if (own === running) running = null;
  }
}

const isSame = (one: QuoteBody | null, other: QuoteBody | null) => JSON.stringify(one) === JSON.stringify(other);

/** Says whether the quote answers this request, and not one that was asked before. */
export function answers({ quote, body }: Live, asked: QuoteBody | null): boolean {
  return quote !== null && asked !== null && isSame(body, asked);
}

/** Wants the answer to another request, or none. */
export function want(body: QuoteBody | null): void {
  if (isSame(body, wanted)) return;
  wanted = body;
  clearTimeout(timer);
  running?.abort();
  running = null;
  if (!body) return void live.set({ ...NOTHING, pausedUntilMs: live.get().pausedUntilMs });
  live.set((now) => ({ ...now, asking: true }));
  timer = setTimeout(() => void ask(), Math.max(AFTER_TYPING_MS, live.get().pausedUntilMs - Date.now()));
}

/** Asks again since a block came, as often as the caller may. */
export function blockCame(): void {
  const everyMs = apiKey() ? KEYED_EVERY_MS : KEYLESS_EVERY_MS;
  const now = Date.now();
  if (!wanted || held || running || document.hidden || now < live.get().pausedUntilMs) return;
  if (now - lastAskedMs >= everyMs) void ask();
}

/** Asks again at once. */
export function again(): void {
  if (Date.now() >= live.get().pausedUntilMs) void ask();
}

/** Asks at once with another API key, whose limit is not the one that was used up. */
export function renewed(): void {
  live.set((now) => ({ ...now, pausedUntilMs: 0 }));
  void ask();
}

/** Holds the quote still while it is being sent, or lets it follow the blocks again. */
export function hold(on: boolean): void {
  if (held === on) return;
  held = on;
  if (!on) return void ask();
  clearTimeout(timer);
  running?.abort();
  running = null;
  live.set((now) => ({ ...now, asking: false }));
}

/** Says for how long a quote can still be built, by the page's clock alone: the service's may differ. */
export function leftMs({ quote, atMs }: Live, nowMs: number): number {
  return quote ? atMs + quote.ttl_ms - nowMs : 0;
}
