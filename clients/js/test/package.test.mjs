// The package as npm would publish it: what is in it, whether its types and entry points fit, and how it tells of errors.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Braid, ETHER, outcome, Problem, sameAddress, terms } from "braid-swap";
import { approve, authorize, mined, Replaced, send, sendCalls, sign, Unsendable } from "braid-swap/viem";
import { SWAPS } from "../dist/proxy.js";
import { publint } from "publint";
import { createWalletClient, custom, decodeFunctionData, encodeFunctionData, erc20Abi, parseTransaction, toFunctionSelector } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { mainnet, optimism } from "viem/chains";

const root = new URL("..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "braid-swap-"));
after(() => rmSync(folder, { recursive: true }));

test("the package holds what its users need and nothing else, and its entry points fit", async () => {
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const [{ filename, files }] = JSON.parse(execFileSync("npm", pack, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  const names = files.map(({ path }) => path).filter((path) => !path.startsWith("dist/"));
  assert.deepEqual(names.sort(), ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"]);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.match(readFileSync(join(root, "CHANGELOG.md"), "utf8"), new RegExp(`^## ${version}\\b`, "m"));
  assert.deepEqual((await publint({ pkgDir: root, pack: false, strict: true })).messages, []);
  mkdirSync(join(folder, "node_modules"));
  execFileSync("tar", ["-xzf", filename], { cwd: folder });
  symlinkSync(join(folder, "package"), join(folder, "node_modules/braid-swap"));
  symlinkSync(join(root, "node_modules/viem"), join(folder, "node_modules/viem"));
});

/** What a user's program says; a line with an error is marked, so that types which allow too much fail as well. */
const PROGRAM = `
import { Braid, ETHER, outcome, type Quote } from "braid-swap";
import { approve, authorize, send, type Wallet } from "braid-swap/viem";
export async function swap(braid: Braid, wallet: Wallet, token: \`0x\${string}\`): Promise<string> {
  const asked = await outcome(braid.quote({ inputs: [[token, 1n]], outputs: [{ chain_id: 1, address: token, ratio_bps: 10_000 }], taker: wallet.account.address }));
  if (!asked.ok) {
    switch (asked.problem.code) {
      case "RATE_LIMITED": return \`in \${asked.problem.retryAfterS} s\`;
      case "VALIDATION_FAILED": return asked.problem.errors.map(({ pointer, detail }) => pointer + detail).join();
      // @ts-expect-error: the document lists every code, and this is none
      case "NO_SUCH_CODE": return "";
      default: return asked.problem.message;
    }
  }
  const quote: Quote = asked.value;
  const gap: number | null = quote.certificate === null ? null : quote.certificate.gap_bps;
  // @ts-expect-error: there may be no certificate
  const wrong: number = quote.certificate.gap_bps;
  const built = await braid.build(quote.quote_id, { permit2_signature: await authorize(braid, wallet, quote) });
  return \`\${gap} \${wrong} \${await send(braid, wallet, quote, built)}\`;
}
`;

for (const [module, resolution] of [["nodenext", "nodenext"], ["esnext", "bundler"]]) {
  test(`a strict TypeScript program compiles against it with module resolution ${resolution}`, () => {
    writeFileSync(join(folder, "program.mts"), PROGRAM);
    const flags = ["--strict", "--noEmit", "--target", "es2022", "--module", module, "--moduleResolution", resolution, "--skipLibCheck"];
    const run = () => execFileSync(join(root, "node_modules/.bin/tsc"), [...flags, "program.mts"], { cwd: folder, encoding: "utf8" });
    try {
      run();
    } catch (error) {
      assert.fail(error.stdout);
    }
  });
}

/** A service that answers everything with one status, type and body. */
async function answering(status, type, body, headers = {}) {
  const server = createServer((_, answer) => answer.writeHead(status, { "content-type": type, ...headers }).end(body));
  await once(server.listen(0, "127.0.0.1"), "listening");
  after(() => server.close());
  return new Braid({ base: `http://127.0.0.1:${server.address().port}/` });
}

const CALLS = [(braid) => braid.network(), (braid) => braid.receipt("q"), (braid) => braid.market("q"), (braid) => braid.routePicture("q")];

test("a problem document is a value with code, fields, and when to try again", async () => {
  const errors = [{ pointer: "/taker", code: "ADDRESS_INVALID", detail: "not an address" }];
  const body = { code: "RATE_LIMITED", errors, retryable: true, request_id: "r1", error: { message: "too many" } };
  const braid = await answering(429, "application/problem+json", JSON.stringify(body), { "retry-after": "7" });
  const { ok, problem } = await outcome(braid.network());
  assert.equal(ok, false);
  const { code, status, retryable, retryAfterS, requestId, message } = problem;
  assert.deepEqual({ code, status, retryable, retryAfterS, requestId, message, errors: problem.errors }, { code: "RATE_LIMITED", status: 429, retryable: true, retryAfterS: 7, requestId: "r1", message: "too many", errors });
});

test("what is no answer of Braid's is told apart from one", async () => {
  const gateway = await outcome((await answering(502, "text/html", "<h1>Bad gateway</h1>")).network());
  assert.deepEqual([gateway.problem.code, gateway.problem.retryable], ["NOT_BRAID", true]);
  const login = await outcome((await answering(200, "text/html", "<h1>Welcome</h1>")).network());
  assert.deepEqual([login.problem.code, login.problem.retryable], ["NOT_BRAID", false]);
  const gone = await outcome(new Braid({ base: "http://127.0.0.1:1", timeoutMs: 500 }).network());
  assert.deepEqual([gone.problem.code, gone.problem.status, gone.problem.retryable], ["NO_ANSWER", 0, true]);
  assert.ok(gone.problem instanceof Problem && gone.problem.cause instanceof Error);
});

test("whatever is asked for, an error answer is a problem, and so is one that breaks off", async () => {
  const body = { code: "RECEIPT_UNAVAILABLE", errors: [], retryable: false, request_id: "r1", error: { message: "gone" } };
  const refused = await answering(404, "application/problem+json", JSON.stringify(body));
  const halved = await answering(503, "application/problem+json", '{"code": "OVER');
  // more is announced than is sent, and then nothing more comes
  const server = createServer((_, answer) => answer.writeHead(200, { "content-length": 100 }).write("half"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  after(() => (server.closeAllConnections(), server.close()));
  const silent = new Braid({ base: `http://127.0.0.1:${server.address().port}`, timeoutMs: 50, fileTimeoutMs: 100 });
  for (const [braid, code, status] of [[refused, "RECEIPT_UNAVAILABLE", 404], [halved, "NOT_BRAID", 503], [silent, "NO_ANSWER", 0]]) {
    for (const call of CALLS) {
      const { problem } = await outcome(call(braid));
      assert.ok(problem instanceof Problem, String(call));
      assert.deepEqual([problem.code, problem.status], [code, status], String(call));
    }
  }
});

test("a file has longer to come than another answer", async () => {
  const server = createServer((_, answer) => setTimeout(() => answer.writeHead(200).end("{}"), 400));
  await once(server.listen(0, "127.0.0.1"), "listening");
  after(() => server.close());
  const braid = new Braid({ base: `http://127.0.0.1:${server.address().port}`, timeoutMs: 100 });
  assert.equal((await outcome(braid.network())).problem?.code, "NO_ANSWER");
  assert.equal(new TextDecoder().decode(await braid.market("q")), "{}");
});

test("a service that is not ready says so without a problem", async () => {
  const braid = await answering(503, "application/json", JSON.stringify({ status: "syncing" }));
  assert.equal((await braid.ready()).status, "syncing");
  const body = { code: "OVERLOADED", errors: [], retryable: true, request_id: "r1", error: { message: "too many connections" } };
  const { problem } = await outcome((await answering(503, "application/problem+json", JSON.stringify(body))).ready());
  assert.equal(problem?.code, "OVERLOADED");
});

/** The example of an answer in the OpenAPI document. */
const exampleOf = (path) => JSON.parse(readFileSync(join(root, "../../docs/openapi.json"), "utf8")).paths[path].post.responses["200"].content["application/json"].example.data;

const account = privateKeyToAccount(`0x${"11".repeat(32)}`);

/** A wallet whose node answers as it is told. */
const walletOf = (request, chain = mainnet) => createWalletClient({ account, chain, pollingInterval: 10, transport: custom({ request }, { retryCount: 0 }) });

/** A client that is asked for nothing: it only names the proxy. */
const braid = new Braid();

const unasked = ({ method }) => assert.fail(`the node is asked for ${method}`);

test("nothing is sent to a proxy that is not deployed, on another chain, or from another account", async () => {
  const [quote, example] = [exampleOf("/v1/quote"), exampleOf("/v1/build")];
  const built = { ...example, transaction: { ...example.transaction, from: account.address } };
  const warnings = [{ code: "PROXY_NOT_DEPLOYED", message: "the execution proxy is not deployed" }];
  for (const [wallet, wrong, why] of [
    [walletOf(unasked), { ...built, warnings }, /not deployed/],
    [walletOf(unasked, optimism), built, /of chain 1, the wallet of chain 10/],
    [walletOf(unasked), example, /the transaction is of 0xf39F/],
  ]) {
    for (const sends of [send, sendCalls]) await assert.rejects(sends(braid, wallet, quote, wrong), (error) => error instanceof Unsendable && why.test(error.message), String(why));
  }
  await assert.rejects(authorize(braid, walletOf(unasked), { ...quote, warnings }), Unsendable);
  await assert.rejects(send(braid, walletOf(unasked), quote, { ...built, simulation: { status: "reverted", revert: null } }), /no reason given/);
});

test("nothing is sent but a swap to the execution proxy, and nothing else is approved or signed for", async () => {
  const artifact = JSON.parse(readFileSync(join(root, "../../contracts/artifacts/ExecutionProxy.json"), "utf8"));
  assert.equal(braid.proxy, artifact.address);
  const swaps = artifact.abi.filter(({ type, name }) => type === "function" && name !== "balancerV3UnlockCallback");
  const selectors = (abi) => abi.filter(({ type }) => type === "function").map(toFunctionSelector).sort();
  assert.deepEqual(selectors(SWAPS), selectors(swaps));

  const [quote, example] = [exampleOf("/v1/quote"), exampleOf("/v1/build")];
  const built = { ...example, transaction: { ...example.transaction, from: account.address }, simulation: null };
  const { data } = built.transaction;
  const callback = toFunctionSelector(artifact.abi.find(({ name }) => name === "balancerV3UnlockCallback"));
  const transfer = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [account.address, 1n] });
  for (const [wrong, why] of [
    [{ to: quote.inputs[0].address, data: transfer }, /not to the execution proxy 0x8708/],
    [{ to: account.address }, /not to the execution proxy/],
    [{ data: transfer }, /calls 0xa9059cbb, which is no swap/],
    [{ data: callback + data.slice(10) }, /no swap/],
    [{ data: data.slice(0, 10) }, /no swap/],
    [{ data: "0x" }, /no swap/],
  ]) {
    const transaction = { ...built.transaction, ...wrong };
    const calls = [{ ...built.calls.at(-1), ...wrong }];
    for (const sends of [send, sendCalls]) await assert.rejects(sends(braid, walletOf(unasked), quote, { ...built, transaction, calls }), (error) => error instanceof Unsendable && why.test(error.message), String(why));
  }

  const refused = (work) => assert.rejects(work, (error) => error instanceof Unsendable && /would take the tokens/.test(error.message));
  const [approval] = quote.approvals;
  const args = [account.address, 1n];
  const ofStranger = { ...approval, spender: account.address, transactions: [{ ...approval.transactions[0], data: encodeFunctionData({ abi: erc20Abi, functionName: "approve", args }) }] };
  await refused(approve(braid, walletOf(unasked), [approval, ofStranger]));
  const { eip712 } = quote.permit2;
  const permit2 = { ...quote.permit2, eip712: { ...eip712, message: { ...eip712.message, spender: account.address } } };
  await refused(sign(braid, walletOf(unasked), permit2));
  await refused(authorize(braid, walletOf(unasked), { ...quote, permit2 }));
  // what the caller says counts
  const other = new Braid({ proxy: account.address });
  await refused(sign(other, walletOf(unasked), quote.permit2));
  assert.match(await sign(other, walletOf(unasked), permit2), /^0x/);
  await assert.rejects(send(other, walletOf(unasked), quote, built), /not to the execution proxy 0x19E7/);
});

test("a quote of something else than was asked for is a problem", async () => {
  const answer = exampleOf("/v1/quote");
  const { address } = account;
  const [{ token: sold, maximum_amount }] = answer.estimated_inputs;
  const [{ token: bought, minimum_amount }] = answer.estimated_outputs;
  const [amount, minimum, { taker }] = [BigInt(maximum_amount), BigInt(minimum_amount), answer];
  const service = await answering(200, "application/json", JSON.stringify({ data: answer }));
  const asked = { inputs: [[sold, amount]], outputs: [[bought, 10_000]], taker };
  for (const change of [{}, { recipient: taker.toLowerCase() }, { inputs: answer.inputs }, { inputs: [[sold]], outputs: [[bought, minimum]] }]) {
    assert.equal((await service.quote({ ...asked, ...change })).quote_id, answer.quote_id);
  }
  for (const change of [
    { inputs: [[sold, amount - 1n]] }, { inputs: [[bought, amount]] }, { inputs: [[sold, amount], [ETHER, 1n]] },
    { outputs: [[ETHER, 10_000]] }, { outputs: [[bought, 5_000], [ETHER, 5_000]] }, { inputs: [[sold]], outputs: [[bought, minimum + 1n]] },
    { taker: address, recipient: taker }, { recipient: address },
  ]) {
    const { problem } = await outcome(service.quote({ ...asked, ...change }));
    assert.match(String(problem), /something else than was asked for/, JSON.stringify(change, (_, value) => String(value)));
    assert.equal(problem.code, "NOT_BRAID");
  }
  const { problem } = await outcome((await answering(200, "application/json", '{"data": {}}')).quote(asked));
  assert.equal(problem.code, "NOT_BRAID");
});

test("no other order is sent or signed for than the quote's", async () => {
  const [quote, example] = [exampleOf("/v1/quote"), exampleOf("/v1/build")];
  const [order, program] = decodeFunctionData({ abi: SWAPS, data: example.transaction.data }).args;
  const [{ token: sold, amount }, { token: bought, minimum }] = [order.inputs[0], order.outputs[0]];
  const { address: recipient } = account;
  const permit = [{ owner: recipient, nonce: 1n, deadline: 1n, sender: recipient }, "0x"];
  const path = { tokenIn: sold, amountIn: amount, tokenOut: bought, amountOut: minimum, recipient: order.recipient, deadline: 1n };
  const executes = (change) => [["execute", []], ["executeWithPermit2", permit]].map(([functionName, more]) => ({ functionName, args: [{ ...order, ...change }, program, ...more] }));
  const swaps = (change) => [["swap", []], ["swapWithPermit2", permit]].map(([functionName, more]) => ({ functionName, args: [{ ...path, ...change }, "0x", ...more] }));
  const sending = (call, sends, of = quote) => {
    const transaction = { ...example.transaction, from: recipient, data: encodeFunctionData({ abi: SWAPS, ...call }) };
    return sends(braid, walletOf(() => Promise.reject(new Error("the node was asked"))), of, { ...example, transaction, calls: [transaction], simulation: null });
  };
  const isOther = (error) => error instanceof Unsendable && /the order takes more/.test(error.message);
  for (const call of [...executes({}), ...swaps({}), ...swaps({ amountIn: amount - 1n, amountOut: minimum + 1n })]) {
    for (const sends of [send, sendCalls]) await assert.rejects(sending(call, sends), /the node was asked/);
  }
  for (const call of [
    ...executes({ recipient }), ...swaps({ recipient }),
    ...executes({ inputs: [{ token: sold, amount: amount + 1n }] }), ...swaps({ amountIn: amount + 1n }),
    ...executes({ inputs: [{ token: bought, amount }] }), ...swaps({ tokenIn: bought }),
    ...executes({ inputs: [...order.inputs, { token: ETHER, amount: 1n }] }), ...executes({ inputs: [] }),
    ...executes({ outputs: [{ token: bought, minimum: minimum - 1n }] }), ...swaps({ amountOut: minimum - 1n }),
    ...executes({ outputs: [{ token: ETHER, minimum }] }), ...swaps({ tokenOut: ETHER }),
    ...executes({ outputs: [] }),
  ]) {
    for (const sends of [send, sendCalls]) await assert.rejects(sending(call, sends), isOther, call.functionName);
  }
  // ether comes with the transaction: a signature for the other tokens does not name it
  const [input] = quote.estimated_inputs;
  const withEther = { ...quote, estimated_inputs: [input, { ...input, token: `0x${"0".repeat(40)}` }] };
  await assert.rejects(sending(executes({})[0], send, withEther), /the node was asked/);
  await assert.rejects(sending(executes({ inputs: [order.inputs[0], order.inputs[0]] })[0], send, withEther), isOther);
  await assert.rejects(sending(executes({ inputs: [{ token: ETHER, amount }] })[0], send, withEther), isOther);
  // ether is in the quote by the name that it was asked for
  for (const [of, isEther] of [[`0x${"0".repeat(40)}`, true], [ETHER, true], [bought, false]]) {
    const asked = { ...quote, estimated_outputs: [{ ...quote.estimated_outputs[0], token: of }] };
    await assert.rejects(sending(executes({ outputs: [{ token: ETHER, minimum }] })[0], send, asked), isEther ? /the node was asked/ : isOther);
  }
  const signing = (change) => authorize(braid, walletOf(unasked), { ...quote, ...change });
  await assert.rejects(signing({ recipient }), isOther);
  await assert.rejects(signing({ estimated_outputs: [{ ...quote.estimated_outputs[0], minimum_amount: String(minimum + 1n) }] }), isOther);
  await assert.rejects(signing({ estimated_inputs: [{ ...quote.estimated_inputs[0], maximum_amount: String(amount - 1n) }] }), isOther);
});

test("an approval is sent only if it is one, of the token and spender that it names", async () => {
  const quote = exampleOf("/v1/quote");
  const [approval] = quote.permit2.approvals;
  const [call] = approval.transactions;
  const { token, spender } = approval;
  const transfer = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [spender, 1n] });
  const other = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [account.address, 1n] });
  const wrong = [{ to: spender }, { data: transfer }, { data: other }, { data: "0x" }, { value: "1" }].map((change) => ({ ...approval, transactions: [call, { ...call, ...change }] }));
  for (const one of wrong) {
    await assert.rejects(approve(braid, walletOf(unasked), [one]), Unsendable, JSON.stringify(one.transactions[1]));
    assert.deepEqual(await approve(braid, walletOf(unasked), [{ ...one, satisfied: true }]), []);
  }
  const elsewhere = { token, spender: account.address, satisfied: false, transactions: [{ ...call, data: other }] };
  await assert.rejects(authorize(braid, walletOf(unasked), { ...quote, permit2: { ...quote.permit2, approvals: [elsewhere] } }), Unsendable);
  // what is one is sent: the node is asked
  await assert.rejects(approve(braid, walletOf(() => Promise.reject(new Error("the node was asked"))), [approval]), /the node was asked/);
});

