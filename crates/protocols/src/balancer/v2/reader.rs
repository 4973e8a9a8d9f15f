//! Reads a pool of the V2 vault: first the constants, then the rest.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::sol;
use arrayvec::ArrayVec;

use super::{
    Earning, Minting, Model, OwnToken, Rate, Shares, StableModel, State, VAULT,
    factories::{FACTORIES, Kind},
};
use crate::{
    Discovered, Product, StateReader,
    balancer::{Invariant, Power, StablePool, WeightedPool},
    maths::WAD,
    pool::MAX_COINS,
    reading::{self, Reading, Stop, all},
};

sol! {
    function getPoolTokens(bytes32 poolId) external view returns (address[] tokens, uint256[] balances, uint256 lastChangeBlock);
    function getPausedState() external view returns (bool paused, uint256 pauseWindowEndTime, uint256 bufferPeriodEndTime);
    function getNormalizedWeights() external view returns (uint256[]);
    function getAmplificationParameter() external view returns (uint256 value, bool isUpdating, uint256 precision);
    function getRateProviders() external view returns (address[]);
    function getScalingFactors() external view returns (uint256[]);
    function isPoolFromFactory(address pool) external view returns (bool);
    function decimals() external view returns (uint8);
    function getTokenRateCache(address token) external view returns (uint256 rate, uint256 oldRate, uint256 duration, uint256 expires);
    function getPriceRateCache(address token) external view returns (uint256 rate, uint256 duration, uint256 expires);
    function getLastJoinExitData() external view returns (uint256 amplification, uint256 invariant);
    function getProtocolFeePercentageCache(uint256 feeType) external view returns (uint256);
    function isTokenExemptFromYieldProtocolFee(address token) external view returns (bool);
}

/// Kinds of protocol fees. Source: `ProtocolFeeType`.
const FEES_OF_SWAPS: U256 = U256::ZERO;
const YIELD: U256 = U256::from_limbs([2, 0, 0, 0]);

/// Constants of a pool.
#[derive(Clone, Debug)]
struct Fixed {
    product: Product,
    pool_id: B256,
    /// `10^(36 − decimals)` of each coin.
    factors: ArrayVec<U256, MAX_COINS>,
    kind: FixedKind,
}

#[derive(Clone, Debug)]
enum FixedKind {
    Weighted {
        weights: ArrayVec<U256, MAX_COINS>,
        power: Power,
    },
    /// Rate providers in the order of the coins, zero where there is none; empty if no coin has one.
    Stable {
        invariant: Invariant,
        providers: ArrayVec<Address, MAX_COINS>,
        own: Option<FixedOwn>,
    },
}

/// Constants of a pool's own token.
#[derive(Clone, Debug)]
struct FixedOwn {
    minting: Minting,
    /// Whether the protocol takes no share of each coin's yield, if that was read.
    exempt: Option<ArrayVec<bool, MAX_COINS>>,
}

/// Returns a reader of a pool, which takes two rounds.
pub(super) fn reader(pool: &Discovered) -> Box<dyn StateReader> {
    start(pool, None)
}

/// Returns a one-round reader that reuses the constants of an earlier reading.
pub(super) fn again(pool: &Discovered, product: Product, state: &State) -> Box<dyn StateReader> {
    let (factors, kind) = match &state.model {
        Model::Weighted(weighted) => {
            let kind = FixedKind::Weighted { weights: weighted.weights.clone(), power: weighted.power };
            (weighted.scaling_factors.clone(), kind)
        }
        Model::Stable(model) => {
            let providers = model.rates.iter().map(|rate| rate.provider).collect();
            let own = model.own.as_ref().map(|own| FixedOwn {
                minting: own.minting,
                exempt: Some(own.earnings.iter().map(|earning| earning.exempt).collect()),
            });
            let kind = FixedKind::Stable { invariant: model.pool.invariant, providers, own };
            let plain = model.rates.iter().map(|rate| rate.plain_factor).collect();
            (if model.rates.is_empty() { model.pool.scaling_factors.clone() } else { plain }, kind)
        }
    };
    start(pool, Some(Fixed { product, pool_id: state.pool_id, factors, kind }))
}

