// How a quote is sent from a wallet.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { wayOf, waysOf } = await load("/src/wallet/swap.ts");
after(close);

const approval = { satisfied: false };
const permit2 = { approvals: [{ satisfied: true }] };

test("a way that was chosen for another quote is not taken where this one does not have it", () => {
  const ether = { approvals: [], permit2: null };
  const token = { approvals: [approval], permit2 };
  assert.deepEqual(waysOf(ether, true), []);
  assert.deepEqual(waysOf(token, true), ["bundle", "permit2", "approve"]);
  assert.deepEqual(waysOf({ ...token, permit2: null }, false), ["approve"]);
  for (const chosen of ["bundle", "permit2", "approve"]) {
    assert.equal(wayOf(token, true, chosen), chosen);
    assert.equal(wayOf(ether, true, chosen), "approve");
  }
  assert.equal(wayOf({ ...token, permit2: null }, false, "permit2"), "approve");
  assert.equal(wayOf(token, false, "bundle"), "permit2");
  assert.equal(wayOf(token, false, null), "permit2");
});
