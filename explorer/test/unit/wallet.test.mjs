// How a quote is sent from a wallet.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { start, swap, wayOf, waysOf } = await load("/src/wallet/swap.ts");
const { account } = await load("/src/wallet/account.ts");
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

test("a quote of another account than the wallet's is not sent", async () => {
  const [one, other] = ["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"];
  const asked = [];
  const provider = { request: async ({ method }) => (asked.push(method), method === "eth_chainId" ? "0x1" : assert.fail(method)) };
  account.set({ ...account.get(), wallet: { id: "w", name: "w", icon: null, provider }, address: other, chainId: 1 });
  const call = { to: one, data: "0x095ea7b3", value: "0" };
  const approvals = [{ token: one, satisfied: false, transactions: [call] }];
  await start({ taker: one, recipient: one, approvals, permit2: null, path: { tokens: [] } }, "approve");
  assert.match(swap.get().problem, /account was changed, so nothing was sent/);
  assert.deepEqual(asked, []);
});
