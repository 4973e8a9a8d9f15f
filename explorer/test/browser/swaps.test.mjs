// Whole swaps on the local chain: what the page shows as received is what the chain paid, and equals what was quoted.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, instead, launch, link, open, quoted, refusal, rpc, TAKER, timeless, TOKENS, wallet } from "./harness.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const word = (address) => address.slice(2).toLowerCase().padStart(64, "0");
const balanceOf = async (token, block) =>
  token === "ETH" ? BigInt(await rpc("eth_getBalance", [TAKER, block])) : BigInt(await rpc("eth_call", [{ to: TOKENS[token], data: `0x70a08231${word(TAKER)}` }, block]));

async function ready(page, name = "Swap") {
  const button = page.getByRole("button", { name, exact: true }).and(page.locator(".primary"));
  await page.waitForFunction(() => document.querySelector(".send .primary")?.getAttribute("aria-disabled") === "false");
  return button;
}

/** Waits for the end and compares what the page says with the chain's own balances. */
async function finished(page, token) {
  await page.waitForSelector(".paid, .stages ~ .flaw", { timeout: 60_000 });
  assert.equal(await page.locator("dialog .flaw").count(), 0, await page.locator("dialog").innerText());
  const [said, got] = [await page.locator("[data-quoted]").getAttribute("data-quoted"), await page.locator("[data-received]").getAttribute("data-received")];
  const hash = await page.locator("dialog code").innerText();
  const receipt = await rpc("eth_getTransactionReceipt", [hash]);
  assert.equal(receipt.status, "0x1");
  const block = BigInt(receipt.blockNumber);
  const [later, earlier] = await Promise.all([balanceOf(token, receipt.blockNumber), balanceOf(token, `0x${(block - 1n).toString(16)}`)]);
  const gas = token === "ETH" ? BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice) : 0n;
  assert.equal(BigInt(got), later - earlier + gas, "the page's figure is not the chain's");
  return { said: BigInt(said), got: BigInt(got) };
}

async function swap(sell, buy, { with: own = wallet(), way = null, before = null } = {}) {
  const opened = await open(browser, { hash: link([sell], [[buy, 10_000]]), with: own, before });
  const { page } = opened;
  await quoted(page);
  await timeless(page);
  await connect(page);
  await ready(page);
  if (way) await page.getByRole("radio", { name: way }).check();
  await (await ready(page)).click();
  return { ...opened, own };
}

test("ether becomes USDC in one transaction, to the wei", async () => {
  const { page, faults, own, close } = await swap(["ETH", "1.5"], "USDC");
  const { said, got } = await finished(page, "USDC");
  assert.equal(got, said);
  assert.equal(await page.getByText("equal to the wei").count(), 1);
  assert.equal(own.count("eth_sendTransaction"), 1);
  assert.deepEqual(faults, []);
  await close();
});

test("USDC becomes ether by an approval and a swap, to the wei", async () => {
  const { page, faults, own, close } = await swap(["USDC", "2500.25"], "ETH", { way: "By approval" });
  const { said, got } = await finished(page, "ETH");
  assert.equal(got, said);
  assert.equal(own.count("eth_sendTransaction"), 2);
  assert.deepEqual(faults, []);
  await close();
});

