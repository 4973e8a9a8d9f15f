//! Discovery, reading and following of listed vaults.

use alloy_primitives::{B256, Log, address, b256};
use alloy_sol_types::{SolEvent, sol};

use super::{LISTED, aave::WrappedReader, reader::VaultReader};
use crate::{DecodeError, Discovered, Freshness, Pool, PoolState, Product, Protocol, Source, StateReader};

sol! {
    event StataTokenCreated(address indexed stataToken, address indexed underlying);
}

/// `Deposit(address,address,uint256,uint256)`.
pub(crate) const DEPOSIT: B256 = b256!("dcbc1c05240f31ff3ad067ef1ee35ce4997762752e3a095284754544f4c709d7");
/// `Withdraw(address,address,address,uint256,uint256)`.
pub(crate) const WITHDRAW: B256 = b256!("fbde797d201c681b91056529119e0b02407c7bb96a4a2c75c01fc9667232c8db");

/// The factories of Aave's wrapped tokens, of the main pool and of Prime: `AaveV3Ethereum.STATA_FACTORY` and
/// `AaveV3EthereumLido.STATA_FACTORY` of Aave's address book. The event is as old as their code, of September 2024.
static SOURCES: [Source; 2] = [
    Source {
        emitter: address!("Cb0b5cA20b6C5C02A9A3B2cE433650768eD2974F"),
        topic0: StataTokenCreated::SIGNATURE_HASH,
        deployment_block: 20_700_000,
    },
    Source {
        emitter: address!("347C75d19718a05148687E13dca259aD016aB411"),
        topic0: StataTokenCreated::SIGNATURE_HASH,
        deployment_block: 20_700_000,
    },
];

/// The record of the listed vaults and of Aave's wrapped tokens, which factories announce.
///
/// Rewards, savings rates and who else lends and borrows change them without an event of their own, so that they are read at every block.
#[derive(Clone, Copy, Debug)]
pub struct Erc4626;

impl Protocol for Erc4626 {
    fn product(&self) -> Product {
        Product::Erc4626
    }

    fn sources(&self) -> &'static [Source] {
        &SOURCES
    }

    fn fixed_pools(&self) -> Vec<Discovered> {
        let pool = |listed: &super::Listed| Discovered {
            address: listed.vault,
            product: Product::Erc4626,
            coins: vec![listed.asset, listed.vault],
            fee_pips: 0,
            tick_spacing: 0,
        };
        LISTED.iter().map(pool).collect()
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let malformed = DecodeError::Log { event: "StataTokenCreated", emitter: log.address };
        let Ok(event) = StataTokenCreated::decode_log_data_validate(&log.data) else { return Err(malformed) };
        if event.stataToken.is_zero() || event.underlying.is_zero() || event.stataToken == event.underlying {
            return Err(malformed);
        }
        Ok(Discovered {
            address: event.stataToken,
            product: Product::Erc4626,
            coins: vec![event.underlying, event.stataToken],
            fee_pips: 0,
            tick_spacing: 0,
        })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &[DEPOSIT, WITHDRAW]
    }

    fn reads_each_block(&self, _state: &PoolState) -> bool {
        true
    }

    fn apply(&self, _state: &mut PoolState, log: &Log) -> Result<Freshness, DecodeError> {
        let matters = log.topics().first().is_some_and(|topic0| self.freshness_topics().contains(topic0));
        Ok(if matters { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        match LISTED.iter().find(|listed| listed.vault == pool.address) {
            Some(listed) => Box::new(VaultReader::new(*listed)),
            None => Box::new(WrappedReader::new(pool)),
        }
    }

    fn reader_again(&self, pool: &Discovered, was: &Pool) -> Box<dyn StateReader> {
        match LISTED.iter().find(|listed| listed.vault == pool.address) {
            Some(listed) => Box::new(VaultReader::new(*listed)),
            None => Box::new(WrappedReader::again(pool, was)),
        }
    }
}
