//! Discovery and following of fTokens.

use alloy_primitives::{Address, B256, Log, address};
use alloy_sol_types::{SolEvent, sol};

use super::reader::FTokenReader;
use crate::{
    DecodeError, Discovered, Freshness, PoolState, Product, Protocol, Source, StateReader,
    fluid::reading::{self, LIQUIDITY},
};

sol! {
    event LogTokenCreated(address indexed token, address indexed asset, uint256 indexed count, string fTokenType);

    // of a share; what moves money is told by the liquidity layer
    event LogUpdateRates(uint256 tokenExchangePrice, uint256 liquidityExchangePrice);
    event LogUpdateRewards(address indexed rewardsRateModel);
    event LogRebalance(uint256 assets);
}

/// Events after which a share's state is read again.
const TOPICS: &[B256] = &[
    LogUpdateRates::SIGNATURE_HASH,
    LogUpdateRewards::SIGNATURE_HASH,
    LogRebalance::SIGNATURE_HASH,
    reading::OPERATE,
    reading::EXCHANGE_PRICES_UPDATED,
    reading::REVENUE_COLLECTED,
    reading::STATUS_CHANGED,
    reading::TOKENS_CONFIGURED,
    reading::SUPPLY_CONFIGURED,
    reading::USER_PAUSED,
    reading::USER_UNPAUSED,
    reading::RATES_V1_UPDATED,
    reading::RATES_V2_UPDATED,
    reading::LIMIT_UPDATED,
];

/// The factory on mainnet. Source: Fluid's deployment list.
static SOURCES: [Source; 1] = [Source {
    emitter: address!("54B91A0D94cb471F37f949c60F7Fa7935b551D03"),
    topic0: LogTokenCreated::SIGNATURE_HASH,
    deployment_block: 19_239_226,
}];

/// The record of fTokens.
#[derive(Clone, Copy, Debug)]
pub struct FToken;

impl Protocol for FToken {
    fn product(&self) -> Product {
        Product::FluidFToken
    }

    fn sources(&self) -> &'static [Source] {
        &SOURCES
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let malformed = DecodeError::Log { event: "LogTokenCreated", emitter: log.address };
        let Ok(event) = LogTokenCreated::decode_log_data_validate(&log.data) else { return Err(malformed) };
        if event.token == Address::ZERO || event.asset == Address::ZERO || event.token == event.asset {
            return Err(malformed);
        }
        Ok(Discovered {
            address: event.token,
            product: Product::FluidFToken,
            coins: vec![event.asset, event.token],
            fee_pips: 0,
            tick_spacing: 0,
        })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        TOPICS
    }

    fn listens_to(&self, _state: &PoolState) -> Vec<Address> {
        vec![LIQUIDITY]
    }

    fn apply(&self, state: &mut PoolState, log: &Log) -> Result<Freshness, DecodeError> {
        let PoolState::FluidFToken(share) = state else {
            return Err(DecodeError::State { pool: log.address, what: "not an fToken" });
        };
        let known = log.topics().first().is_some_and(|topic0| TOPICS.contains(topic0));
        let stale = known && (log.address != LIQUIDITY || reading::matters(log, &[share.stored]));
        Ok(if stale { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        let asset = pool.coins.first().copied().unwrap_or_default();
        Box::new(FTokenReader::new(pool.address, asset))
    }
}