fn start(pool: &Discovered, known: Option<Fixed>) -> Box<dyn StateReader> {
    let pool = pool.clone();
    reading::reader(pool.key.contract, move |reading| {
        let fixed = match &known {
            Some(known) => known.clone(),
            None => fixed(&pool, reading)?,
        };
        reading.found(fixed.product);
        state(&pool, &fixed, reading).map(Arc::new)
    })
}

/// Returns the coins except the pool's own token, which is the last.
fn others(pool: &Discovered) -> &[Address] {
    match pool.coins.split_last() {
        Some((last, others)) if *last == pool.key.contract => others,
        _ => &pool.coins,
    }
}

fn fixed(pool: &Discovered, reading: &mut Reading) -> Result<Fixed, Stop> {
    let address = pool.key.contract;
    let pool_id = reading.word(address, "getPoolId()");
    let weights = reading.try_ask(address, &getNormalizedWeightsCall {});
    let providers = reading.try_ask(address, &getRateProvidersCall {});
    let made = FACTORIES.iter().map(|(factory, kind)| {
        let made = reading.try_ask(*factory, &isPoolFromFactoryCall { pool: address });
        Ok((made? == Some(true)).then_some(kind))
    });
    let made = all(made);
    let decimals = all(others(pool).iter().take(MAX_COINS).map(|coin| reading.ask(*coin, &decimalsCall {})))?;
    let (pool_id, weights, providers) = (B256::from(pool_id?), weights?, providers?.unwrap_or_default());
    if pool_id.get(..20) != Some(address.as_slice()) {
        return Err(reading.impossible("another address at the vault"));
    }
    let made = made?.into_iter().flatten().next_back();
    let made = made.ok_or(reading.impossible("not created by a known factory"))?;
    let factor = |decimals: u8| {
        let power = 36_u8.checked_sub(decimals).filter(|power| *power >= 18);
        let factor = power.and_then(|power| U256::from(10).checked_pow(U256::from(power)));
        factor.ok_or(reading.impossible("a coin of more than 18 decimals"))
    };
    let factors = decimals.into_iter().map(factor).collect::<Result<_, _>>()?;
    let (product, kind) = match *made {
        Kind::Weighted(power) => {
            let weights = weights.ok_or(reading.impossible("a weighted pool without weights"))?;
            let sum = weights.iter().fold(U256::ZERO, |sum, weight| sum.saturating_add(*weight));
            if weights.len() != pool.coins.len() || sum != WAD {
                return Err(reading.impossible("weights that do not fit its coins"));
            }
            let weights = weights.into_iter().take(MAX_COINS).collect();
            (Product::BalancerV2Weighted, FixedKind::Weighted { weights, power })
        }
        Kind::Stable(invariant) => (Product::BalancerV2Stable, stable(pool, invariant, Vec::new(), None, reading)?),
        Kind::MetaStable => (Product::BalancerV2Stable, stable(pool, Invariant::Up, providers, None, reading)?),
        Kind::Composable(minting) => {
            let kind = stable(pool, Invariant::Down, providers, Some(minting), reading)?;
            (Product::BalancerV2ComposableStable, kind)
        }
    };
    Ok(Fixed { product, pool_id, factors, kind })
}

