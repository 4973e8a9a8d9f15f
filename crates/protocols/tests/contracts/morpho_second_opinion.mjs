// Has Morpho's own JavaScript library work out random vaults: `node morpho_second_opinion.mjs OUT.json`.
//
// The library (`@morpho-org/blue-sdk`) is a second implementation of MetaMorpho, Vault V2, Morpho Blue's interest and its adaptive curve. It is
// installed by name and version into a temporary folder; nothing of it is kept but the numbers in OUT.json.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const PACKAGES = ["@morpho-org/blue-sdk@6.4.0", "@morpho-org/morpho-ts@2.8.0", "viem@2.54.2"];
const WORLDS = 1000;
const TRADES = 24;

const WAD = 10n ** 18n;
const DAY = 86_400n;
const NOBODY = "0x0000000000000000000000000000000000000000";
const ASSET = "0x00000000000000000000000000000000000000a5";
const address = (n) => `0x${(0x10_0000 + n).toString(16).padStart(40, "0")}`;

// the library folds iterators, which Node.js does itself from version 22 on
const iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
iterators.reduce ??= function (fold, value) {
  for (const next of this) value = fold(value, next);
  return value;
};

/** SplitMix64: every run makes the same worlds. */
class Random {
  constructor(seed) {
    this.state = BigInt(seed);
  }

