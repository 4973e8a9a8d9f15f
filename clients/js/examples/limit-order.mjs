// A limit-order keeper: waits until the market pays at least what the order asks, then swaps and takes its fee.
//
//   BRAID_KEY=… PRIVATE_KEY=0x… node examples/limit-order.mjs SELL AMOUNT BUY LEAST
import { pathToFileURL } from "node:url";
import { Braid } from "braid-swap";
import { swap } from "braid-swap/viem";
import { connect } from "./wallet.mjs";

/** Whether an order can be filled now: the quote, or `null`. The minimum on the chain is the order's own. */
export async function fillable(braid, order) {
  const { sell, amount, buy, least, taker, partner } = order;
  const quote = await braid.quote({
    inputs: [[sell, amount]],
    outputs: [[buy, 10_000]],
    taker,
    slippage_tolerance_bps: 0,
    explain: false,
    partner_fee: partner ?? null,
  });
  const [output] = quote.estimated_outputs;
  return BigInt(output.expected_amount) >= least ? quote : null;
}

/** Fills the order as soon as it can be, or gives up after `attempts` looks. */
export async function keep(braid, wallet, order, { attempts = Infinity, pause = 3_000 } = {}) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      const quote = await fillable(braid, { ...order, taker: wallet.account.address });
      if (quote) return { quote, ...(await swap(braid, wallet, quote)) };
    } catch (problem) {
      // a market that moved on is asked again, anything else is the caller's
      if (problem.code !== "QUOTE_STALE" && !problem.retryable) throw problem;
      if (problem.retryAfterS) await new Promise((done) => setTimeout(done, problem.retryAfterS * 1_000));
    }
    await new Promise((done) => setTimeout(done, pause));
  }
  return null;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [sell, amount, buy, least] = process.argv.slice(2);
  const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
  const wallet = connect();
  const done = await keep(braid, wallet, { sell, amount: BigInt(amount), buy, least: BigInt(least) });
  console.log(`filled in ${done.receipt.transactionHash}`);
}
