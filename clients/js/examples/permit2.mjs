// Signs a swap with Permit2 and shows what is signed before it is.
//
//   BRAID_KEY=… PRIVATE_KEY=0x… node examples/permit2.mjs SELL AMOUNT BUY
import { Braid, terms } from "braid-swap";
import { approve, mined, send, sign } from "braid-swap/viem";
import { connect } from "./wallet.mjs";

const [sell, amount, buy] = process.argv.slice(2);
const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
const wallet = connect();

const quote = await braid.quote({ inputs: [[sell, BigInt(amount)]], outputs: [[buy, 10_000]], taker: wallet.account.address });
const { pays, minimums, recipient } = terms(quote.permit2);
for (const { token, amount } of pays) console.log(`pays ${amount} of ${token}`);
for (const { token, minimum } of minimums) console.log(`${recipient} gets at least ${minimum} of ${token}`);

await approve(braid, wallet, quote.permit2.approvals);
const permit2_signature = await sign(braid, wallet, quote.permit2);
const built = await braid.build(quote.quote_id, { permit2_signature });
const { transactionHash } = await mined(wallet, await send(braid, wallet, quote, built));
console.log(`swapped by ${built.authorization} in ${transactionHash}`);
