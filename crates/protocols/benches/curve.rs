//! Time of an exact quote of each kind of Curve pool, the state after it included. Allocations are counted: there are
//! none.
//!
//! States are those of mainnet's largest pools of the kind at block 26,132,000; what moves a price scale is assumed.
#![allow(clippy::unwrap_used, missing_docs)]

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use braid_protocols::curve::crypto::{AmpGamma, ClassicTwo, Kind, Repricing, State as Crypto};
use braid_protocols::curve::stable::{
    Amplification, BasePool, MetaGeneration, MetaState, ProductRule, Rates, Rules, State as Stable,
};
use divan::{AllocProfiler, Bencher, black_box};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const AT: ExecutionBlock = ExecutionBlock { number: 26_132_001, timestamp: 1_791_273_587 };

fn main() {
    divan::main();
}

fn e(power: u64) -> U256 {
    U256::from(10).pow(U256::from(power))
}

fn three_pool() -> Stable {
    Stable {
        balances: [45_507_047_752_265_221_476_315_124, 44_341_002_976_430, 69_965_092_671_571_u128]
            .map(U256::from)
            .into_iter()
            .collect(),
        rates: Rates::fixed([e(18), e(30), e(30)]),
        amplification: Amplification::constant(U256::from(4_000), 1),
        fee: 1_500_000,
        offpeg_fee_multiplier: 0,
        admin_fee: 10_000_000_000,
        rules: Rules::THREE_POOL,
    }
}

fn next_generation() -> Stable {
    Stable {
        balances: [1_358_120_397_185, 3_928_508_611_309_u128].map(U256::from).into_iter().collect(),
        rates: Rates::fixed([e(30), e(30)]),
        amplification: Amplification::constant(U256::from(1_000_000), 100),
        fee: 100_000,
        offpeg_fee_multiplier: 200_000_000_000,
        admin_fee: 5_000_000_000,
        rules: Rules::standard(ProductRule::Whole),
    }
}

fn metapool() -> MetaState {
    let pool = Stable {
        balances: [2_350_927_467_724_881_896_300_408, 9_225_588_751_743_446_357_106_245_u128]
            .map(U256::from)
            .into_iter()
            .collect(),
        rates: Rates::fixed([e(18), e(18)]),
        amplification: Amplification::constant(U256::from(50_000), 100),
        fee: 4_000_000,
        offpeg_fee_multiplier: 0,
        admin_fee: 5_000_000_000,
        rules: Rules::standard(ProductRule::TimesN),
    };
    let total_supply = U256::from(153_691_628_774_814_344_730_682_684_u128);
    let base = BasePool { state: three_pool(), total_supply };
    MetaState { pool, base, cached_price: None, generation: MetaGeneration::Classic }
}

fn stable(bencher: Bencher<'_, '_>, pool: &Stable, i: u8, j: u8, amount: U256) {
    pool.swap(&AT, i, j, amount).unwrap();
    bencher.bench(|| black_box(pool).swap(&AT, i, j, black_box(amount)));
}

#[divan::bench]
fn stableswap_3pool(bencher: Bencher<'_, '_>) {
    stable(bencher, &three_pool(), 0, 1, e(23));
}

#[divan::bench]
fn stableswap_ng(bencher: Bencher<'_, '_>) {
    stable(bencher, &next_generation(), 0, 1, e(11));
}

#[divan::bench(args = [(0, 1), (0, 2), (2, 0)])]
fn metapool_underlying(bencher: Bencher<'_, '_>, (i, j): (u8, u8)) {
    let (pool, amount) = (metapool(), if i < 2 { e(22) } else { e(10) });
    pool.swap_underlying(&AT, i, j, amount).unwrap();
    bencher.bench(|| black_box(&pool).swap_underlying(&AT, i, j, black_box(amount)));
}

