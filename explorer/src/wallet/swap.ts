// From a quote to a receipt: approvals or a signature, the transaction, and what arrived.
import { erc20Abi, type Address, type Hex, type TransactionReceipt } from "viem";
import { api, Problem } from "../api/client";
import { ETHER, type Approval, type Build, type Quote } from "../api/types";
import { wordsOf } from "../api/words";
import { atomic } from "../amounts";
import { hold } from "../quote/live";
import { store } from "../store";
import { symbolOf } from "../text";
import { account, clientOf, readBalances, type Account } from "./account";
import { said, bundleRefused } from "./errors";

/** The way in which the proxy gets the inputs. */
export type Way = "bundle" | "permit2" | "approve";

export type Stage = { name: string; state: "waiting" | "running" | "done" | "failed"; note: string };

/** The amount of an output that arrived, and the quoted one. */
export type Paid = { token: string; quoted: bigint; minimum: bigint; received: bigint | null };

export type Swap = {
  quote: Quote;
  way: Way;
  stages: Stage[];
  problem: string | null;
  /** True if the swap was sent, and what became of it could not be read. */
  isOpen: boolean;
  /** True if the calls can be sent one by one after a refused bundle. */
  oneByOne: boolean;
  hash: Hex | null;
  gasUsed: bigint | null;
  paid: Paid[] | null;
  /** Of an exact output: what it cost. */
  sold: bigint | null;
};

export const swap = store<Swap | null>(null);

type Client = ReturnType<typeof clientOf>;
type Call = { to: Address; data: Hex; value: bigint };

/** Says whether a wallet sends several calls as one, at once or after an upgrade of the account. */
export async function bundles(of: Account): Promise<boolean> {
  if (!of.wallet || !of.address) return false;
  try {
    const able = await clientOf(of).getCapabilities({ account: of.address, chainId: 1 });
    const { status } = (able as { atomic?: { status?: string } }).atomic ?? {};
    return status === "supported" || status === "ready";
  } catch {
    return false;
  }
}

/** Gives the approvals that are not known to be in place. */
export function missing(approvals: Approval[]): Approval[] {
  return approvals.filter(({ satisfied }) => satisfied !== true);
}

/** Gives the way that asks the least of the taker. */
export function bestWay(quote: Quote, canBundle: boolean): Way {
  if (missing(quote.approvals).length === 0) return "approve";
  if (canBundle) return "bundle";
  return quote.permit2 && missing(quote.permit2.approvals).length === 0 ? "permit2" : "approve";
}

/** Gives the ways among which the taker chooses; none where nothing is to be approved or signed. */
export function waysOf(quote: Quote, canBundle: boolean): Way[] {
  if (missing(quote.approvals).length === 0) return [];
  return [...(canBundle ? (["bundle"] as const) : []), ...(quote.permit2 ? (["permit2"] as const) : []), "approve"];
}

/** Gives the way of a quote: the one that was chosen, perhaps for another quote, where this one has it. */
export function wayOf(quote: Quote, canBundle: boolean, chosen: Way | null): Way {
  return chosen && waysOf(quote, canBundle).includes(chosen) ? chosen : bestWay(quote, canBundle);
}

function stagesOf(quote: Quote, way: Way): Stage[] {
  const waiting = (name: string): Stage => ({ name, state: "waiting", note: "" });
  const approvals = missing(way === "permit2" ? (quote.permit2?.approvals ?? []) : quote.approvals);
  const symbol = (token: string) => symbolOf(quote.path.tokens.find(({ address }) => address === token) ?? { symbol: "", address: token });
  const approve = approvals.map(({ token }) => waiting(`Approve ${symbol(token)}`));
  const check = waiting("Build and simulate");
  if (way === "bundle") return [check, waiting("Send approval and swap as one"), waiting("Wait for the receipt")];
  if (way === "permit2") return [...approve, waiting("Sign the permit"), check, waiting("Send the swap"), waiting("Wait for the receipt")];
  return [...approve, check, waiting("Send the swap"), waiting("Wait for the receipt")];
}

function mark(index: number, state: Stage["state"], note = ""): void {
  swap.set((now) => now && { ...now, stages: now.stages.map((stage, at) => (at === index ? { ...stage, state, note } : stage)) });
}

