//! Discovery and following of the V2 vault's pools.
//!
//! A pool registers its tokens with the vault in its constructor. That event names the pool and its coins in order. The
//! kind of pool is known only after reading it.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Log};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::{ExecutionBlock, PoolKey};

use super::{After, State, VAULT, continuous::pair_curve, gas, reader, step::step_code};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, Source, StateReader, Step, StepCode, SwapError, Touched,
    balancer::fee_pips,
    continuous::PairCurve,
    logs::{decode, is_one_of},
    pool::MAX_COINS,
};

sol! {
    event TokensRegistered(bytes32 indexed poolId, address[] tokens, address[] assetManagers);
    event Swap(bytes32 indexed poolId, address indexed tokenIn, address indexed tokenOut, uint256 amountIn, uint256 amountOut);
    event PoolBalanceChanged(bytes32 indexed poolId, address indexed liquidityProvider, address[] tokens, int256[] deltas, uint256[] protocolFeeAmounts);
    event PoolBalanceManaged(bytes32 indexed poolId, address indexed assetManager, address indexed token, int256 cashDelta, int256 managedDelta);
    event SwapFeePercentageChanged(uint256 swapFeePercentage);
    event AmpUpdateStarted(uint256 startValue, uint256 endValue, uint256 startTime, uint256 endTime);
    event AmpUpdateStopped(uint256 currentValue);
    event TokenRateCacheUpdated(uint256 indexed tokenIndex, uint256 rate);
    event TokenRateProviderSet(uint256 indexed tokenIndex, address indexed provider, uint256 cacheDuration);
    event PriceRateCacheUpdated(address indexed token, uint256 rate);
    event PausedStateChanged(bool paused);
    event RecoveryModeStateChanged(bool enabled);
    event ProtocolFeePercentageCacheUpdated(bytes32 feeCache);
    interface IFirstComposable {
        event ProtocolFeePercentageCacheUpdated(uint256 indexed feeType, uint256 protocolFeePercentage);
    }
}

/// Events of the vault whose first topic names a pool.
const OF_THE_VAULT: [B256; 3] =
    [Swap::SIGNATURE_HASH, PoolBalanceChanged::SIGNATURE_HASH, PoolBalanceManaged::SIGNATURE_HASH];

/// Events that change the output of swaps.
const TOPICS: &[B256] = &[
    OF_THE_VAULT[0],
    OF_THE_VAULT[1],
    OF_THE_VAULT[2],
    SwapFeePercentageChanged::SIGNATURE_HASH,
    AmpUpdateStarted::SIGNATURE_HASH,
    AmpUpdateStopped::SIGNATURE_HASH,
    TokenRateCacheUpdated::SIGNATURE_HASH,
    TokenRateProviderSet::SIGNATURE_HASH,
    PriceRateCacheUpdated::SIGNATURE_HASH,
    PausedStateChanged::SIGNATURE_HASH,
    // the protocol's due fees, which affect trades in the pool's own token
    RecoveryModeStateChanged::SIGNATURE_HASH,
    ProtocolFeePercentageCacheUpdated::SIGNATURE_HASH,
    IFirstComposable::ProtocolFeePercentageCacheUpdated::SIGNATURE_HASH,
];

/// Record of one kind of pool.
#[derive(Clone, Copy, Debug)]
pub struct BalancerV2 {
    product: Product,
}

/// Announcements of all kinds of pools; reading a pool reveals its kind.
const ANNOUNCEMENTS: &[Source] =
    &[Source { emitter: VAULT, topic0: TokensRegistered::SIGNATURE_HASH, deployment_block: 12_272_146 }];

/// Weighted pools.
pub static BALANCER_V2_WEIGHTED: BalancerV2 = BalancerV2 { product: Product::BalancerV2Weighted };

/// Stable and meta-stable pools.
pub static BALANCER_V2_STABLE: BalancerV2 = BalancerV2 { product: Product::BalancerV2Stable };

/// Composable stable pools.
pub static BALANCER_V2_COMPOSABLE_STABLE: BalancerV2 = BalancerV2 { product: Product::BalancerV2ComposableStable };

impl Protocol for BalancerV2 {
    type State = Arc<State>;
    type After = After;

    fn product(&self) -> Product {
        self.product
    }

    fn sources(&self) -> &'static [Source] {
        ANNOUNCEMENTS
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let event: TokensRegistered = decode(log)?;
        let address = Address::from_slice(&event.poolId[..20]);
        // a composable pool's own token is among the coins; move it to the end
        let (own, mut coins): (Vec<_>, Vec<_>) = event.tokens.into_iter().partition(|token| *token == address);
        coins.extend(own);
        if coins.len() > MAX_COINS {
            return Err(DecodeError::State { pool: address, what: "more coins than are supported" });
        }
        Ok(Discovered::new(address, self.product, coins))
    }

    fn freshness_topics(&self) -> &'static [B256] {
        TOPICS
    }

    fn pool_named_by_vault(&self, log: &Log) -> Option<PoolKey> {
        let named = log.address == VAULT && is_one_of(log, &OF_THE_VAULT);
        let pool_id = log.topics().get(1).filter(|_| named)?;
        Some(Address::from_slice(&pool_id[..20]).into())
    }

    fn listens_to(&self, _state: &Self::State) -> Vec<Address> {
        vec![VAULT]
    }

    fn reads_each_block(&self, state: &Self::State) -> bool {
        state.depends_on_time()
    }

    fn apply(&self, state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        let about_us = if log.address == VAULT {
            is_one_of(log, &OF_THE_VAULT) && log.topics().get(1) == Some(&state.pool_id)
        } else {
            is_one_of(log, TOPICS)
        };
        Ok(Freshness::stale_if(about_us))
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader::reader(pool)
    }

    fn reader_again(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        reader::again(pool, self.product, was)
    }

    fn validate(&self, state: &Self::State, coins: usize) -> Result<(), &'static str> {
        if state.coins() == coins { state.validate() } else { Err("balances for other coins") }
    }

    fn swap(&self, state: &Self::State, Step { pool, at, route, sale }: Step<'_>) -> Result<crate::Swap, SwapError> {
        state.swap(at, route.change::<After>(pool), sale.coin_in, sale.coin_out, sale.amount_in)
    }

    fn depends_on_time(&self, state: &Self::State) -> bool {
        state.depends_on_time()
    }

    fn fee_pips(&self, state: &Self::State) -> Option<u32> {
        fee_pips(state.fee_wad())
    }

    fn curve(&self, state: &Self::State, coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        Some(pair_curve(state, coins, at))
    }

    fn step_code(&self, _pool: Address, state: &Self::State, _coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(state.pool_id)
    }

    fn holder(&self, _pool: Address) -> Address {
        VAULT
    }

    fn implicit_spender(&self, state: &Self::State) -> Option<Address> {
        state.trades_own_token().then_some(VAULT)
    }

    fn saved_gas_units(&self, state: &Self::State, _coins: [u8; 2], _at: &ExecutionBlock, before: Touched<'_>) -> u64 {
        let vault = if before.holder { gas::AGAIN_GAS_UNITS } else { 0 };
        vault + if before.pool { state.again_gas_units() } else { 0 }
    }
}
