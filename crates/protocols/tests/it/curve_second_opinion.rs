//! Compares Curve's pools with a second implementation: the crate `curve-math`, another project's port of the same
//! contracts' views.
//!
//! No package contains the bytecode of most of these pools. Only `get_dy` is compared. Recorded rows cover the
//! differences of `exchange`: 3pool takes its fee earlier, and only some lending pools keep back a unit. Each test
//! states where the two implementations would differ, and why.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use braid_protocols::SwapError;
use braid_protocols::curve::crypto::{self, AmpGamma, ClassicTwo, Kind};
use braid_protocols::curve::stable::{
    Amplification, BasePool, CachedPrice, MetaGeneration, MetaState, ProductRule, Rate, Rates, Rules, State,
};
use curve_math::Pool;

const NOW: ExecutionBlock = ExecutionBlock { number: 20_000_000, timestamp: 1_700_000_000 };
/// The number of pools of each kind, and of trades in each of them.
const POOLS: usize = 700;
const TRADES: usize = 44;

fn u(value: u64) -> U256 {
    U256::from(value)
}

fn e(power: u64) -> U256 {
    u(10).pow(u(power))
}

/// A random number generator (SplitMix64). Every run tries the same cases.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.word() % (high - low + 1)
    }

    /// Returns a number whose bit length is uniformly distributed.
    fn up_to_bits(&mut self, bits: u64) -> U256 {
        let length = self.between(1, bits.max(1)) as usize;
        (U256::from_limbs([self.word(), self.word(), self.word(), 0]) % (U256::ONE << length)).max(U256::ONE)
    }

    /// Returns a number between two, with every magnitude equally likely.
    fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        loop {
            let drawn: u64 = self.up_to_bits(64 - u64::from(high.leading_zeros())).to();
            if (low..=high).contains(&drawn) {
                return drawn;
            }
        }
    }

    /// Returns two different coins of a number of coins.
    fn coins(&mut self, count: usize) -> (u8, u8) {
        let i = self.between(0, count as u64 - 1) as usize;
        let j = (i + self.between(1, count as u64 - 1) as usize) % count;
        (i as u8, j as u8)
    }
}

/// The compared trades.
#[derive(Default)]
struct Tally {
    paid: usize,
    refused: usize,
}

impl Tally {
    /// Both must pay the same, or both nothing.
    fn same(&mut self, ours: &Result<U256, SwapError>, theirs: Option<U256>, story: impl Fn() -> String) {
        match (ours, theirs) {
            (Ok(ours), Some(theirs)) if *ours == theirs => self.paid += 1,
            (Ok(ours), None) if ours.is_zero() => self.refused += 1,
            (Err(_), None) => self.refused += 1,
            _ => panic!("{ours:?} here, {theirs:?} there: {}", story()),
        }
    }

    fn tell(&self, what: &str) {
        println!("{what}: {} equal to the wei, {} for nothing in both", self.paid, self.refused);
        assert!(self.paid >= 20_000, "{what}: only {} trades", self.paid);
    }
}

/// Returns a pool of two to four coins, from a thousand to ten billion, sometimes far from balance.
fn pool(random: &mut Random, coins: usize, rules: Rules, precision: u16, offpeg: u64) -> State {
    let size = random.magnitude(1_000, 10_000_000_000);
    let decimals: Vec<u64> = (0..coins).map(|_| [2, 6, 8, 18][random.between(0, 3) as usize]).collect();
    let balances = decimals.iter().map(|decimals| u(size) * u(random.between(20, 1_000)) * e(*decimals) / u(100));
    let balances = balances.collect();
    // Most coins are plain, and some have a rate.
    let mut rate = |decimals: u64| match random.between(0, 3) {
        0 => e(36 - decimals) * u(random.between(900_000, 2_000_000)) / u(1_000_000) + U256::ONE,
        _ => e(36 - decimals),
    };
    let rates = Rates::fixed(decimals.iter().map(|decimals| rate(*decimals)).collect::<Vec<_>>());
    State {
        balances,
        rates,
        amplification: Amplification::constant(u(random.magnitude(1, 20_000) * u64::from(precision)), precision),
        fee: random.between(0, 100_000_000),
        offpeg_fee_multiplier: offpeg,
        admin_fee: 5_000_000_000,
        rules,
    }
}

