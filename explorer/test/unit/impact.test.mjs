// What a swap loses is said in per cent and dollars, and a large loss is confirmed.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { about, gasNote, impactOf, impactText, levelOf, lossNote, lossOf, mustConfirm } = await load("/src/quote/impact.ts");
const { warningsOf } = await load("/src/quote/warnings.ts");
after(close);

const quote = (bps, { usd = 3_000, price = { value: "1" }, warnings = [] } = {}) => ({
  total_price_impact_bps: bps,
  estimated_inputs: [{ token: "0xIn", symbol: "IN", decimals: 18, expected_amount: `${10n ** 19n}` }],
  estimated_outputs: [{ token: "0xOut", symbol: "OUT", decimals: 6, expected_amount: "3000000000", usd_value: usd, reference_price: price }],
  warnings,
});

test("a loss warns from 5% on, and is confirmed from 10% on or where it is unknown", () => {
  for (const [bps, level] of [[-40, "small"], [0, "small"], [499, "small"], [500, "warn"], [999, "warn"], [1_000, "confirm"], [10_000, "confirm"], [null, "unknown"]]) {
    assert.equal(levelOf(bps), level, `${bps}`);
    assert.equal(mustConfirm(quote(bps)), level === "confirm" || level === "unknown", `${bps}`);
    assert.equal(lossNote(quote(bps), lossOf(quote(bps))) === null, level === "small", `${bps}`);
  }
});

test("a loss is said in per cent and in dollars, if they are known", () => {
  assert.equal(lossOf(quote(9_000)).text, "90% (about $27,000)");
  assert.deepEqual([lossOf(quote(9_000)).sold, lossOf(quote(9_000)).got], [30_000, 3_000]);
  assert.equal(lossOf(quote(1_234, { usd: null })).text, "12.34%");
  // so near to everything the quote's basis points are too coarse: only prices say what was sold
  assert.equal(lossOf(quote(9_999)).text, "99.99%");
  assert.equal(lossOf(quote(9_999), { "0xIn": 299 }).text, "99.99%", "prices that moved meanwhile");
  assert.equal(lossOf(quote(9_999, { usd: 3 }), { "0xIn": 3_000 }).text, "99.99% (about $29,997)");
  assert.equal(lossOf(quote(9_999), {}).text, "99.99%");
  assert.equal(impactText(10_000), "more than 99.99%");
  assert.deepEqual([about(99.5), about(100.4), about(null)], ["about $99.50", "about $100", null]);
});

test("one of several outputs that loses much is confirmed, however little all of them lose", () => {
  const basket = (total, ...losses) => ({
    ...quote(total),
    estimated_outputs: losses.map((bps, at) => ({ ...quote(0).estimated_outputs[0], symbol: `OUT${at}`, token: `0x${at}`, usd_value: 400, price_impact_bps: bps })),
  });
  const bad = basket(300, 20, 6_000);
  assert.ok(mustConfirm(bad));
  assert.match(lossNote(bad, lossOf(bad)), /^You lose 60% \(about \$600\) on OUT1 against/);
  assert.deepEqual([mustConfirm(basket(300, 20, 700)), levelOf(impactOf(basket(300, 20, 700)).bps)], [false, "warn"]);
  assert.equal(lossNote(basket(30, 20, 40), lossOf(basket(30, 20, 40))), null);
  // where all together lose as seriously, their loss is said
  assert.match(lossNote(basket(2_000, 1_000, 3_000), lossOf(basket(2_000, 1_000, 3_000))), /^You lose 20% \(about \$200\) against/);
});

test("an unknown loss names the token without a price", () => {
  assert.match(lossNote(quote(null, { price: null }), lossOf(quote(null))), /unknown: the service has no price for OUT\./);
  assert.match(lossNote(quote(null), lossOf(quote(null))), /no price for a token that you sell\./);
});

test("no warning speaks of basis points, and one that the page does not know is a sentence", () => {
  const warnings = [
    { code: "HIGH_PRICE_IMPACT", message: "the trade pays 90.00% less than the reference prices" },
    { code: "RATIO_NOT_MET", message: "value shares in basis points are not those asked for: output 0 is 5903.12 instead of 6000" },
    { code: "QUOTE_NOT_ON_DISK", message: "the service's disk did not take this quote in time" },
  ];
  const texts = warningsOf(quote(9_000, { warnings }));
  assert.equal(texts.length, 2);
  assert.ok(!/basis points/.test(texts.join()), texts.join());
  assert.equal(texts[1], "The service's disk did not take this quote in time.");
  assert.deepEqual(warningsOf({ warnings: [{ code: "X", message: "\u202E" }] }), []);
  assert.match(lossNote(quote(9_000), lossOf(quote(9_000))), /90% \(about \$27,000\)/);
});

test("gas that costs much of what arrives is warned of", () => {
  const note = (gas, got) => gasNote({ costs: { gas_cost_usd: gas }, estimated_outputs: [{ usd_value: got }] });
  assert.equal(note(0.99, 10), null);
  assert.equal(note(4.1, 10), "Gas costs about $4.10, 41% of what you get.");
  assert.equal(note(20, 10), "Gas costs about $20, more than all that you get is worth.");
  assert.deepEqual([note(null, 10), note(20, null), note(0, 0)], [null, null, null]);
});
