// Has another project's library work out random swaps of Fluid pools: `node fluid_second_opinion.mjs OUT.json`.
//
// The library (`@paraswap/dex-lib`) takes the fee where the contract does, of each part in twelve decimals. It is downloaded by name and version
// into a temporary folder, and only its arithmetic is loaded: what it imports of others is left out. Nothing of it is kept but the numbers.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PACKAGE = "@paraswap/dex-lib@5.0.6";
const WORLDS = 2000;
const SWAPS = 20;

/** SplitMix64: every run makes the same worlds. */
let state = 11n;
function word() {
  const low = (n) => BigInt.asUintN(64, n);
  state = low(state + 0x9e3779b97f4a7c15n);
  let z = low((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = low((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}
const below = (end) => ((word() << 64n) | word()) % BigInt(end);
const oneIn = (n) => below(n) === 0n;
/** Up to a number, every length equally likely. */
function magnitude(most) {
  const drawn = below(1n << (1n + below(BigInt(most.toString(2).length))));
  return drawn < most ? drawn : most;
}

/** Reserves around a price, more of one token than of the other at times, stretched over a range. */
function reserves(whole, price, open) {
  const none = { token0RealReserves: 0n, token1RealReserves: 0n, token0ImaginaryReserves: 0n, token1ImaginaryReserves: 0n };
  if (!open) return none;
  const real0 = (whole * (1n + below(200))) / 100n + 1n;
  const real1 = (((whole * (1n + below(200))) / 100n) * price) / 10n ** 27n + 1n;
  const stretch = 1n + below(oneIn(2) ? 20 : 3_000);
  const off = 9_900n + below(200);
  const imaginary0 = real0 + whole * stretch;
  const imaginary1 = real1 + (((whole * stretch * price) / 10n ** 27n) * off) / 10_000n;
  return { token0RealReserves: real0, token1RealReserves: real1, token0ImaginaryReserves: imaginary0, token1ImaginaryReserves: imaginary1 };
}

const told = (side) => Object.values(side).map(String);

function world(dex) {
  const whole = 10n ** (12n + below(9)) + below(10n ** 12n);
  const price = (10n ** 27n * (1n + below(2_000))) / (1n + below(2_000));
  const kinds = 1n + below(3);
  const collateral = reserves(whole, price, (kinds & 1n) === 1n);
  const debt = reserves((whole * (1n + below(300))) / 100n, price, (kinds & 2n) === 2n);
  const fee = below(oneIn(2) ? 200 : 20_000);
  const limit = (of) => ({ available: oneIn(4) ? magnitude(of) : of * 2n, expandsTo: of * 2n, expandsDuration: 0n });
  const most = [collateral, debt].map((side) => [side.token0RealReserves, side.token1RealReserves]);
  const limits = {
    withdrawableToken0: limit(most[0][0] + 1n), withdrawableToken1: limit(most[0][1] + 1n),
    borrowableToken0: limit(most[1][0] + 1n), borrowableToken1: limit(most[1][1] + 1n),
  };
  const now = Math.floor(Date.now() / 1000);
  const rows = Array.from({ length: SWAPS }, () => {
    const [zeroForOne, exactOut] = [oneIn(2), oneIn(4)];
    const first = zeroForOne !== exactOut;
    const of = first ? collateral.token0ImaginaryReserves + debt.token0ImaginaryReserves : collateral.token1ImaginaryReserves + debt.token1ImaginaryReserves;
    const amount = 1_000_000n + magnitude(of / 12n + 1n);
    const swap = exactOut ? dex.swapOut : dex.swapIn;
    const other = swap.call(dex, zeroForOne, amount, collateral, debt, 12, 12, fee, limits, price, now);
    return { zeroForOne, exactOut, amount: `${amount}`, other: `${other}` };
  });
  const available = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, `${limit.available}`]));
  return { collateral: told(collateral), debt: told(debt), price: `${price}`, fee: Number(fee), limits: available, rows };
}

const work = mkdtempSync(join(tmpdir(), "braid-fluid-"));
try {
  const quiet = { cwd: work, stdio: ["ignore", "pipe", "ignore"] };
  const archive = execFileSync("npm", ["pack", "--silent", PACKAGE], quiet).toString().trim();
  execFileSync("tar", ["-xzf", archive, "package/build/dex/fluid-dex"], quiet);
  // whatever else the library imports: something that can be called, made and asked for anything
  const nothing = new Proxy(function () {}, {
    get: (target, name) => (name === "prototype" ? target.prototype : name === Symbol.toPrimitive ? () => "" : nothing),
    apply: () => nothing,
    construct: () => ({}),
  });
  const file = join(work, "package/build/dex/fluid-dex/fluid-dex.js");
  const own = createRequire(file);
  const imported = (name) => (["./constants", "./utils"].includes(name) ? own(name) : nothing);
  const library = { exports: {} };
  new Function("require", "exports", "module", readFileSync(file, "utf8"))(imported, library.exports, library);
  const dex = Object.create(library.exports.FluidDex.prototype);
  writeFileSync(process.argv[2], JSON.stringify(Array.from({ length: WORLDS }, () => world(dex))));
} finally {
  rmSync(work, { recursive: true });
}