fn rates_of(pool: &State) -> Vec<U256> {
    let rate = |rate: &Rate| match rate {
        Rate::Fixed(rate) => *rate,
        other => panic!("{other:?} in a pool of fixed rates"),
    };
    pool.rates.0.iter().map(rate).collect()
}

/// Returns an amount of a coin, from one unit to ten times the pool's balance.
fn amount(random: &mut Random, held: U256) -> U256 {
    random.up_to_bits((held * u(10)).bit_len() as u64)
}

fn stable(what: &str, seed: u64, make: impl Fn(&mut Random) -> State, other: impl Fn(&State) -> Pool) {
    let (mut random, mut tally) = (Random(seed), Tally::default());
    for _ in 0..POOLS {
        let pool = make(&mut random);
        let theirs = other(&pool);
        for _ in 0..TRADES {
            let (i, j) = random.coins(pool.balances.len());
            let dx = amount(&mut random, pool.balances[usize::from(i)]);
            let ours = pool.view(&NOW, i, j, dx);
            let answer = theirs.get_amount_out(usize::from(i), usize::from(j), dx);
            tally.same(&ours, answer, || format!("{what} {i}→{j} of {dx} in {pool:?}"));
        }
    }
    tally.tell(what);
}

fn balances(pool: &State) -> Vec<U256> {
    pool.balances.to_vec()
}

#[test]
fn the_first_lending_pools_say_what_a_second_implementation_says() {
    let make = |random: &mut Random| {
        let coins = random.between(2, 4) as usize;
        pool(random, coins, Rules::COMPOUND, 1, 0)
    };
    stable("Compound's habits", 1, make, |pool| Pool::StableSwapV0 {
        balances: balances(pool),
        rates: rates_of(pool),
        amp: pool.amplification.future,
        fee: u(pool.fee),
    });
}

#[test]
fn pools_like_3pool_say_what_a_second_implementation_says() {
    let make = |random: &mut Random| {
        let coins = random.between(2, 4) as usize;
        pool(random, coins, Rules::THREE_POOL, 1, 0)
    };
    stable("3pool's habits", 2, make, |pool| Pool::StableSwapV1 {
        balances: balances(pool),
        rates: rates_of(pool),
        amp: pool.amplification.future,
        fee: u(pool.fee),
    });
}

#[test]
fn pools_of_the_template_say_what_a_second_implementation_says() {
    let make = |random: &mut Random| {
        let coins = random.between(2, 4) as usize;
        pool(random, coins, Rules::standard(ProductRule::TimesN), 100, 0)
    };
    stable("the template", 3, make, |pool| Pool::StableSwapV2 {
        balances: balances(pool),
        rates: rates_of(pool),
        amp: pool.amplification.future,
        fee: u(pool.fee),
    });
}

/// Aave's pools divide by one more (`x · n + 1`), which the crate omits. The model omits it here too. The coins have no
/// rates.
#[test]
fn aaves_pools_say_what_a_second_implementation_says() {
    let rules = Rules { product: ProductRule::TimesN, ..Rules::AAVE };
    let make = |random: &mut Random| {
        let (coins, offpeg) = (random.between(2, 4) as usize, random.between(5_000_000_000, 200_000_000_000));
        let mut pool = pool(random, coins, rules, 100, offpeg);
        let plain = rates_of(&pool)
            .into_iter()
            .map(|rate| (18..=34).rev().map(e).find(|power| *power <= rate.max(e(18))).unwrap());
        pool.rates = Rates::fixed(plain.collect::<Vec<_>>());
        pool
    };
    stable("Aave's habits", 4, make, |pool| Pool::StableSwapALend {
        balances: balances(pool),
        precision_mul: rates_of(pool).into_iter().map(|rate| rate / e(18)).collect(),
        amp: pool.amplification.future,
        fee: u(pool.fee),
        offpeg_fee_multiplier: u(pool.offpeg_fee_multiplier),
    });
}

