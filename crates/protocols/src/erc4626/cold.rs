//! Discovery, reading and following of vaults.

use alloy_primitives::{Address, B256, Log, U256, address, b256};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::ExecutionBlock;

use super::{
    Form, LISTED, Listed,
    named::UnlistedReader,
    reader::{PROBE, VaultReader, assetCall, previewDepositCall},
};
use crate::{
    Call, DecodeError, Discovered, Foretold, Freshness, Pool, PoolState, Product, Protocol, Source, StateReader,
    SwapError, answers::ask,
};

sol! {
    event StataTokenCreated(address indexed stataToken, address indexed underlying);
}

/// `Deposit(address,address,uint256,uint256)`.
pub(crate) const DEPOSIT: B256 = b256!("dcbc1c05240f31ff3ad067ef1ee35ce4997762752e3a095284754544f4c709d7");
/// `Withdraw(address,address,address,uint256,uint256)`.
pub(crate) const WITHDRAW: B256 = b256!("fbde797d201c681b91056529119e0b02407c7bb96a4a2c75c01fc9667232c8db");

/// `Deposit` names itself, the sender and the owner of the shares.
const DEPOSIT_TOPICS: usize = 3;

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

/// The record of the listed vaults, of Aave's wrapped tokens, which factories announce, and of those that somebody named.
///
/// Rewards, savings rates and who else lends and borrows change them without an event of their own, so that they are read at every block.
#[derive(Clone, Copy, Debug)]
pub struct Erc4626;

impl Erc4626 {
    /// A vault that somebody named, or that traded: which asset it takes, it is asked.
    pub fn named(vault: Address) -> Discovered {
        Discovered { address: vault, product: Product::Erc4626, coins: vec![vault], fee_pips: 0, tick_spacing: 0 }
    }
}

fn listed(vault: Address) -> Option<Listed> {
    LISTED.iter().find(|listed| listed.vault == vault).copied()
}

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

    fn unnamed_coin(&self, pool: &Discovered) -> Option<Call> {
        let [vault] = pool.coins[..] else { return None };
        Some(ask(vault, &assetCall {}).call)
    }

    fn suggested(&self, log: &Log) -> Option<Discovered> {
        let deposit = log.topics().len() == DEPOSIT_TOPICS && log.topics().first() == Some(&DEPOSIT);
        deposit.then(|| Self::named(log.address))
    }

    fn guessed_as(&self, pool: &Pool) -> Option<&'static str> {
        let PoolState::Erc4626(state) = &pool.state else { return None };
        let guessed = state.reserve.is_none() && listed(pool.address).is_none();
        guessed.then(|| state.form.map_or("a vault", Form::word))
    }

    fn foretold(&self, pool: &Pool, at: &ExecutionBlock) -> Vec<Foretold> {
        let PoolState::Erc4626(state) = &pool.state else { return Vec::new() };
        let (assets, shares) = (PROBE, PROBE);
        let says = |call: Call, answer: Result<U256, SwapError>| Some(Foretold { call, answer: answer.ok()? });
        let deposit = ask(pool.address, &previewDepositCall { assets }).call;
        let redeem = state.form.unwrap_or(Form::Holdings).asks_for_assets(pool.address, shares).call;
        let both = [says(deposit, state.preview_deposit(at, assets)), says(redeem, state.preview_redeem(at, shares))];
        both.into_iter().flatten().collect()
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        match listed(pool.address) {
            Some(listed) => Box::new(VaultReader::new(listed)),
            None => Box::new(UnlistedReader::new(pool)),
        }
    }

    fn reader_again(&self, pool: &Discovered, was: &Pool) -> Box<dyn StateReader> {
        match listed(pool.address) {
            Some(listed) => Box::new(VaultReader::new(listed)),
            None => Box::new(UnlistedReader::again(pool, was)),
        }
    }
}
