// What a viem wallet does with a quote: approve or sign, and send.
import type { Account, Chain, Client, Hash, Hex, ReplacementReturnType, TransactionReceipt, Transport } from "viem";
import { decodeFunctionData, erc20Abi, isHex } from "viem";
import { sendCalls as viemSendCalls, sendTransaction, signTypedData, waitForTransactionReceipt } from "viem/actions";
import { ETHER } from "./index.js";
import type { Braid } from "./index.js";
import { orderOf } from "./proxy.js";
import type { Order } from "./proxy.js";
import { PERMIT2, sameAddress, terms } from "./terms.js";
import type { Address, Approval, Built, Quote } from "./types.js";

/** A viem client with an account: `createWalletClient({ account, chain: mainnet, transport })`. */
export type Wallet = Client<Transport, Chain, Account>;

/** A transaction was not sent, because its simulation reverted, or was mined and reverted. */
export class Reverted extends Error {
  override readonly name = "Reverted";
}

/** A transaction will not be mined: its account sent another one in its place, to cancel it for instance. */
export class Replaced extends Error {
  override readonly name = "Replaced";
}

/**
 * Nothing was sent, because it could be lost: it is of another chain or account than the wallet's, for a proxy that is not deployed, for
 * another contract than the proxy, or of another order than its quote's. Whoever answers in the service's place could name such a one.
 */
export class Unsendable extends Error {
  override readonly name = "Unsendable";
}

/** Sends the approvals that are missing, one after the other, and waits for each. Sends no other call than an approval of the proxy or Permit2. */
export async function approve(braid: Braid, wallet: Wallet, approvals: readonly Approval[]): Promise<TransactionReceipt[]> {
  const receipts = [];
  const missing = approvals.filter(({ satisfied }) => satisfied !== true);
  for (const approval of missing) refuseOtherCalls(braid, approval);
  for (const { transactions } of missing) {
    for (const { to, data, value } of transactions) {
      receipts.push(await mined(wallet, await sendTransaction(wallet, { to, data: hex(data), value: BigInt(value) })));
    }
  }
  return receipts;
}

/** Signs a quote's typed data as it stands; throws where it is not an order of Braid's, or not for the proxy. */
export async function sign(braid: Braid, wallet: Wallet, permit2: NonNullable<Quote["permit2"]>): Promise<Hex> {
  refuseOtherPermit(braid, permit2);
  const { domain, types, primaryType, message } = permit2.eip712;
  return signTypedData(wallet, { account: wallet.account, domain, types, primaryType, message });
}

/**
 * Lets the proxy take the inputs: by Permit2 where the quote has something to sign (approving Permit2 first where that is missing), by
 * approvals of the proxy otherwise. Waits until the service knows of the approvals, so that a simulation sees them. Gives the signature for
 * the build, `null` where none is needed.
 */
export async function authorize(braid: Braid, wallet: Wallet, quote: Quote): Promise<Hex | null> {
  refuseWithoutProxy(quote.warnings);
  if (quote.permit2 !== null) {
    refuseOtherThanPermit2(braid, quote.permit2);
    refuseOtherOrder(quote, terms(quote.permit2));
  }
  const receipts = await approve(braid, wallet, (quote.permit2 ?? quote).approvals);
  const last = receipts.at(-1);
  if (last !== undefined) await braid.reached(last.blockNumber);
  return quote.permit2 === null ? null : sign(braid, wallet, quote.permit2);
}

/** Sends the transaction of a quote's build, unless it must not be sent: its simulation reverted, or it is `Unsendable` by this wallet. */
export async function send(braid: Braid, wallet: Wallet, quote: Quote, built: Built): Promise<Hash> {
  const { to, data, value, gas, max_fee_per_gas: maxFeePerGas, max_priority_fee_per_gas: maxPriorityFeePerGas } = built.transaction;
  refuse(braid, wallet, quote, built);
  const fees = { maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) };
  return sendTransaction(wallet, { to, data: hex(data), value: BigInt(value), gas: BigInt(gas), ...fees });
}

/**
 * Sends approvals and swap as one bundle (EIP-5792) and gives its id for viem's `waitForCallsStatus`. A wallet that knows no bundles is
 * asked for one transaction after the other. An account whose key is here has no wallet to bundle: its approvals are mined first.
 */
export async function sendCalls(braid: Braid, wallet: Wallet, quote: Quote, built: Built): Promise<string> {
  refuse(braid, wallet, quote, built);
  refuseOtherBundles(built);
  const calls = built.calls.map(({ to, data, value }) => ({ to, data: hex(data), value: BigInt(value) }));
  // a node estimates the gas of the swap on the newest block, where an approval that was just sent is not in place
  const first = wallet.account.type === "local" ? calls.splice(0, calls.length - 1) : [];
  for (const call of first) await mined(wallet, await sendTransaction(wallet, call));
  return (await viemSendCalls(wallet, { account: wallet.account, calls, experimental_fallback: true })).id;
}

/** Brings a quote to the chain: authorizes, builds, sends and waits. */
export async function swap(braid: Braid, wallet: Wallet, quote: Quote): Promise<{ built: Built; receipt: TransactionReceipt }> {
  const permit2_signature = await authorize(braid, wallet, quote);
  const built = await braid.build(quote.quote_id, { permit2_signature });
  return { built, receipt: await mined(wallet, await send(braid, wallet, quote, built)) };
}