#[test]
fn pools_of_the_next_generation_say_what_a_second_implementation_says() {
    let make = |random: &mut Random| {
        let (coins, offpeg) = (random.between(2, 4) as usize, random.between(5_000_000_000, 200_000_000_000));
        pool(random, coins, Rules::standard(ProductRule::Whole), 100, offpeg)
    };
    stable("the next generation", 5, make, |pool| Pool::StableSwapNG {
        balances: balances(pool),
        rates: rates_of(pool),
        amp: pool.amplification.future,
        fee: u(pool.fee),
        offpeg_fee_multiplier: u(pool.offpeg_fee_multiplier),
    });
}

/// The price of the base pool's share is computed with the crate's own invariant, unless the pool caches one.
#[test]
fn metapools_say_what_a_second_implementation_says() {
    let (mut random, mut tally) = (Random(6), Tally::default());
    for _ in 0..POOLS {
        let base = pool(&mut random, 3, Rules::THREE_POOL, 1, 0);
        let scaled: Vec<U256> =
            base.balances.iter().zip(rates_of(&base)).map(|(held, rate)| *held * rate / e(18)).collect();
        let d = curve_math::core::stableswap_v1::get_d(&scaled, base.amplification.future).unwrap();
        let total_supply = d * u(random.between(700_000, 1_000_000)) / u(1_000_000);
        let mut own = pool(&mut random, 2, Rules::standard(ProductRule::TimesN), 100, 0);
        own.balances[1] = own.balances[0] * rates_of(&own)[0] / e(18) * u(random.between(20, 500)) / u(100);
        let remembered =
            CachedPrice { value: e(18) + random.up_to_bits(58), updated: NOW.timestamp - random.between(0, 1_200) };
        let cached_price = (random.between(0, 1) == 0).then_some(remembered);
        let fresh = cached_price.filter(|cached| cached.updated + 600 >= NOW.timestamp).map(|cached| cached.value);
        let rates = vec![rates_of(&own)[0], fresh.unwrap_or(d * e(18) / total_supply)];
        let theirs =
            Pool::StableSwapMeta { balances: balances(&own), rates, amp: own.amplification.future, fee: u(own.fee) };
        let base = BasePool { state: base, total_supply };
        let ours = MetaState { pool: own, base, cached_price, generation: MetaGeneration::Classic };
        for _ in 0..TRADES {
            let (i, j) = random.coins(2);
            let dx = amount(&mut random, ours.pool.balances[usize::from(i)]);
            let answer = theirs.get_amount_out(usize::from(i), usize::from(j), dx);
            tally.same(&ours.view(&NOW, i, j, dx), answer, || format!("{i}→{j} of {dx} in {ours:?}"));
        }
    }
    tally.tell("metapools");
}

/// Returns a CryptoSwap pool with any parameters that its contract allows, around a price of any size, in balance or
/// far from it.
fn crypto_pool(random: &mut Random, kind: Kind) -> crypto::State {
    let coins = kind.coins();
    let unit = 10_000 * (coins as u64).pow(coins as u32);
    loop {
        let size = u(random.magnitude(1_000, 1_000_000_000)) * e(18);
        let mut pool = crypto::State {
            kind,
            balances: [U256::ZERO; 3],
            precisions: [U256::ZERO; 3],
            price_scale: [U256::ZERO; 2],
            d: U256::ZERO,
            amp_gamma: AmpGamma::constant(
                u(random.magnitude(unit / 10, unit * 100)),
                u(random.magnitude(100_000_000_000, 20_000_000_000_000_000)),
            ),
            mid_fee: random.between(0, 30_000_000),
            out_fee: random.between(30_000_000, 200_000_000),
            fee_gamma: u(random.magnitude(10_000_000_000, 10_000_000_000_000_000)),
            repricing: None,
        };
        for coin in 0..coins {
            let decimals = [6, 8, 18][random.between(0, 2) as usize];
            pool.precisions[coin] = e(18 - decimals);
            let value = size * u(random.between(60, 160)) / u(100);
            let amount = if coin == 0 {
                value
            } else {
                let price = e(random.between(13, 22)) * u(random.between(1_000, 9_999)) / u(1_000);
                pool.price_scale[coin - 1] = price;
                value * e(18) / price
            };
            pool.balances[coin] = amount / pool.precisions[coin];
        }
        // Some parameters have no invariant so far from balance, so a pool cannot be in that state.
        if pool.balances[..coins].iter().all(|held| *held > u(1_000_000))
            && let Ok(d) = pool.invariant(&NOW)
        {
            return crypto::State { d, ..pool };
        }
    }
}

