//! `braid-lab market generate`: generates a market with the structure of mainnet's from a seed.
//!
//! A few hubs trade with each other on many protocols and at many fees. A long tail of tokens trades against the hubs:
//! the popular ones in many pools, most others in one to four. Depths fall with a token's rank by a power law. Prices
//! are off by less than the fee. Concentrated pools have positions of many widths.

use std::path::PathBuf;
use std::sync::Arc;

use crate::out;
use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, Token, TokenId, U256, WETH};
use braid_protocols::uniswap_v3::tick_math::sqrt_price_at_tick;
use braid_protocols::{Pool, PoolState, Product, uniswap_v2, uniswap_v3};
use eyre::{Result, eyre};

#[derive(Debug, clap::Args)]
pub(crate) struct GenerateArgs {
    /// How many pools
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pools: u32,
    /// The same seed gives the same market
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Writes a generated market to a file.
pub(crate) fn generate(args: &GenerateArgs) -> Result<()> {
    let market = market(args.pools as usize, args.seed)?;
    market.save(&args.file)?;
    out::line(format_args!("{} pools of {} tokens are in {}", args.pools, market.tokens().len(), args.file.display()))?;
    Ok(())
}

/// A random number generator with a seed (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number that is uniformly distributed between `low` and `high`.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit a float")]
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// Returns a number that is approximately normally distributed, with variance one.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.between(0.0, 1.0)).sum::<f64>() - 6.0
    }

    /// Returns a random element of a list, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Returns a random position in a list of this length.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(1).max(1);
        usize::try_from(self.next() % count).unwrap_or(0)
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.between(0.0, 1.0) < share
    }
}

/// The hubs other than wrapped ether: symbol, decimals, and price in ether per whole token.
const HUBS: [(&str, u8, f64); 7] = [
    ("USDC", 6, 1.0 / 3_500.0),
    ("USDT", 6, 1.0 / 3_500.0),
    ("DAI", 18, 1.0 / 3_500.0),
    ("WBTC", 8, 27.0),
    ("wstETH", 18, 1.18),
    ("LINK", 18, 0.005),
    ("UNI", 18, 0.003),
];
/// Fees of concentrated pools with their tick spacings, in hundredths of a basis point.
const TIERS: [(u32, i32); 4] = [(100, 1), (500, 10), (3_000, 60), (10_000, 200)];

/// A token of the market, with its price in ether per atomic unit.
#[derive(Clone, Copy)]
struct Coin {
    id: TokenId,
    price: f64,
}

/// Returns a market with this many pools.
pub(crate) fn market(pools: usize, seed: u64) -> Result<Market> {
    let mut random = Random::new(seed);
    let mut tokens = Tokens::new();
    let mut hubs = vec![Coin { id: Tokens::WETH, price: 1e-18 }];
    for (at, (symbol, decimals, price)) in HUBS.iter().enumerate() {
        hubs.push(coin(&mut tokens, 0xC0, at, symbol, *decimals, *price));
    }
    let tail_count = (pools / 3).max(8);
    let mut tail = Vec::with_capacity(tail_count);
    for at in 0..tail_count {
        let decimals = random.pick(&[18, 18, 18, 18, 18, 9, 8, 6]);
        let price = 10_f64.powf(random.between(-9.0, 0.0));
        tail.push(coin(&mut tokens, 0xD0, at, &format!("T{at}"), decimals, price));
    }
    let mut made = vec![wrapper()];
    for at in 0..pools {
        let place = place(&mut random, &hubs, &tail, at);
        made.push(pool(&mut random, at, place));
    }
    let block = Block {
        number: 1,
        hash: B256::with_last_byte(1),
        parent_hash: B256::ZERO,
        timestamp: 1_700_000_000,
        base_fee_per_gas_wei: 1_000_000_000,
        gas_used: 30_000_000,
        gas_limit: 60_000_000,
    };
    let tokens = Arc::new(tokens);
    Market::empty(block, Arc::clone(&tokens))
        .next(block, tokens, made)
        .map_err(|error| eyre!("cannot make the market: {error}"))
}

