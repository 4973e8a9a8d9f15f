// A real Chromium on a running service, with a wallet that signs through the local chain's unlocked account.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

export const API = process.env.BRAID_API ?? "http://127.0.0.1:8080";
export const RPC = process.env.RPC_URL ?? "http://127.0.0.1:8545";
export const KEY = process.env.BRAID_KEY ?? "demo-key";
export const TAKER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

export const TOKENS = {
  ETH: "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
  USDC: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
  USDT: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
  WETH: "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
  WBTC: "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
  DAI: "0x6B175474E89094C44Da98b954EedeAC495271d0F",
};

/** Debian's browser, or the one that CHROMIUM names. */
function browserPath() {
  const known = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const path = known.find((candidate) => candidate && existsSync(candidate));
  assert.ok(path, "no Chromium: install it (Debian: apt-get install chromium) or name it in CHROMIUM");
  return path;
}

export function launch() {
  return chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox"] });
}

export async function rpc(method, params = []) {
  const answer = await fetch(RPC, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await answer.json();
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
}

/** A wallet's refusal, as the standards number it. */
export const refusal = (code, message = "refused") => Object.assign(new Error(message), { code });

/** A wallet of the local chain. `override` answers methods in its place; `asked` keeps what it was asked. */
export function wallet(override = {}) {
  const bundles = new Map();
  const asked = [];
  const own = {
    eth_requestAccounts: () => [TAKER],
    eth_accounts: () => [TAKER],
    wallet_getCapabilities: () => {
      throw refusal(4200, "not supported");
    },
    wallet_sendCalls: async ([{ calls, from }]) => {
      const hashes = [];
      for (const { to, data, value } of calls) hashes.push(await rpc("eth_sendTransaction", [{ from, to, data, value: value ?? "0x0" }]));
      const id = `0x${(bundles.size + 1).toString(16).padStart(64, "0")}`;
      bundles.set(id, hashes);
      return { id };
    },
    wallet_getCallsStatus: async ([id]) => {
      const receipts = await Promise.all(bundles.get(id).map((hash) => rpc("eth_getTransactionReceipt", [hash])));
      const done = receipts.every(Boolean);
      return { version: "2.0.0", id, chainId: "0x1", atomic: true, status: done ? 200 : 100, receipts: done ? receipts : [] };
    },
  };
  const request = async ({ method, params }) => {
    asked.push({ method, params });
    const answer = override[method] ?? own[method] ?? (() => rpc(method, params ?? []));
    try {
      return { result: (await answer(params)) ?? null };
    } catch (error) {
      return { error: { code: error.code ?? -32603, message: error.message } };
    }
  };
  return { request, asked, count: (method) => asked.filter((one) => one.method === method).length };
}

/** Announces the wallet in the page, by EIP-6963. */
function inject() {
  const listeners = {};
  const provider = {
    async request(asked) {
      const { result, error } = await window.testWallet(asked);
      if (error) throw Object.assign(new Error(error.message), { code: error.code });
      return result;
    },
    on: (name, listener) => (listeners[name] ??= []).push(listener),
    removeListener: (name, listener) => (listeners[name] = (listeners[name] ?? []).filter((one) => one !== listener)),
  };
  window.testEmit = (name, value) => (listeners[name] ?? []).forEach((listener) => listener(value));
  const info = { uuid: "7c4a…test", name: "Test wallet", icon: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>", rdns: "test.wallet" };
  const announce = () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }));
  window.addEventListener("eip6963:requestProvider", announce);
  announce();
}

export const link = (sell, buy) =>
  `#sell=${sell.map(([token, amount]) => `${TOKENS[token] ?? token}:${amount}`).join(",")}&buy=${buy.map(([token, bps]) => `${TOKENS[token] ?? token}:${bps}`).join(",")}`;

/** Opens the page. What goes wrong in it, and every request that leaves its origin, is kept in `faults`. */
export async function open(browser, { hash = "", key = KEY, with: injected = null, viewport = { width: 1280, height: 900 }, colorScheme = "light", before = null } = {}) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && /content security policy|refused to/i.test(message.text()) && faults.push(message.text()));
  page.on("request", (request) => !request.url().startsWith(`${API}/`) && !request.url().startsWith("data:") && faults.push(`left the origin: ${request.url()}`));
  page.on("dialog", (dialog) => (faults.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  if (key) await page.addInitScript((key) => sessionStorage.setItem("braid-api-key", key), key);
  if (injected) {
    await page.exposeFunction("testWallet", injected.request);
    await page.addInitScript(inject);
  }
  if (before) await before(page);
  await page.goto(`${API}/${hash}`);
  return { page, context, faults, close: () => page.unrouteAll({ behavior: "ignoreErrors" }).then(() => context.close()) };
}

export const quoted = (page) => page.waitForSelector(".output-amount");

export async function connect(page) {
  await page.getByRole("button", { name: "Connect a wallet" }).click();
  await page.getByRole("button", { name: "Test wallet" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

/** Leaves only pools whose price does not move with time, so that the chain pays to the wei whenever the block comes. */
export async function timeless(page) {
  await page.locator(".settings > summary").click();
  for (const name of ["Balancer", "Curve", "ERC-4626", "Fluid", "Lido", "Morpho"]) {
    await page.getByRole("checkbox", { name, exact: true }).uncheck();
  }
}

/** Answers a path of the service in its place. */
export const instead = (page, path, answer) => page.route((url) => url.pathname === path, answer);

/** Lets the service answer a quote, and changes the answer. */
export const changed = (page, change) =>
  page.route((url) => url.pathname === "/v1/quote", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    if (body.data) change(body.data);
    await route.fulfill({ response: answer, body: JSON.stringify(body) });
  });

export const json = (status, body, headers = {}) => (route) => route.fulfill({ status, headers, contentType: status < 400 ? "application/json" : "application/problem+json", body: JSON.stringify(body) });

export const problem = (status, code, detail, more = {}, headers = {}) =>
  json(status, { type: `urn:braid:problem:${code}`, title: code, status, code, detail, instance: "/v1/quote", request_id: "test-request", retryable: true, errors: [], ...more }, headers);
