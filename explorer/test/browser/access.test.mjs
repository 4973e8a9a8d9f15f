// What people with a keyboard, a screen reader, a small screen or other colours meet.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { changed, connect, instead, launch, link, open, quoted, refusal, TOKENS, wallet } from "./harness.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Checks what axe can see of WCAG 2.2 A and AA, and of good practice. */
async function sound(page, where) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const lines = violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`));
  assert.deepEqual(lines, [], where);
}

const basket = link([["USDC", "20000"]], [["WETH", 6_000], ["WBTC", 4_000]]);

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1280, 320]) {
    test(`every view is accessible, ${colorScheme}, ${width} pixels wide`, async () => {
      const { page, faults, close } = await open(browser, { hash: basket, with: wallet(), colorScheme, viewport: { width, height: 800 } });
      await page.waitForFunction(() => document.querySelectorAll(".output-amount").length === 2);
      await sound(page, "a quote");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
      await page.locator(".settings > summary").click();
      await page.getByRole("checkbox").first().waitFor();
      await sound(page, "the settings");
      await page.getByRole("button", { name: /Token to sell/ }).click();
      await page.getByRole("listbox").getByRole("option").first().waitFor();
      await sound(page, "choosing a token");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Connect a wallet" }).click();
      await sound(page, "choosing a wallet");
      await page.keyboard.press("Escape");
      await connect(page);
      await page.getByText("How the proxy gets your tokens").waitFor();
      await sound(page, "a connected wallet");
      await page.getByRole("textbox", { name: "Amount to sell" }).fill("x");
      await page.locator(".flaw").first().waitFor();
      await sound(page, "a wrong amount");
      await page.getByRole("button", { name: "Status" }).click();
      await page.getByRole("heading", { name: "Pools by protocol" }).waitFor();
      await page.locator(".bars li").first().waitFor();
      await sound(page, "the status");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
      assert.deepEqual(faults, []);
      await close();
    });
  }
}

for (const colorScheme of ["light", "dark"]) {
  test(`the question before a loss is accessible and answered with the keyboard, ${colorScheme}`, async () => {
    const before = (page) => changed(page, (quote) => (quote.total_price_impact_bps = 9_000));
    const own = wallet({ eth_sendTransaction: () => Promise.reject(refusal(4001)) });
    const { page, faults, close } = await open(browser, { hash: link([["ETH", "1"]], [["USDC", 10_000]]), with: own, colorScheme, before, viewport: { width: 320, height: 800 } });
    await quoted(page);
    await connect(page);
    await page.waitForFunction(() => document.querySelector(".send .primary")?.getAttribute("aria-disabled") === "false");
    await sound(page, "a warning of a loss");
    await page.locator(".send .primary").focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await sound(page, "the question");
    await dialog.getByRole("checkbox").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "You rejected this in your wallet. Nothing was sent." }).waitFor();
    assert.equal(own.count("eth_sendTransaction"), 1);
    await sound(page, "a swap that was rejected");
    assert.deepEqual(faults, []);
    await close();
  });
}

test("Enter chooses a token that answers what was typed, although the answer comes later", async () => {
  let release;
  const entered = new Promise((resolve) => (release = resolve));
  const late = async (route) => {
    if (route.request().url().endsWith("search=wbtc")) await entered;
    await route.continue();
  };
  const { page, close } = await open(browser, { before: (page) => instead(page, "/v1/tokens", late) });
  await quoted(page);
  await page.getByRole("button", { name: /Token to get/ }).click();
  await page.getByRole("listbox").getByRole("option").first().waitFor();
  await page.keyboard.type("wbtc");
  await page.keyboard.press("Enter");
  release();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.match(await page.getByRole("button", { name: /Token to get/ }).innerText(), /WBTC/);
  await close();
});

test("a token is chosen and a step read with the keyboard alone", async () => {
  const { page, close } = await open(browser);
  await quoted(page);
  await page.getByRole("button", { name: /Token to get/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("listbox").getByRole("option").first().waitFor();
  await page.keyboard.type("wbtc");
  await page.waitForFunction(() => document.querySelector('[aria-selected="true"]')?.textContent.includes("WBTC"));
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  // the focus is back where the dialog was opened
  assert.match(await page.evaluate(() => document.activeElement.textContent), /Token to get: .*WBTC/);
  await page.waitForFunction(() => document.querySelector("#outputs-title ~ ul")?.textContent.includes("WBTC"));
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.classList.contains("ribbon"))) break;
  }
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^Step \d+: .* ETH to .*, pool 0x/);
  assert.match(await page.locator(".route-detail").innerText(), /Share[\s\S]*Price impact[\s\S]*Gas/);
  // the arrow keys lead through the steps; the Tab key passes the picture in one move
  const number = () => page.evaluate(() => Number(/^Step (\d+)/.exec(document.activeElement.getAttribute("aria-label"))[1]));
  await page.keyboard.press("Home");
  assert.equal(await number(), 1);
  const steps = await page.locator(".ribbon").count();
  for (let step = 2; step <= steps; step += 1) {
    await page.keyboard.press("ArrowRight");
    assert.equal(await number(), step);
    assert.ok((await page.locator(".route-detail").innerText()).startsWith(`Step ${step} `));
  }
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.closest(".route")), null);
  await close();
});

/** Makes a route of 40 steps to WETH and from there to WBTC, of which a part of the WETH is kept. */
function long({ path, estimated_outputs }) {
  const [weth, wbtc] = [TOKENS.WETH, TOKENS.WBTC];
  const { [0]: model } = path.steps;
  const step = (at, token_in, token_out, amount_in, amount_out) => ({ ...model, id: `s${at}`, after: [], token_in, token_out, amount_in, amount_out, share_bps: 500 });
  const first = Array.from({ length: 20 }, (_, at) => step(at + 1, TOKENS.USDC, weth, "1000000000", "333333333333333333"));
  const second = Array.from({ length: 20 }, (_, at) => step(at + 21, weth, wbtc, "133333333333333333", "444444"));
  path.steps = [...first, ...second];
  const token = (symbol, decimals) => ({ ...path.tokens[0], address: TOKENS[symbol], symbol, decimals });
  path.tokens = [token("USDC", 6), token("WETH", 18), token("WBTC", 8)];
  for (const output of estimated_outputs) output.expected_amount = output.token === weth ? `${4n * 10n ** 18n}` : "8888880";
}

for (const width of [1280, 980, 600, 320]) {
  test(`every cell of 40 steps is in sight, ${width} pixels wide, and shares and what is kept add up`, async () => {
    const { page, faults, close } = await open(browser, { hash: basket, before: (page) => changed(page, long), viewport: { width, height: 800 } });
    await page.waitForFunction(() => document.querySelectorAll(".ribbon").length === 40 && document.querySelectorAll(".output-amount").length === 2);
    assert.equal(await page.locator("#route-title").innerText(), "The route: 40 steps");
    const { rows, hidden } = await page.evaluate(() => {
      const section = document.querySelector("section[aria-labelledby=steps-title]");
      const card = section.getBoundingClientRect();
      const rows = [...section.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent.trim()));
      const cells = [...section.querySelectorAll("tbody th, tbody td")];
      const outside = (cell) => {
        // the text itself, which may be wider than its cell
        const range = document.createRange();
        range.selectNodeContents(cell);
        const box = range.getBoundingClientRect();
        return box.width === 0 || box.left < card.left || box.right > card.right;
      };
      return { rows, hidden: cells.filter(outside).map((cell) => cell.textContent) };
    });
    assert.deepEqual(hidden, []);
    assert.equal(rows.length, 41);
    const share = (row) => Math.round(Number.parseFloat(row[4]) * 100);
    const ofWeth = rows.slice(20);
    assert.deepEqual(ofWeth.at(-1).slice(0, 3), ["kept", "WETH that you get", "4 WETH"]);
    assert.equal(ofWeth.reduce((sum, row) => sum + share(row), 0), 10_000);
    assert.equal(await page.locator(".place text").filter({ hasText: "WETH · 60% kept" }).count(), 1);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    await sound(page, "a long route");
    assert.deepEqual(faults, []);
    await close();
  });
}

test("the colours are the system's until somebody chooses, and the choice is kept", async () => {
  const { page, close } = await open(browser, { colorScheme: "dark" });
  const dark = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await dark(), "dark");
  await page.getByRole("button", { name: "Use light colours" }).click();
  assert.equal(await dark(), "light");
  await page.reload();
  assert.equal(await dark(), "light");
  await close();
});