test("exactly 3,000 USDC are bought with ether, for no more than the page said", async () => {
  const opened = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]), with: wallet() });
  const { page, faults, close } = opened;
  await quoted(page);
  await timeless(page);
  await connect(page);
  const [sell, get] = ["Amount to sell", "Amount to get"].map((name) => page.getByRole("textbox", { name }));
  // what the quote pays stands in the other field until somebody types there
  await page.waitForFunction(() => /^\d+/.test(document.querySelector('[aria-label="Amount to get"]').value));
  await get.click();
  await page.keyboard.type("3000");
  await page.getByRole("heading", { name: "You pay" }).waitFor();
  await page.waitForFunction(() => /^\d/.test(document.querySelector('[aria-label="Amount to sell"]').value));
  assert.match(await sell.getAttribute("class"), /about/);
  assert.match(page.url(), /&exactly=3000$/);
  await (await ready(page)).click();
  // the swap sends the quote that stands behind the dialog, which does not change while it runs
  const maximum = BigInt(await page.locator("[data-maximum]").getAttribute("data-maximum"));
  const { got } = await finished(page, "USDC");
  const sold = BigInt(await page.locator("[data-sold]").getAttribute("data-sold"));
  assert.ok(got >= 3_000_000_000n, `${got} USDC`);
  assert.ok(sold > 0n && sold <= maximum, `${sold} of at most ${maximum} wei`);
  assert.deepEqual(faults, []);
  await close();
});

test("a quote of what was asked before is greyed and cannot be sent, until the new one is there", async () => {
  let release;
  const late = new Promise((resolve) => (release = resolve));
  const slow = async (route) => {
    if (route.request().postData().includes('"2000000000000000000"')) await late;
    await route.continue();
  };
  const own = wallet();
  const { page, faults, close } = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]), with: own, before: (page) => instead(page, "/v1/quote", slow) });
  await quoted(page);
  await connect(page);
  const button = await ready(page);
  // typed and pressed in one turn of the page, before anything can be drawn
  await page.evaluate(() => {
    const field = document.querySelector('[aria-label="Amount to sell"]');
    field.value = "2";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    document.querySelector(".send .primary").click();
  });
  await page.getByText("The quote for what you changed is on its way.").waitFor();
  assert.equal(await button.getAttribute("aria-disabled"), "true");
  assert.equal(await page.locator(".results.past").getAttribute("aria-busy"), "true");
  assert.equal(await page.getByRole("textbox", { name: "Amount to get" }).inputValue(), "", "an estimate of another amount");
  await button.click({ force: true });
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(own.count("eth_sendTransaction"), 0);
  release();
  await ready(page);
  assert.equal(await page.locator(".results.past").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("USDC becomes WBTC by a signature, to the wei", async () => {
  const { page, faults, own, close } = await swap(["USDC", "1000"], "WBTC", { way: "By signature" });
  const { said, got } = await finished(page, "WBTC");
  assert.equal(got, said);
  assert.equal(own.count("eth_signTypedData_v4"), 1);
  assert.deepEqual(faults, []);
  await close();
});

test("the swap is built only when the service knows the block of the approval", async () => {
  const seen = [];
  let [height, approval] = [0, null];
  const own = wallet({
    eth_sendTransaction: async (params) => {
      height ||= Number(await rpc("eth_blockNumber"));
      const hash = await rpc("eth_sendTransaction", params);
      approval ??= hash;
      return hash;
    },
  });
  let late = 3;
  const lag = async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    if (approval && late > 0) {
      late -= 1;
      body.block.number = height;
    }
    seen.push(body.block.number);
    await route.fulfill({ response: answer, body: JSON.stringify(body) });
  };
  const before = async (page) => {
    await instead(page, "/ready", lag);
    page.on("request", (request) => request.url().endsWith("/v1/build") && seen.push("build"));
  };
  const { page, close } = await swap(["USDC", "320"], "WETH", { with: own, way: "By approval", before });
  const { said, got } = await finished(page, "WETH");
  assert.equal(got, said);
  const mined = Number((await rpc("eth_getTransactionReceipt", [approval])).blockNumber);
  assert.ok(Math.max(...seen.slice(0, seen.indexOf("build"))) >= mined, `${seen} with the approval in block ${mined}`);
  await close();
});

const bundling = { wallet_getCapabilities: () => ({ "0x1": { atomic: { status: "ready" } } }) };

