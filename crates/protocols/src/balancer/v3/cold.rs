//! Discovery and following of the V3 vault's pools.

use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
};

use alloy_primitives::{Address, B256, Log};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::{ExecutionBlock, PoolKey};

use super::{
    After, Fee, State, VAULT, continuous::pair_curve, factories::FACTORIES, gas, hooks::InSwaps, reader,
    step::step_code,
};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, Source, StateReader, Step, StepCode, SwapError, Touched,
    balancer::fee_pips,
    continuous::PairCurve,
    logs::{decode, is_one_of},
    pool::MAX_COINS,
    vault::{Action, Lender, Vault},
};

sol! {
    struct TokenConfig { address token; uint8 tokenType; address rateProvider; bool paysYieldFees; }
    struct RoleAccounts { address pauseManager; address swapFeeManager; address poolCreator; }
    struct HooksConfig {
        bool enableHookAdjustedAmounts; bool shouldCallBeforeInitialize; bool shouldCallAfterInitialize;
        bool shouldCallComputeDynamicSwapFee; bool shouldCallBeforeSwap; bool shouldCallAfterSwap;
        bool shouldCallBeforeAddLiquidity; bool shouldCallAfterAddLiquidity;
        bool shouldCallBeforeRemoveLiquidity; bool shouldCallAfterRemoveLiquidity;
        address hooksContract;
    }
    struct LiquidityManagement {
        bool disableUnbalancedLiquidity; bool enableAddLiquidityCustom; bool enableRemoveLiquidityCustom; bool enableDonation;
    }
    event PoolRegistered(
        address indexed pool, address indexed factory, TokenConfig[] tokenConfig, uint256 swapFeePercentage,
        uint32 pauseWindowEndTime, RoleAccounts roleAccounts, HooksConfig hooksConfig, LiquidityManagement liquidityManagement
    );
    event PoolInitialized(address indexed pool);
    event Swap(
        address indexed pool, address indexed tokenIn, address indexed tokenOut, uint256 amountIn, uint256 amountOut,
        uint256 swapFeePercentage, uint256 swapFeeAmount
    );
    event LiquidityAdded(
        address indexed pool, address indexed liquidityProvider, uint8 indexed kind, uint256 totalSupply,
        uint256[] amountsAddedRaw, uint256[] swapFeeAmountsRaw
    );
    event LiquidityRemoved(
        address indexed pool, address indexed liquidityProvider, uint8 indexed kind, uint256 totalSupply,
        uint256[] amountsRemovedRaw, uint256[] swapFeeAmountsRaw
    );
    event PoolPausedStateChanged(address indexed pool, bool paused);
    event SwapFeePercentageChanged(address indexed pool, uint256 swapFeePercentage);
    event PoolRecoveryModeStateChanged(address indexed pool, bool recoveryMode);
    event AggregateSwapFeePercentageChanged(address indexed pool, uint256 aggregateSwapFeePercentage);
    event AggregateYieldFeePercentageChanged(address indexed pool, uint256 aggregateYieldFeePercentage);
    event VaultAuxiliary(address indexed pool, bytes32 indexed eventKey, bytes eventData);
    event VaultPausedStateChanged(bool paused);
    event AmpUpdateStarted(uint256 startValue, uint256 endValue, uint256 startTime, uint256 endTime);
    event AmpUpdateStopped(uint256 currentValue);
}

/// Events that change the output of swaps: first those of the vault whose first topic names the pool, then one about
/// the whole vault, then the pool's own.
const OWN: &[B256] = &[
    PoolInitialized::SIGNATURE_HASH,
    Swap::SIGNATURE_HASH,
    LiquidityAdded::SIGNATURE_HASH,
    LiquidityRemoved::SIGNATURE_HASH,
    PoolPausedStateChanged::SIGNATURE_HASH,
    SwapFeePercentageChanged::SIGNATURE_HASH,
    PoolRecoveryModeStateChanged::SIGNATURE_HASH,
    AggregateSwapFeePercentageChanged::SIGNATURE_HASH,
    AggregateYieldFeePercentageChanged::SIGNATURE_HASH,
    VaultAuxiliary::SIGNATURE_HASH,
    VaultPausedStateChanged::SIGNATURE_HASH,
    AmpUpdateStarted::SIGNATURE_HASH,
    AmpUpdateStopped::SIGNATURE_HASH,
];

/// Those events, and all that may change a vault on which a rate depends.
static TOPICS: LazyLock<Vec<B256>> = LazyLock::new(|| OWN.iter().copied().chain(Vault::topics()).collect());

const ANNOUNCEMENTS: &[Source] =
    &[Source { emitter: VAULT, topic0: PoolRegistered::SIGNATURE_HASH, deployment_block: 21_332_121 }];

/// Record of one kind of pool.
#[derive(Clone, Copy, Debug)]
pub struct BalancerV3 {
    product: Product,
}

