//! Discovery and following of Curve's pools.

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};

use super::{events, factories, lending, listed, partners, probe};
use crate::{DecodeError, Discovered, Freshness, Pool, PoolList, PoolState, Product, Protocol, Source, StateReader};

sol! {
    event TricryptoPoolDeployed(address pool, string name, string symbol, address weth, address[3] coins, address math, bytes32 salt, uint256 packedPrecisions, uint256 packedAGamma, uint256 packedFees, uint256 packedRebalancing, uint256 packedPrices, address deployer);
    event TwocryptoPoolDeployed(address pool, string name, string symbol, address[2] coins, address math, bytes32 salt, uint256[2] precisions, uint256 packedAGamma, uint256 packedFees, uint256 packedRebalancing, uint256 initialPrice, address deployer);
}

/// The record of one kind of pool.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    product: Product,
    sources: &'static [Source],
}

const fn without_logs(product: Product) -> Curve {
    Curve { product, sources: &[] }
}

/// StableSwap pools of the first generation: plain coins.
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
    fn product(&self) -> Product {
        self.product
    }

    fn sources(&self) -> &'static [Source] {
        self.sources
    }

    /// Metapools come from the lists of plain pools.
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
        let malformed = DecodeError::Log { event: "pool deployment", emitter: log.address };
        let (address, coins): (Address, Vec<Address>) = if self.product == Product::CurveTricryptoNg {
            TricryptoPoolDeployed::decode_log_data_validate(&log.data).map(|event| (event.pool, event.coins.to_vec()))
        } else {
            TwocryptoPoolDeployed::decode_log_data_validate(&log.data).map(|event| (event.pool, event.coins.to_vec()))
        }
        .map_err(|_| malformed.clone())?;
        if address.is_zero() || coins.iter().any(|coin| coin.is_zero()) {
            return Err(malformed);
        }
        Ok(Discovered { address, product: self.product, coins, fee_pips: 0, tick_spacing: 0 })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        events::TOPICS
    }

    fn listens_to(&self, state: &PoolState) -> Vec<Address> {
        let PoolState::Curve(state) = state else { return Vec::new() };
        state.base_pool.into_iter().collect()
    }

    fn reads_each_block(&self, state: &PoolState) -> bool {
        matches!(state, PoolState::Curve(state) if state.has_oracle || state.asks_its_coins())
    }

    fn apply(&self, state: &mut PoolState, log: &Log) -> Result<Freshness, DecodeError> {
        if !matches!(state, PoolState::Curve(_)) {
            return Err(DecodeError::State { pool: log.address, what: "not a Curve pool" });
        }
        let matters = log.topics().first().is_some_and(|topic0| events::TOPICS.contains(topic0));
        Ok(if matters { Freshness::Stale } else { Freshness::Unaffected })
    }

    /// A pool that nobody looked at by hand is held against its own views before it is believed.
    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        if let Some(reader) = lending::reader(pool) {
            return reader;
        }
        if listed::holds(pool) || !self.sources.is_empty() {
            return partners::reader(pool, None);
        }
        probe::reader(pool)
    }

    fn reader_again(&self, pool: &Discovered, was: &Pool) -> Box<dyn StateReader> {
        match &was.state {
            PoolState::Curve(state) if !lending::holds(pool.address) => partners::reader(pool, Some(state)),
            _ => self.reader(pool),
        }
    }
}
