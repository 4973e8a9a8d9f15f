//! Discovery, reading and following of vaults.

use alloy_primitives::{Address, B256, Log, U256, address, b256};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::{ExecutionBlock, PoolKey};

use super::{
    ASSET_COIN, Accrual, Form, LISTED, Listed, State,
    continuous::pair_curve,
    parts::VaultAddresses,
    reader::{Kind, PROBE, questions, read, read_unlisted},
};
use crate::{
    Call, DecodeError, Discovered, Freshness, Prediction, Product, Protocol, RouteState, Sale, Source, StateReader,
    StepCode, Swap, SwapError,
    answers::{Answers, Question, ask},
    continuous::PairCurve,
    reading::{self, Reading},
    vault::{self, EarlierTrades, Rate, Trade, Traded, Trades, Vault, VaultProtocol, step_code},
};

sol! {
    function asset() external view returns (address);
    event StataTokenCreated(address indexed stataToken, address indexed underlying);
    function getStataToken(address underlying) external view returns (address);
}

/// `Deposit(address,address,uint256,uint256)`.
pub(crate) const DEPOSIT: B256 = b256!("dcbc1c05240f31ff3ad067ef1ee35ce4997762752e3a095284754544f4c709d7");
/// `Withdraw(address,address,address,uint256,uint256)`.
pub(crate) const WITHDRAW: B256 = b256!("fbde797d201c681b91056529119e0b02407c7bb96a4a2c75c01fc9667232c8db");

/// Number of topics of `Deposit`: the event, the sender and the owner of the shares.
const DEPOSIT_TOPICS: usize = 3;

/// Factories of Aave's wrapped tokens, for the main pool and for Prime: `AaveV3Ethereum.STATA_FACTORY` and
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

/// Record of the listed vaults, of Aave's wrapped tokens, which factories announce, and of vaults that the operator
/// names.
///
/// Rewards, savings rates, and loans of others change these vaults without an event of their own, so they are polled
/// every block.
#[derive(Clone, Copy, Debug)]
pub struct Erc4626;

/// Returns the candidate of a vault that the operator named, or that was seen to trade. The reader asks it for its
/// asset.
fn named(vault: Address) -> Discovered {
    Discovered { key: vault.into(), product: Product::Erc4626, coins: vec![vault], fee_pips: 0, tick_spacing: 0 }
}

fn listed(vault: Address) -> Option<Listed> {
    LISTED.iter().find(|listed| listed.vault == vault).copied()
}

/// Returns a reader of a vault, whose kind may be known.
fn reader(pool: &Discovered, known: Option<Kind>) -> Box<dyn StateReader> {
    let of = VaultAddresses { vault: pool.key.contract, asset: pool.coins.first().copied().unwrap_or_default() };
    match listed(of.vault) {
        Some(Listed { vault, asset, form }) => {
            reading::reader(vault, move |reading| read(VaultAddresses { vault, asset }, form, reading).map(Box::new))
        }
        None => reading::reader(of.vault, move |reading| read_unlisted(of, known, reading).map(Box::new)),
    }
}

impl Protocol for Erc4626 {
    type State = Box<State>;
    type After = Trades;

    fn product(&self) -> Product {
        Product::Erc4626
    }

