// The cost of gas, by tier.
import { useEffect, useState } from "preact/hooks";
import { atomic, dollars, ether } from "../amounts";
import { api } from "../api/client";
import { TIERS, type Network, type Quote } from "../api/types";
import { form } from "../form/request";
import { useStore } from "../store";

const gwei = (wei: number) => `${(wei / 1e9).toLocaleString("en", { maximumFractionDigits: 3 })} gwei`;

/** Reads the tiers' prices for a block. */
function useNetwork(block: number): Network | null {
  const [network, setNetwork] = useState<Network | null>(null);
  useEffect(() => {
    let gone = false;
    void api.network().then((now) => gone || setNetwork(now), () => {});
    return () => void (gone = true);
  }, [block]);
  return network;
}

export function Costs({ quote }: { quote: Quote }) {
  const network = useNetwork(quote.block.number);
  const { tier } = useStore(form);
  const { costs } = quote;
  const wei = atomic(costs.gas_cost_wei) ?? 0n;
  const dollarsPerWei = costs.gas_cost_usd !== null && wei > 0n ? costs.gas_cost_usd / Number(wei) : null;
  const of = (name: (typeof TIERS)[number]) => {
    if (name === costs.gas_priority) return { wei, most: costs.max_fee_per_gas };
    const price = network?.gas_prices[name];
    if (!price) return null;
    const each = BigInt(costs.base_fee_per_gas) + BigInt(price.max_priority_fee_per_gas);
    return { wei: BigInt(costs.total_gas_units) * each, most: price.max_fee_per_gas };
  };
  return (
    <section class="card" aria-labelledby="costs-title">
      <h2 id="costs-title">Gas: {costs.total_gas_units.toLocaleString("en")} units</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Tier</th>
            <th scope="col">Expected cost</th>
            <th scope="col">Most per unit</th>
          </tr>
        </thead>
        <tbody>
          {TIERS.map((name) => {
            const cost = of(name);
            return (
              <tr key={name} class={name === tier ? "chosen" : ""}>
                <th scope="row">
                  <button type="button" class="link" aria-pressed={name === tier} onClick={() => form.set((now) => ({ ...now, tier: name }))}>
                    {name}
                  </button>
                </th>
                <td>
                  {!cost && "…"}
                  {cost && dollarsPerWei !== null && <>{dollars(Number(cost.wei) * dollarsPerWei)} </>}
                  {cost && <span class="second">{ether(cost.wei)}</span>}
                </td>
                <td>{cost ? gwei(cost.most) : "…"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p class="quiet">The limit is {costs.gas_limit.toLocaleString("en")} units; at the highest fee that is {ether(atomic(costs.max_gas_cost_wei) ?? 0n)}.</p>
    </section>
  );
}
