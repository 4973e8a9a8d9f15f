// What happens before a swap that loses much: nothing is sent until somebody accepted the loss, in per cent and dollars.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { changed, connect, launch, link, open, quoted, rpc, timeless, wallet } from "./harness.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Makes a quote lose this much; the value that arrives is 3,000 dollars. */
const losing = (bps, more) => (page) =>
  changed(page, (quote) => {
    Object.assign(quote, more);
    quote.total_price_impact_bps = bps;
    for (const output of quote.estimated_outputs) Object.assign(output, { price_impact_bps: bps, usd_value: 3_000 });
    if (bps >= 500) quote.warnings.push({ code: "HIGH_PRICE_IMPACT", message: `the trade pays ${(bps / 100).toFixed(2)}% less than the reference prices` });
  });

const button = (page) => page.locator(".send .primary");
const sendable = (page) => page.waitForFunction(() => document.querySelector(".send .primary")?.getAttribute("aria-disabled") === "false");

async function opened(bps, more = {}) {
  let held = false;
  const never = new Promise(() => {});
  const own = wallet({ eth_sendTransaction: (params) => (held ? never : rpc("eth_sendTransaction", params)) });
  own.hold = () => (held = true);
  const one = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]), with: own, before: losing(bps, more) });
  await quoted(one.page);
  await timeless(one.page);
  await connect(one.page);
  await sendable(one.page);
  return { ...one, own, sent: () => own.count("eth_sendTransaction") };
}

test("a swap that loses 90% is sent only after the loss was accepted", async () => {
  const { page, faults, sent, close } = await opened(9_000);
  assert.ok(!/basis points/.test(await page.locator("main").innerText()));
  await page.locator(".results .loss").filter({ hasText: "You lose 90% (about $27,000)" }).waitFor();
  assert.equal(await button(page).innerText(), "Swap at a loss of 90%…");
  await button(page).click();
  const dialog = page.getByRole("dialog", { name: "Lose 90% (about $27,000)?" });
  await dialog.getByText("You sell 1 ETH, worth about $30,000.").waitFor();
  const anyway = dialog.getByRole("button", { name: "Swap anyway" });
  assert.equal(await anyway.getAttribute("aria-disabled"), "true");
  await anyway.click({ force: true });
  assert.equal(await page.locator(".stages").count(), 0);
  // closed without an answer: nothing is sent, and the quote follows the blocks again
  const again = page.waitForRequest((request) => request.url().endsWith("/v1/quote"));
  await dialog.getByRole("button", { name: "Do not swap" }).click();
  await again;
  await sendable(page);
  assert.equal(sent(), 0);
  // the box is empty again, whatever was ticked before
  await button(page).click();
  const box = page.getByRole("checkbox", { name: "I accept to lose 90% (about $27,000) of what I sell." });
  assert.equal(await box.isChecked(), false);
  await page.keyboard.press("Escape");
  await sendable(page);
  await button(page).click();
  await box.check();
  await anyway.click();
  await page.waitForSelector(".paid", { timeout: 60_000 });
  assert.equal(sent(), 1);
  assert.deepEqual(faults, []);
  await close();
});

test("the quote stands still while its loss is being confirmed", async () => {
  const { page, close } = await opened(9_000);
  await button(page).click();
  await page.getByRole("dialog", { name: "Lose 90% (about $27,000)?" }).waitFor();
  const asked = [];
  page.on("request", (request) => request.url().endsWith("/v1/quote") && asked.push(request));
  // two blocks come
  const block = async () => (await (await page.request.get(new URL("/ready", page.url()).href)).json()).block.number;
  const first = await block();
  const shown = () => page.evaluate(() => Number(/Block ([\d,]+)/.exec(document.querySelector(".head-block").innerText)[1].replaceAll(",", "")));
  await page.waitForFunction((least) => Number(/Block ([\d,]+)/.exec(document.querySelector(".head-block").innerText)[1].replaceAll(",", "")) > least, first + 1);
  assert.ok((await shown()) > first);
  assert.equal(asked.length, 0);
  await close();
});

test("a quote that ends while its loss is being confirmed cannot be sent any more", async () => {
  const { page, sent, close } = await opened(9_000, { ttl_ms: 9_000 });
  await button(page).click();
  const dialog = page.getByRole("dialog", { name: "Lose 90% (about $27,000)?" });
  await dialog.getByRole("checkbox").check();
  await dialog.getByRole("alert").filter({ hasText: "The quote is over" }).waitFor();
  const anyway = dialog.getByRole("button", { name: "Swap anyway" });
  assert.equal(await anyway.getAttribute("aria-disabled"), "true");
  await anyway.click({ force: true });
  await page.keyboard.press("Escape");
  await sendable(page);
  assert.equal(sent(), 0);
  await close();
});

test("a dialog is left with Escape, however often it was pressed, and a swap under way is not", async () => {
  const { page, own, close } = await opened(9_000);
  const again = page.waitForRequest((request) => request.url().endsWith("/v1/quote"));
  await button(page).click();
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  // the quote follows the blocks again
  await again;
  await sendable(page);
  own.hold();
  await button(page).click();
  await page.getByRole("dialog").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Swap anyway" }).click();
  const stages = page.locator(".stages");
  await stages.waitFor();
  for (let times = 0; times < 4; times += 1) await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector("dialog")?.open && document.querySelector(".stages")?.checkVisibility());
  assert.equal(await page.getByRole("dialog").getByRole("button", { name: "Close" }).count(), 0);
  await close();
});

test("a swap that loses 6% warns, and is sent without a question", async () => {
  const { page, sent, close } = await opened(600);
  await page.locator(".send .loss").filter({ hasText: "You lose 6% (about $191)" }).waitFor();
  assert.equal(await button(page).innerText(), "Swap");
  await button(page).click();
  await page.waitForSelector(".paid", { timeout: 60_000 });
  assert.equal(sent(), 1);
  await close();
});

test("a swap of which one output loses much is confirmed, however little all of them lose", async () => {
  const own = wallet({});
  const losing = (page) =>
    changed(page, (quote) => {
      quote.total_price_impact_bps = 300;
      quote.estimated_outputs.forEach((output, at) => Object.assign(output, { price_impact_bps: at * 6_000, usd_value: 400 }));
    });
  const { page, close } = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 5_000], ["DAI", 5_000]]), with: own, before: losing });
  await quoted(page);
  await timeless(page);
  await connect(page);
  await sendable(page);
  assert.equal(await button(page).innerText(), "Swap at a loss of 60% on DAI…");
  await button(page).click();
  const dialog = page.getByRole("dialog", { name: "Lose 60% (about $600) on DAI?" });
  await dialog.getByText("I accept to lose 60% (about $600) on DAI.").waitFor();
  await dialog.getByRole("button", { name: "Do not swap" }).click();
  assert.equal(own.count("eth_sendTransaction"), 0);
  await close();
});

test("a swap whose loss is unknown is confirmed too", async () => {
  const { page, sent, close } = await opened(null);
  await page.locator(".send .loss").filter({ hasText: "The loss of this swap is unknown" }).waitFor();
  await button(page).click();
  await page.getByRole("dialog", { name: "Swap at an unknown price?" }).getByText("I compared the amounts with another source").waitFor();
  assert.equal(sent(), 0);
  await close();
});

test("a small loss warns of nothing", async () => {
  const { page, close } = await opened(40);
  assert.equal(await page.locator(".loss").count(), 0);
  assert.match(await page.locator(".outputs").innerText(), /price impact 0\.4%/);
  await close();
});