fn coin(tokens: &mut Tokens, family: u8, at: usize, symbol: &str, decimals: u8, ether: f64) -> Coin {
    let token = Token { address: address(family, at), symbol: symbol.into(), name: symbol.into(), decimals };
    Coin { id: tokens.insert(token), price: ether / 10_f64.powi(i32::from(decimals)) }
}

fn address(family: u8, at: usize) -> Address {
    let mut bytes = [0_u8; 20];
    bytes[0] = family;
    bytes[12..].copy_from_slice(&u64::try_from(at).unwrap_or(u64::MAX).to_be_bytes());
    Address::from(bytes)
}

fn wrapper() -> Pool {
    let coins = [Tokens::ETHER, Tokens::WETH].into_iter().collect();
    Pool {
        key: WETH.into(),
        product: Product::WrappedEther,
        coins,
        state: PoolState::WrappedEther(braid_protocols::wrapped_ether::State),
    }
}

/// The properties of a pool: its coins, its balance of each in ether, and the probability that its liquidity is
/// concentrated.
struct Place {
    coins: [Coin; 2],
    depth_ether: f64,
    concentrated: f64,
}

/// The number of pools between hubs at the start, and the interval between later ones.
const HUB_POOLS: usize = 56;
const HUB_POOL_EVERY: usize = 64;
/// The balance of each coin in a pool of the tail's first token, in ether, and the exponent by which it falls with the
/// rank.
const TAIL_DEPTH_ETHER: f64 = 4_000.0;
const TAIL_EXPONENT: f64 = 0.8;
const LEAST_DEPTH_ETHER: f64 = 0.3;

/// Chooses the coins of the pool at a position: first hubs with each other, then two pools for every token of the tail,
/// and the rest for the popular ones.
fn place(random: &mut Random, hubs: &[Coin], tail: &[Coin], at: usize) -> Place {
    if at < HUB_POOLS || at.is_multiple_of(HUB_POOL_EVERY) {
        let (coins, magnitude) = if at < hubs.len() - 1 {
            ([hubs[at + 1], hubs[0]], random.between(3.5, 5.5))
        } else {
            let a = hub(random, hubs);
            let others: Vec<Coin> = hubs.iter().filter(|other| other.id != a.id).copied().collect();
            ([a, random.pick(&others)], random.between(-1.0, 5.5))
        };
        return Place { coins, depth_ether: 10_f64.powf(magnitude).max(LEAST_DEPTH_ETHER), concentrated: 0.8 };
    }
    let at = at - HUB_POOLS;
    // The product of two uniform numbers, so that tokens early in the tail are chosen more often.
    let place = random.between(0.0, 1.0) * random.between(0.0, 1.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in the list"
    )]
    let popular = ((place * tail.len() as f64) as usize).min(tail.len() - 1);
    let rank = if at < tail.len() * 2 { at % tail.len() } else { popular };
    #[allow(clippy::cast_precision_loss, reason = "a place in the list")]
    let typical = TAIL_DEPTH_ETHER / (rank as f64 + 1.0).powf(TAIL_EXPONENT);
    let depth_ether = (typical * (0.8 * random.normal()).exp()).max(LEAST_DEPTH_ETHER);
    let token = tail[rank];
    let other = if random.chance(0.03) { random.pick(tail) } else { hub(random, hubs) };
    let other = if other.id == token.id { hubs[0] } else { other };
    Place { coins: [token, other], depth_ether, concentrated: if rank < tail.len() / 10 { 0.5 } else { 0.3 } }
}

/// Returns a random hub: wrapped ether more often than all others together.
fn hub(random: &mut Random, hubs: &[Coin]) -> Coin {
    let first = if random.chance(0.6) { 1 } else { hubs.len() };
    random.pick(&hubs[..first])
}