/// Weighted pools. The vault announces stable pools in the same way; the factory tells them apart.
pub static BALANCER_V3_WEIGHTED: BalancerV3 = BalancerV3 { product: Product::BalancerV3Weighted };

/// Stable pools, including those with the StableSurge hook and boosted ones, whose coins are vault shares.
pub static BALANCER_V3_STABLE: BalancerV3 = BalancerV3 { product: Product::BalancerV3Stable };

impl Protocol for BalancerV3 {
    type State = Arc<State>;
    type After = After;

    fn product(&self) -> Product {
        self.product
    }

    fn sources(&self) -> &'static [Source] {
        ANNOUNCEMENTS
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let event: PoolRegistered = decode(log)?;
        let left_out = |what| DecodeError::State { pool: event.pool, what };
        let factory = FACTORIES.iter().find(|(factory, ..)| *factory == event.factory);
        let (_, product, _) = factory.ok_or_else(|| left_out("not created by a known factory"))?;
        let hooks = &event.hooksConfig;
        let in_swaps = InSwaps {
            hook: hooks.hooksContract,
            for_the_fee: hooks.shouldCallComputeDynamicSwapFee,
            before: hooks.shouldCallBeforeSwap,
            after: hooks.shouldCallAfterSwap,
        };
        if !in_swaps.modelled() {
            return Err(left_out("it has an unknown hook"));
        }
        let coins: Vec<Address> = event.tokenConfig.iter().map(|config| config.token).collect();
        if coins.len() > MAX_COINS {
            return Err(left_out("more coins than are supported"));
        }
        Ok(Discovered::new(event.pool, *product, coins))
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &TOPICS
    }

    fn pool_named_by_vault(&self, log: &Log) -> Option<PoolKey> {
        let named = log.address == VAULT && is_one_of(log, OWN);
        let pool = log.topics().get(1).filter(|_| named)?;
        Some(Address::from_word(*pool).into())
    }

    fn listens_to(&self, state: &Self::State) -> Vec<Address> {
        let behind = state.followed.iter().flat_map(|followed| followed.vault.emitters(followed.token));
        let all: BTreeSet<Address> = behind.chain([VAULT]).collect();
        all.into_iter().collect()
    }

    fn reads_each_block(&self, state: &Self::State) -> bool {
        state.depends_on_other_contracts()
    }

    fn apply(&self, state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        let [topic0, rest @ ..] = log.topics() else { return Ok(Freshness::Unaffected) };
        let named = rest.first() == Some(&state.pool.into_word());
        let ours = match log.address {
            VAULT => named || *topic0 == VaultPausedStateChanged::SIGNATURE_HASH,
            emitter => emitter == state.pool,
        };
        if ours && OWN.contains(topic0) {
            return Ok(Freshness::Stale);
        }
        for followed in state.followed.iter().filter(|one| one.vault.emitters(one.token).contains(&log.address)) {
            if followed.vault.clone().apply(log)? != Freshness::Unaffected {
                return Ok(Freshness::Stale);
            }
        }
        Ok(Freshness::Unaffected)
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader::reader(pool, None)
    }

    fn reader_again(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        reader::reader(pool, Some(was))
    }

    fn reader_each_block(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        reader::reader_each_block(pool, was)
    }

    fn validate(&self, state: &Self::State, coins: usize) -> Result<(), &'static str> {
        if state.coins.len() == coins { state.validate() } else { Err("balances for other coins") }
    }

    fn swap(&self, state: &Self::State, Step { pool, at, route, sale }: Step<'_>) -> Result<crate::Swap, SwapError> {
        state.step(at, route.change::<After>(pool), route, sale)
    }

    fn asks_rate_of(&self, state: &Self::State, coin: usize) -> bool {
        state.has_oracle(coin)
    }

    fn depends_on_time(&self, state: &Self::State) -> bool {
        state.depends_on_time()
    }

    fn fee_pips(&self, state: &Self::State) -> Option<u32> {
        match &state.fee {
            Fee::Static(fee_wad) => fee_pips(*fee_wad),
            Fee::StableSurge { .. } => None,
        }
    }

    fn curve(&self, state: &Self::State, coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        pair_curve(state, coins, at)
    }

    fn step_code(&self, pool: Address, _state: &Self::State, _coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(pool)
    }

    fn holder(&self, _pool: Address) -> Address {
        VAULT
    }

    fn saved_gas_units(&self, state: &Self::State, _coins: [u8; 2], _at: &ExecutionBlock, before: Touched<'_>) -> u64 {
        let vault = if before.holder { gas::AGAIN_GAS_UNITS } else { 0 };
        vault + if before.pool { gas::COIN_AGAIN_GAS_UNITS * state.coins.len() as u64 } else { 0 }
    }

    fn lenders<'a>(&self, _pool: Address, state: &'a Self::State, _coin_in: u8, _gas_units: u64) -> Vec<Lender<'a>> {
        state.followed.iter().filter_map(|one| one.vault.lender(one.token, Action::Reads)).collect()
    }
}
