// The form's shares and the body that is sent for it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { asked, addressProblem, evenly, form, NOBODY, turned, withShare } = await load("/src/form/request.ts");
const { linkOf, readLink } = await load("/src/form/link.ts");
const { answers } = await load("/src/quote/live.ts");
const { excludable } = await load("/src/form/settings.tsx");
after(close);

const TOKEN = "0x6B175474E89094C44Da98b954EedeAC495271d0F";

const outputs = (...shares) => shares.map((bps) => ({ token: null, bps }));
const sum = (list) => list.reduce((total, { bps }) => total + bps, 0);

test("shares always sum to 10,000 and none is below one basis point", () => {
  for (const shares of [[5_000, 5_000], [9_998, 1, 1], [3_334, 3_333, 3_333], [1, 1, 1, 1, 1, 9_995], [10_000, 0]]) {
    for (const asked of [-5, 0, 1, 77, 2_500, 9_999, 10_000, 20_000, 33.4]) {
      for (let index = 0; index < shares.length; index += 1) {
        const next = withShare(outputs(...shares), index, asked);
        assert.equal(sum(next), 10_000, `${shares} ${index} ${asked}`);
        assert.ok(next.every(({ bps }) => bps >= 1 && Number.isInteger(bps)), JSON.stringify(next));
      }
    }
  }
  assert.deepEqual(withShare(outputs(5_000, 4_000, 1_000), 0, 7_500).map(({ bps }) => bps), [7_500, 2_000, 500]);
  for (let count = 1; count <= 6; count += 1) assert.equal(sum(evenly(outputs(...new Array(count).fill(0)))), 10_000);
});

test("the first form asks for nobody in particular, and for the wallet once there is one", () => {
  const { body } = asked(form.get(), null);
  assert.equal(body.taker, NOBODY);
  assert.equal(body.inputs[0].amount, "1000000000000000000");
  assert.equal(body.include_permit2, false);
  const wallet = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
  assert.equal(asked(form.get(), wallet).body.taker, wallet);
  assert.equal(asked(form.get(), wallet).body.include_permit2, true);
});

