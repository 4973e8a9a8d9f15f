// Runs the examples of the documentation against a demo (BRAID_API, BRAID_KEY, RPC_URL). A block marked `sh,run` or `ts,run` runs, blocks of one
// language and page one after the other; the comment behind it, `<!-- holds: … -->`, is what must hold then: a command, or a condition.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const pages = new URL("../../../docs/", import.meta.url).pathname;
const clients = new URL("..", import.meta.url).pathname;
// inside of the package, so that the examples import it by its name
const folder = mkdtempSync(join(clients, ".docs-"));
after(() => rmSync(folder, { recursive: true }));

// an account of the local chain whose allowances no other test touches while this one runs
const TAKER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const PRIVATE_KEY = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a";
const TREASURY = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const PROXY = JSON.parse(readFileSync(join(clients, "../../contracts/artifacts/ExecutionProxy.json"), "utf8")).address;
const env = { BRAID_API: "http://127.0.0.1:8080", BRAID_KEY: "demo-key", RPC_URL: "http://127.0.0.1:8545", ...process.env, TAKER, PRIVATE_KEY, PROXY };

const BLOCK = /^```(sh|ts),(run|setup)\n([\s\S]*?)^```\n(?:<!-- holds: ([\s\S]*?) -->)?/gm;
const found = readdirSync(pages, { recursive: true }).filter((name) => name.endsWith(".md")).sort().flatMap((page) =>
  [...readFileSync(join(pages, page), "utf8").matchAll(BLOCK)].map(([, language, kind, code, holds]) => ({ page, language, kind, code, holds })),
);
const setup = found.find(({ kind }) => kind === "setup").code
  .replace("process.env.PRIVATE_KEY", "process.env.PRIVATE_KEY as `0x${string}`")
  .replaceAll("process.env.PROXY", "process.env.PROXY as `0x${string}`")
  .replace("mainnet, transport }", "mainnet, transport, pollingInterval: 200 }");
const blocks = found.filter(({ kind }) => kind === "run");
const scripts = new Map();
for (const block of blocks) {
  const name = `${block.page} (${block.language})`;
  scripts.set(name, [...(scripts.get(name) ?? []), block]);
}
const file = (name) => `${name.replace(/\W+/g, "-")}.mts`;

test("every block that runs says what must hold", () => {
  assert.ok(scripts.size >= 10, `only ${scripts.size} scripts were found`);
  for (const { page, code, holds } of blocks) assert.ok(holds, `${page}: nothing must hold after\n${code}`);
});

test("the account of the examples is given tokens", async () => {
  const body = (token, amount) => {
    const data = `0xa9059cbb${TAKER.slice(2).padStart(64, "0")}${amount.toString(16).padStart(64, "0")}`;
    return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendTransaction", params: [{ from: TREASURY, to: token, data }] });
  };
  for (const [token, amount] of [["0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 20_000_000_000n], ["0x6B175474E89094C44Da98b954EedeAC495271d0F", 5_000n * 10n ** 18n]]) {
    const answer = await fetch(env.RPC_URL, { method: "POST", headers: { "content-type": "application/json" }, body: body(token, amount) });
    assert.ok((await answer.json()).result);
  }
});

test("the TypeScript examples compile, strictly", async () => {
  for (const [name, list] of scripts) {
    if (list[0].language !== "ts") continue;
    const body = list.map(({ code, holds }) => `${code}holds(${holds});\n`).join("");
    const text = `declare const process: { env: Record<string, string | undefined> };\n${setup}function holds(condition: boolean): void {\n  if (!condition) throw new Error("what the page says does not hold");\n}\n${body}`;
    writeFileSync(join(folder, file(name)), text);
  }
  const flags = { strict: true, noUncheckedIndexedAccess: true, target: "es2022", module: "nodenext", lib: ["es2022", "dom"], types: [], skipLibCheck: true };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: flags, include: ["*.mts"] }));
  await run(join(clients, "node_modules/.bin/tsc"), ["-p", folder]).catch(({ stdout }) => assert.fail(stdout));
});

for (const [name, list] of scripts) {
  test(name, async () => {
    const failed = ({ stdout, stderr }) => assert.fail(`${stdout}\n${stderr}`);
    if (list[0].language === "ts") {
      await run(process.execPath, [join(folder, file(name).replace(/mts$/, "mjs"))], { env }).catch(failed);
    } else {
      const script = list.map(({ code, holds }) => `${code}${holds} >/dev/null || { echo 'this does not hold: ${holds.replaceAll("'", "")}' >&2; exit 1; }\n`);
      await run("bash", ["-euo", "pipefail", "-c", script.join("")], { env }).catch(failed);
    }
  });
}