  word() {
    const low = (n) => BigInt.asUintN(64, n);
    this.state = low(this.state + 0x9e3779b97f4a7c15n);
    let z = low((this.state ^ (this.state >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = low((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  }

  below(end) {
    return ((this.word() << 64n) | this.word()) % BigInt(end);
  }

  oneIn(n) {
    return this.below(n) === 0n;
  }

  /** Up to a number, every length equally likely. */
  magnitude(most) {
    const bits = BigInt(most.toString(2).length);
    const length = 1n + this.below(bits);
    const drawn = this.below(1n << length);
    return drawn < most ? drawn : most;
  }
}

/** A market: untouched, all lent out, at its target or anything between, last touched up to a year ago. */
function market(sdk, random, now, n) {
  const idle = random.oneIn(8);
  const supply = 10n ** (6n + random.below(22)) + random.below(10n ** 6n);
  const lent = random.oneIn(6) ? 0n : random.oneIn(8) ? supply : (supply * random.below(1_001)) / 1_000n;
  const worth = 1_000_000n + random.below(900_000);
  return new sdk.Market({
    params: {
      loanToken: ASSET,
      collateralToken: idle ? NOBODY : address(n),
      oracle: idle ? NOBODY : address(n + 1),
      irm: idle ? NOBODY : address(n + 2),
      // no two markets are one
      lltv: WAD / 2n + BigInt(n),
    },
    totalSupplyAssets: supply,
    totalSupplyShares: (supply * 10n ** 12n) / worth,
    totalBorrowAssets: idle ? 0n : lent,
    totalBorrowShares: idle ? 0n : lent * 10n ** 6n,
    lastUpdate: now - random.magnitude(365n * DAY),
    fee: random.oneIn(2) ? 0n : random.below(WAD / 4n),
    rateAtTarget: idle ? undefined : random.oneIn(10) ? 0n : 31_709_791n + random.magnitude(63_388_000_000n),
  });
}

const told = (market, shares, cap) => ({
  supply_assets: `${market.totalSupplyAssets}`,
  supply_shares: `${market.totalSupplyShares}`,
  borrow_assets: `${market.totalBorrowAssets}`,
  last_update: `${market.lastUpdate}`,
  fee_wad: `${market.fee}`,
  rate_at_target_wad: market.rateAtTarget == null ? null : `${market.rateAtTarget}`,
  shares: `${shares}`,
  cap: `${cap}`,
});

/** A MetaMorpho vault on up to six markets, in the library's words and in ours. */
function vault(sdk, random, now, n) {
  const holder = address(n);
  const offset = random.oneIn(2) ? 12n : 0n;
  const markets = Array.from({ length: Number(random.below(7)) }, (_, k) => market(sdk, random, now, n + 10 * k));
  const allocations = markets.map((market) => {
    const supplyShares = random.oneIn(8) ? 0n : (market.totalSupplyShares * random.below(1_001)) / 1_000n;
    const cap = random.oneIn(8) ? 0n : random.oneIn(3) ? 1n << 184n : random.magnitude(market.totalSupplyAssets * 4n);
    const config = { vault: holder, marketId: market.id, cap, pendingCap: { value: 0n, validAt: 0n }, removableAt: 0n, enabled: true };
    const position = { user: holder, supplyShares, borrowShares: 0n, collateral: 0n };
    return { config, position: new sdk.AccrualPosition(position, market), cap, supplyShares, market };
  });
  const held = allocations.reduce((sum, { position }) => sum + position.supplyAssets, 0n);
  const lastTotalAssets = random.oneIn(6) ? (held * (1_000n + random.below(200))) / 1_000n : (held * (900n + random.below(101))) / 1_000n;
  const lostAssets = random.oneIn(2) ? undefined : random.oneIn(2) ? 0n : random.magnitude(lastTotalAssets + 1n) / 10n;
  const totalSupply = (lastTotalAssets * 10n ** offset * (800n + random.below(250))) / 1_000n;
  const fee = random.oneIn(3) ? 0n : random.below(WAD / 2n);
  const queue = markets.map((_, k) => k).filter(() => !random.oneIn(5)).reverse();
  const theirs = new sdk.AccrualVault(
    {
      address: holder, asset: ASSET, decimalsOffset: offset, decimals: 18, name: "", symbol: "",
      curator: NOBODY, owner: NOBODY, guardian: NOBODY, feeRecipient: holder, skimRecipient: NOBODY, pendingOwner: NOBODY,
      pendingTimelock: { value: 0n, validAt: 0n }, pendingGuardian: { value: NOBODY, validAt: 0n }, timelock: 0n,
      fee, supplyQueue: queue.map((k) => markets[k].id), withdrawQueue: markets.map((market) => market.id),
      totalSupply, totalAssets: held, lastTotalAssets, lostAssets,
    },
    allocations,
  );
  const ours = {
    total_shares: `${totalSupply}`,
    last_total_assets: `${lastTotalAssets}`,
    lost_assets: lostAssets == null ? null : `${lostAssets}`,
    fee_wad: `${fee}`,
    virtual_shares: `${10n ** offset}`,
    holdings: allocations.map(({ market, supplyShares, cap }) => told(market, supplyShares, cap)),
    supply_queue: queue,
  };
  return { theirs, ours };
}

/** Trades at one time: what comes in, what goes out, and the most that may go in or out, in assets. */
function trades(random, then, rows, limits) {
  for (let k = 0; k < 4; k++) {
    const deposits = random.oneIn(2);
    const most = deposits ? then.assets * 2n + 1_000_000n : (then.shares * 12n) / 10n + 1_000_000n;
    const amount = 1n + random.magnitude(most);
    const out = deposits ? then.toShares(amount) : then.toAssets(amount);
    const limit = deposits ? limits.deposit : limits.withdraw;
    rows.push({ now: `${then.now}`, deposits, amount: `${amount}`, out: `${out}`, shares: `${then.shares}`, limit: limit == null ? null : `${limit}` });
  }
}

function metamorpho(sdk, random, now, n) {
  const { theirs, ours } = vault(sdk, random, now, n);
  const rows = [];
  for (let later = now; rows.length < TRADES; later += random.magnitude(60n * DAY)) {
    const then = theirs.accrueInterest(later);
    const toShares = (assets) => then.toShares(assets, "Down");
    const toAssets = (shares) => then.toAssets(shares, "Down");
    const limits = { deposit: then.maxDeposit((1n << 256n) - 1n).value, withdraw: then.liquidity };
    trades(random, { now: later, assets: then.totalAssets, shares: then.totalSupply, toShares, toAssets }, rows, limits);
  }
  return { ...ours, rows };
}

function vaultV2(sdk, random, now, n) {
  const holder = address(n);
  const adapters = [], told_adapters = [];
  for (let k = 1; k <= Number(random.below(4)); k++) {
    const at = address(n + 100 * k);
    const common = { address: at, parentVault: holder, skimRecipient: NOBODY };
    if (random.oneIn(3)) {
      const { theirs, ours } = vault(sdk, random, now, n + 100 * k + 1);
      const shares = (theirs.totalSupply * random.below(1_001)) / 1_000n;
      adapters.push(new sdk.AccrualVaultV2MorphoVaultV1Adapter({ ...common, morphoVaultV1: theirs.address }, theirs, shares));
      told_adapters.push({ vault: ours, shares: `${shares}` });
    } else {
      const markets = Array.from({ length: Number(random.below(5)) }, (_, m) => market(sdk, random, now, n + 100 * k + 10 * m));
      const shares = markets.map((market) => (random.oneIn(8) ? 0n : (market.totalSupplyShares * random.below(1_001)) / 1_000n));
      const supplyShares = Object.fromEntries(markets.map((market, m) => [market.id, shares[m]]));
      const adapter = { ...common, marketIds: markets.map((market) => market.id), adaptiveCurveIrm: NOBODY, supplyShares };
      adapters.push(new sdk.AccrualVaultV2MorphoMarketV1AdapterV2(adapter, markets));
      told_adapters.push({ markets: markets.map((market, m) => told(market, shares[m], 0n)) });
    }
  }
  const idle = random.oneIn(4) ? 0n : random.magnitude(10n ** 27n);
  const lastUpdate = now - 1n - random.magnitude(365n * DAY);
  const real = adapters.reduce((sum, adapter) => sum + adapter.realAssets(now), idle);
  const _totalAssets = (real * (900n + random.below(150))) / 1_000n;
  const virtualShares = random.oneIn(2) ? 1n : 10n ** 12n;
  const totalSupply = (_totalAssets * virtualShares * (800n + random.below(250))) / 1_000n;
  // the highest fees and the highest rate that the vault lets itself have
  const performanceFee = random.oneIn(3) ? 0n : random.below(WAD / 2n + 1n);
  const managementFee = random.oneIn(3) ? 0n : random.below(WAD / 20n / (365n * DAY) + 1n);
  const maxRate = random.oneIn(8) ? 0n : random.magnitude((2n * WAD) / (365n * DAY));
  const theirs = new sdk.AccrualVaultV2(
    {
      address: holder, asset: ASSET, decimals: 18, name: "", symbol: "", _totalAssets, totalSupply, virtualShares, maxRate, lastUpdate,
      adapters: [], liquidityAdapter: NOBODY, liquidityData: "0x", liquidityAllocations: undefined, performanceFee, managementFee,
      performanceFeeRecipient: holder, managementFeeRecipient: holder,
    },
    undefined, adapters, idle, {},
  );
  const rows = [];
  for (let later = now; rows.length < TRADES; later += random.magnitude(60n * DAY)) {
    const then = theirs.accrueInterest(later).vault;
    const toShares = (assets) => then.toShares(assets), toAssets = (shares) => then.toAssets(shares);
    trades(random, { now: later, assets: then._totalAssets, shares: then.totalSupply, toShares, toAssets }, rows, { withdraw: idle });
  }
  return {
    total_shares: `${totalSupply}`, virtual_shares: `${virtualShares}`, total_assets: `${_totalAssets}`, last_update: `${lastUpdate}`,
    max_rate_wad: `${maxRate}`, performance_fee_wad: `${performanceFee}`, management_fee_wad: `${managementFee}`,
    idle_assets: `${idle}`, adapters: told_adapters, rows,
  };
}

const work = mkdtempSync(join(tmpdir(), "braid-morpho-"));
try {
  const options = ["--prefix", work, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"];
  execFileSync("npm", ["install", ...options, ...PACKAGES], { stdio: ["ignore", "ignore", "inherit"] });
  const sdk = await import(pathToFileURL(join(work, "node_modules/@morpho-org/blue-sdk/lib/esm/index.js")));
  const random = new Random(7);
  const now = 1_760_000_000n;
  const worlds = (make) => Array.from({ length: WORLDS }, (_, n) => make(sdk, random, now + random.below(1_000), 1_000 * n));
  writeFileSync(process.argv[2], JSON.stringify({ metamorpho: worlds(metamorpho), vault_v2: worlds(vaultV2) }));
} finally {
  rmSync(work, { recursive: true });
}
