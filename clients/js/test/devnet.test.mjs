// The clients on a running demo (BRAID_API, BRAID_KEY, RPC_URL): what strangers would write, with a real wallet library.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { erc20Abi, formatUnits, verifyTypedData } from "viem";
import { Braid, ETHER, outcome } from "braid-swap";
import { approve, mined, sign, swap } from "braid-swap/viem";
import { connect } from "../examples/wallet.mjs";
import { ChatBot } from "../examples/chat-bot.mjs";
import { fillable, keep } from "../examples/limit-order.mjs";
import { plan, rebalance } from "../examples/rebalance.mjs";

// the first account of every local chain: public, worth nothing
const privateKey = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const base = process.env.BRAID_API ?? "http://127.0.0.1:8080";
const braid = new Braid({ base, key: process.env.BRAID_KEY ?? "demo-key" });
const wallet = connect({ privateKey });
const taker = wallet.account.address;
const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F";
const WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const WBTC = "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599";

const holds = (token, owner = taker) =>
  wallet.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [owner] });


/** Sends a transaction in JSON-RPC's names and hex, as a wallet does whose keys are elsewhere: the node's accounts are unlocked. */
const sendsAsItStands = async (transaction) =>
  mined(wallet, await wallet.request({ method: "eth_sendTransaction", params: [transaction] }));

/** Swaps by signature and checks every amount to the wei. */
async function settles(inputs, outputs) {
  const quote = await braid.quote({ inputs, outputs, taker });
  await approve(braid, wallet, quote.permit2.approvals);
  const { types, domain, primaryType, message } = quote.permit2.eip712;
  const { EIP712Domain, ...own } = types;
  const signature = await sign(braid, wallet, quote.permit2);
  assert.ok(await verifyTypedData({ address: taker, domain, types: own, primaryType, message, signature }));
  const before = await Promise.all([...inputs, ...outputs].map(([token]) => holds(token)));
  const { built, receipt } = await swap(braid, wallet, quote);
  assert.equal(built.authorization, "permit2");
  const after = await Promise.all([...inputs, ...outputs].map(([token]) => holds(token)));
  inputs.forEach(([, amount], index) => assert.equal(before[index] - after[index], BigInt(amount)));
  built.estimated_outputs.forEach((output, index) => {
    const at = inputs.length + index;
    assert.equal(after[at] - before[at], BigInt(output.expected_amount));
  });
  await braid.reached(receipt.blockNumber);
  return { quote, signature };
}

test("one input, signed by a wallet library, pays to the wei; the signature counts once", async () => {
  const { quote, signature } = await settles([[USDC, 1_000_000_000n]], [[WETH, 10_000]]);
  const again = await outcome(braid.build(quote.quote_id, { permit2_signature: signature }));
  // the market has moved: stale, or built with the warning that its nonce is used
  const known = again.ok ? again.value.warnings.map((warning) => warning.code) : [again.problem.code];
  assert.ok(known.includes("QUOTE_STALE") || known.includes("PERMIT2_NONCE_USED"), String(known));
});

test("several inputs are one signature", async () => {
  await settles([[USDC, 500_000_000n], [DAI, 400_000_000_000_000_000_000n]], [[WETH, 10_000]]);
});

test("a signature of another account is refused", async () => {
  const quote = await braid.quote({ inputs: [[USDC, 1_000_000n]], outputs: [[WETH, 10_000]], taker });
  const other = connect({ privateKey: "0x" + "11".repeat(32) });
  const permit2_signature = await sign(braid, other, quote.permit2);
  const problem = await braid.build(quote.quote_id, { permit2_signature }).catch((problem) => problem);
  assert.equal(problem.code, "PERMIT2_SIGNATURE_INVALID");
  assert.equal(problem.errors[0].pointer, "/permit2_signature");
});

test("ether needs no signature", async () => {
  const quote = await braid.quote({ inputs: [[ETHER, 10n ** 17n]], outputs: [[USDC, 10_000]], taker });
  assert.equal(quote.permit2, null);
  const before = await holds(USDC);
  const { built, receipt } = await swap(braid, wallet, quote);
  assert.equal(built.authorization, "native");
  assert.equal((await holds(USDC)) - before, BigInt(quote.estimated_outputs[0].expected_amount));
  await braid.reached(receipt.blockNumber);
});

