// The settings: the API key, slippage, protocols, and how long a path may be.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, instead, KEY, launch, link, open, problem, quoted, wallet } from "./harness.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

test("a wrong key is corrected from where it is told, and used once it is typed to its end", async () => {
  const { page, close } = await open(browser, { key: "wrong" });
  const alert = page.getByRole("alert").filter({ hasText: "The API key is not valid" });
  await alert.waitFor();
  assert.ok(!/needs an API key|without one/.test(await alert.innerText()));
  await alert.getByRole("button", { name: "Open the API key" }).click();
  const field = page.getByLabel("API key");
  assert.ok(await field.evaluate((field) => field === document.activeElement));
  const keys = new Set();
  page.on("request", (request) => request.url().endsWith("/v1/quote") && keys.add(request.headers()["x-api-key"]));
  await field.selectText();
  await page.keyboard.type(KEY);
  await page.keyboard.press("Enter");
  await quoted(page);
  await alert.waitFor({ state: "detached" });
  for (const key of keys) assert.ok(["wrong", KEY].includes(key), `a quote was asked with ${key}`);
  await close();
});

test("a key that is refused when the transaction is built is told as one, and nothing is sent", async () => {
  const own = wallet();
  const refused = problem(401, "API_KEY_INVALID", "the API key is unknown, revoked or expired");
  const { page, close } = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]), with: own, before: (page) => instead(page, "/v1/build", refused) });
  await quoted(page);
  await connect(page);
  await page.waitForFunction(() => document.querySelector(".send .primary")?.getAttribute("aria-disabled") === "false");
  await page.locator(".send .primary").click();
  await page.getByRole("dialog").getByRole("alert").filter({ hasText: "The API key in the settings is not valid" }).waitFor();
  assert.equal(own.count("eth_sendTransaction"), 0);
  await close();
});

test("another key is used at once, although the limit of the first is used up", async () => {
  const limited = problem(429, "RATE_LIMITED", "10 calls per minute are allowed here", {}, { "retry-after": "3600" });
  const keyless = (route) => (route.request().headers()["x-api-key"] ? route.continue() : limited(route));
  const { page, close } = await open(browser, { key: "", before: (page) => instead(page, "/v1/quote", keyless) });
  await page.getByRole("alert").filter({ hasText: "asks again in" }).waitFor();
  await page.getByRole("button", { name: "Open the API key" }).click();
  await page.keyboard.type(KEY);
  await page.keyboard.press("Enter");
  await quoted(page);
  await close();
});

test("slippage that was deleted stays as it was, and much of it is warned of", async () => {
  const { page, close } = await open(browser);
  await quoted(page);
  await page.locator(".settings > summary").click();
  const field = page.getByRole("spinbutton", { name: "Most slippage in per cent" });
  await field.fill("");
  await field.press("Tab");
  assert.equal(await field.inputValue(), "0.5");
  await field.fill("5");
  await field.press("Tab");
  await page.getByText("Others can trade ahead of you and leave you up to 5% less than is quoted.").waitFor();
  await close();
});

test("what is typed stays while the page is drawn again", async () => {
  const { page, close } = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]) });
  await quoted(page);
  await page.locator(".settings > summary").click();
  const field = page.getByRole("spinbutton", { name: "Most slippage in per cent" });
  await field.fill("5");
  // another request from a link, as while typing
  await page.evaluate((hash) => void (location.hash = hash), link([["ETH", "2"]], [["USDC", 10_000]]));
  await page.waitForFunction(() => document.querySelector("[aria-label='Amount to sell']").value === "2");
  assert.equal(await field.inputValue(), "5");
  await field.press("Tab");
  await page.getByText("leave you up to 5% less than is quoted").waitFor();
  await close();
});

test("a field shows the slippage that is used, although the old one was typed again before another was chosen", async () => {
  const { page, close } = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]) });
  await quoted(page);
  await page.locator(".settings > summary").click();
  const field = page.getByRole("spinbutton", { name: "Most slippage in per cent" });
  await field.selectText();
  await page.keyboard.type("5");
  await field.selectText();
  await page.keyboard.type("0.5");
  await page.getByRole("button", { name: "1%", exact: true }).click();
  await page.getByRole("button", { name: "1%", exact: true, pressed: true }).waitFor();
  assert.equal(await field.inputValue(), "1");
  await close();
});

test("a share that was deleted stays as it was", async () => {
  const { page, close } = await open(browser, { hash: link([["USDC", "1000"]], [["WETH", 7_000], ["WBTC", 3_000]]) });
  const field = page.getByRole("spinbutton", { name: "Share of WETH in per cent" });
  await field.fill("");
  await field.press("Tab");
  assert.equal(await field.inputValue(), "70");
  assert.ok(page.url().includes(":7000,"));
  await close();
});

test("the settings offer no protocol that cannot be excluded, and count pools where the service does", async () => {
  const { page, close } = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]) });
  await quoted(page);
  await page.locator(".settings > summary").click();
  const checks = page.locator(".checks");
  await checks.getByRole("checkbox", { name: "Uniswap" }).waitFor();
  assert.equal(await checks.getByRole("checkbox", { name: "Wrapped Ether" }).count(), 0);
  await page.getByText("Wrapping and unwrapping ether is always allowed").waitFor();
  // the conversion of ether is a step everywhere, and no pool on a path
  const [rows, title] = await page.evaluate(() => [document.querySelectorAll(".steps tbody tr").length, document.querySelector("#route-title").innerText]);
  assert.match(title, new RegExp(`^The route: ${rows} steps?\\b`));
  const most = page.getByLabel("Most pools on a path");
  await most.selectOption("1");
  await page.getByText("at most 1 pool on a path").waitFor();
  await close();
});
