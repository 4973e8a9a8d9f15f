//! Certificates rely on sampled curves, so no exact quote may be above one. The test creates random pools of every kind
//! that is sampled, and quotes random amounts that are not sample points.

use alloy_primitives::{Address, B256, U256};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::balancer::{
    Invariant, StablePool,
    v2::{Minting, Model as VaultModel, OwnToken, Shares, StableModel, State as VaultState},
};
use braid_protocols::continuous::PairCurve;
use braid_protocols::curve::crypto::{self, AmpGamma, ClassicTwo, Kind};
use braid_protocols::curve::stable::{
    Amplification, BasePool, MetaGeneration, MetaState, ProductRule, Rate, Rates, Rules, State,
};
use braid_protocols::curve::{Model, State as CurveState};
use braid_protocols::{Pool, PoolState, Product};

use crate::support::random::Random;

const NOW: ExecutionBlock = ExecutionBlock { number: 20_000_000, timestamp: 1_700_000_000 };
/// The number of amounts for each direction.
const AMOUNTS: usize = 24;
/// The largest factor between a pool's price and that of its coins in balance.
const FURTHEST: f64 = 2.0;
/// The rounding error that is allowed, in units of the pool's coarsest coin.
const CRUMBS: f64 = 2.0;
/// The allowed effect of the rounding of the invariant, as a share of the pool's balance. Far from balance that is many
/// units.
const OF_INVARIANT: f64 = 1e-10;
/// The allowed floating-point error of a curve.
const FLOAT: f64 = 1e-12;

fn u(value: u64) -> U256 {
    U256::from(value)
}

fn e(power: u32) -> U256 {
    u(10).pow(u(u64::from(power)))
}

/// Returns a number between two, with every order of magnitude equally likely.
fn spread(dice: &mut Random, low: f64, high: f64) -> f64 {
    let at = dice.below(1 << 53) as f64 / (1_u64 << 53) as f64;
    low * (high / low).powf(at)
}

fn stable(dice: &mut Random, coins: usize, moving_fee: bool) -> State {
    let size = spread(dice, 1e3, 1e9);
    let decimals: Vec<u32> = (0..coins).map(|_| [6, 8, 18][dice.below(3) as usize]).collect();
    let held = |decimals: &u32| u(spread(dice, size * 0.02, size) as u64 * 1_000) * e(*decimals) / u(1_000);
    let balances = decimals.iter().map(held).collect();
    let rate = |decimals: &u32| e(36 - decimals) * u(spread(dice, 800.0, 1_250.0) as u64) / u(1_000);
    let rates: Vec<U256> = decimals.iter().map(rate).collect();
    let product = [ProductRule::TimesN, ProductRule::TimesNPlusOne, ProductRule::Whole][dice.below(3) as usize];
    State {
        balances,
        rates: Rates::fixed(rates),
        amplification: Amplification::constant(u(spread(dice, 5.0, 20_000.0) as u64 * 100), 100),
        fee: spread(dice, 1e4, 5e7) as u64,
        offpeg_fee_multiplier: if moving_fee { spread(dice, 1e10, 3e11) as u64 } else { 0 },
        admin_fee: 5_000_000_000,
        rules: Rules::standard(product),
    }
}

fn rates(pool: &State) -> impl Iterator<Item = U256> + '_ {
    pool.rates.0.iter().map(|rate| if let Rate::Fixed(rate) = rate { *rate } else { unreachable!("none is rolled") })
}

fn curve(product: Product, model: Model) -> (Product, PoolState) {
    let state = CurveState { model, ether_coin: None, base_pool: None, has_oracle: false, steth: None };
    (product, PoolState::Curve(state.into()))
}

fn metapool(dice: &mut Random) -> (Product, PoolState) {
    let base = BasePool { state: stable(dice, 3, false), total_supply: U256::ZERO };
    let xp = base.state.balances.iter().zip(rates(&base.state)).map(|(held, rate)| *held * rate / e(18));
    let total_supply = xp.sum::<U256>() * u(100) / u(103);
    let base = BasePool { total_supply, ..base };
    let mut pool = stable(dice, 2, false);
    // The second coin is the base pool's share.
    pool.balances[1] = base.total_supply / u(spread(dice, 2.0, 40.0) as u64);
    pool.balances[0] = pool.balances[1] * u(spread(dice, 20.0, 400.0) as u64) / u(100);
    pool.rates = Rates::fixed([e(18), e(18)]);
    let generation = MetaGeneration::Classic;
    curve(Product::CurveMetapool, Model::Meta(MetaState { pool, base, cached_price: None, generation }))
}

