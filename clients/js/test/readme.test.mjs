// Runs every block of the README as it stands, against a demo (BRAID_API, BRAID_KEY, RPC_URL): each `ts` block is a program of its own, which
// compiles strictly; the lines of the `sh` block run one after the other, with the variables that the page names.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { erc20Abi, parseEther } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { connect } from "../examples/wallet.mjs";

const run = promisify(execFile);
const root = new URL("..", import.meta.url).pathname;
const page = readFileSync(join(root, "README.md"), "utf8");
const blocks = (language) => [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, code]) => code);
const programs = blocks("ts");
const [commands = ""] = blocks("sh");

/** What each program prints. */
const says = [/^success 0x[0-9a-f]{64}$/, /^at most \d+ wei$/, /^\/outputs\/0\S* TOKEN_NOT_FOUND /];

// inside of the package, so that the programs import it by its name
const folder = mkdtempSync(join(root, ".docs-"));
after(() => rmSync(folder, { recursive: true }));

// an account of the local chain that no other test uses
const PRIVATE_KEY = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const TREASURY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const env = { BRAID_API: "http://127.0.0.1:8080", BRAID_KEY: "demo-key", RPC_URL: "http://127.0.0.1:8545", ...process.env, PRIVATE_KEY };
const failed = ({ stdout, stderr, message }) => assert.fail(`${message}\n${stdout}\n${stderr}`);

test("every block of code is one that runs", () => {
  assert.deepEqual([...new Set(page.match(/^```\S+$/gm))].sort(), ["```sh", "```ts"]);
  const examples = readdirSync(join(root, "examples")).filter((name) => name !== "wallet.mjs");
  for (const name of examples) assert.ok(commands.includes(`node examples/${name}`), `the README does not run ${name}`);
  assert.equal(programs.length, says.length);
});

test("the account of the examples is given tokens", async () => {
  const treasury = connect({ privateKey: TREASURY, rpc: env.RPC_URL });
  const to = privateKeyToAddress(PRIVATE_KEY);
  const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
  const transfer = { address: USDC, abi: erc20Abi, functionName: "transfer", args: [to, 20_000_000_000n] };
  for (const hash of [await treasury.sendTransaction({ to, value: parseEther("1") }), await treasury.writeContract(transfer)]) {
    assert.equal((await treasury.waitForTransactionReceipt({ hash })).status, "success");
  }
});

test("the TypeScript blocks compile, strictly", async () => {
  programs.forEach((code, at) => writeFileSync(join(folder, `block-${at + 1}.mts`), code));
  // what a program for Node.js has from @types/node
  const node = [
    "declare const process: { env: Record<string, string | undefined> };",
    'declare module "node:fs/promises" { export function writeFile(path: string, data: Uint8Array): Promise<void>; }',
  ];
  writeFileSync(join(folder, "node.d.ts"), node.join("\n"));
  const flags = { strict: true, noUncheckedIndexedAccess: true, target: "es2022", module: "nodenext", lib: ["es2022", "dom"], types: [], skipLibCheck: true };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: flags, include: ["*.mts", "*.d.ts"] }));
  await run(join(root, "node_modules/.bin/tsc"), ["-p", folder]).catch(failed);
});

for (const [at, code] of programs.entries()) {
  test(`block ${at + 1} runs: ${code.split("\n").findLast(Boolean)}`, async () => {
    const { stdout } = await run(process.execPath, [`block-${at + 1}.mjs`], { cwd: folder, env }).catch(failed);
    assert.match(stdout.trim(), says[at]);
  });
}

test("the commands run, and the files that they write are the receipt and the market", async () => {
  const script = commands.replaceAll("node examples/", `node ${root}examples/`);
  const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], { cwd: folder, env }).catch(failed);
  assert.match(stdout, /^\d+ of 0xC02a/);
  assert.match(stdout, /filled in 0x/);
  assert.match(stdout, /"result":\{\}/);
  for (const file of ["receipt.json", "quote.market"]) assert.ok(readFileSync(join(folder, file)).length > 1_000, file);
});
