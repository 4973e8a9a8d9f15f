//! Discovery and following of buffers.

use std::sync::{Arc, LazyLock};

use alloy_primitives::{Address, B256, Log, U256};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::{ExecutionBlock, PoolKey};

use super::{
    super::{VAULT, gas, step::step_code},
    After, State,
    continuous::pair_curve,
    reader::{reader, reader_each_block},
};
use crate::{
    Call, DecodeError, Discovered, Freshness, Product, Protocol, Source, StateReader, Step, StepCode, Swap, SwapError,
    Touched,
    continuous::PairCurve,
    logs::{decode, malformed},
    vault::{ASSET_COIN, Action, Lender, Trades, Vault},
};

sol! {
    event LiquidityAddedToBuffer(address indexed wrappedToken, uint256 amountUnderlying, uint256 amountWrapped, bytes32 bufferBalances);
    event LiquidityRemovedFromBuffer(address indexed wrappedToken, uint256 amountUnderlying, uint256 amountWrapped, bytes32 bufferBalances);
    event Wrap(address indexed wrappedToken, uint256 depositedUnderlying, uint256 mintedShares, bytes32 bufferBalances);
    event Unwrap(address indexed wrappedToken, uint256 burnedShares, uint256 withdrawnUnderlying, bytes32 bufferBalances);
    event VaultBuffersPausedStateChanged(bool paused);
    function getERC4626BufferAsset(address wrappedToken) external view returns (address asset);
}

/// Events of the vault about one buffer, named by their first topic, with the buffer's new balances.
const BALANCES: [B256; 4] = [
    LiquidityAddedToBuffer::SIGNATURE_HASH,
    LiquidityRemovedFromBuffer::SIGNATURE_HASH,
    Wrap::SIGNATURE_HASH,
    Unwrap::SIGNATURE_HASH,
];

/// Those events, the pause, and all that may change the vault behind a buffer.
static TOPICS: LazyLock<Vec<B256>> = LazyLock::new(|| {
    let mut topics = BALANCES.to_vec();
    topics.push(VaultBuffersPausedStateChanged::SIGNATURE_HASH);
    topics.extend(Vault::topics());
    topics
});

static SOURCES: [Source; 1] =
    [Source { emitter: VAULT, topic0: LiquidityAddedToBuffer::SIGNATURE_HASH, deployment_block: 21_332_121 }];

/// Record of buffers.
#[derive(Clone, Copy, Debug)]
pub struct BalancerV3Buffer;

/// Returns the key of a buffer: the V3 vault, and the share's address as the id, since a buffer is not a contract of
/// its own.
pub fn key_of(wrapped: Address) -> PoolKey {
    PoolKey::with_id(VAULT, wrapped.into_word())
}

/// Splits a word into a buffer's balances of 128 bits each: the share in the upper half, the asset in the lower.
fn unpacked(balances: B256) -> [U256; 2] {
    let (share, asset) = balances.split_at(16);
    [U256::from_be_slice(asset), U256::from_be_slice(share)]
}

/// Decodes the balances after one of [`BALANCES`]: the last of three words.
fn balances(log: &Log) -> Option<[U256; 2]> {
    let data: &[u8; 96] = log.data.data.as_ref().try_into().ok()?;
    Some(unpacked(B256::from_slice(data.get(64..)?)))
}

impl Protocol for BalancerV3Buffer {
    type State = Arc<State>;
    type After = After;

    fn product(&self) -> Product {
        Product::BalancerV3Buffer
    }

    fn sources(&self) -> &'static [Source] {
        &SOURCES
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let event: LiquidityAddedToBuffer = decode(log)?;
        if event.wrappedToken.is_zero() {
            return Err(malformed::<LiquidityAddedToBuffer>(log));
        }
        Ok(Discovered::new(key_of(event.wrappedToken), self.product(), vec![event.wrappedToken]))
    }

    fn unnamed_coin(&self, pool: &Discovered) -> Option<Call> {
        let [wrapped] = pool.coins[..] else { return None };
        Some(Call::new(VAULT, &getERC4626BufferAssetCall { wrappedToken: wrapped }))
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &TOPICS
    }

    fn log_pool_id(&self, log: &Log) -> Option<B256> {
        let [topic0, wrapped, ..] = log.topics() else { return None };
        BALANCES.contains(topic0).then_some(*wrapped)
    }

    fn listens_to(&self, state: &Self::State) -> Vec<Address> {
        state.vault.emitters(state.wrapped)
    }

    fn reads_each_block(&self, state: &Self::State) -> bool {
        state.vault.reads_each_block()
    }

    fn apply(&self, state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        if log.address != VAULT {
            let State { vault, .. } = Arc::make_mut(state);
            return vault.apply(log);
        }
        let topic0 = log.topics().first().copied().unwrap_or_default();
        if topic0 == VaultBuffersPausedStateChanged::SIGNATURE_HASH {
            Arc::make_mut(state).paused = decode::<VaultBuffersPausedStateChanged>(log)?.paused;
            return Ok(Freshness::Applied);
        }
        if !BALANCES.contains(&topic0) || log.topics().get(1) != Some(&state.wrapped.into_word()) {
            return Ok(Freshness::Unaffected);
        }
        Arc::make_mut(state).held =
            balances(log).ok_or(DecodeError::Log { event: "a buffer's event", emitter: log.address })?;
        Ok(Freshness::Applied)
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader(pool, None)
    }

    fn reader_again(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        reader(pool, Some(was))
    }

    fn reader_each_block(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        reader_each_block(pool, was)
    }

    fn validate(&self, state: &Self::State, _coins: usize) -> Result<(), &'static str> {
        state.validate()
    }

    fn swap(&self, state: &Self::State, Step { pool, at, route, sale }: Step<'_>) -> Result<Swap, SwapError> {
        let held = route.change::<After>(pool).map_or(state.held, |after| after.held);
        state.swap(at, route, held, sale.coin_in, sale.amount_in)
    }

    fn depends_on_time(&self, state: &Self::State) -> bool {
        state.vault.depends_on_time()
    }

    fn fee_pips(&self, _state: &Self::State) -> Option<u32> {
        Some(0)
    }

    fn curve(&self, state: &Self::State, _coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        pair_curve(state, at)
    }

    fn vault_trades<'a>(&self, state: &Self::State, after: &'a After) -> Option<(Address, Vault, &'a Trades)> {
        Some((state.wrapped, state.vault.clone(), &after.trades))
    }

    fn step_code(&self, _pool: Address, state: &Self::State, _coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(state.wrapped)
    }

    fn holder(&self, _pool: Address) -> Address {
        VAULT
    }

    fn saved_gas_units(&self, _state: &Self::State, _coins: [u8; 2], _at: &ExecutionBlock, before: Touched<'_>) -> u64 {
        if before.holder { gas::AGAIN_GAS_UNITS } else { 0 }
    }

    fn also_touches(&self, state: &Self::State, _coins: [u8; 2], _at: &ExecutionBlock) -> Option<Address> {
        Some(state.wrapped)
    }

    fn lenders<'a>(&self, _pool: Address, state: &'a Self::State, coin_in: u8, gas_units: u64) -> Vec<Lender<'a>> {
        let deposits = coin_in == ASSET_COIN;
        let traded = state.traded_gas_units(deposits, gas_units);
        let action = traded.map_or(Action::Reads, |gas_units| Action::Trades { deposits, gas_units });
        state.vault.lender(state.wrapped, action).into_iter().collect()
    }
}