const CRYPTO: [(Product, Kind); 5] = [
    (Product::CurveCryptoswap, Kind::Cryptoswap(ClassicTwo::Factory)),
    (Product::CurveTricrypto, Kind::Tricrypto),
    (Product::CurveTricryptoNg, Kind::TricryptoNg),
    (Product::CurveTwocryptoNg, Kind::TwocryptoNg),
    (Product::CurveTwocryptoNg, Kind::TwocryptoStable),
];

/// Returns a pool between two adjustments of its price scale; `None` if the contract would refuse the balances.
fn crypto(dice: &mut Random) -> Option<(Product, PoolState)> {
    let (product, kind) = CRYPTO[dice.below(5) as usize];
    let coins = kind.coins();
    let price = |dice: &mut Random| U256::from(spread(dice, 1e15, 1e23));
    let price_scale = [price(dice), if coins == 3 { price(dice) } else { U256::ZERO }];
    let size = spread(dice, 1e22, 1e27);
    let mut balances = [U256::ZERO; 3];
    for k in 0..coins {
        let value = U256::from(spread(dice, size * 0.5, size * 2.0));
        balances[k] = if k == 0 { value } else { value * e(18) / price_scale[k - 1] };
    }
    let (amp, gamma) = match kind {
        Kind::Tricrypto | Kind::TricryptoNg => (spread(dice, 3e5, 3e8), spread(dice, 1e12, 1e15)),
        Kind::TwocryptoStable => (spread(dice, 1e5, 1e8), 1e15),
        _ => (spread(dice, 4e4, 4e8), spread(dice, 1e12, 1e16)),
    };
    let fees = (spread(dice, 1e6, 3e7), spread(dice, 3e7, 1e8));
    let mut pool = crypto::State {
        kind,
        balances,
        precisions: [U256::ONE; 3],
        price_scale,
        d: U256::ZERO,
        amp_gamma: AmpGamma::constant(U256::from(amp), U256::from(gamma)),
        mid_fee: fees.0 as u64,
        out_fee: fees.1 as u64,
        fee_gamma: U256::from(spread(dice, 1e14, 1e16)),
        repricing: None,
    };
    pool.d = pool.invariant(&NOW).ok()?;
    Some(curve(product, Model::Crypto(pool)))
}

fn balancer(dice: &mut Random) -> (Product, PoolState) {
    let coins = 2 + dice.below(3) as usize;
    let pool = stable(dice, coins, false);
    let model = StablePool {
        scaling_factors: rates(&pool).collect(),
        balances: pool.balances.into_iter().collect(),
        amp_times_1000: pool.amplification.initial * u(10),
        fee_wad: U256::from(spread(dice, 1e13, 1e16)),
        invariant: if dice.coin() { Invariant::Up } else { Invariant::Down },
    };
    let own = (model.invariant == Invariant::Down && dice.coin()).then(|| own_token(dice, &model));
    let product = if own.is_some() { Product::BalancerV2ComposableStable } else { Product::BalancerV2Stable };
    let model = StableModel { pool: model, own, rates: [].into_iter().collect() };
    let state = VaultState { pool_id: B256::ZERO, model: VaultModel::Stable(Box::new(model)) };
    (product, PoolState::BalancerV2(state.into()))
}

/// Returns the sum of a stable pool's balances, in 18 decimals of the common unit.
fn value(pool: &StablePool) -> U256 {
    let each = pool.balances.iter().zip(&pool.scaling_factors).map(|(balance, factor)| balance * factor / e(18));
    each.fold(U256::ZERO, |sum, value| sum + value)
}

/// Returns the own token of a pool that has earned some fees since the last join or exit.
fn own_token(dice: &mut Random, pool: &StablePool) -> OwnToken {
    let part = |percent: f64| value(pool) * U256::from(percent as u64) / u(100);
    OwnToken {
        shares: Shares {
            held: U256::ONE << 111,
            circulating: part(spread(dice, 70.0, 110.0)),
            last_invariant: part(spread(dice, 80.0, 100.0)),
            last_amp_times_1000: pool.amp_times_1000,
        },
        fee_share_wad: e(18) / u(2),
        yield_share_wad: e(18) / u(2),
        earnings: [].into_iter().collect(),
        minting: Minting::Once,
    }
}

fn pool(dice: &mut Random) -> Pool {
    let (product, state) = loop {
        let coins = 2 + dice.below(3) as usize;
        let rolled = match dice.below(6) {
            0 => Some(curve(Product::CurveStableswap, Model::Stable(stable(dice, coins, false)))),
            1 => Some(curve(Product::CurveStableswapNg, Model::Stable(stable(dice, coins, true)))),
            2 => Some(metapool(dice)),
            3 => Some(balancer(dice)),
            _ => crypto(dice),
        };
        if let Some(rolled) = rolled {
            break rolled;
        }
    };
    let coins = match &state {
        PoolState::Curve(state) => state.coins(),
        PoolState::BalancerV2(state) => state.coins(),
        _ => unreachable!("none is rolled"),
    };
    Pool { key: Address::ZERO.into(), product, coins: (0..coins as u32).map(TokenId).collect(), state }
}

