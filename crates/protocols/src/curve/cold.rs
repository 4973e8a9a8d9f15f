//! Discovery and following of Curve pools.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::{ExecutionBlock, PoolKey};

use super::{
    After, Model, State, continuous::pair_curve, events, factories, lending, listed, partners, probe, step::step_code,
};
use crate::{
    Call, DecodeError, Discovered, PoolList, Prediction, Product, Protocol, Sale, SharesPaid, Source, StateReader,
    Step, StepCode, Swap, SwapError, Touched, continuous::PairCurve, logs::decode,
};

sol! {
    event TricryptoPoolDeployed(address pool, string name, string symbol, address weth, address[3] coins, address math, bytes32 salt, uint256 packedPrecisions, uint256 packedAGamma, uint256 packedFees, uint256 packedRebalancing, uint256 packedPrices, address deployer);
    event TwocryptoPoolDeployed(address pool, string name, string symbol, address[2] coins, address math, bytes32 salt, uint256[2] precisions, uint256 packedAGamma, uint256 packedFees, uint256 packedRebalancing, uint256 initialPrice, address deployer);

    function D() external view returns (uint256);
}

/// Record of one kind of pool.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    product: Product,
    sources: &'static [Source],
}

const fn without_logs(product: Product) -> Curve {
    Curve { product, sources: &[] }
}

/// StableSwap pools of the first generation.
pub static CURVE_STABLESWAP: Curve = without_logs(Product::CurveStableswap);
/// Metapools.
pub static CURVE_METAPOOL: Curve = without_logs(Product::CurveMetapool);
/// StableSwap pools of the next generation.
pub static CURVE_STABLESWAP_NG: Curve = without_logs(Product::CurveStableswapNg);
/// CryptoSwap pools of two coins.
pub static CURVE_CRYPTOSWAP: Curve = without_logs(Product::CurveCryptoswap);
/// tricrypto2.
pub static CURVE_TRICRYPTO: Curve = without_logs(Product::CurveTricrypto);

/// Tricrypto of the next generation. Source: Curve's list of deployments; the block is a lower bound.
pub static CURVE_TRICRYPTO_NG: Curve = Curve {
    product: Product::CurveTricryptoNg,
    sources: &[Source {
        emitter: address!("0c0e5f2fF0ff18a3be9b835635039256dC4B4963"),
        topic0: TricryptoPoolDeployed::SIGNATURE_HASH,
        deployment_block: 17_000_000,
    }],
};

/// Twocrypto of the next generation. Source: Curve's list of deployments; the block is a lower bound.
pub static CURVE_TWOCRYPTO_NG: Curve = Curve {
    product: Product::CurveTwocryptoNg,
    sources: &[Source {
        emitter: address!("98EE851a00abeE0d95D08cF4CA2BdCE32aeaAF7F"),
        topic0: TwocryptoPoolDeployed::SIGNATURE_HASH,
        deployment_block: 17_000_000,
    }],
};

impl Protocol for Curve {
    type State = Arc<State>;
    type After = After;

    fn product(&self) -> Product {
        self.product
    }

    fn takes_share_tokens(&self) -> bool {
        true
    }

    fn sources(&self) -> &'static [Source] {
        self.sources
    }

    /// Returns the lists of plain pools for metapools too: the factories list both together.
    fn lists(&self) -> &'static [&'static dyn PoolList] {
        match self.product {
            Product::CurveStableswap => factories::STABLE_LISTS,
            Product::CurveStableswapNg => factories::NEXT_LISTS,
            Product::CurveCryptoswap => factories::CRYPTO_LISTS,
            _ => &[],
        }
    }

    fn fixed_pools(&self) -> Vec<Discovered> {
        listed::pools(self.product)
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let (address, coins) = if self.product == Product::CurveTricryptoNg {
            decode(log).map(|event: TricryptoPoolDeployed| (event.pool, event.coins.to_vec()))
        } else {
            decode(log).map(|event: TwocryptoPoolDeployed| (event.pool, event.coins.to_vec()))
        }?;
        if address.is_zero() || coins.iter().any(|coin| coin.is_zero()) {
            return Err(DecodeError::Log { event: "pool deployment", emitter: log.address });
        }
        Ok(Discovered::new(address, self.product, coins))
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &events::TOPICS
    }

    fn listens_to(&self, state: &Self::State) -> Vec<Address> {
        state.base_pool.into_iter().collect()
    }

    fn reads_each_block(&self, state: &Self::State) -> bool {
        state.has_oracle || state.depends_on_coin_contracts()
    }

    /// Returns a reader. An unlisted pool is also checked against its own views before it is used.
    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        if let Some(reader) = lending::reader(pool) {
            return reader;
        }
        if listed::holds(pool) { partners::reader(pool, None) } else { probe::reader(pool) }
    }

    fn reader_again(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        if lending::holds(pool.key.contract) { self.reader(pool) } else { partners::reader(pool, Some(was)) }
    }

    /// Compares the invariant of CryptoSwap pools: every trade, deposit and withdrawal stores it anew.
    fn spot_checks(&self, pool: Address, state: &Self::State) -> Vec<Prediction> {
        match &state.model {
            Model::Crypto(crypto) => vec![Prediction { call: Call::new(pool, &DCall {}), answer: crypto.d }],
            Model::Stable(_) | Model::Meta(_) | Model::Lending(_) => Vec::new(),
        }
    }

    fn validate(&self, state: &Self::State, coins: usize) -> Result<(), &'static str> {
        if state.coins() == coins { state.validate() } else { Err("balances for other coins") }
    }

    fn swap(&self, state: &Self::State, Step { pool, at, route, sale }: Step<'_>) -> Result<Swap, SwapError> {
        let before = route.change::<After>(self.shares_state_at(pool, state));
        let moved = state.after_vaults(at, route)?;
        let state = moved.as_ref().unwrap_or(state);
        state.swap(pool.contract, at, before, sale.coin_in, sale.coin_out, sale.amount_in)
    }

    fn shares_state_at(&self, pool: PoolKey, state: &Self::State) -> PoolKey {
        state.shared_contract().map_or(pool, PoolKey::from)
    }

    fn depends_on_time(&self, state: &Self::State) -> bool {
        state.depends_on_time()
    }

    fn curve(&self, state: &Self::State, coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        pair_curve(state, coins, at)
    }

    fn asks_rate_of(&self, state: &Self::State, coin: usize) -> bool {
        state.asks_rate_of(coin)
    }

    fn shares_paid(&self) -> SharesPaid {
        // the amount is the worth of the moved shares, not the transferred amount
        SharesPaid::BehindAmountOut
    }

    fn step_code(&self, pool: Address, state: &Self::State, coin_in: u8, coin_out: u8) -> StepCode {
        step_code(pool, state, coin_in, coin_out)
    }

    fn also_touches(&self, state: &Self::State, coins: [u8; 2], at: &ExecutionBlock) -> Option<Address> {
        state.base_pool.filter(|_| state.goes_through_base(coins, at))
    }

    fn saved_gas_units(&self, state: &Self::State, coins: [u8; 2], at: &ExecutionBlock, before: Touched<'_>) -> u64 {
        let vaults = if before.pool { 0 } else { state.saved_by_vaults(before.is_touched) };
        vaults + state.saved_gas_units(coins, at, before.pool, state.base_pool.is_some_and(before.is_touched))
    }

    fn counted_gas_units(&self, state: &Self::State, at: &ExecutionBlock, before: &[Sale], sale: &Sale) -> Option<u64> {
        state.counted_gas_units(at, before, sale)
    }
}
