// What the page does when the service is gone, slow, stale or wrong, and when tokens and amounts are odd.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { API, instead, json, launch, link, open, problem, quoted, TOKENS } from "./harness.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const gone = (route) => route.abort("connectionrefused");

test("the page says that the service is gone, keeps what it knew, and comes back by itself", async () => {
  const { page, close } = await open(browser);
  await quoted(page);
  await page.route("**/*", gone);
  await page.getByRole("status").filter({ hasText: "The service cannot be reached." }).waitFor();
  assert.equal(await page.locator(".output-amount").count(), 1);
  await page.locator(".age.old").waitFor();
  await page.unrouteAll();
  await page.locator(".banner").getByRole("button", { name: "Try again" }).click();
  await page.locator(".banner").waitFor({ state: "detached" });
  await close();
});

test("a request that finds nobody is an error with a way on", async () => {
  const { page, close } = await open(browser, { before: (page) => instead(page, "/v1/quote", gone) });
  await page.getByRole("alert").filter({ hasText: "The service is not there" }).waitFor();
  await page.unrouteAll();
  await page.getByRole("alert").getByRole("button", { name: "Try again" }).click();
  await quoted(page);
  await close();
});

test("the list of protocols is read once the service is back", async () => {
  const before = async (page) => {
    await instead(page, "/v1/protocols", gone);
    await instead(page, "/ready", gone);
  };
  const { page, close } = await open(browser, { before });
  await page.locator(".settings > summary").click();
  await page.getByText("The list of protocols is not there yet.").waitFor();
  await page.locator(".banner").getByRole("button", { name: "Try again" }).waitFor();
  await page.unrouteAll();
  await page.locator(".banner").getByRole("button", { name: "Try again" }).click();
  await page.getByRole("checkbox", { name: "Uniswap" }).waitFor();
  await close();
});

test("a slow service shows that the page waits, and then says so", async () => {
  const never = () => {};
  const before = async (page) => {
    await page.clock.install();
    await instead(page, "/v1/quote", never);
  };
  const { page, close } = await open(browser, { before });
  await page.clock.runFor(1_000);
  await page.getByText("Looking for the best route…").waitFor();
  await page.clock.runFor(16_000);
  await page.getByRole("alert").filter({ hasText: "did not answer within 15 seconds" }).waitFor();
  await close();
});

