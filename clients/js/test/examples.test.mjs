// Runs the example programs against a demo (BRAID_API, BRAID_KEY, RPC_URL) and compares with what the chain says.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { erc20Abi } from "viem";
import { Braid } from "braid-swap";
import { connect } from "../examples/wallet.mjs";

const PRIVATE_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const base = process.env.BRAID_API ?? "http://127.0.0.1:8080";
const env = { ...process.env, BRAID_API: base, BRAID_KEY: process.env.BRAID_KEY ?? "demo-key", PRIVATE_KEY };
const braid = new Braid({ base, key: env.BRAID_KEY });
const wallet = connect({ privateKey: PRIVATE_KEY });
const taker = wallet.account.address;
const treasury = connect({ privateKey: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80" });
const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F";
const WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const WBTC = "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599";

const holds = (token) => wallet.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [taker] });

async function run(name, ...args) {
  const script = new URL(`../examples/${name}.mjs`, import.meta.url).pathname;
  return (await promisify(execFile)(process.execPath, [script, ...args], { env })).stdout;
}

/** Waits until the service knows the node's newest block, so that a quote knows what the last swap did. */
const follow = async () => braid.reached(await wallet.getBlockNumber({ cacheTime: 0 }));

test("the examples' wallet is given tokens", async () => {
  for (const [token, amount] of [[USDC, 5_000_000_000n], [DAI, 1_000n * 10n ** 18n]]) {
    const transfer = { address: token, abi: erc20Abi, functionName: "transfer", args: [taker, amount] };
    const hash = await treasury.writeContract(transfer);
    assert.equal((await wallet.waitForTransactionReceipt({ hash })).status, "success");
  }
  await follow();
});

test("swap: what is printed arrives", async () => {
  const before = await holds(WETH);
  const said = await run("swap", USDC, "1000000000", WETH);
  const [, amount] = /^(\d+) of 0xC02a/.exec(said) ?? assert.fail(said);
  assert.equal((await holds(WETH)) - before, BigInt(amount));
  await follow();
});

test("permit2: what is shown is what is signed, and at least the minimum arrives", async () => {
  const before = [await holds(USDC), await holds(WETH)];
  const said = await run("permit2", USDC, "500000000", WETH);
  assert.match(said, /^pays 500000000 of 0xA0b8.*/);
  const [, recipient, minimum] = /(0x\w+) gets at least (\d+) of 0xC02a/.exec(said) ?? assert.fail(said);
  assert.equal(recipient.toLowerCase(), taker.toLowerCase());
  assert.match(said, /swapped by permit2 in 0x[0-9a-f]{64}/);
  assert.equal(before[0] - (await holds(USDC)), 500_000_000n);
  assert.ok((await holds(WETH)) - before[1] >= BigInt(minimum));
  await follow();
});

test("basket: two inputs become two outputs by their shares", async () => {
  const before = [await holds(WETH), await holds(WBTC)];
  const said = await run("basket", `${USDC}:1000000000`, `${DAI}:1000000000000000000000`, `${WETH}=7000`, `${WBTC}=3000`);
  assert.match(said, /WETH: \d+, (6999|7000|7001) of 7000 bps/);
  const [weth, wbtc] = ["WETH", "WBTC"].map((symbol) => BigInt(new RegExp(`${symbol}: (\\d+)`).exec(said)[1]));
  assert.deepEqual([(await holds(WETH)) - before[0], (await holds(WBTC)) - before[1]], [weth, wbtc]);
  await follow();
});

test("exact output: exactly the amount arrives, for no more than the maximum, and the receipt agrees with itself", async () => {
  const folder = await mkdtemp(join(tmpdir(), "braid-receipt-"));
  const before = [await holds(USDC), await holds(WETH)];
  const said = await run("exact-output", USDC, "100000000000000000", WETH, folder);
  const [, maximum, bought] = /at most (\d+) \((exactly|at_least)\)/.exec(said) ?? assert.fail(said);
  const [sold, received] = [before[0] - (await holds(USDC)), (await holds(WETH)) - before[1]];
  assert.ok(sold > 0n && sold <= BigInt(maximum), `${sold} of ${maximum}`);
  assert.ok(bought === "exactly" ? received === 10n ** 17n : received >= 10n ** 17n, `${received} ${bought}`);
  const { data } = JSON.parse(await readFile(join(folder, "receipt.json"), "utf8"));
  assert.equal(data.format, "braid-receipt/1");
  assert.equal(data.quote.exact_output.amount, "100000000000000000");
  assert.ok((await readFile(join(folder, "quote.market"))).length > 1_000);
  await rm(folder, { recursive: true });
  await follow();
});

test("batch calls: an approval and a swap are one bundle", async () => {
  const before = await holds(USDC);
  const said = await run("batch-calls", USDC, "250000000", WETH);
  assert.match(said, /^2 calls, \d transactions: success/);
  assert.equal(before - (await holds(USDC)), 250_000_000n);
  await follow();
});

test("cost comparison: a faster tier pays no less gas for the same amount", async () => {
  const said = await run("compare-costs", taker, USDC, "200000000000", WETH);
  const rows = ["slow", "standard", "fast", "urgent"].map((tier) => new RegExp(`^${tier}: ([\\d.]+) WETH in \\d+ steps, gas ([\\d.]+) ETH`, "m").exec(said));
  assert.ok(rows.every(Boolean), said);
  const gas = rows.map(([, , eth]) => Number(eth));
  assert.ok(gas.every((eth, tier) => tier === 0 || eth >= gas[tier - 1]), said);
  assert.match(said, /a single route: [\d.]+ bps less/);
});
