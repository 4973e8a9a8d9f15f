// Buys exactly an amount for as little as possible, and keeps the receipt that shows that it was the least.
//
//   BRAID_KEY=… PRIVATE_KEY=0x… node examples/exact-output.mjs PAY AMOUNT BUY FOLDER      (addresses, atomic units)
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Braid } from "braid-swap";
import { swap } from "braid-swap/viem";
import { connect } from "./wallet.mjs";

const [pay, amount, buy, folder] = process.argv.slice(2);
const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
const wallet = connect();

// a bigint is an amount to buy, a number would be a share
const quote = await braid.quote({ inputs: [[pay]], outputs: [[buy, BigInt(amount)]], taker: wallet.account.address, ttl_s: 300 });
const [input] = quote.estimated_inputs;
console.log(`${input.expected_amount} of ${input.token}, at most ${input.maximum_amount} (${quote.exact_output.bought})`);
// `braid verify receipt.json --market quote.market` works all of it out again, offline
await writeFile(join(folder, "receipt.json"), await braid.receipt(quote.quote_id));
await writeFile(join(folder, "quote.market"), await braid.market(quote.quote_id));

const { receipt } = await swap(braid, wallet, quote);
console.log(`bought in block ${receipt.blockNumber}`);