fn first<const N: usize>(of: &[U256]) -> [U256; N] {
    core::array::from_fn(|place| of[place])
}

fn theirs(pool: &crypto::State) -> Pool {
    let (ann, gamma) = pool.amp_gamma.future;
    let (mid_fee, out_fee, fee_gamma, d) = (u(pool.mid_fee), u(pool.out_fee), pool.fee_gamma, pool.d);
    let (two, three) = ((first(&pool.balances), first(&pool.precisions)), (pool.balances, pool.precisions));
    let ((balances, precisions), price_scale) = (two, pool.price_scale[0]);
    match pool.kind {
        Kind::Cryptoswap(_) => {
            Pool::TwoCryptoV1 { balances, precisions, price_scale, d, ann, gamma, mid_fee, out_fee, fee_gamma }
        }
        Kind::TwocryptoNg => {
            Pool::TwoCryptoNG { balances, precisions, price_scale, d, ann, gamma, mid_fee, out_fee, fee_gamma }
        }
        Kind::TwocryptoStable => {
            Pool::TwoCryptoStable { balances, precisions, price_scale, d, ann, mid_fee, out_fee, fee_gamma }
        }
        Kind::Tricrypto | Kind::TricryptoNg => {
            let ((balances, precisions), price_scale) = (three, pool.price_scale);
            if pool.kind == Kind::Tricrypto {
                Pool::TriCryptoV1 { balances, precisions, price_scale, d, ann, gamma, mid_fee, out_fee, fee_gamma }
            } else {
                Pool::TriCryptoNG { balances, precisions, price_scale, d, ann, gamma, mid_fee, out_fee, fee_gamma }
            }
        }
    }
}

fn crypto(what: &str, seed: u64, kind: Kind) {
    let (mut random, mut tally) = (Random(seed), Tally::default());
    for _ in 0..POOLS {
        let pool = crypto_pool(&mut random, kind);
        let other = theirs(&pool);
        for _ in 0..TRADES {
            let (i, j) = random.coins(kind.coins());
            let dx = random.up_to_bits(pool.balances[usize::from(i)].bit_len() as u64 + 2);
            let ours = pool.view(&NOW, i, j, dx);
            let answer = other.get_amount_out(usize::from(i), usize::from(j), dx);
            tally.same(&ours, answer, || format!("{what} {i}→{j} of {dx} in {pool:?}"));
        }
    }
    tally.tell(what);
}

#[test]
fn cryptoswap_says_what_a_second_implementation_says() {
    crypto("CryptoSwap", 7, Kind::Cryptoswap(ClassicTwo::Factory));
}

#[test]
fn tricrypto_says_what_a_second_implementation_says() {
    crypto("tricrypto2", 8, Kind::Tricrypto);
}

#[test]
fn tricrypto_ng_says_what_a_second_implementation_says() {
    crypto("Tricrypto-NG", 9, Kind::TricryptoNg);
}

#[test]
fn twocrypto_ng_says_what_a_second_implementation_says() {
    crypto("Twocrypto-NG", 10, Kind::TwocryptoNg);
}

#[test]
fn twocrypto_on_stableswap_maths_says_what_a_second_implementation_says() {
    crypto("Twocrypto on StableSwap maths", 11, Kind::TwocryptoStable);
}
