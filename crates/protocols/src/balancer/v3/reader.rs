//! Reads a pool of the V3 vault in one round, and the vaults on which its rates depend in further rounds.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;
use arrayvec::ArrayVec;

use super::{
    Amplification, Coin, Fee, Generation, PoolKind, State, VAULT,
    factories::{FACTORIES, STABLE_SURGE_HOOKS},
    followed,
    hooks::InSwaps,
};
use crate::{
    Discovered, Product, StateReader,
    maths::WAD,
    pool::MAX_COINS,
    reading::{self, Reading, Stop, all},
};

sol! {
    struct TokenInfo { uint8 tokenType; address rateProvider; bool paysYieldFees; }
    struct LiquidityFlags { bool disableUnbalancedLiquidity; bool enableAdd; bool enableRemove; bool enableDonation; }
    struct PoolConfig {
        LiquidityFlags liquidityManagement; uint256 staticSwapFeePercentage; uint256 aggregateSwapFeePercentage;
        uint256 aggregateYieldFeePercentage; uint40 tokenDecimalDiffs; uint32 pauseWindowEndTime; bool isPoolRegistered;
        bool isPoolInitialized; bool isPoolPaused; bool isPoolInRecoveryMode;
    }
    struct Hooks {
        bool enableHookAdjustedAmounts; bool shouldCallBeforeInitialize; bool shouldCallAfterInitialize;
        bool shouldCallComputeDynamicSwapFee; bool shouldCallBeforeSwap; bool shouldCallAfterSwap;
        bool shouldCallBeforeAddLiquidity; bool shouldCallAfterAddLiquidity;
        bool shouldCallBeforeRemoveLiquidity; bool shouldCallAfterRemoveLiquidity;
        address hooksContract;
    }
    struct Ramp { uint64 startValue; uint64 endValue; uint32 startTime; uint32 endTime; }
    function getPoolTokenInfo(address pool) external view
        returns (address[] tokens, TokenInfo[] tokenInfo, uint256[] balancesRaw, uint256[] lastBalancesLiveScaled18);
    function getPoolTokenRates(address pool) external view returns (uint256[] decimalScalingFactors, uint256[] tokenRates);
    function getPoolConfig(address pool) external view returns (PoolConfig config);
    function getHooksConfig(address pool) external view returns (Hooks config);
    function isPoolPaused(address pool) external view returns (bool);
    function isVaultPaused() external view returns (bool);
    function isPoolFromFactory(address pool) external view returns (bool);
    function getNormalizedWeights() external view returns (uint256[]);
    function getMinTokenBalances() external view returns (uint256[]);
    function getAmplificationState() external view returns (Ramp state, uint256 precision);
    function getSurgeThresholdPercentage(address pool) external view returns (uint256);
    function getMaxSurgeFeePercentage(address pool) external view returns (uint256);
}

/// Returns a reader of a pool, which reuses the constants of an earlier reading.
pub(super) fn reader(pool: &Discovered, was: Option<&Arc<State>>) -> Box<dyn StateReader> {
    let (pool, was) = (pool.clone(), was.map(Arc::clone));
    reading::reader(pool.key.contract, move |reading| read(&pool, was.as_deref(), false, reading).map(Arc::new))
}

/// Returns a one-round reader for a block without a relevant log: vaults whose logs reveal every change are unchanged.
pub(super) fn reader_each_block(pool: &Discovered, was: &Arc<State>) -> Box<dyn StateReader> {
    let (pool, was) = (pool.clone(), Arc::clone(was));
    reading::reader(pool.key.contract, move |reading| read(&pool, Some(&*was), true, reading).map(Arc::new))
}

fn read(pool: &Discovered, was: Option<&State>, no_relevant_log: bool, reading: &mut Reading) -> Result<State, Stop> {
    let timestamp = reading.timestamp();
    let itself = itself(pool, was, reading);
    let (itself, candidates) = match was {
        Some(was) => {
            let candidates = followed::read_again(&was.followed, no_relevant_log, reading);
            (itself?, candidates?)
        }
        None => {
            let assets = followed::ask_assets(&pool.coins, reading);
            let itself = itself?;
            let candidates = followed::read(&pool.coins, assets, &itself.1, reading)?;
            (itself, candidates)
        }
    };
    let (mut state, _) = itself;
    let rate = |coin: u8| state.coins.get(usize::from(coin)).map(|coin| coin.rate);
    let followed = followed::agreeing(candidates, was.is_some(), rate, timestamp?);
    state.followed = followed.map_err(|what| reading.impossible(what))?.into();
    for followed in state.followed.iter() {
        // a rate that follows from a vault is not stored, so an untouched pool has the same state in every block
        if let Some(coin) = state.coins.get_mut(usize::from(followed.coin)) {
            coin.rate = WAD;
        }
    }
    Ok(state)
}