/// The results for one product. `above` sums how far curves are above quotes, for trades of up to about a third of the
/// pool's capacity.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    quotes: u32,
    counted: u32,
    above: f64,
}

/// Returns the value of an atomic unit of each coin in a common unit when the pool is in balance.
fn worths(pool: &Pool) -> Vec<f64> {
    let of = |pool: &State| rates(pool).map(f64::from).collect::<Vec<f64>>();
    match &pool.state {
        PoolState::Curve(state) => match &state.model {
            Model::Stable(pool) => of(pool),
            // The base pool's shares are worth about as much as the dollars.
            Model::Lending(lent) => lent.markets.iter().map(|market| f64::from(market.precision)).collect(),
            Model::Meta(meta) => of(&meta.pool).into_iter().chain(of(&meta.base.state)).collect(),
            Model::Crypto(pool) => {
                let scale = pool.price_scale.iter().map(|price| f64::from(*price));
                [1e18].into_iter().chain(scale).take(pool.kind.coins()).collect()
            }
        },
        PoolState::BalancerV2(state) => match &state.model {
            VaultModel::Stable(stable) => {
                let factors = stable.pool.scaling_factors.iter().map(|factor| f64::from(*factor));
                let share = |own: &OwnToken| 1e18 * f64::from(value(&stable.pool)) / f64::from(own.shares.circulating);
                factors.chain(stable.own.as_ref().map(share)).collect()
            }
            VaultModel::Weighted(_) => unreachable!("none is rolled"),
        },
        _ => unreachable!("none is rolled"),
    }
}

#[test]
fn no_random_pool_pays_more_than_its_sampled_curve() {
    let cases = if std::env::var_os("LONG").is_some() { 20_000 } else { 2_000 };
    let mut seen: std::collections::BTreeMap<&str, Seen> = std::collections::BTreeMap::new();
    let mut faults: Vec<String> = Vec::new();
    for case in 0..cases {
        let mut dice = Random::new(case);
        let pool = pool(&mut dice);
        let coins = pool.coins.len() as u64;
        let i = dice.below(coins) as u8;
        let j = (u64::from(i) + 1 + dice.below(coins - 1)) % coins;
        let j = j as u8;
        let Some(curve) = PairCurve::of(&pool, [i.min(j), i.max(j)], &NOW) else { continue };
        let Some(direction) = curve.direction(u8::from(i > j)) else { continue };
        // Pools that people trade in are not further from the prices of their coins.
        let worths = worths(&pool);
        let off = direction.spot() * worths[usize::from(j)] / worths[usize::from(i)];
        if !(1.0 / FURTHEST..FURTHEST).contains(&off) {
            continue;
        }
        let row = seen.entry(pool.product.id()).or_default();
        for _ in 0..AMOUNTS {
            let amount = (direction.capacity_in() * spread(&mut dice, 1e-10, 1.0)).floor();
            if !(1.0..1e38).contains(&amount) {
                continue;
            }
            let Ok(swap) = pool.swap(&NOW, i, j, U256::from(amount)) else { continue };
            let paid = f64::from(swap.amount_out);
            let above = direction.quote(amount).0 / paid - 1.0;
            // Contracts round to units of any of their coins, which is much for small trades.
            let unit = worths.iter().copied().fold(0.0, f64::max) / worths[usize::from(j)];
            let crumb = (CRUMBS * unit + OF_INVARIANT * direction.capacity_out()) / paid;
            row.quotes += 1;
            if paid > 1e7 && paid < 0.3 * direction.capacity_out() {
                row.counted += 1;
                row.above += above;
            }
            if above < -FLOAT - crumb {
                let name = format!("pool {case}, {} {i}→{j}: {amount:e} pays {paid:e}", pool.product.id());
                faults.push(format!("{name} of {:e}, {above:e}", direction.capacity_out()));
            }
        }
    }
    for (product, row) in &seen {
        let mean = row.above / f64::from(row.counted.max(1));
        println!("{product:<28} {:>8} quotes, {mean:.1e} above on average", row.quotes);
    }
    assert!(faults.is_empty(), "{} quotes are above their curve: {:#?}", faults.len(), &faults[..faults.len().min(20)]);
    assert!(seen.len() == 9 && seen.values().all(|row| row.quotes > 500));
}