test("a wallet that bundles sends approval and swap as one", async () => {
  const own = wallet(bundling);
  const { page, faults, close } = await swap(["USDC", "750"], "WETH", { with: own });
  const { said, got } = await finished(page, "WETH");
  assert.equal(got, said);
  assert.equal(own.count("wallet_sendCalls"), 1);
  const [{ params }] = own.asked.filter(({ method }) => method === "wallet_sendCalls");
  assert.equal(params[0].atomicRequired, true);
  assert.equal(params[0].calls.length, 2);
  assert.deepEqual(faults, []);
  await close();
});

for (const [code, words] of [[5750, /rejected the account upgrade/], [5760, /cannot send approval and swap as one/]]) {
  test(`a bundle that is refused with ${code} can go one by one`, async () => {
    const own = wallet({ ...bundling, wallet_sendCalls: () => Promise.reject(refusal(code)) });
    const { page, close } = await swap(["USDC", "500"], "WETH", { with: own });
    await page.getByRole("alert").filter({ hasText: words }).waitFor();
    assert.equal(own.count("eth_sendTransaction"), 0);
    await page.getByRole("button", { name: "Send one by one" }).click();
    const { said, got } = await finished(page, "WETH");
    assert.equal(got, said);
    await close();
  });
}

test("a rejected signature sends nothing and says so", async () => {
  // a token of its own: what other tests left allowed changes nothing; Permit2 is allowed first, so that the signature alone is missing
  await rpc("eth_sendTransaction", [{ from: TAKER, to: TOKENS.DAI, data: `0x095ea7b3${word("0x000000000022D473030F116dDEE9F6B43aC78BA3")}${"f".repeat(64)}` }]);
  const own = wallet({ eth_signTypedData_v4: () => Promise.reject(refusal(4001, "User rejected the request.")) });
  const { page, close } = await swap(["DAI", "100"], "WETH", { with: own, way: "By signature" });
  await page.getByRole("alert").filter({ hasText: "You rejected this in your wallet. Nothing was sent." }).waitFor({ timeout: 30_000 });
  assert.equal(own.count("eth_signTypedData_v4"), 1);
  // an approval may have gone before it where Permit2's allowance was not mined yet; the swap did not
  assert.equal(own.asked.filter(({ method, params }) => method === "eth_sendTransaction" && params[0].to.toLowerCase() !== TOKENS.DAI.toLowerCase()).length, 0);
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
  await ready(page);
  await close();
});

test("a wallet on another chain is asked to change before anything else", async () => {
  let chain = "0x2105";
  const own = wallet({ eth_chainId: () => chain, wallet_switchEthereumChain: () => void (chain = "0x1") });
  const { page, close } = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]), with: own });
  await quoted(page);
  await connect(page);
  await page.getByText("Your wallet is on another chain (8453)").waitFor();
  assert.equal(await page.getByRole("button", { name: "Swap", exact: true }).and(page.locator(".primary")).count(), 0);
  await page.getByRole("button", { name: "Switch to Ethereum" }).click();
  await ready(page);
  await page.evaluate(() => window.testEmit("chainChanged", "0xa"));
  await page.getByText("Your wallet is on another chain (10)").waitFor();
  assert.equal(own.count("eth_sendTransaction"), 0);
  await close();
});

test("a wallet that refuses to connect, or to change the chain, is told in words", async () => {
  const own = wallet({ eth_requestAccounts: () => Promise.reject(refusal(4001)) });
  const { page, close } = await open(browser, { with: own });
  await page.getByRole("button", { name: "Connect a wallet" }).click();
  await page.getByRole("button", { name: "Test wallet" }).click();
  await page.getByRole("dialog").getByRole("alert").filter({ hasText: "You rejected this" }).waitFor();
  await close();
});

test("without an API key the swap says what is missing", async () => {
  const { page, close } = await open(browser, { key: "", with: wallet() });
  await quoted(page);
  await connect(page);
  await page.getByText("Give an API key in the settings").waitFor();
  assert.equal(await page.locator(".send .primary").getAttribute("aria-disabled"), "true");
  await close();
});