/** Runs the stages in order and shows where they are; the first that fails ends the swap. */
class Walk {
  private at = 0;

  async stage<T>(what: () => Promise<T>): Promise<T> {
    const index = this.at;
    mark(index, "running");
    try {
      const result = await what();
      mark(index, "done");
      this.at += 1;
      return result;
    } catch (error) {
      mark(index, "failed");
      throw error;
    }
  }
}

const callOf = ({ to, data, value }: { to: string; data: string; value: string }): Call => ({
  to: to as Address,
  data: data as Hex,
  value: BigInt(value),
});

/** Says that a transaction was sent and will never swap. */
class Undone extends Error {}

async function settled(client: Client, hash: Hex): Promise<TransactionReceipt> {
  let cancelled = false;
  // the same with a higher fee is as good; any other took its nonce, and its receipt would count as this one's
  const onReplaced = ({ reason }: { reason: string }) => void (cancelled ||= reason !== "repriced");
  const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 1_000, timeout: 10 * 60_000, onReplaced });
  if (cancelled) throw new Undone(`The transaction ${hash} was cancelled: another one took its place.`);
  if (receipt.status !== "success") throw new Undone(`The transaction ${hash} reverted.`);
  return receipt;
}

/** Asks the service for the transaction and refuses to go on where its simulation reverts. */
async function built(quote: Quote, signature: Hex | null, lacksApprovals: boolean): Promise<Build> {
  const build = await api.build(quote.quote_id, signature);
  const { simulation } = build;
  if (simulation?.status === "reverted" && !lacksApprovals) {
    throw new Error(`The simulation reverts, so nothing was sent: ${simulation.revert?.message ?? "no reason is known"}.`);
  }
  const lacking = build.issues.balance[0];
  if (lacking) throw new Error(`The account holds too little of ${lacking.token}: ${lacking.actual} of ${lacking.expected}.`);
  const unsafe = build.warnings.find(({ code }) => code === "PROXY_NOT_DEPLOYED");
  if (unsafe) throw new Error(unsafe.message);
  return build;
}

