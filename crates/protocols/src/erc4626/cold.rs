//! Discovery, reading and following of listed vaults.

use alloy_primitives::{B256, Bytes, Log, b256};

use super::{LISTED, reader::VaultReader};
use crate::{DecodeError, Discovered, Freshness, PoolState, Product, Protocol, ReadProgress, Source, StateReader};

/// `Deposit(address,address,uint256,uint256)`.
pub(crate) const DEPOSIT: B256 = b256!("dcbc1c05240f31ff3ad067ef1ee35ce4997762752e3a095284754544f4c709d7");
/// `Withdraw(address,address,address,uint256,uint256)`.
pub(crate) const WITHDRAW: B256 = b256!("fbde797d201c681b91056529119e0b02407c7bb96a4a2c75c01fc9667232c8db");

/// The record of the listed vaults.
///
/// Rewards and savings rates change them without an event of their own, so that they are read at every block.
#[derive(Clone, Copy, Debug)]
pub struct Erc4626;

impl Protocol for Erc4626 {
    fn product(&self) -> Product {
        Product::Erc4626
    }

    fn sources(&self) -> &'static [Source] {
        &[]
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
        Err(DecodeError::Log { event: "an announcement, which listed vaults have none of,", emitter: log.address })
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
            None => Box::new(Unlisted(pool.address)),
        }
    }
}

/// A vault that is not on the list cannot be read: nothing says where its numbers are.
struct Unlisted(alloy_primitives::Address);

impl StateReader for Unlisted {
    fn start(&mut self) -> ReadProgress {
        ReadProgress::Calls(vec![crate::Call { to: self.0, data: Bytes::new() }])
    }

    fn feed(&mut self, _answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        Err(DecodeError::State { pool: self.0, what: "not on the list of vaults" })
    }
}