test("a transaction that was cancelled is not taken for one that was mined; one with a higher fee is", async () => {
  const [hash, otherHash, blockHash] = ["aa", "bb", "cc"].map((byte) => `0x${byte.repeat(32)}`);
  const { address: from } = account;
  const fields = { from, to: ETHER, input: "0x", nonce: "0x1", gas: "0x5208", gasPrice: "0x1", maxFeePerGas: "0x1", maxPriorityFeePerGas: "0x1", type: "0x2", chainId: "0x1", v: "0x0", r: "0x1", s: "0x1" };
  const pending = { ...fields, hash, value: "0x7", blockHash: null, blockNumber: null, transactionIndex: null };
  const receipt = { transactionHash: otherHash, status: "0x1", type: "0x2", blockHash, blockNumber: "0x5", transactionIndex: "0x0", from, to: ETHER, logs: [], gasUsed: "0x1", cumulativeGasUsed: "0x1", effectiveGasPrice: "0x1" };
  /** A chain that mined another transaction of the same nonce. */
  const chain = (other) => ({ method, params }) => {
    const is = (of) => params?.[0] === of;
    switch (method) {
      case "eth_blockNumber": return "0x5";
      case "eth_getTransactionByHash": return is(hash) ? pending : null;
      case "eth_getTransactionReceipt": return is(otherHash) ? receipt : null;
      case "eth_getBlockByNumber": return { number: "0x5", hash: blockHash, timestamp: "0x1", transactions: [{ ...pending, ...other, hash: otherHash, blockHash, blockNumber: "0x5", transactionIndex: "0x0" }] };
      default: return assert.fail(method);
    }
  };
  const asAsked = (other) => walletOf(async (request) => chain(other)(request));
  assert.equal((await mined(asAsked({ maxFeePerGas: "0x2" }), hash)).transactionHash, otherHash);
  for (const other of [{ to: from, value: "0x0" }, { input: "0x1234" }]) {
    await assert.rejects(mined(asAsked(other), hash), (error) => error instanceof Replaced && error.message.includes(otherHash));
  }
});