/** Waits until the service knows a block: before, it would simulate without the approval that was mined there. */
async function known(block: bigint): Promise<void> {
  for (let tries = 0; block > 0n && tries < PATIENCE; tries += 1) {
    const ready = await api.ready().catch(() => null);
    if (BigInt(ready?.block?.number ?? 0) >= block) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Number of requests, twice per second, for the service's newest block. */
const PATIENCE = 60;

async function sendOne(client: Client, build: Build): Promise<Hex> {
  const { to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas } = build.rpc_transaction;
  const [limit, most, tip] = [BigInt(gas), BigInt(maxFeePerGas), BigInt(maxPriorityFeePerGas)];
  return client.sendTransaction({ ...callOf({ to, data, value }), gas: limit, maxFeePerGas: most, maxPriorityFeePerGas: tip });
}

/** Sends what is missing; the block of the last of it, if anything was. */
async function approveAll(walk: Walk, client: Client, approvals: Approval[]): Promise<bigint> {
  let block = 0n;
  for (const { transactions } of missing(approvals)) {
    await walk.stage(async () => {
      for (const call of transactions) block = (await settled(client, await client.sendTransaction(callOf(call)))).blockNumber;
    });
  }
  return block;
}

async function sendBundle(client: Client, build: Build): Promise<{ hash: Hex; block: bigint }> {
  const { id } = await client.sendCalls({ calls: build.calls.map(callOf), forceAtomic: true });
  const done = await client.waitForCallsStatus({ id, pollingInterval: 1_000, timeout: 10 * 60_000 });
  const last = done.receipts?.at(-1);
  if (done.status !== "success" || !last) throw new Error("The bundle was not carried out.");
  return { hash: last.transactionHash, block: last.blockNumber };
}

async function held(client: Client, token: string, owner: Address, blockNumber: bigint): Promise<bigint> {
  if (token.toLowerCase() === ETHER.toLowerCase()) return client.getBalance({ address: owner, blockNumber });
  return client.readContract({ address: token as Address, abi: erc20Abi, functionName: "balanceOf", args: [owner], blockNumber });
}

/** Reads what an account gained in a receipt's block, gas aside: its balance there, less that of the block before. */
async function gained(client: Client, token: string, owner: Address, receipt: TransactionReceipt): Promise<bigint | null> {
  try {
    const after = await held(client, token, owner, receipt.blockNumber);
    const before = await held(client, token, owner, receipt.blockNumber - 1n);
    const pays = token.toLowerCase() === ETHER.toLowerCase() && receipt.from.toLowerCase() === owner.toLowerCase();
    return after - before + (pays ? receipt.gasUsed * receipt.effectiveGasPrice : 0n);
  } catch {
    return null;
  }
}

/** Reads what arrived. */
function paidOf(client: Client, quote: Quote, build: Build, receipt: TransactionReceipt): Promise<Paid[]> {
  return Promise.all(build.estimated_outputs.map(async ({ token, expected_amount, minimum_amount }) => {
    const received = await gained(client, token, quote.recipient as Address, receipt);
    return { token, quoted: atomic(expected_amount) ?? 0n, minimum: atomic(minimum_amount) ?? 0n, received };
  }));
}

/** Reads what an exact output cost. */
async function soldOf(client: Client, quote: Quote, receipt: TransactionReceipt): Promise<bigint | null> {
  const [input] = quote.estimated_inputs;
  if (!quote.exact_output || !input) return null;
  const change = await gained(client, input.token, quote.taker as Address, receipt);
  return change === null ? null : -change;
}

async function go(walk: Walk, client: Client, quote: Quote, way: Way): Promise<{ build: Build; receipt: TransactionReceipt }> {
  if (way === "bundle") {
    // this simulation lacks the approvals that the bundle carries; the quote's own granted them, and decides
    const build = await walk.stage(() => built(quote, null, true));
    const { hash } = await walk.stage(() => sendBundle(client, build));
    return { build, receipt: await walk.stage(() => settled(client, hash)) };
  }
  const approved = await approveAll(walk, client, way === "permit2" ? (quote.permit2?.approvals ?? []) : quote.approvals);
  let signature: Hex | null = null;
  if (way === "permit2") {
    const { provider } = account.get().wallet!;
    const params: [Address, string] = [quote.taker as Address, JSON.stringify(quote.permit2!.eip712)];
    signature = await walk.stage(() => provider.request({ method: "eth_signTypedData_v4", params }));
  }
  const build = await walk.stage(() => known(approved).then(() => built(quote, signature, false)));
  const hash = await walk.stage(() => sendOne(client, build));
  swap.set((now) => now && { ...now, hash });
  return { build, receipt: await walk.stage(() => settled(client, hash)) };
}

/** Sends the transactions of a quote. */
export async function start(quote: Quote, way: Way): Promise<void> {
  hold(true);
  swap.set({ quote, way, stages: stagesOf(quote, way), problem: null, isOpen: false, oneByOne: false, hash: null, gasUsed: null, paid: null, sold: null });
  try {
    const now = account.get();
    // the account may have been changed since the quote: what another one sells would be paid to the first
    if (now.address !== quote.taker) throw new Error("The wallet's account was changed, so nothing was sent: close this, and swap again.");
    const client = clientOf(now);
    const { build, receipt } = await go(new Walk(), client, quote, way);
    swap.set((now) => now && { ...now, hash: receipt.transactionHash, gasUsed: receipt.gasUsed });
    const [paid, sold] = await Promise.all([paidOf(client, quote, build, receipt), soldOf(client, quote, receipt)]);
    swap.set((now) => now && { ...now, paid, sold });
  } catch (error) {
    const problem = error instanceof Problem ? wordsOf(error) : said(error);
    const isOpen = swap.get()?.hash !== null && !(error instanceof Undone);
    swap.set((now) => now && { ...now, problem, isOpen, oneByOne: way === "bundle" && bundleRefused(error) });
  }
}

/** Closes a swap that ended, and lets the quote follow the blocks again. */
export function close(): void {
  swap.set(null);
  hold(false);
  void readBalances(Object.keys(account.get().balances));
}
