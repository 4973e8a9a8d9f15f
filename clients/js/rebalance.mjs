// A wallet bot: brings a basket of tokens back to its weights with one transaction.
//
//   BRAID_KEY=… PRIVATE_KEY=0x… node rebalance.mjs 0xA0b8…=5000 0xC02a…=3000 0x2260…=2000
import { pathToFileURL } from "node:url";
import { Braid } from "./braid.mjs";
import { Wallet } from "./wallet.mjs";

/** Below this part of the basket a difference is left alone, in basis points. */
const TOLERANCE_BPS = 50;

/** What to sell and buy so that each token has its weight: `{inputs, outputs}`, empty where nothing is off. */
export function plan(tokens) {
  const total = tokens.reduce((sum, token) => sum + token.value, 0);
  const off = tokens.map((token) => ({ ...token, excess: token.value - (total * token.weightBps) / 10_000 }));
  const counts = (part) => (Math.abs(part) / total) * 10_000 >= TOLERANCE_BPS;
  const sold = off.filter((token) => token.excess > 0 && counts(token.excess));
  const bought = off.filter((token) => token.excess < 0 && counts(token.excess));
  const wanted = bought.reduce((sum, token) => sum - token.excess, 0);
  if (!sold.length || !bought.length) return { inputs: [], outputs: [] };
  const inputs = sold.map((token) => {
    const part = BigInt(Math.round((token.excess / token.value) * 1e9));
    return [token.address, (token.balance * part) / 1_000_000_000n];
  });
  const shares = bought.map((token) => Math.max(1, Math.floor((-token.excess / wanted) * 10_000)));
  shares[0] += 10_000 - shares.reduce((sum, share) => sum + share, 0);
  return { inputs, outputs: bought.map((token, index) => [token.address, shares[index]]) };
}

/** The basket as it is: balances, and what they are worth in ether. */
export async function look(braid, owner, weights) {
  const addresses = Object.keys(weights);
  const [balances, { prices_eth }] = [await braid.balances(owner, addresses), await braid.prices(addresses)];
  const rows = addresses.map(async (address) => {
    const [balance, price] = [balances[address] ?? 0n, Number(prices_eth[address] ?? NaN)];
    if (!Number.isFinite(price)) throw new Error(`${address} has no price`);
    const { decimals, symbol } = await braid.token(address);
    return { address, symbol, balance, weightBps: weights[address], value: (Number(balance) / 10 ** decimals) * price };
  });
  return Promise.all(rows);
}

export async function rebalance(braid, wallet, weights) {
  const { inputs, outputs } = plan(await look(braid, wallet.address, weights));
  if (!inputs.length) return null;
  const quote = await braid.quote({ inputs, outputs, taker: wallet.address, slippage_tolerance_bps: 100 });
  return { quote, ...(await wallet.swap(braid, quote)) };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const weights = Object.fromEntries(process.argv.slice(2).map((pair) => [pair.split("=")[0], Number(pair.split("=")[1])]));
  const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
  const wallet = new Wallet({ privateKey: process.env.PRIVATE_KEY, rpc: process.env.RPC_URL });
  const done = await rebalance(braid, wallet, weights);
  console.log(done ? `rebalanced in ${done.receipt.transactionHash}` : "the basket is in balance");
}
