// A wallet bot: brings a basket of tokens back to its weights with one transaction.
//
//   BRAID_KEY=… PRIVATE_KEY=0x… node examples/rebalance.mjs 0xA0b8…=5000 0xC02a…=3000 0x2260…=2000
import { pathToFileURL } from "node:url";
import { getAddress } from "viem";
import { Braid } from "braid-swap";
import { swap } from "braid-swap/viem";
import { connect } from "./wallet.mjs";

/** Below this part of the basket a difference is left alone, in basis points. */
const TOLERANCE_BPS = 50;

/**
 * What to sell and buy so that each token has its weight once `cost` (in ether) is spent on the trade:
 * `{inputs, outputs}`, empty where nothing is off.
 */
export function plan(tokens, cost = 0) {
  const total = tokens.reduce((sum, token) => sum + token.value, 0);
  const left = total - cost;
  const off = tokens.map((token) => ({ ...token, excess: token.value - (left * token.weightBps) / 10_000 }));
  const counts = (part) => (Math.abs(part) / total) * 10_000 >= TOLERANCE_BPS;
  const sold = off.filter((token) => token.excess > 0 && counts(token.excess));
  const bought = off.filter((token) => token.excess < 0 && counts(token.excess));
  const wanted = bought.reduce((sum, token) => sum - token.excess, 0);
  if (!sold.length || !bought.length) return { inputs: [], outputs: [] };
  const inputs = sold.map((token) => {
    const part = BigInt(Math.round((token.excess / token.value) * 1e9));
    return [token.address, (token.balance * part) / 1_000_000_000n];
  });
  const shares = wholeShares(bought.map((token) => (-token.excess / wanted) * 10_000));
  return { inputs, outputs: bought.map((token, index) => [token.address, shares[index]]) };
}

/** Shares in whole basis points that sum to 10,000: each rounded down, the rest to those that lost most by it. */
function wholeShares(exact) {
  const shares = exact.map((share) => Math.max(1, Math.floor(share)));
  const byLoss = exact.map((share, index) => index).sort((a, b) => exact[b] - shares[b] - (exact[a] - shares[a]));
  let rest = 10_000 - shares.reduce((sum, share) => sum + share, 0);
  for (let turn = 0; rest !== 0; turn++, rest -= Math.sign(rest)) shares[byLoss[turn % byLoss.length]] += Math.sign(rest);
  return shares;
}

/** The basket as it is: balances, and what they are worth in ether. `weights` are basis points by EIP-55 address. */
export async function look(braid, owner, weights) {
  const addresses = Object.keys(weights);
  const [balances, { prices_eth }] = [await braid.balances(owner, addresses), await braid.prices(addresses)];
  const rows = addresses.map(async (address) => {
    const [balance, price] = [balances[address] ?? 0n, Number(prices_eth[address] ?? NaN)];
    if (!Number.isFinite(price)) throw new Error(`${address} has no price`);
    const { decimals, symbol } = (await braid.tokens(address))[0];
    const unit = price / 10 ** decimals;
    return { address, symbol, unit, balance, weightBps: weights[address], value: Number(balance) * unit };
  });
  return Promise.all(rows);
}

/** A quote that brings the basket to its weights, what the trade costs included; `null` where nothing is off. */
export async function propose(braid, taker, tokens) {
  let quote = null;
  // the first quote tells what the trade costs, the second is for what is left after it
  for (let cost = 0, round = 0; round < 2; round++) {
    const { inputs, outputs } = plan(tokens, cost);
    if (!inputs.length) return null;
    quote = await braid.quote({ inputs, outputs, taker, slippage_tolerance_bps: 100 });
    cost = spent(tokens, quote);
  }
  return quote;
}

/** What a quote gives away of the basket's value, in ether at the prices of `tokens`: fees and impact, without gas. */
function spent(tokens, quote) {
  const units = Object.fromEntries(tokens.map((token) => [token.address, token.unit]));
  const given = quote.inputs.reduce((sum, input) => sum + Number(input.amount) * units[input.address], 0);
  const got = quote.estimated_outputs.reduce((sum, out) => sum + Number(out.expected_amount) * units[out.token], 0);
  return given - got;
}

export async function rebalance(braid, wallet, weights) {
  const tokens = await look(braid, wallet.account.address, weights);
  const quote = await propose(braid, wallet.account.address, tokens);
  return quote && { tokens, quote, ...(await swap(braid, wallet, quote)) };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const pairs = process.argv.slice(2).map((pair) => pair.split("="));
  const weights = Object.fromEntries(pairs.map(([token, weight]) => [getAddress(token), Number(weight)]));
  const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
  const wallet = connect();
  const done = await rebalance(braid, wallet, weights);
  console.log(done ? `rebalanced in ${done.receipt.transactionHash}` : "the basket is in balance");
}