fn stable(
    pool: &Discovered,
    invariant: Invariant,
    mut providers: Vec<Address>,
    minting: Option<Minting>,
    reading: &Reading,
) -> Result<FixedKind, Stop> {
    let coins = others(pool);
    if (coins.len() < pool.coins.len()) != minting.is_some() {
        return Err(reading.impossible("an unexpected position of its own token"));
    }
    // the vault lists a pool's own token among its coins, in the order of addresses
    if providers.len() == coins.len() + 1 {
        let place = coins.iter().take_while(|coin| **coin < pool.key.contract).count();
        providers.remove(place);
    }
    let rated = providers.iter().any(|provider| !provider.is_zero());
    if rated && (providers.len() != coins.len() || coins.len() > MAX_COINS) {
        return Err(reading.impossible("rate providers that do not fit its coins"));
    }
    let providers = if rated { providers.into_iter().collect() } else { ArrayVec::new() };
    let own = minting.map(|minting| FixedOwn { minting, exempt: None });
    Ok(FixedKind::Stable { invariant, providers, own })
}

fn state(pool: &Discovered, fixed: &Fixed, reading: &mut Reading) -> Result<State, Stop> {
    let address = pool.key.contract;
    let held = reading.ask(VAULT, &getPoolTokensCall { poolId: fixed.pool_id });
    let paused = reading.ask(address, &getPausedStateCall {});
    let fee_wad = reading.word(address, "getSwapFeePercentage()");
    let scaling_factors = fixed.factors.clone();
    let model = match &fixed.kind {
        FixedKind::Weighted { weights, power } => {
            let (balances, fee_wad) = (balances(pool, &held?, reading)?, fee_wad?);
            let (weights, power) = (weights.clone(), *power);
            Model::Weighted(WeightedPool { balances, scaling_factors, weights, fee_wad, power })
        }
        FixedKind::Stable { invariant, providers, own } => {
            let amplification = reading.ask(address, &getAmplificationParameterCall {});
            // a failed call is repeated alone, so only calls that such a pool supports are made here
            let said =
                if providers.is_empty() { Ok(Vec::new()) } else { reading.ask(address, &getScalingFactorsCall {}) };
            let rates = all(others(pool).iter().enumerate().zip(providers).zip(&scaling_factors).map(
                |(((coin, token), provider), factor)| {
                    rate(address, coin, *token, *provider, *factor, own.as_ref(), reading)
                },
            ));
            let own = own.as_ref().map(|own| own_token(address, own.minting, reading));
            let own = own.transpose()?;
            let (held, amplification, rates) = (held?, amplification?, rates?);
            if amplification.isUpdating {
                return Err(reading.impossible("a ramping amplification"));
            }
            if amplification.precision != U256::from(1_000) {
                return Err(reading.impossible("an amplification of another precision"));
            }
            let mut pool = StablePool {
                balances: balances(pool, &held, reading)?,
                scaling_factors,
                amp_times_1000: amplification.value,
                fee_wad: fee_wad?,
                invariant: *invariant,
            };
            let (mut kept, mut earnings) = (ArrayVec::new(), ArrayVec::new());
            for (factor, (rated, rate, earning)) in pool.scaling_factors.iter_mut().zip(rates) {
                *factor = rated;
                kept.push(rate);
                earnings.push(earning);
            }
            let place = held.tokens.iter().position(|token| *token == address);
            let of_the_pool = place.and_then(|place| held.balances.get(place)).copied().unwrap_or_default();
            let short = reading.impossible("a supply of its own token below the vault's balance of it");
            let own = own.map(|own| own.with(of_the_pool, earnings).ok_or(short)).transpose()?;
            let said = said?;
            let said = said.iter().enumerate().filter(|(at, _)| Some(*at) != place).map(|(_, factor)| factor);
            if said.clone().count() > 0 && !said.eq(&pool.scaling_factors) {
                return Err(reading.impossible("scaling factors that do not follow from its rates"));
            }
            Model::Stable(Box::new(StableModel { pool, own, rates: kept }))
        }
    };
    if paused?.paused {
        return Err(reading.impossible("it is paused"));
    }
    let state = State { pool_id: fixed.pool_id, model };
    state.validate().map_err(|what| reading.impossible(what))?;
    Ok(state)
}