/** Waits for a transaction that must succeed. */
export async function mined(wallet: Wallet, hash: Hash): Promise<TransactionReceipt> {
  let other: Hash | null = null;
  // a transaction with a higher fee is the same one; another one took its nonce, and would be told of as a success
  const onReplaced = ({ reason, transaction }: ReplacementReturnType) => {
    if (reason !== "repriced") other = transaction.hash;
  };
  const receipt = await waitForTransactionReceipt(wallet, { hash, onReplaced });
  if (other !== null) throw new Replaced(`the transaction ${hash} was not mined: ${other} took its place`);
  if (receipt.status !== "success") throw new Reverted(`the transaction ${hash} reverted`);
  return receipt;
}

function refuse({ proxy }: Braid, { account, chain }: Wallet, quote: Quote, { simulation, transaction, warnings }: Built): void {
  refuseWithoutProxy(warnings);
  if (chain.id !== transaction.chain_id) throw new Unsendable(`the transaction is of chain ${transaction.chain_id}, the wallet of chain ${chain.id}`);
  if (!sameAddress(account.address, transaction.from)) throw new Unsendable(`the transaction is of ${transaction.from}, the wallet of ${account.address}`);
  const { to, data } = transaction;
  if (!sameAddress(to, proxy)) throw new Unsendable(`the transaction is to ${to}, not to the execution proxy ${proxy}`);
  const order = orderOf(hex(data));
  if (order === null) throw new Unsendable(`the transaction calls ${data.slice(0, 10)}, which is no swap of the execution proxy`);
  refuseOtherOrder(quote, order);
  if (simulation?.status !== "reverted") return;
  throw new Reverted(`the simulation reverted: ${simulation.revert?.message ?? "no reason given"}`);
}

/** An order takes no more than its quote says, and pays the quote's recipient no less than its minimums. */
function refuseOtherOrder({ recipient, estimated_inputs, estimated_outputs }: Quote, { pays, minimums, recipient: paid }: Order): void {
  const taken = (token: Address) => pays.filter((one) => sameAddress(one.token, inOrder(token)));
  const known = estimated_inputs.flatMap(({ token }) => taken(token)).length === pays.length;
  const takes = known && estimated_inputs.every(({ token, maximum_amount }) => {
    const [sold, again] = taken(token);
    // a signature takes no ether
    if (sold === undefined) return sameAddress(inOrder(token), ETHER);
    return again === undefined && sold.amount <= BigInt(maximum_amount);
  });
  const gives = estimated_outputs.length === minimums.length && estimated_outputs.every(({ token, minimum_amount }, index) => {
    const bought = minimums[index];
    return bought !== undefined && sameAddress(bought.token, inOrder(token)) && bought.minimum >= BigInt(minimum_amount);
  });
  if (!takes || !gives || !sameAddress(paid, recipient)) throw new Unsendable("the order takes more than the quote says, pays less, or pays somebody else");
}

/** Ether has one name in an order; a quote gives it as it was asked for, which may be the zero address. */
function inOrder(token: Address): Address {
  return BigInt(token) === 0n ? ETHER : token;
}

/** An address without code keeps the ether that it is sent, and the transaction succeeds; other code may take what is approved. */
function refuseWithoutProxy(warnings: Quote["warnings"]): void {
  const warning = warnings.find(({ code }) => code === "PROXY_NOT_DEPLOYED");
  if (warning !== undefined) throw new Unsendable(warning.message);
}

/** Whoever answers in the service's place could name a transfer as an approval, or an account of its own as the spender. */
function refuseOtherCalls({ proxy }: Braid, { token, spender, transactions }: Approval): void {
  if (!sameAddress(spender, PERMIT2)) refuseOtherSpender(spender, proxy);
  for (const { to, data, value } of transactions) {
    if (!sameAddress(to, token) || BigInt(value) !== 0n || approved(hex(data)) !== spender.toLowerCase()) {
      throw new Unsendable(`a transaction of the approvals is not an approval of ${spender} to take ${token}`);
    }
  }
}

/** A bundle is the approvals of the proxy or of Permit2, and then the transaction. */
function refuseOtherBundles({ calls, transaction }: Built): void {
  const spenders = [transaction.to, PERMIT2].map((address) => address.toLowerCase());
  const swap = calls.at(-1);
  const isSwap = swap !== undefined && sameAddress(swap.to, transaction.to) && swap.data === transaction.data && BigInt(swap.value) === BigInt(transaction.value);
  const areApprovals = calls.slice(0, -1).every(({ data, value }) => BigInt(value) === 0n && spenders.includes(approved(hex(data)) ?? ""));
  if (!isSwap || !areApprovals) throw new Unsendable("the calls are not approvals and the transaction");
}

/** Gives who may take a token after a call, in lower case; `null` where the call does something else. */
function approved(data: Hex): string | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi: erc20Abi, data });
    return functionName === "approve" ? args[0].toLowerCase() : null;
  } catch {
    return null;
  }
}

/** A signature lets its spender take the tokens. */
function refuseOtherPermit({ proxy }: Braid, permit2: NonNullable<Quote["permit2"]>): void {
  refuseOtherSpender(terms(permit2).spender, proxy);
}

function refuseOtherSpender(spender: string, proxy: Address): void {
  if (!sameAddress(spender, proxy)) throw new Unsendable(`${spender} would take the tokens, which is not the execution proxy ${proxy}`);
}

/** What is approved must be of Permit2, and what is signed of it and the proxy, before anything is sent. */
function refuseOtherThanPermit2(braid: Braid, permit2: NonNullable<Quote["permit2"]>): void {
  refuseOtherPermit(braid, permit2);
  const other = permit2.approvals.find(({ spender }) => !sameAddress(spender, PERMIT2));
  if (other !== undefined) throw new Unsendable(`an approval is not of Permit2 but of ${other.spender}`);
}

function hex(data: string): Hex {
  if (!isHex(data)) throw new TypeError("calldata is not hex");
  return data;
}