test("a keeper waits for its price, then fills and takes a partner's fee", async () => {
  const partner = { partner_fee_bps: 25, partner_recipient: "0x00000000000000000000000000000000000b0b0b" };
  const order = { sell: USDC, amount: 300_000_000n, buy: WETH, taker, partner };
  assert.equal(await fillable(braid, { ...order, least: 10n ** 24n }), null);
  assert.equal(await keep(braid, wallet, { ...order, least: 10n ** 24n }, { attempts: 2, pause: 0 }), null);
  const [paid, before] = [await holds(USDC, partner.partner_recipient), await holds(WETH)];
  const { quote, receipt } = await keep(braid, wallet, { ...order, least: 1n }, { attempts: 3, pause: 0 });
  assert.equal((await holds(USDC, partner.partner_recipient)) - paid, 750_000n);
  assert.equal((await holds(WETH)) - before, BigInt(quote.estimated_outputs[0].expected_amount));
  await braid.reached(receipt.blockNumber);
});

test("a plan sells what is too much for what is too little", () => {
  const token = (address, value, weightBps) => ({ address, value, weightBps, balance: BigInt(value * 1e6) });
  const basket = [token("a", 70, 5_000), token("b", 20, 3_000), token("c", 10, 2_000)];
  assert.deepEqual(plan(basket), { inputs: [["a", 20_000_000n]], outputs: [["b", 5_000], ["c", 5_000]] });
  // where the trade costs 1, everything has its weight of the 99 that are left
  assert.deepEqual(plan(basket, 1), { inputs: [["a", 20_500_000n]], outputs: [["b", 4_974], ["c", 5_026]] });
  assert.deepEqual(plan([token("a", 50.1, 5_000), token("b", 49.9, 5_000)]), { inputs: [], outputs: [] });
  const shares = plan([token("a", 100, 0), token("b", 1, 3_333), token("c", 1, 3_333), token("d", 1, 3_334)]).outputs;
  assert.equal(shares.reduce((sum, [, share]) => sum + share, 0), 10_000);
});

test("a bot brings a basket to its weights, what the trade costs included", async () => {
  const owner = connect({ privateKey: "0x" + "22".repeat(32) });
  await mined(wallet, await wallet.sendTransaction({ to: owner.account.address, value: 10n ** 18n }));
  const abi = erc20Abi;
  for (const [address, amount] of [[USDC, 3_000_000_000n], [DAI, 1_000n * 10n ** 18n]]) {
    const args = [owner.account.address, amount];
    const hash = await wallet.writeContract({ address, abi, functionName: "transfer", args });
    await braid.reached((await mined(wallet, hash)).blockNumber);
  }
  const weights = { [USDC]: 4_000, [DAI]: 2_000, [WBTC]: 3_000, [WETH]: 1_000 };
  const { tokens, quote, receipt } = await rebalance(braid, owner, weights);
  assert.deepEqual([quote.inputs.length, quote.outputs.length], [2, 2]);
  for (const output of quote.estimated_outputs) {
    assert.ok(Math.abs(output.realized_ratio_bps - output.ratio_bps) <= 1, JSON.stringify(output));
  }
  await braid.reached(receipt.blockNumber);
  // at the prices of the plan: shares are whole basis points and met within one, so that no weight is off by more than two
  const now = await Promise.all(tokens.map(async (token) => Number(await holds(token.address, owner.account.address)) * token.unit));
  const total = now.reduce((sum, value) => sum + value, 0);
  tokens.forEach((token, index) => {
    const off = (now[index] / total) * 10_000 - token.weightBps;
    assert.ok(Math.abs(off) <= 2, `${token.symbol} is ${off} bps off its weight`);
  });
});

test("a chat bot offers in words and earns its fee; the user's wallet alone signs", async () => {
  const partner = "0x00000000000000000000000000000000000b0b0c";
  const bot = new ChatBot({ braid, partner, feeBps: 40 });
  const user = taker;
  const say = async (message) => (await bot.answer(user, message)).text;
  assert.match(await say("good morning"), /for example: swap 100 USDC to ETH/);
  assert.match(await say("swap 5 NOSUCHCOIN to ETH"), /do not know the token NOSUCHCOIN/);
  assert.match(await say("yes"), /nothing to confirm/);
  assert.match(await say("swap 0.000001 USDC to WBTC"), /too little/);
  assert.match(await say("swap 12 USDC to USDC"), /the token is an input too/);
  assert.match(await say("swap 400 USDC to WETH"), /Fee 0.4%, included/);
  assert.match(await say("no"), /Forgotten/);
  assert.match(await say("yes"), /nothing to confirm/);

  const { text, permit } = await bot.answer(user, "swap 400 USDC to WETH");
  assert.match(text, /^400 USDC get you 0\.[0-9]+ WETH, at least 0\.[0-9]+ WETH\./);
  await approve(braid, wallet, permit.approvals);
  const { transaction } = await bot.signed(user, await sign(braid, wallet, permit));
  const [paid, before] = [await holds(USDC, partner), await holds(WETH)];
  const receipt = await sendsAsItStands(transaction);
  assert.equal((await holds(USDC, partner)) - paid, 1_600_000n);
  const received = (await holds(WETH)) - before;
  assert.ok(text.includes(`get you ${formatUnits(received, 18)} WETH`), `${received}: ${text}`);
  await braid.reached(receipt.blockNumber);
});