    fn sources(&self) -> &'static [Source] {
        &SOURCES
    }

    fn fixed_pools(&self) -> Vec<Discovered> {
        let pool = |listed: &super::Listed| Discovered {
            key: listed.vault.into(),
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
            key: event.stataToken.into(),
            product: Product::Erc4626,
            coins: vec![event.underlying, event.stataToken],
            fee_pips: 0,
            tick_spacing: 0,
        })
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &[DEPOSIT, WITHDRAW]
    }

    fn reads_each_block(&self, _state: &Self::State) -> bool {
        true
    }

    fn apply(&self, _state: &mut Self::State, log: &Log) -> Result<Freshness, DecodeError> {
        let matters = log.topics().first().is_some_and(|topic0| self.freshness_topics().contains(topic0));
        Ok(if matters { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn unnamed_coin(&self, pool: &Discovered) -> Option<Call> {
        let [vault] = pool.coins[..] else { return None };
        Some(ask(vault, &assetCall {}).call)
    }

    fn suggested(&self, log: &Log) -> Option<Discovered> {
        let deposit = log.topics().len() == DEPOSIT_TOPICS && log.topics().first() == Some(&DEPOSIT);
        deposit.then(|| named(log.address))
    }

    fn guessed_as(&self, pool: Address, state: &Self::State) -> Option<&'static str> {
        let guessed = state.limits.reserve.is_none() && listed(pool).is_none();
        guessed.then(|| state.form.map_or("a vault", Form::word))
    }

    fn predictions(&self, pool: Address, state: &Self::State, at: &ExecutionBlock) -> Vec<Prediction> {
        let says = |question: Question, answer: Result<U256, SwapError>| {
            Some(Prediction { call: question.call, answer: answer.ok()? })
        };
        let [deposit, redeem] = questions(VaultAddresses { vault: pool, asset: Address::ZERO }, state.form);
        let both = [says(deposit, state.preview_deposit(at, PROBE)), says(redeem, state.preview_redeem(at, PROBE))];
        both.into_iter().flatten().collect()
    }

    fn reader(&self, pool: &Discovered) -> Box<dyn StateReader> {
        reader(pool, None)
    }

    fn reader_again(&self, pool: &Discovered, was: &Self::State) -> Box<dyn StateReader> {
        reader(pool, Kind::of(was))
    }

    fn named(&self, vault: Address) -> Option<Discovered> {
        Some(named(vault))
    }

    fn swap(
        &self,
        pool: PoolKey,
        state: &Self::State,
        at: &ExecutionBlock,
        route: &RouteState,
        sale: Sale,
    ) -> Result<Swap, SwapError> {
        vault::swap(self, pool.contract, state, at, route, sale)
    }

    fn depends_on_time(&self, state: &Self::State) -> bool {
        state.accrual != Accrual::None
    }

    fn fee_pips(&self, _state: &Self::State) -> Option<u32> {
        Some(0)
    }

    fn curve(&self, state: &Self::State, _coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        pair_curve(state, at)
    }

    fn vault_trades<'a>(
        &self,
        pool: Address,
        state: &Self::State,
        trades: &'a Trades,
    ) -> Option<(Address, Vault, &'a Trades)> {
        Some((pool, Vault { product: self.product(), state: state.clone().into() }, trades))
    }

    fn step_code(&self, _pool: Address, _state: &Self::State, coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(coin_in)
    }

    fn refunded_gas_units(&self, state: &Self::State, coin_in: u8) -> u64 {
        state.refunded_gas_units(coin_in == ASSET_COIN)
    }
}

impl VaultProtocol for Erc4626 {
    fn rate(&self, state: &Self::State, at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Rate, SwapError> {
        state.after_trades(at, before)?.rate(at)
    }

    fn trade(
        &self,
        state: &Self::State,
        at: &ExecutionBlock,
        before: EarlierTrades<'_>,
        trade: Trade,
    ) -> Result<Traded, SwapError> {
        let state = state.after_trades(at, before)?;
        let swap = if trade.deposits { state.deposit(at, trade.amount_in) } else { state.redeem(at, trade.amount_in) };
        Ok(Traded { amount_out: swap?.0, gas_units: state.gas_units(trade.deposits) })
    }

    fn preview_gas_units(&self, state: &Self::State) -> u64 {
        state.preview_gas_units()
    }

    fn previewed_gas_units(&self, state: &Self::State) -> u64 {
        state.previewed_gas_units()
    }

    fn ask_factory(&self, factory: Address, _vault: Address, asset: Address) -> Question {
        ask(factory, &getStataTokenCall { underlying: asset })
    }

    fn is_created(&self, vault: Address, answers: &mut Answers<'_>) -> bool {
        answers.try_next::<getStataTokenCall>() == Some(vault)
    }

    fn is_verified(&self, vault: Address, state: &Self::State) -> bool {
        state.limits.reserve.is_some() || self.is_listed(vault)
    }

    fn is_listed(&self, vault: Address) -> bool {
        listed(vault).is_some()
    }

    fn unverified_reader(&self, vault: Address, asset: Address) -> Option<Box<dyn StateReader>> {
        let of = VaultAddresses { vault, asset };
        // trust previews only if they follow from the vault's balance, and allow no trades
        let closed =
            move |reading: &mut Reading| read(of, Form::Holdings, reading).map(|state| Box::new(state.closed()));
        Some(reading::reader(vault, closed))
    }
}