/// Reads the pool itself; tells also which coins have rate providers.
fn itself(
    pool: &Discovered,
    was: Option<&State>,
    reading: &mut Reading,
) -> Result<(State, ArrayVec<bool, MAX_COINS>), Stop> {
    let address = pool.key.contract;
    let info = reading.ask(VAULT, &getPoolTokenInfoCall { pool: address });
    let rates = reading.ask(VAULT, &getPoolTokenRatesCall { pool: address });
    let config = reading.ask(VAULT, &getPoolConfigCall { pool: address });
    let hooks = reading.ask(VAULT, &getHooksConfigCall { pool: address });
    let pool_paused = reading.ask(VAULT, &isPoolPausedCall { pool: address });
    let vault_paused = reading.ask(VAULT, &isVaultPausedCall {});
    let kind = kind(pool, was, reading);
    let surges = surges(pool, reading);
    let generation = was.map_or_else(|| generation(pool, reading), |was| Ok(was.generation));

    let (info, rates, config, hooks) = (info?, rates?, config?, hooks?);
    let (kind, generation) = (kind?, generation?);
    let hooks = InSwaps {
        hook: hooks.hooksContract,
        for_the_fee: hooks.shouldCallComputeDynamicSwapFee,
        before: hooks.shouldCallBeforeSwap,
        after: hooks.shouldCallAfterSwap,
    };
    if !hooks.modelled() || (hooks.for_the_fee && pool.product == Product::BalancerV3Weighted) {
        return Err(reading.impossible("it has an unknown hook"));
    }
    let fee = fee(config.staticSwapFeePercentage, &hooks, &surges?, reading)?;
    let n = pool.coins.len();
    let lengths =
        [info.tokenInfo.len(), info.balancesRaw.len(), info.lastBalancesLiveScaled18.len(), rates.tokenRates.len()];
    if info.tokens != pool.coins || lengths != [n; 4] || rates.decimalScalingFactors.len() != n || n > MAX_COINS {
        return Err(reading.impossible("other coins than announced"));
    }
    let coins = (0..n).map(|k| Coin {
        balance: info.balancesRaw[k],
        last_live: info.lastBalancesLiveScaled18[k],
        factor: rates.decimalScalingFactors[k],
        rate: rates.tokenRates[k],
        pays_yield_fee: info.tokenInfo[k].paysYieldFees,
    });
    let rated: ArrayVec<bool, MAX_COINS> = info.tokenInfo.iter().map(|info| !info.rateProvider.is_zero()).collect();
    let state = State {
        pool: address,
        coins: coins.collect(),
        kind,
        generation,
        fee,
        aggregate_swap_fee_wad: config.aggregateSwapFeePercentage,
        aggregate_yield_fee_wad: config.aggregateYieldFeePercentage,
        paused: pool_paused? || vault_paused? || !config.isPoolInitialized,
        recovery: config.isPoolInRecoveryMode,
        rated: rated.contains(&true),
        followed: Arc::default(),
    };
    state.validate().map_err(|what| reading.impossible(what))?;
    Ok((state, rated))
}

/// Reads the release of the pool's code, by the factory that created it.
fn generation(pool: &Discovered, reading: &mut Reading) -> Result<Generation, Stop> {
    let factories = FACTORIES.iter().filter(|(_, product, _)| *product == pool.product);
    let created = all(factories.map(|(factory, _, generation)| {
        let created = reading.try_ask(*factory, &isPoolFromFactoryCall { pool: pool.key.contract })?;
        Ok((created == Some(true)).then_some(*generation))
    }))?;
    created.into_iter().flatten().last().ok_or(reading.impossible("not created by a known factory"))
}

/// Reads the parameters of the pool's curve.
fn kind(pool: &Discovered, was: Option<&State>, reading: &mut Reading) -> Result<PoolKind, Stop> {
    let address = pool.key.contract;
    if pool.product != Product::BalancerV3Weighted {
        let answer = reading.ask(address, &getAmplificationStateCall {})?;
        if answer.precision != U256::from(1_000) {
            return Err(reading.impossible("an amplification of another precision"));
        }
        return Ok(PoolKind::Stable(Amplification {
            start_value: answer.state.startValue,
            end_value: answer.state.endValue,
            start_time: u64::from(answer.state.startTime),
            end_time: u64::from(answer.state.endTime),
        }));
    }
    if let Some(was) = was {
        return Ok(was.kind.clone());
    }
    let weights = reading.ask(address, &getNormalizedWeightsCall {});
    let least_balances = reading.try_ask(address, &getMinTokenBalancesCall {})?.unwrap_or_default();
    let weights = weights?;
    let sum = weights.iter().fold(U256::ZERO, |sum, weight| sum.saturating_add(*weight));
    if weights.len() != pool.coins.len() || sum != WAD {
        return Err(reading.impossible("weights that do not fit its coins"));
    }
    let least_balances = least_balances.into_iter().take(MAX_COINS).collect();
    Ok(PoolKind::Weighted { weights: weights.into_iter().take(MAX_COINS).collect(), least_balances })
}

/// Parameters of the fee of a modelled hook: threshold and maximum. `None` where the hook does not know the pool.
type Surge = (Address, Option<U256>, Option<U256>);

/// Asks every modelled hook, before it is known which one is the pool's.
fn surges(pool: &Discovered, reading: &mut Reading) -> Result<Vec<Surge>, Stop> {
    let address = pool.key.contract;
    let hooks = STABLE_SURGE_HOOKS.iter().filter(|_| pool.product != Product::BalancerV3Weighted);
    all(hooks.map(|hook| {
        let threshold = reading.try_ask(*hook, &getSurgeThresholdPercentageCall { pool: address });
        let most = reading.try_ask(*hook, &getMaxSurgeFeePercentageCall { pool: address })?;
        Ok((*hook, threshold?, most))
    }))
}

/// Returns the static fee, or the hook's parameters.
fn fee(static_wad: U256, hooks: &InSwaps, surges: &[Surge], reading: &Reading) -> Result<Fee, Stop> {
    let hook = surges.iter().find(|(hook, ..)| hooks.for_the_fee && *hook == hooks.hook);
    let Some((_, threshold, most)) = hook else { return Ok(Fee::Static(static_wad)) };
    let (Some(threshold_wad), Some(most_wad)) = (*threshold, *most) else {
        return Err(reading.impossible("a hook without its surge parameters"));
    };
    if threshold_wad >= WAD || most_wad > WAD {
        return Err(reading.impossible("a surge fee above 100%"));
    }
    Ok(Fee::StableSurge { static_wad, most_wad, threshold_wad })
}
