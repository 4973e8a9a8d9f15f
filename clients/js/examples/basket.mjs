// Sells several tokens for several others in one transaction.
//
//   BRAID_KEY=… PRIVATE_KEY=0x… node examples/basket.mjs 0xSELL:AMOUNT … 0xBUY=BPS …      (the shares sum to 10,000)
import { Braid } from "braid-swap";
import { swap } from "braid-swap/viem";
import { connect } from "./wallet.mjs";

const words = process.argv.slice(2);
const inputs = words.filter((word) => word.includes(":")).map((word) => word.split(":")).map(([token, amount]) => [token, BigInt(amount)]);
const outputs = words.filter((word) => word.includes("=")).map((word) => word.split("=")).map(([token, bps]) => [token, Number(bps)]);
const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
const wallet = connect();

const quote = await braid.quote({ inputs, outputs, taker: wallet.account.address });
for (const { symbol, expected_amount, ratio_bps, realized_ratio_bps } of quote.estimated_outputs) {
  console.log(`${symbol}: ${expected_amount}, ${realized_ratio_bps} of ${ratio_bps} bps of the value`);
}
const { receipt } = await swap(braid, wallet, quote);
console.log(`swapped in ${receipt.transactionHash}`);
