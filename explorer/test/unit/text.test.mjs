// Names that strangers chose become one short line of text.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { clean, short, symbolOf } = await load("/src/text.ts");
const { codeOf, said, bundleRefused } = await load("/src/wallet/errors.ts");
const { snippets } = await load("/src/quote/code.tsx");
const { purchaseNote } = await load("/src/quote/outputs.tsx");
const { familyName, familyOf, productName } = await load("/src/families.ts");
after(close);

test("an exact output says what becomes of the maximum, for ether and for tokens", () => {
  const [ether, usdc] = ["0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"];
  assert.match(purchaseNote("exactly", ether), /carries all of it; .* comes back/);
  assert.match(purchaseNote("exactly", usdc), /Only what the amount costs .* is taken/);
  for (const token of [ether, usdc]) assert.match(purchaseNote("at_least", token), /All of it is sold.* goes to the recipient/);
});

test("every product has a colour and a name, one that the page does not know too", () => {
  assert.deepEqual([familyOf("metamorpho"), productName("metamorpho"), familyName("erc4626")], ["morpho", "MetaMorpho", "ERC-4626"]);
  assert.deepEqual([familyOf("new_dex"), productName("new_dex"), familyName("other")], ["other", "new dex", "Other"]);
});

test("controls, marks of direction and invisible letters go", () => {
  assert.equal(clean("a\u202Eb\u2066c\u0000de\u200Bf\uFEFFg", 20), "abcdefg");
  assert.equal(clean("  two\t\t words ", 20), "two words");
  for (const end of ["\n", "\r\n", "\u0085", "\u2028", "\u2029"]) assert.equal(clean(`${end}one${end}two${end}`, 20), "one two");
});

test("a name of any length is cut between letters", () => {
  assert.equal(clean("x".repeat(10_000), 12), `${"x".repeat(11)}…`);
  assert.equal(Array.from(clean("😀".repeat(50), 5)).length, 5);
  assert.ok(clean(`Z${"\u0301".repeat(500)}`, 40).length < 5);
  assert.equal(clean(undefined, 5), "");
  assert.equal(clean({ toString: () => "no" }, 5), "");
});

test("a token whose symbol nobody can see is named by its address", () => {
  assert.equal(symbolOf({ symbol: "\u200B\u202E", address: "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599" }), "0x2260…C599");
  assert.equal(short("0x12"), "0x12");
});

test("a wallet's refusal is found however deep a library wrapped it", () => {
  const wrapped = { name: "outer", cause: { code: -32603, cause: { code: 5760 } } };
  assert.equal(codeOf(wrapped), 5760);
  assert.ok(bundleRefused(wrapped));
  assert.match(said({ cause: { code: 4001 } }), /rejected this in your wallet/);
  assert.ok(!bundleRefused({ code: 4001 }));
  assert.equal(said({ message: "x".repeat(1_000) }).length, 240);
  const circle = {};
  circle.cause = circle;
  assert.equal(codeOf(circle), null);
});

test("the request as code holds the request, whatever is in it", () => {
  const body = { taker: "0x1", note: "it's $HOME `x`" };
  const [[, curl], [, typescript], [, rust]] = snippets(body, "http://127.0.0.1:8080");
  assert.ok(curl.includes(`'\\''`) && !/it's/.test(curl));
  for (const text of [typescript, rust]) assert.ok(text.includes('"taker": "0x1"'));
});