test("approvals of an account whose key is here are mined before its swap is sent, and a wallet's are left to it", async () => {
  const [quote, example] = [exampleOf("/v1/quote"), exampleOf("/v1/build")];
  const built = { ...example, transaction: { ...example.transaction, from: account.address }, simulation: null };
  const [blockHash, hash] = [`0x${"cc".repeat(32)}`, (at) => `0x${String(at).padStart(64, "0")}`];
  const sent = [];
  let isMined = false;
  const node = async ({ method, params }) => {
    switch (method) {
      case "eth_chainId": return "0x1";
      case "eth_blockNumber": return "0x5";
      case "eth_getTransactionCount": return `0x${sent.length.toString(16)}`;
      case "eth_getBlockByNumber": return { number: "0x5", hash: blockHash, timestamp: "0x1", baseFeePerGas: "0x1", transactions: [] };
      case "eth_maxPriorityFeePerGas": return "0x1";
      case "eth_estimateGas":
        // as of the newest block
        if (params[0].to.toLowerCase() === built.transaction.to.toLowerCase()) assert.ok(isMined, "the approval is not mined yet");
        return "0x5208";
      case "eth_sendRawTransaction": return hash(sent.push(parseTransaction(params[0]).to.toLowerCase()));
      case "eth_getTransactionReceipt":
        isMined = true;
        return { transactionHash: params[0], status: "0x1", type: "0x2", blockHash, blockNumber: "0x5", transactionIndex: "0x0", from: account.address, to: ETHER, logs: [], gasUsed: "0x1", cumulativeGasUsed: "0x1", effectiveGasPrice: "0x1" };
      case "wallet_sendCalls": throw Object.assign(new Error("no such method"), { code: -32601 });
      default: return assert.fail(method);
    }
  };
  assert.equal(built.calls.length, 2);
  await sendCalls(braid, walletOf(node), quote, built);
  assert.deepEqual(sent, built.calls.map(({ to }) => to.toLowerCase()));
  const [approval, swap] = built.calls;
  const transfer = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [account.address, 1n] });
  const elsewhere = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [account.address, 1n] });
  for (const calls of [[], [approval], [swap, approval], [approval, { ...swap, value: "0x1" }], ...[transfer, elsewhere].map((data) => [{ ...approval, data }, swap]), [{ ...approval, value: "1" }, swap]]) {
    await assert.rejects(sendCalls(braid, walletOf(unasked), quote, { ...built, calls }), Unsendable, JSON.stringify(calls));
  }
  const bundled = [];
  const bundler = async ({ method, params }) => (method === "wallet_sendCalls" ? (bundled.push(...params[0].calls), { id: "0x1" }) : assert.fail(method));
  const connected = createWalletClient({ account: account.address, chain: mainnet, transport: custom({ request: bundler }) });
  assert.equal(await sendCalls(braid, connected, quote, built), "0x1");
  assert.equal(bundled.length, 2);
});