test("a stale market is said where quotes were", async () => {
  const ready = await (await fetch(`${API}/ready`)).json();
  const before = async (page) => {
    await instead(page, "/ready", json(503, { ...ready, status: "stale" }));
    await instead(page, "/v1/quote", problem(503, "MARKET_STALE", "the newest block is 640 s old"));
  };
  const { page, faults, close } = await open(browser, { before });
  await page.getByRole("status").filter({ hasText: "market is stale" }).waitFor();
  await page.getByRole("alert").filter({ hasText: "640 s old" }).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

const field = { pointer: "/outputs/0/address", code: "NO_ROUTE_FOUND", detail: "no chain of allowed pools leads to this output" };
const answers = [
  ["a field that is wrong", problem(422, "NO_ROUTE_FOUND", "1 field is invalid", { errors: [field] }), "Allow more protocols, or more pools on a path"],
  ["which field is wrong", problem(422, "NO_ROUTE_FOUND", "1 field is invalid", { errors: [field] }), "Token to get 1"],
  ["a missing key", problem(401, "API_KEY_MISSING", "send your API key"), "This service needs an API key. Give one in the settings"],
  ["a key that is refused", problem(401, "API_KEY_INVALID", "the API key is unknown, revoked or expired"), "is not valid: it is mistyped, revoked or expired"],
  ["an internal error", problem(500, "INTERNAL", "the service failed; the request id names this failure in its log"), "test-request"],
  ["a proxy's page", (route) => route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" }), "answered with status 502"],
  ["an answer that is no JSON", (route) => route.fulfill({ status: 200, contentType: "application/json", body: "{" }), "could not be read"],
];
for (const [name, answer, words] of answers) {
  test(`${name} is told in words`, async () => {
    const { page, faults, close } = await open(browser, { before: (page) => instead(page, "/v1/quote", answer) });
    await page.getByRole("alert").filter({ hasText: words }).waitFor();
    assert.deepEqual(faults, []);
    await close();
  });
}

test("a used-up limit is waited out, then asked again without a click", async () => {
  let asked = 0;
  const limited = problem(429, "RATE_LIMITED", "10 calls per minute are allowed here", {}, { "retry-after": "2" });
  const first = (route) => ((asked += 1) === 1 ? limited(route) : route.continue());
  const { page, close } = await open(browser, { before: (page) => instead(page, "/v1/quote", first) });
  await page.getByRole("alert").filter({ hasText: "asks again in" }).waitFor();
  await quoted(page);
  await close();
});

test("a quote that is over cannot be sent", async () => {
  const { page, close } = await open(browser, { before: (page) => page.clock.install() });
  await page.clock.runFor(1_000);
  await quoted(page);
  await instead(page, "/v1/quote", gone);
  await page.clock.runFor(125_000);
  await page.locator(".age.old, .problem").first().waitFor();
  await close();
});

const HOSTILE = { symbol: `<script>alert(1)</script>`, name: `\u202Egnp.exe\u0000<img src=x onerror=alert(1)>${"A\u0301\u0301\u0301\u0301\u0301".repeat(2_000)}` };

test("a token with a hostile name is text, cut, and in its own direction", async () => {
  const rows = [
    { address: TOKENS.DAI, ...HOSTILE, decimals: 18, chain_id: 1, pool_count: 1, tags: [] },
    { address: TOKENS.WBTC, symbol: "\u202E\u200B", name: "\u202ECTBW", decimals: 8, chain_id: 1, pool_count: 1, tags: [] },
  ];
  const before = async (page) => {
    await instead(page, "/v1/tokens", json(200, { data: { tokens: rows, pagination: { limit: 60, offset: 0, has_more: false } } }));
    await page.route((url) => url.pathname === "/v1/quote", async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      for (const token of body.data?.path.tokens ?? []) Object.assign(token, HOSTILE);
      for (const output of body.data?.estimated_outputs ?? []) output.symbol = HOSTILE.symbol;
      for (const warning of body.data?.warnings ?? []) warning.message = HOSTILE.name;
      await route.fulfill({ response: answer, body: JSON.stringify(body) });
    });
  };
  const { page, faults, close } = await open(browser, { before });
  await page.getByRole("button", { name: /Token to get/ }).click();
  const option = page.getByRole("listbox").getByRole("option").first();
  await option.waitFor();
  const shown = await option.innerText();
  assert.ok(shown.includes("<script>ale…"), shown);
  assert.ok(!/[\u202E\u0000\u200B]/.test(shown) && shown.length < 120, `${shown.length} characters`);
  // a symbol of invisible characters alone is replaced by the address
  assert.ok((await page.getByRole("listbox").getByRole("option").nth(1).innerText()).includes("0x2260…C599"));
  const dialog = await page.getByRole("dialog").boundingBox();
  const box = await option.boundingBox();
  assert.ok(box.width <= dialog.width && box.height < 90, `${box.width}×${box.height}`);
  await option.click();
  await quoted(page);
  assert.equal(await page.locator("main script, main img[src=x]").count(), 0);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
  assert.deepEqual(faults, []);
  await close();
});

test("amounts at the edge of 256 bits are exact, and beyond it refused before anything is asked", async () => {
  const { page, faults, close } = await open(browser);
  await quoted(page);
  const bodies = [];
  page.on("request", (request) => request.url().endsWith("/v1/quote") && bodies.push(JSON.parse(request.postData())));
  const amount = page.getByRole("textbox", { name: "Amount to sell" });
  const most = 2n ** 256n - 1n;
  const text = `${most / 10n ** 18n}.${(most % 10n ** 18n).toString().padStart(18, "0")}`;
  const asked = page.waitForRequest((request) => request.url().endsWith("/v1/quote") && request.postData().includes(most.toString()));
  await amount.fill(text);
  await asked;
  await page.getByRole("alert").waitFor();
  assert.equal(bodies.at(-1).inputs[0].amount, most.toString());

  const before = bodies.length;
  const refused = [
    [`${most / 10n ** 18n + 1n}`, "amounts end at 2^256"],
    ["0.0000000000000000001", "This token has 18 decimals."],
    ["0", "Enter an amount above zero."],
    ["1e18", "Use digits and one point"],
    ["-1", "Use digits and one point"],
    ["1,5", "Use digits and one point"],
  ];
  for (const [typed, words] of refused) {
    await amount.fill(typed);
    await page.locator(".flaw").filter({ hasText: words }).waitFor();
    assert.equal(await page.locator(".output-amount").count(), 0, "an old quote beside a wrong amount");
  }
  await amount.fill("0.000000000000000001");
  await page.waitForRequest((request) => request.url().endsWith("/v1/quote"));
  assert.equal(bodies.length, before + 1);
  assert.equal(bodies.at(-1).inputs[0].amount, "1");
  assert.deepEqual(faults, []);
  await close();
});

test("an answer of 256-bit amounts is drawn", async () => {
  const most = (2n ** 256n - 1n).toString();
  const before = (page) =>
    page.route((url) => url.pathname === "/v1/quote", async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      for (const step of body.data.path.steps) Object.assign(step, { amount_in: most, amount_out: most });
      for (const output of body.data.estimated_outputs) Object.assign(output, { expected_amount: most, minimum_amount: most });
      await route.fulfill({ response: answer, body: JSON.stringify(body) });
    });
  const { page, faults, close } = await open(browser, { before, viewport: { width: 360, height: 800 } });
  await quoted(page);
  await page.waitForSelector(".route .place");
  assert.ok((await page.locator(".ribbon").count()) > 0);
  assert.equal(await page.locator(".output-amount").getAttribute("data-amount"), most);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
  assert.deepEqual(faults, []);
  await close();
});

test("a link fills the form, shares included, and the form writes the link", async () => {
  const { page, close } = await open(browser, { hash: link([["USDC", "1200.5"], ["DAI", "300"]], [["WETH", 7_000], ["WBTC", 3_000]]) });
  await page.getByRole("textbox", { name: "Amount to sell 2" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".output-amount").length === 2);
  assert.equal(await page.getByRole("textbox", { name: "Amount to sell 1" }).inputValue(), "1200.5");
  assert.equal(await page.getByRole("slider", { name: "Share of WETH" }).inputValue(), "7000");
  const asked = page.waitForRequest((request) => request.url().endsWith("/v1/quote") && request.postData().includes('"ratio_bps":6900'));
  await page.getByRole("slider", { name: "Share of WETH" }).press("ArrowLeft");
  const { outputs } = JSON.parse((await asked).postData());
  assert.deepEqual(outputs.map(({ ratio_bps }) => ratio_bps), [6_900, 3_100]);
  assert.ok(page.url().includes(`${TOKENS.WETH}:6900`));
  await close();
});

test("a page that a link opens asks for nothing but what the link names, and says which tokens are unknown", async () => {
  const bodies = [];
  const before = (page) => page.on("request", (request) => request.url().endsWith("/v1/quote") && bodies.push(JSON.parse(request.postData())));
  const { page, close } = await open(browser, { hash: link([["USDC", "42"]], [["WBTC", 10_000]]), before });
  await quoted(page);
  assert.deepEqual(bodies[0].inputs, [{ chain_id: 1, address: TOKENS.USDC, amount: "42000000" }]);
  const count = bodies.length;
  const nobodys = `0x${"12".repeat(20)}`;
  await page.evaluate((hash) => (location.hash = hash), link([[nobodys, "1"]], [["WBTC", 10_000]]));
  const note = page.getByText("The link names tokens that this service does not know: 0x1212…1212.");
  await note.waitFor();
  assert.equal(bodies.slice(count).filter(({ inputs }) => inputs[0].address !== TOKENS.USDC).length, 0);
  await page.getByRole("button", { name: /Token to sell/ }).click();
  await page.getByRole("listbox").getByRole("option").filter({ hasText: "USDC" }).first().click();
  await note.waitFor({ state: "detached" });
  await close();
});

test("a link that is opened in the open page fills the form too", async () => {
  const { page, close } = await open(browser);
  await quoted(page);
  await page.evaluate((hash) => (location.hash = hash), link([["USDC", "42"]], [["WBTC", 10_000]]));
  await page.waitForFunction(() => document.querySelector('[aria-label="Amount to sell"]').value === "42");
  await page.waitForFunction(() => document.querySelector("#outputs-title ~ ul")?.textContent.includes("WBTC"));
  await close();
});

test("a token of a link is named by its address, and a copy of a better known one's symbol is told apart", async () => {
  const copy = { address: TOKENS.DAI, symbol: "usdc", name: "USD Coin", decimals: 18, chain_id: 1, pool_count: 0, tags: [] };
  const before = (page) =>
    page.route((url) => url.pathname === "/v1/tokens", async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      if (route.request().url().includes(TOKENS.DAI)) body.data.tokens = [copy];
      await route.fulfill({ response: answer, body: JSON.stringify(body) });
    });
  const { page, close } = await open(browser, { hash: link([["USDT", "100"]], [["DAI", 10_000]]), before });
  const notes = page.locator(".row-note");
  await notes.filter({ hasText: "This is not the best known usdc, which is 0xA0b8…eB48. Check the address before you swap." }).waitFor();
  assert.ok((await notes.nth(1).innerText()).startsWith("0x6B17…1d0F"));
  assert.equal(await notes.nth(0).innerText(), "0xdAC1…1ec7");
  await close();
});