fn three(kind: Kind) -> Crypto {
    Crypto {
        kind,
        balances: [2_012_100_161_508, 2_344_298_143, 738_452_654_921_062_400_658_u128].map(U256::from),
        precisions: [e(12), e(10), U256::ONE],
        price_scale: [U256::from(85_419_518_888_791_872_678_623_u128), U256::from(2_694_213_749_523_210_329_046_u128)],
        d: U256::from(6_004_130_502_711_845_949_142_344_u128),
        amp_gamma: AmpGamma::constant(U256::from(821_254), U256::from(33_227_107_850_500_u64)),
        mid_fee: 26_505_000,
        out_fee: 37_920_000,
        fee_gamma: U256::from(43_116_156_504_900_u64),
        repricing: None,
    }
}

fn two(kind: Kind) -> Crypto {
    Crypto {
        kind,
        balances: [
            U256::from(27_388_463_634_505_512_170_804_579_u128),
            U256::from(219_657_126_039_944_689_497_u128),
            U256::ZERO,
        ],
        precisions: [U256::ONE; 3],
        price_scale: [U256::from(118_692_553_662_120_015_969_333_u128), U256::ZERO],
        d: U256::from(53_453_954_751_406_354_063_191_634_u128),
        amp_gamma: AmpGamma::constant(U256::from(400_000), U256::from(150_000_000_000_000_u64)),
        mid_fee: 26_000_000,
        out_fee: 45_000_000,
        fee_gamma: U256::from(230_000_000_000_000_u64),
        repricing: None,
    }
}

/// The pool with prices a percent away from its price scale and profits that pay for a move: the longest way.
fn polled(mut pool: Crypto) -> Crypto {
    let apart = pool.price_scale.map(|price| price + price / U256::from(100));
    let total_supply = pool.virtual_price(e(18)).unwrap() / U256::from(2);
    let virtual_price = pool.virtual_price(total_supply).unwrap();
    pool.repricing = Some(Repricing {
        price_oracle: Some(apart),
        last_prices: apart,
        last_prices_timestamp: AT.timestamp - 600,
        averaging_seconds: 866,
        total_supply,
        xcp_profit: virtual_price / U256::from(2),
        virtual_price: virtual_price - virtual_price / e(6),
        allowed_extra_profit: U256::from(2_000_000_000_000_u64),
        adjustment_step: U256::from(146_000_000_000_000_u64),
        not_adjusted: Some(false),
    });
    pool
}

/// What is asked of a pool.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// What it pays.
    Amount,
    /// The same, and what it is afterwards.
    After,
    /// The same, where the price scale moves.
    AfterMove,
}

const ASKS: [Ask; 3] = [Ask::Amount, Ask::After, Ask::AfterMove];

fn crypto(bencher: Bencher<'_, '_>, pool: &Crypto, ask: Ask) {
    let amount = pool.balances[0] / U256::from(100);
    let mut pool = polled(pool.clone());
    if let (Ask::After, Some(repricing)) = (ask, &mut pool.repricing) {
        repricing.xcp_profit *= U256::from(4);
    }
    pool.swap(&AT, 0, 1, amount).unwrap();
    match ask {
        Ask::Amount => bencher.bench(|| black_box(&pool).amount_out(&AT, 0, 1, black_box(amount))),
        Ask::After | Ask::AfterMove => bencher.bench(|| {
            black_box(black_box(&pool).swap(&AT, 0, 1, black_box(amount)).unwrap());
        }),
    }
}

#[divan::bench(args = ASKS)]
fn tricrypto2(bencher: Bencher<'_, '_>, ask: Ask) {
    crypto(bencher, &three(Kind::Tricrypto), ask);
}

#[divan::bench(args = ASKS)]
fn tricrypto_ng(bencher: Bencher<'_, '_>, ask: Ask) {
    crypto(bencher, &three(Kind::TricryptoNg), ask);
}

#[divan::bench(args = ASKS)]
fn cryptoswap2(bencher: Bencher<'_, '_>, ask: Ask) {
    crypto(bencher, &two(Kind::Cryptoswap(ClassicTwo::Factory)), ask);
}

#[divan::bench(args = ASKS)]
fn twocrypto_ng(bencher: Bencher<'_, '_>, ask: Ask) {
    crypto(bencher, &two(Kind::TwocryptoNg), ask);
}

#[divan::bench]
fn twocrypto_stable(bencher: Bencher<'_, '_>) {
    crypto(bencher, &two(Kind::TwocryptoStable), Ask::Amount);
}
