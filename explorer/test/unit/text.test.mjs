// Names that strangers chose become one short line of text.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { clean, short, symbolOf } = await load("/src/text.ts");
const { codeOf, said, bundleRefused } = await load("/src/wallet/errors.ts");
const { snippets } = await load("/src/quote/code.tsx");
after(close);

test("controls, marks of direction and invisible letters go", () => {
  assert.equal(clean("a\u202Eb\u2066c\u0000d\ne\u200Bf\uFEFFg", 20), "abcdefg");
  assert.equal(clean("  two\t\t words ", 20), "two words");
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