test("an agent swaps with the tools of the tool server and a wallet of its own", async () => {
  const env = { PATH: process.env.PATH, BRAID_API: base, BRAID_KEY: process.env.BRAID_KEY ?? "demo-key" };
  const script = new URL("../examples/tool-server.mjs", import.meta.url).pathname;
  const agent = new Client({ name: "test-agent", version: "1.0.0" });
  await agent.connect(new StdioClientTransport({ command: process.execPath, args: [script], env }));
  try {
    const { tools } = await agent.listTools();
    const names = ["build_transaction", "find_tokens", "prices", "quote", "service_status"];
    assert.deepEqual(tools.map((tool) => tool.name).sort(), names);
    assert.ok(tools.every((tool) => tool.description && tool.inputSchema.type === "object"));
    const call = async (name, args = {}) => {
      const answer = await agent.callTool({ name, arguments: args });
      assert.ok(!answer.isError, JSON.stringify(answer));
      return JSON.parse(answer.content[0].text);
    };
    const fails = async (name, args) => {
      const answer = await agent.callTool({ name, arguments: args }).catch((error) => ({ isError: true, thrown: error }));
      assert.ok(answer.isError, JSON.stringify(answer));
      return answer.thrown?.message ?? answer.content[0].text;
    };
    assert.equal((await call("service_status")).status, "ready");
    const [usdc] = await call("find_tokens", { search: "usdc" });
    assert.equal(usdc.address, USDC);
    assert.ok((await call("prices", { tokens: [USDC, WETH] })).prices[WETH] > 100);

    const swap = { taker, inputs: [{ token: USDC, amount: "250000000" }] };
    const nowhere = { ...swap, outputs: [{ token: "0x00000000000000000000000000000000000000aa", ratio_bps: 10_000 }] };
    assert.match(await fails("quote", nowhere), /TOKEN_NOT_FOUND.*\/outputs\/0\/address/);
    assert.match(await fails("quote", { ...swap, taker: "me", outputs: [] }), /taker/);

    const quote = await call("quote", { ...swap, outputs: [{ token: WETH, ratio_bps: 10_000 }] });
    assert.ok(quote.why.length > 0 && quote.certificate.gap_bps < 50);
    const approved = (await approve(braid, wallet, quote.permit2.approvals)).at(-1);
    // a simulation is of the block that the service knows
    if (approved) await braid.reached(approved.blockNumber);
    const permit2_signature = await sign(braid, wallet, quote.permit2);
    const built = await call("build_transaction", { quote_id: quote.quote_id, permit2_signature });
    assert.equal(built.simulation.status, "success");
    const before = await holds(WETH);
    const receipt = await sendsAsItStands(built.rpc_transaction);
    assert.equal((await holds(WETH)) - before, BigInt(quote.estimated_outputs[0].expected_amount));
    await braid.reached(receipt.blockNumber);
  } finally {
    await agent.close();
  }
});

test("an agent asks `braid mcp` by the protocol's own client", { skip: process.env.BRAID_BIN ? false : "BRAID_BIN names no binary" }, async () => {
  const env = { PATH: process.env.PATH, BRAID_API: base, BRAID_API_KEY: process.env.BRAID_KEY ?? "demo-key" };
  const agent = new Client({ name: "test-agent", version: "1.0.0" });
  await agent.connect(new StdioClientTransport({ command: process.env.BRAID_BIN, args: ["mcp"], env }));
  try {
    assert.equal(agent.getServerVersion().name, "braid");
    const { tools } = await agent.listTools();
    assert.deepEqual(tools.map(({ name }) => name), ["quote", "explain", "build", "prices", "tokens"]);
    const ask = async (name, args) => {
      const { structuredContent, isError } = await agent.callTool({ name, arguments: args });
      return { isError, ...structuredContent };
    };
    const bought = await ask("quote", { sell: [{ token: "ETH" }], buy: [{ token: "USDC", amount: "3000" }], taker });
    assert.equal(bought.exact_output.amount, "3000000000");
    const built = await ask("build", { quote_id: bought.quote_id });
    assert.equal(built.simulation.status, "success");
    const refused = await ask("quote", { sell: [{ amount: "1", token: "MOON" }], buy: [{ token: "USDC" }], taker });
    assert.ok(refused.isError && /MOON/.test(refused.error), JSON.stringify(refused));
    await assert.rejects(agent.callTool({ name: "send", arguments: {} }), /-32602/);
  } finally {
    await agent.close();
  }
});
