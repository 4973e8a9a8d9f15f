// Approves and swaps as one bundle (EIP-5792). A wallet without bundles sends the calls one after the other.
//
//   BRAID_KEY=… PRIVATE_KEY=0x… node examples/batch-calls.mjs SELL AMOUNT BUY
import { Braid } from "braid-swap";
import { sendCalls } from "braid-swap/viem";
import { waitForCallsStatus } from "viem/actions";
import { connect } from "./wallet.mjs";

const [sell, amount, buy] = process.argv.slice(2);
const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
const wallet = connect();

const quote = await braid.quote({ inputs: [[sell, BigInt(amount)]], outputs: [[buy, 10_000]], taker: wallet.account.address, include_permit2: false });
const built = await braid.build(quote.quote_id);
const id = await sendCalls(braid, wallet, quote, built);
const { status, receipts } = await waitForCallsStatus(wallet, { id, throwOnFailure: true });
console.log(`${built.calls.length} calls, ${receipts.length} transactions: ${status}`);
