// Follows the service: its newest block and whether it can be reached. `/ready` is not counted against anybody's limit.
import { api, Problem } from "./api/client";
import type { Ready } from "./api/types";
import { store } from "./store";

export type Service = {
  /** The latest answer of `/ready`. */
  ready: Ready | null;
  /** The error of the latest request, if it failed. */
  problem: Problem | null;
  /** Arrival of `ready`, by the page's clock. */
  heardAtMs: number;
};

export const service = store<Service>({ ready: null, problem: null, heardAtMs: 0 });

const EVERY_MS = 2_000;
/** Waits longer where the service is gone, so that a page left open is no burden. */
const MOST_MS = 15_000;

let timer: ReturnType<typeof setTimeout> | undefined;
let waitMs = EVERY_MS;

async function look(): Promise<void> {
  clearTimeout(timer);
  try {
    const ready = await api.ready();
    service.set({ ready, problem: null, heardAtMs: Date.now() });
    waitMs = EVERY_MS;
  } catch (error) {
    const problem = error instanceof Problem ? error : new Problem("gone", String(error));
    service.set((now) => ({ ...now, problem }));
    waitMs = Math.min(waitMs * 2, MOST_MS);
  }
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(() => void look(), waitMs);
}

/** Starts to follow; a page that nobody looks at asks nothing. */
export function follow(): void {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void look();
  });
  void look();
}

/** Asks at once, after somebody pressed "try again". */
export function lookNow(): void {
  waitMs = EVERY_MS;
  void look();
}

/** Says how fresh quotes can be: `fresh`, `aging`, `stale`, `syncing`, `stopping` or `gone`. */
export function freshness({ ready, problem }: Service): "fresh" | "aging" | "stale" | "syncing" | "stopping" | "gone" | "unknown" {
  if (problem) return "gone";
  if (!ready) return "unknown";
  if (ready.status === "ready") return "fresh";
  return ready.status === "degraded" ? "aging" : ready.status;
}
