// The clients on a running demo (BRAID_API, BRAID_KEY, RPC_URL): what strangers would write, with a real wallet library.
import assert from "node:assert/strict";
import { test } from "node:test";
import { erc20Abi, verifyTypedData } from "viem";
import { Braid, ETHER, Problem } from "../braid.mjs";
import { Wallet } from "../wallet.mjs";
import { fillable, keep } from "../limit-order.mjs";
import { look, plan, rebalance } from "../rebalance.mjs";

// the first account of every local chain: public, worth nothing
const privateKey = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const base = process.env.BRAID_API ?? "http://127.0.0.1:8080";
const braid = new Braid({ base, key: process.env.BRAID_KEY ?? "demo-key" });
const wallet = new Wallet({ privateKey, rpc: process.env.RPC_URL });
const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F";
const WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const WBTC = "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599";

const holds = (token, owner = wallet.address) =>
  wallet.reader.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [owner] });

/** Waits until the service has seen a block. */
async function follow(blockNumber) {
  while (BigInt((await braid.ready()).block.number) < blockNumber) await new Promise((done) => setTimeout(done, 50));
}

/** Swaps by signature and checks every amount to the wei. */
async function settles(inputs, outputs) {
  const quote = await braid.quote({ inputs, outputs, taker: wallet.address });
  await wallet.approve(quote.permit2.approvals);
  const { types, domain, primaryType, message } = quote.permit2.eip712;
  const { EIP712Domain, ...own } = types;
  const signature = await wallet.sign(quote.permit2);
  assert.ok(await verifyTypedData({ address: wallet.address, domain, types: own, primaryType, message, signature }));
  const before = await Promise.all([...inputs, ...outputs].map(([token]) => holds(token)));
  const { built, receipt } = await wallet.swap(braid, quote);
  assert.equal(built.authorization, "permit2");
  const after = await Promise.all([...inputs, ...outputs].map(([token]) => holds(token)));
  inputs.forEach(([, amount], index) => assert.equal(before[index] - after[index], BigInt(amount)));
  built.estimated_outputs.forEach((output, index) => {
    const at = inputs.length + index;
    assert.equal(after[at] - before[at], BigInt(output.expected_amount));
  });
  await follow(receipt.blockNumber);
  return { quote, signature };
}

test("one input, signed by a wallet library, pays to the wei; the signature counts once", async () => {
  const { quote, signature } = await settles([[USDC, 1_000_000_000n]], [[WETH, 10_000]]);
  const again = await braid.build(quote.quote_id, { permit2_signature: signature }).catch((problem) => problem);
  // the market has moved: stale, or built with the warning that its nonce is used
  const known = again instanceof Problem ? [again.code] : again.warnings.map((warning) => warning.code);
  assert.ok(known.includes("QUOTE_STALE") || known.includes("PERMIT2_NONCE_USED"), String(known));
});

test("several inputs are one signature", async () => {
  await settles([[USDC, 500_000_000n], [DAI, 400_000_000_000_000_000_000n]], [[WETH, 10_000]]);
});

test("a signature of another account is refused", async () => {
  const quote = await braid.quote({ inputs: [[USDC, 1_000_000n]], outputs: [[WETH, 10_000]], taker: wallet.address });
  const other = new Wallet({ privateKey: "0x" + "11".repeat(32), rpc: process.env.RPC_URL });
  const permit2_signature = await other.sign(quote.permit2);
  const problem = await braid.build(quote.quote_id, { permit2_signature }).catch((problem) => problem);
  assert.equal(problem.code, "PERMIT2_SIGNATURE_INVALID");
  assert.equal(problem.errors[0].pointer, "/permit2_signature");
});

test("ether needs no signature", async () => {
  const quote = await braid.quote({ inputs: [[ETHER, 10n ** 17n]], outputs: [[USDC, 10_000]], taker: wallet.address });
  assert.equal(quote.permit2, null);
  const before = await holds(USDC);
  const { built, receipt } = await wallet.swap(braid, quote);
  assert.equal(built.authorization, "native");
  assert.equal((await holds(USDC)) - before, BigInt(quote.estimated_outputs[0].expected_amount));
  await follow(receipt.blockNumber);
});

test("a keeper waits for its price, then fills and takes a partner's fee", async () => {
  const partner = { partner_fee_bps: 25, partner_recipient: "0x00000000000000000000000000000000000b0b0b" };
  const order = { sell: USDC, amount: 300_000_000n, buy: WETH, taker: wallet.address, partner };
  assert.equal(await fillable(braid, { ...order, least: 10n ** 24n }), null);
  assert.equal(await keep(braid, wallet, { ...order, least: 10n ** 24n }, { attempts: 2, pause: 0 }), null);
  const [paid, before] = [await holds(USDC, partner.partner_recipient), await holds(WETH)];
  const { quote, receipt } = await keep(braid, wallet, { ...order, least: 1n }, { attempts: 3, pause: 0 });
  assert.equal((await holds(USDC, partner.partner_recipient)) - paid, 750_000n);
  assert.equal((await holds(WETH)) - before, BigInt(quote.estimated_outputs[0].expected_amount));
  await follow(receipt.blockNumber);
});

test("a plan sells what is too much for what is too little", () => {
  const token = (address, value, weightBps) => ({ address, value, weightBps, balance: BigInt(value * 1e6) });
  const { inputs, outputs } = plan([token("a", 70, 5_000), token("b", 20, 3_000), token("c", 10, 2_000)]);
  assert.deepEqual(inputs, [["a", 19_999_999n]].map(([t]) => [t, inputs[0][1]]));
  assert.ok(inputs[0][1] > 19_900_000n && inputs[0][1] <= 20_000_000n);
  assert.deepEqual(outputs.map(([t]) => t), ["b", "c"]);
  assert.equal(outputs.reduce((sum, [, share]) => sum + share, 0), 10_000);
  assert.deepEqual(plan([token("a", 50.1, 5_000), token("b", 49.9, 5_000)]), { inputs: [], outputs: [] });
});

test("a bot brings a basket to its weights", async () => {
  const owner = new Wallet({ privateKey: "0x" + "22".repeat(32), rpc: process.env.RPC_URL });
  await wallet.send({ to: owner.address, value: 10n ** 18n });
  const abi = erc20Abi;
  for (const [address, amount] of [[USDC, 3_000_000_000n], [DAI, 1_000n * 10n ** 18n]]) {
    const args = [owner.address, amount];
    const hash = await wallet.sender.writeContract({ address, abi, functionName: "transfer", args });
    await follow((await wallet.reader.waitForTransactionReceipt({ hash, pollingInterval: 100 })).blockNumber);
  }
  const weights = { [USDC]: 4_000, [DAI]: 2_000, [WBTC]: 3_000, [WETH]: 1_000 };
  const done = await rebalance(braid, owner, weights);
  assert.deepEqual([done.quote.inputs.length, done.quote.outputs.length], [2, 2]);
  await follow(done.receipt.blockNumber);
  const now = await look(braid, owner.address, weights);
  const total = now.reduce((sum, token) => sum + token.value, 0);
  for (const token of now) {
    const off = (token.value / total) * 10_000 - token.weightBps;
    assert.ok(Math.abs(off) < 100, `${token.symbol} is ${off} bps off its weight`);
  }
});
