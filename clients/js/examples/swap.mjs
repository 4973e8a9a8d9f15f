// Swaps one token for another: quote, approve or sign, build, send.
//
//   BRAID_KEY=… PRIVATE_KEY=0x… node examples/swap.mjs SELL AMOUNT BUY      (addresses, atomic units)
import { Braid } from "braid-swap";
import { authorize, mined, send } from "braid-swap/viem";
import { connect } from "./wallet.mjs";

const [sell, amount, buy] = process.argv.slice(2);
const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
const wallet = connect();

const quote = await braid.quote({ inputs: [[sell, BigInt(amount)]], outputs: [[buy, 10_000]], taker: wallet.account.address });
const permit2_signature = await authorize(braid, wallet, quote);
const built = await braid.build(quote.quote_id, { permit2_signature, simulate: true });
const hash = await send(braid, wallet, quote, built);
const receipt = await mined(wallet, hash);

const [output] = built.estimated_outputs;
console.log(`${output.expected_amount} of ${output.token} in block ${receipt.blockNumber}, ${receipt.gasUsed} gas`);