test("the terms of a signature are read from its message, for one input and for several", () => {
  const example = exampleOf("/v1/quote");
  const { pays, minimums, recipient, deadline } = terms(example.permit2);
  assert.deepEqual(pays, [{ token: example.inputs[0].address, amount: BigInt(example.inputs[0].amount) }]);
  assert.deepEqual(minimums.map(({ minimum }) => String(minimum)), example.estimated_outputs.map((output) => output.minimum_amount));
  assert.ok(sameAddress(recipient, example.recipient) && deadline === example.permit2.deadline);
  const { eip712 } = example.permit2;
  const { message, types } = eip712;
  const permit = (primaryType, permitted, of) => ({ ...eip712, primaryType, message: { ...message, permitted }, types: { ...types, [primaryType]: of } });
  const [, ...rest] = types.PermitWitnessTransferFrom;
  const several = permit("PermitBatchWitnessTransferFrom", [message.permitted, { token: ETHER, amount: "7" }], [{ name: "permitted", type: "TokenPermissions[]" }, ...rest]);
  assert.equal(terms({ eip712: several }).pays[1].amount, 7n);
  assert.throws(() => terms({ eip712: { ...eip712, message: { ...message, witness: null } } }), /not an order/);
});

test("what is not Permit2's message with an order of Braid's is neither read nor signed", async () => {
  const example = exampleOf("/v1/quote");
  const { eip712 } = example.permit2;
  const wallet = walletOf(unasked);
  assert.match(await sign(braid, wallet, example.permit2), /^0x[0-9a-f]{130}$/);
  const { types, domain, message } = eip712;
  // the message says what was asked, and something else would be signed
  const grant = { Permit: [{ name: "owner", type: "address" }, { name: "spender", type: "address" }, { name: "value", type: "uint256" }, { name: "nonce", type: "uint256" }, { name: "deadline", type: "uint256" }] };
  const owned = { ...message, owner: account.address, value: "1000000000000" };
  const untyped = types.BraidOrder.filter(({ name }) => name !== "recipient");
  for (const wrong of [
    { primaryType: "Permit", types: { ...types, ...grant }, domain: { ...domain, verifyingContract: example.inputs[0].address }, message: owned },
    { primaryType: "Permit", types: { ...types, ...grant }, message: owned },
    { types: { ...types, BraidOrder: untyped } },
    { types: { ...types, TokenPermissions: [types.TokenPermissions[1], types.TokenPermissions[0]] } },
    { types: { ...types, EIP712Domain: types.EIP712Domain.slice(0, 2) } },
    { domain: { ...domain, chainId: 10 } },
    { domain: { ...domain, verifyingContract: ETHER } },
    { domain: { ...domain, name: "USD Coin" } },
  ]) {
    const permit2 = { ...example.permit2, eip712: { ...eip712, ...wrong } };
    assert.throws(() => terms(permit2), /not an order/, JSON.stringify(wrong));
    await assert.rejects(sign(braid, wallet, permit2), /not an order/, JSON.stringify(wrong));
  }
});
