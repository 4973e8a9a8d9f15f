// Compares what a swap costs: at each gas tier, and by a single route instead of a split one.
//
//   BRAID_KEY=… node examples/compare-costs.mjs TAKER SELL AMOUNT BUY
import { formatEther, formatUnits } from "viem";
import { Braid } from "braid-swap";

const [taker, sell, amount, buy] = process.argv.slice(2);
const braid = new Braid({ base: process.env.BRAID_API, key: process.env.BRAID_KEY });
const request = { inputs: [[sell, BigInt(amount)]], outputs: [[buy, 10_000]], taker, explain: true };
const tiers = ["slow", "standard", "fast", "urgent"];
const quotes = await Promise.all(tiers.map((gas_priority) => braid.quote({ ...request, gas_priority })));

for (const { costs, estimated_outputs: [output], path } of quotes) {
  const gets = `${formatUnits(BigInt(output.expected_amount), output.decimals)} ${output.symbol}`;
  const [gas, most] = [costs.gas_cost_wei, costs.max_gas_cost_wei].map((wei) => formatEther(BigInt(wei)));
  console.log(`${costs.gas_priority}: ${gets} in ${path.steps.length} steps, gas ${gas} ETH, at most ${most} ETH`);
}
const [{ explanation, certificate }] = quotes;
const single = explanation.best_single_route;
if (single && explanation.splitting) console.log(`a single route: ${explanation.splitting.bps} bps less, net of gas`);
if (certificate) console.log(`no route pays more than ${certificate.gap_bps} bps more`);