/// Returns the vault's balance of each coin except the pool's own token.
fn balances(
    pool: &Discovered,
    held: &getPoolTokensReturn,
    reading: &Reading,
) -> Result<ArrayVec<U256, MAX_COINS>, Stop> {
    let there = || held.tokens.iter().zip(&held.balances).filter(|(token, _)| **token != pool.key.contract);
    let same = there().map(|(token, _)| token).eq(others(pool));
    if !same || held.tokens.len() != held.balances.len() || pool.coins.len() > MAX_COINS {
        return Err(reading.impossible("other coins than announced"));
    }
    Ok(there().map(|(_, balance)| *balance).collect())
}

/// Returns a coin's scaling factor with the cached rate, the provider's current rate, and the coin's yield for the
/// pool's own token.
fn rate(
    pool: Address,
    coin: usize,
    token: Address,
    provider: Address,
    plain_factor: U256,
    own: Option<&FixedOwn>,
    reading: &mut Reading,
) -> Result<(U256, Rate, Earning), Stop> {
    if provider.is_zero() {
        let rate = Rate { expires: u64::MAX, next_factor: plain_factor, plain_factor, provider };
        return Ok((plain_factor, rate, Earning { rate: WAD, next_rate: WAD, last_rate: WAD, exempt: false }));
    }
    let next_rate = reading.word(provider, "getRate()");
    let exempt = match own {
        None => Ok(false),
        Some(FixedOwn { exempt: Some(exempt), .. }) => Ok(exempt.get(coin).copied().unwrap_or_default()),
        Some(FixedOwn { exempt: None, .. }) => reading.ask(pool, &isTokenExemptFromYieldProtocolFeeCall { token }),
    };
    let (rate, last_rate, expires) = if own.is_some() {
        let cache = reading.ask(pool, &getTokenRateCacheCall { token })?;
        (cache.rate, cache.oldRate, cache.expires)
    } else {
        let cache = reading.ask(pool, &getPriceRateCacheCall { token })?;
        (cache.rate, cache.rate, cache.expires)
    };
    let (next_rate, exempt) = (next_rate?, exempt?);
    let scaled = |rate: U256| {
        let scaled = plain_factor.checked_mul(rate).and_then(|product| product.checked_div(WAD));
        scaled.ok_or(reading.impossible("a rate too large"))
    };
    let (factor, next_factor) = (scaled(rate)?, scaled(next_rate)?);
    let kept = Rate { expires: reading.narrow(expires)?, next_factor, plain_factor, provider };
    Ok((factor, kept, Earning { rate, next_rate, last_rate, exempt }))
}

/// The pool's own token, before the vault's balance of it and the coins' yields are known.
struct OwnTokenRead {
    supply: U256,
    last: getLastJoinExitDataReturn,
    shares_wad: [U256; 2],
    minting: Minting,
}

fn own_token(pool: Address, minting: Minting, reading: &mut Reading) -> Result<OwnTokenRead, Stop> {
    let (supply, last) = (reading.word(pool, "totalSupply()"), reading.ask(pool, &getLastJoinExitDataCall {}));
    let [fees, yields] =
        [FEES_OF_SWAPS, YIELD].map(|fee| reading.ask(pool, &getProtocolFeePercentageCacheCall { feeType: fee }));
    Ok(OwnTokenRead { supply: supply?, last: last?, shares_wad: [fees?, yields?], minting })
}

impl OwnTokenRead {
    /// Completes the token's state; `held` is the vault's balance of it for the pool.
    fn with(self, held: U256, earnings: ArrayVec<Earning, MAX_COINS>) -> Option<OwnToken> {
        let circulating = self.supply.checked_sub(held)?;
        let (last_invariant, last_amp_times_1000) = (self.last.invariant, self.last.amplification);
        let ([fee_share_wad, yield_share_wad], minting) = (self.shares_wad, self.minting);
        let shares = Shares { held, circulating, last_invariant, last_amp_times_1000 };
        Some(OwnToken { shares, fee_share_wad, yield_share_wad, earnings, minting })
    }
}