fn pool(random: &mut Random, at: usize, place: Place) -> Pool {
    let Place { coins: [a, b], depth_ether, concentrated } = place;
    // Contracts sort their coins by address.
    let coins = if a.id < b.id { [a, b] } else { [b, a] };
    let concentrated = random.chance(concentrated);
    let sushi = random.chance(0.25);
    let (product, state) = if concentrated {
        let tier = random.pick(&TIERS);
        let product = if sushi { Product::SushiswapV3 } else { Product::UniswapV3 };
        (product, PoolState::UniswapV3(concentrated_state(random, coins, depth_ether, tier)))
    } else {
        let off = (0.001 * random.normal()).exp();
        let state = uniswap_v2::State {
            reserve0: whole(depth_ether / coins[0].price),
            reserve1: whole(depth_ether * off / coins[1].price),
            fee_bps: 30,
        };
        (if sushi { Product::SushiswapV2 } else { Product::UniswapV2 }, PoolState::UniswapV2(state))
    };
    Pool { key: address(0xE0, at).into(), product, coins: coins.map(|coin| coin.id).into_iter().collect(), state }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to what reserves and positions hold"
)]
fn whole(amount: f64) -> u128 {
    amount.clamp(1.0, 1e33) as u128
}

/// Returns a pool with a wide position and narrower ones around the price.
fn concentrated_state(random: &mut Random, coins: [Coin; 2], depth_ether: f64, tier: (u32, i32)) -> uniswap_v3::State {
    let (fee_pips, spacing) = tier;
    let off = f64::from(fee_pips) / 1e6 * 0.3 * random.normal();
    let ratio = coins[0].price / coins[1].price * off.exp();
    #[allow(clippy::cast_possible_truncation, reason = "prices are far inside the range of ticks")]
    let tick = ((ratio.ln() / 1.0001_f64.ln()).floor() as i32).clamp(-800_000, 800_000);
    // The liquidity of a full-range position that holds the depth on each side.
    let full = depth_ether / (coins[0].price * coins[1].price).sqrt();
    let mut steps: Vec<(i32, i128, u128)> = Vec::new();
    let mut in_range = 0_u128;
    let count = 1 + random.pick(&[1_usize, 3, 8, 20]);
    for k in 0..count {
        let width =
            if k == 0 { 40_000 } else { whole(10_f64.powf(random.between(2.0, 4.2))).try_into().unwrap_or(10_000) };
        let middle = if k == 0 { tick } else { tick.saturating_add(shift(random, width)) };
        let low = (middle - width).div_euclid(spacing) * spacing;
        let high = ((middle + width).div_euclid(spacing) + 1) * spacing;
        let (low, high) = (low.max(-880_000 / spacing * spacing), high.min(880_000 / spacing * spacing));
        #[allow(clippy::cast_precision_loss, reason = "a count of positions")]
        let liquidity = whole(full * random.between(0.5, 2.0) * if k == 0 { 1.0 } else { 4.0 / count as f64 });
        let signed = i128::try_from(liquidity).unwrap_or(i128::MAX);
        steps.extend([(low, signed, liquidity), (high, -signed, liquidity)]);
        if (low..high).contains(&tick) {
            in_range += liquidity;
        }
    }
    uniswap_v3::State {
        sqrt_price_x96: sqrt_price_at_tick(tick).unwrap_or(U256::from(1) << 96),
        tick,
        liquidity: in_range,
        fee_pips,
        fee_protocol: 0,
        tick_spacing: spacing,
        ticks: merged(steps).into(),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "less than the width")]
fn shift(random: &mut Random, width: i32) -> i32 {
    (random.normal() * 0.4 * f64::from(width)) as i32
}

/// Merges the ends of positions by tick. Ticks whose net liquidity cancels out stay initialised, as on chain.
fn merged(mut steps: Vec<(i32, i128, u128)>) -> Vec<uniswap_v3::Tick> {
    steps.sort_unstable();
    let mut ticks: Vec<(i32, i128, u128)> = Vec::with_capacity(steps.len());
    for (index, net, gross) in steps {
        match ticks.last_mut() {
            Some(last) if last.0 == index => {
                last.1 += net;
                last.2 += gross;
            }
            _ => ticks.push((index, net, gross)),
        }
    }
    ticks.into_iter().filter_map(|(index, net, gross)| uniswap_v3::Tick::new(index, net, gross)).collect()
}
