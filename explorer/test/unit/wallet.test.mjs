// How a quote is sent from a wallet.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { start, swap, wayOf, waysOf } = await load("/src/wallet/swap.ts");
const { hindrance } = await load("/src/wallet/send.tsx");
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

test("no approval is asked for where the proxy is not deployed", () => {
  globalThis.sessionStorage = { getItem: () => "key" };
  const [taker, body] = ["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", { inputs: [] }];
  const quote = { taker, ttl_ms: 120_000, issues: { balance: [] }, simulation: null, warnings: [] };
  const why = (changed) => hindrance({ state: { quote: { ...quote, ...changed }, body, problem: null, atMs: 0 }, now: 0, body }, taker);
  assert.equal(why({}), null);
  assert.match(why({ warnings: [{ code: "PROXY_NOT_DEPLOYED", message: "" }] }), /not deployed/);
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

/** What becomes of a swap of ether that was sent, by what the node says. */
async function sent(answers) {
  const [hash, other, blockHash] = ["aa", "bb", "cc"].map((byte) => `0x${byte.repeat(32)}`);
  const document = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8"));
  const build = { ...document.paths["/v1/build"].post.responses["200"].content["application/json"].example.data, simulation: null, issues: { balance: [] } };
  globalThis.sessionStorage = { getItem: () => null };
  globalThis.fetch = async () => Response.json({ data: build });
  const { from, to } = build.transaction;
  const fields = { from, to, input: build.transaction.data, value: "0x0", nonce: "0x1", gas: "0x5208", gasPrice: "0x1", type: "0x2", chainId: "0x1", v: "0x0", r: "0x1", s: "0x1" };
  const pending = { ...fields, hash, blockHash: null, blockNumber: null, transactionIndex: null };
  const mined = { blockHash, blockNumber: "0x5", transactionIndex: "0x0" };
  const own = {
    eth_chainId: () => "0x1",
    eth_sendTransaction: () => hash,
    eth_blockNumber: () => "0x5",
    eth_getTransactionByHash: () => pending,
    eth_getTransactionReceipt: ([of]) => (of === other ? { ...mined, transactionHash: other, status: "0x1", type: "0x2", from, to, logs: [], gasUsed: "0x1", cumulativeGasUsed: "0x1", effectiveGasPrice: "0x1" } : null),
    eth_getBlockByNumber: () => ({ number: "0x5", hash: blockHash, timestamp: "0x1", transactions: [{ ...pending, ...mined, hash: other, to: from, input: "0x" }] }),
    ...answers,
  };
  const provider = { request: async ({ method, params }) => (own[method] ?? (() => assert.fail(method)))(params) };
  account.set({ ...account.get(), wallet: { id: "w", name: "w", icon: null, provider }, address: from, chainId: 1 });
  await start({ taker: from, recipient: from, approvals: [], permit2: null, path: { tokens: [] } }, "approve");
  const { problem, isOpen, paid } = swap.get();
  return { problem, isOpen, paid };
}

test("a swap that was cancelled in the wallet is not told of as made", async () => {
  const { problem, isOpen, paid } = await sent({});
  assert.match(problem, /was cancelled/);
  assert.deepEqual([isOpen, paid], [false, null]);
});

test("a swap that was sent and whose receipt cannot be read is not told of as not made", async () => {
  const gone = () => Promise.reject(Object.assign(new Error("gone"), { code: 4900 }));
  const { problem, isOpen, paid } = await sent({ eth_getTransactionReceipt: gone });
  assert.deepEqual([problem, isOpen, paid], ["The wallet is disconnected.", true, null]);
  assert.equal((await sent({ eth_sendTransaction: gone })).isOpen, false);
});
