// What becomes of each token of a route: the parts that steps spend, and the part that is kept as an output.
import { atomic } from "../amounts";
import type { Quote } from "../api/types";

/** Holds the part of an output that no later step spends. */
export type Kept = { amount: bigint; bps: number };

export type Shares = {
  /** Gives the share of a step in its input token, in basis points, by the step's id. */
  steps: Map<string, number>;
  /** Gives what is kept of outputs that steps also spend, by token. */
  kept: Map<string, Kept>;
};

/** Divides 10,000 in proportion to amounts; the parts are rounded so that they add up. */
export function divided(amounts: bigint[]): number[] {
  const total = amounts.reduce((sum, amount) => sum + amount, 0n);
  if (total === 0n) return amounts.map(() => 0);
  const parts = amounts.map((amount) => ({ whole: Number((amount * 10_000n) / total), rest: (amount * 10_000n) % total }));
  const open = 10_000 - parts.reduce((sum, { whole }) => sum + whole, 0);
  const byRest = parts.map((_, at) => at).sort((a, b) => (parts[b]!.rest > parts[a]!.rest ? 1 : parts[b]!.rest < parts[a]!.rest ? -1 : a - b));
  const raised = new Set(byRest.slice(0, open));
  return parts.map(({ whole }, at) => whole + (raised.has(at) ? 1 : 0));
}

/**
 * Finds the shares of a route. The service's `share_bps` is a step's part of what the route spends of a token; where a part of the token is
 * kept, the share here is that of all there is of it, so that the steps and the kept part add up.
 */
export function sharesOf({ path, estimated_outputs }: Pick<Quote, "path" | "estimated_outputs">): Shares {
  const steps = new Map(path.steps.map(({ id, share_bps }) => [id, share_bps]));
  const kept = new Map<string, Kept>();
  const sum = (amounts: string[]) => amounts.reduce((total, amount) => total + (atomic(amount) ?? 0n), 0n);
  for (const { token } of estimated_outputs) {
    const spending = path.steps.filter(({ token_in }) => token_in === token);
    const made = sum(path.steps.filter(({ token_out }) => token_out === token).map(({ amount_out }) => amount_out));
    const amount = made - sum(spending.map(({ amount_in }) => amount_in));
    if (spending.length === 0 || amount <= 0n) continue;
    const [bps = 0, ...shares] = divided([amount, ...spending.map(({ amount_in }) => atomic(amount_in) ?? 0n)]);
    kept.set(token, { amount, bps });
    spending.forEach(({ id }, at) => steps.set(id, shares[at]!));
  }
  return { steps, kept };
}