test("the quote follows the blocks", async () => {
  const { page, close } = await open(browser);
  await quoted(page);
  const block = async () => Number(/Block ([\d,]+)/.exec(await page.locator(".age").innerText())[1].replaceAll(",", ""));
  const first = await block();
  await page.waitForFunction((first) => Number(/Block ([\d,]+)/.exec(document.querySelector(".age").innerText)[1].replaceAll(",", "")) > first, first);
  assert.ok((await block()) > first);
  await close();
});

test("the page is small, quick, and asks its own origin alone", async () => {
  const timed = () => {
    const fetched = window.fetch;
    window.fetch = async (...asked) => {
      const answer = await fetched(...asked);
      if (asked[0] !== "/v1/quote") return answer;
      const text = await answer.text();
      window.testAnswered = performance.now();
      return new Response(text, { status: answer.status, headers: answer.headers });
    };
    new MutationObserver((_, observer) => {
      if (!document.querySelector(".ribbon")) return;
      observer.disconnect();
      requestAnimationFrame(() => (window.testDrawn = performance.now()));
    }).observe(document, { childList: true, subtree: true });
  };
  const { page, faults, close } = await open(browser, { hash: link([["USDC", "500000"]], [["WBTC", 10_000]]), before: (page) => page.addInitScript(timed) });
  await page.waitForFunction(() => window.testDrawn);
  const drawn = await page.evaluate(() => window.testDrawn - window.testAnswered);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  const own = ["/", "/explorer/app.js", "/explorer/app.css", "/explorer/icon.svg"];
  const bytes = await page.evaluate((own) => [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")].filter(({ name }) => own.includes(new URL(name).pathname)).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0), own);
  console.log(`first paint ${paint.toFixed(0)} ms, quote to picture ${drawn.toFixed(0)} ms, page ${bytes} bytes`);
  // 0.2 s and 0.05 s on a machine at work; the bounds leave room for one that does much else
  assert.ok(paint < 3_000, `first paint after ${paint} ms`);
  assert.ok(drawn < 500, `quote to picture took ${drawn} ms`);
  assert.ok(bytes > 10_000 && bytes < 300_000, `${bytes} bytes`);
  const headers = (await page.request.get(`${API}/`)).headers();
  assert.ok(headers["content-security-policy"].startsWith("default-src 'none'; script-src 'self';"));
  assert.ok(!headers["content-security-policy"].includes("unsafe"));
  assert.deepEqual(faults, []);
  await close();
});
