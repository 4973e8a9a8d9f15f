//! Discovery, reading and following of vaults.

use alloy_primitives::{Address, B256, Log, U256, address, b256};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::ExecutionBlock;

use super::{
    ASSET_COIN, Accrual, Form, LISTED, Listed, State,
    continuous::pair_curve,
    parts::VaultAddresses,
    previews::{PROBE, questions},
    reader::{Kind, read, read_unlisted},
};
use crate::{
    Call, DecodeError, Discovered, Prediction, Product, Protocol, Source, StateReader, Step, StepCode, Swap, SwapError,
    continuous::PairCurve,
    logs::{decode, malformed},
    reading::{self, Question, Reading, Stop},
    vault::{self, EarlierTrades, Rate, Trade, Traded, Trades, VaultProtocol, step_code},
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
    Discovered::new(vault, Product::Erc4626, vec![vault])
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
        let pool = |Listed { vault, asset, .. }: &Listed| Discovered::new(*vault, self.product(), vec![*asset, *vault]);
        LISTED.iter().map(pool).collect()
    }

    fn discover(&self, log: &Log) -> Result<Discovered, DecodeError> {
        let event: StataTokenCreated = decode(log)?;
        let pool = vault::announced(event.stataToken, event.underlying, self.product());
        pool.ok_or_else(|| malformed::<StataTokenCreated>(log))
    }

    fn freshness_topics(&self) -> &'static [B256] {
        &[DEPOSIT, WITHDRAW]
    }

    fn reads_each_block(&self, _state: &Self::State) -> bool {
        true
    }

    fn unnamed_coin(&self, pool: &Discovered) -> Option<Call> {
        let [vault] = pool.coins[..] else { return None };
        Some(Call::new(vault, &assetCall {}))
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

    fn swap(&self, state: &Self::State, step: Step<'_>) -> Result<Swap, SwapError> {
        vault::swap(self, state, step)
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

    fn is_created(&self, factory: Address, [asset, vault]: [Address; 2], reading: &mut Reading) -> Result<bool, Stop> {
        Ok(reading.try_ask(factory, &getStataTokenCall { underlying: asset })? == Some(vault))
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
