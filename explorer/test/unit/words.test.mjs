// What the service refuses is said in the words of the form.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { fieldsOf, wordsOf } = await load("/src/api/words.ts");
after(close);

test("a key that is refused and a key that is missing are told apart", () => {
  assert.match(wordsOf({ code: "API_KEY_INVALID", message: "the API key is unknown, revoked or expired" }), /is not valid: .*revoked/);
  assert.match(wordsOf({ code: "API_KEY_MISSING", message: "send your API key" }), /needs an API key/);
  assert.equal(wordsOf({ code: "HTTP_401", message: "the proxy wants a login" }), "The proxy wants a login.");
});

test("a wrong field has its name in the form, and nothing is said twice", () => {
  const field = (pointer, code, detail) => ({ pointer, code, detail });
  const fields = [
    field("/inputs/0/address", "TOKEN_NOT_FOUND", "no pool that Braid knows holds 0x12"),
    field("/outputs/1/address", "NO_ROUTE_FOUND", "no path through allowed pools, within max_hops and max_steps, leads to this output"),
    field("/outputs/0/ratio_bps", "OUT_OF_RANGE", "must be from 1 to 10000"),
    field("/recipient", "ADDRESS_INVALID", "is the proxy"),
    field("/max_steps", "OUT_OF_RANGE", "must be from 1 to 40"),
  ];
  const said = fieldsOf({ code: "NO_ROUTE_FOUND", message: "5 fields are invalid", fields });
  assert.deepEqual(said.map(({ name }) => name), ["Token to sell 1", "Token to get 2", "Share to get 1", "Recipient", "/max_steps"]);
  assert.equal(said[0].text, "No pool that Braid knows holds 0x12.");
  assert.equal(said[1].text, "", "the problem says it already");
  assert.equal(wordsOf({ code: "VALIDATION_FAILED", message: "2 fields are invalid" }), "The service cannot quote what you ask for.");
});