test("an exact output is asked without an input's amount, and only of one token for one other", () => {
  const now = { ...form.get(), exactly: "3000.5" };
  const { body } = asked(now, null);
  assert.deepEqual(body.inputs, [{ chain_id: 1, address: now.inputs[0].token.address }]);
  assert.deepEqual(body.outputs, [{ chain_id: 1, address: now.outputs[0].token.address, amount: "3000500000" }]);
  assert.match(linkOf(now), /#sell=0x[^:]+:&buy=0x[^:]+:10000&exactly=3000\.5$/);
  assert.deepEqual(asked({ ...now, exactly: "" }, null).flaws.outputs, ["Enter an amount."]);
  assert.deepEqual(asked({ ...now, exactly: "0.1234567" }, null).flaws.outputs, ["This token has 6 decimals."]);
  const dai = { token: { ...now.outputs[0].token, address: "0x6B175474E89094C44Da98b954EedeAC495271d0F", symbol: "DAI" }, bps: 5_000 };
  const basket = asked({ ...now, outputs: [{ ...now.outputs[0], bps: 5_000 }, dai] }, null).body;
  assert.equal(basket.inputs[0].amount, "1000000000000000000");
  assert.equal(basket.outputs[0].ratio_bps, 5_000);
});

test("an exact amount in a link counts for one token of each alone, also once the others are removed", async () => {
  const fresh = form.get();
  const [usdc, dai, weth] = ["0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", TOKEN, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"];
  const row = (address) => ({ address, symbol: address.slice(2, 6), name: "", decimals: 6, pool_count: 1 });
  globalThis.sessionStorage = { getItem: () => null };
  globalThis.fetch = async (path) => Response.json({ data: { tokens: [row(new URLSearchParams(path.split("?")[1]).get("search"))] } });
  const read = async (hash) => (await readLink(hash), form.get());
  assert.equal((await read(`#sell=${usdc}:&buy=${weth}:10000&exactly=5`)).exactly, "5");
  assert.equal((await read(`#sell=${usdc}:1,${dai}:1&buy=${weth}:10000&exactly=5`)).exactly, null);
  assert.equal((await read(`#sell=${usdc}:1&buy=${weth}:5000,${dai}:5000&exactly=5`)).exactly, null);
  form.set(fresh);
});

test("a link that is opened last is the one that stays, whichever tokens come first", async () => {
  const fresh = form.get();
  const [usdc, weth] = ["0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"];
  const row = (address) => ({ address, symbol: address.slice(2, 6), name: "", decimals: 6, pool_count: 1 });
  const waiting = [];
  globalThis.sessionStorage = { getItem: () => null };
  globalThis.fetch = (path) => new Promise((answer) => waiting.push(() => answer(Response.json({ data: { tokens: [row(new URLSearchParams(path.split("?")[1]).get("search"))] } }))));
  const [first, last] = [readLink(`#sell=${usdc}:1&buy=${weth}:10000`), readLink(`#sell=${weth}:2&buy=${TOKEN}:10000`)];
  assert.equal(waiting.length, 4);
  waiting.slice(2).forEach((answer) => answer());
  await last;
  waiting.slice(0, 2).forEach((answer) => answer());
  await first;
  const { inputs, outputs } = form.get();
  assert.deepEqual([inputs[0].token.address, inputs[0].text, outputs[0].token.address], [weth, "2", TOKEN]);
  form.set(fresh);
});

test("a swap that is turned around keeps the amount with its token", () => {
  const sale = form.get();
  const bought = turned(sale);
  assert.deepEqual([bought.inputs[0].token.symbol, bought.outputs[0].token.symbol, bought.exactly], ["USDC", "ETH", "1"]);
  const back = turned({ ...sale, ...bought });
  assert.deepEqual([back.inputs[0].token.symbol, back.inputs[0].text, back.exactly], ["ETH", "1", null]);
});

test("a quote answers the request that it was asked with, and no other", () => {
  const { body } = asked(form.get(), null);
  const state = { quote: {}, body };
  assert.ok(answers(state, { ...body }));
  assert.ok(!answers(state, null) && !answers({ quote: null, body }, body));
  const [input] = body.inputs;
  for (const other of [{ inputs: [{ ...input, amount: "2" }] }, { taker: TOKEN }, { slippage_tolerance_bps: 1 }]) assert.ok(!answers(state, { ...body, ...other }));
});

test("every wrong field is told at once", () => {
  const now = form.get();
  const [eth] = now.inputs;
  const wrong = { ...now, inputs: [eth, { ...eth, text: "" }], outputs: [{ ...eth, bps: 10_000 }], recipient: "0x12" };
  const { body, flaws } = asked(wrong, null);
  assert.equal(body, null);
  assert.deepEqual(flaws.inputs, [null, "ETH is listed twice."]);
  assert.deepEqual(flaws.outputs, ["ETH is sold already."]);
  assert.ok(flaws.recipient);
  // a token's maker chooses its symbol: marks that turn the direction of the sentence are not repeated
  const odd = { token: { ...eth.token, symbol: "\u202eHTE" }, text: "1" };
  assert.deepEqual(asked({ ...now, inputs: [odd, odd] }, null).flaws.inputs, [null, "HTE is listed twice."]);
});

test("a mistyped checksum is refused, an address without one is not", () => {
  assert.equal(addressProblem("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"), null);
  assert.equal(addressProblem("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), null);
  assert.match(addressProblem("0xF39fd6e51aad88F6F4ce6aB8827279cffFb92266"), /checksum/);
});

test("the wrapping of ether, which the service does not exclude, is not offered", () => {
  const families = ["wrapped_ether", "uniswap", "lido"].map((name) => ({ name, products: [] }));
  assert.deepEqual(excludable(families).map(({ name }) => name), ["uniswap", "lido"]);
});
