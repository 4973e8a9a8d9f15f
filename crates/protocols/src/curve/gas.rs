//! Gas units of a swap, as part of a route that the proxy runs: the pool's own work and the transfers of
//! [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the stand-ins of the local chain. Their arithmetic is that of the deployed pools, but their compiler
//! differs. `docs/internals/protocols/curve.md` compares these numbers with the gas of mainnet's pools.

use alloy_primitives::Address;
use braid_primitives::ExecutionBlock;

use super::{
    crypto::{self, Kind, Rounds},
    lending,
    pool::{ExchangeKind, Model, State, replayed},
    stable::{self, MetaState, Rate},
};
use crate::Sale;

/// A swap of a two-coin StableSwap pool, first generation.
pub const STABLE_SWAP_GAS_UNITS: u64 = 106_000;
/// A swap of a two-coin StableSwap pool, next generation.
pub const STABLE_NG_SWAP_GAS_UNITS: u64 = 114_000;
/// Each coin beyond two.
pub const MORE_COINS_GAS_UNITS: u64 = 9_500;
/// Each rate that a pool of the next generation requests, from an oracle or a vault.
pub const RATE_GAS_UNITS: u64 = 20_000;
/// Additional cost of paying stETH instead of a plain token.
pub const PAY_STETH_GAS_UNITS: u64 = 36_000;
/// A swap between a metapool's own two coins, at the cached price of shares.
pub const META_SWAP_GAS_UNITS: u64 = 113_500;
/// Requesting that price from a base pool of two coins.
pub const VIRTUAL_PRICE_GAS_UNITS: u64 = 37_500;
/// Each further coin of the base pool, for the same.
pub const MORE_COINS_IN_PRICE_GAS_UNITS: u64 = 2_500;
/// Updating the cached price.
pub const REMEMBER_PRICE_GAS_UNITS: u64 = 14_500;
/// Saving of a swap through a base pool of two coins, if the base pool's price was requested before.
pub const BASE_ASKED_BEFORE_GAS_UNITS: u64 = 25_000;
/// The same saving for each further coin.
pub const MORE_COINS_ASKED_BEFORE_GAS_UNITS: u64 = 6_000;
/// Withdrawal of one coin from a base pool of two.
pub const WITHDRAW_GAS_UNITS: u64 = 110_500;
/// Deposit of one coin into a base pool of two.
pub const DEPOSIT_GAS_UNITS: u64 = 139_500;
/// Each further coin of the base pool, for either.
pub const MORE_COINS_IN_BASE_GAS_UNITS: u64 = 14_000;
/// A swap of a pool of two coins lent at Aave.
pub const AAVE_SWAP_GAS_UNITS: u64 = 523_000;
/// A swap of a pool of two coins lent at Compound.
pub const COMPOUND_SWAP_GAS_UNITS: u64 = 564_000;
/// Each further coin of a lending pool.
pub const MORE_COINS_LENT_GAS_UNITS: u64 = 20_000;
/// A deposit or a withdrawal at Compound; a coin that is not lent needs neither.
pub const AT_COMPOUND_GAS_UNITS: u64 = 99_000;
/// Saving of a pool if an earlier step touched a vault whose rate it requests: warm accounts and slots. Average of
/// vaults with one and with several slots (`execution/tests/it/gas_of_steps.rs`).
pub const VAULT_AGAIN_GAS_UNITS: u64 = 10_000;
/// Saving of a further swap through the same StableSwap pool in one transaction.
pub const STABLE_AGAIN_GAS_UNITS: u64 = 21_000;
/// The same saving for each of its coins.
pub const COIN_AGAIN_GAS_UNITS: u64 = 6_000;
/// Saving of a further swap through the same metapool, besides that of the cached price.
pub const META_AGAIN_GAS_UNITS: u64 = 20_000;
/// Saving of a withdrawal from a base pool that was touched before.
pub const WITHDRAW_AGAIN_GAS_UNITS: u64 = 48_500;
/// Saving of a deposit into a base pool that was touched before.
pub const DEPOSIT_AGAIN_GAS_UNITS: u64 = 81_000;

/// Gas units of a CryptoSwap pool of 2021: per iteration counted in [`Rounds`], and a base cost.
struct RoundsGas {
    rest: u64,
    invariant: u64,
    balance: u64,
    mean: u64,
    power: u64,
    probe: u64,
    move_scale: u64,
    begin: u64,
}

const CRYPTOSWAP: RoundsGas = RoundsGas {
    rest: 151_400,
    invariant: 1_400,
    balance: 1_290,
    mean: 510,
    power: 750,
    probe: 5_600,
    move_scale: 12_800,
    begin: 20_000,
};
const TRICRYPTO: RoundsGas = RoundsGas {
    rest: 176_800,
    invariant: 1_730,
    balance: 1_290,
    mean: 640,
    power: 750,
    probe: 5_600,
    move_scale: 28_500,
    begin: 20_000,
};

/// Returns the gas units of a swap with these iteration counts; `None` for the next generation, which computes balances
/// in closed form.
const fn counted(kind: Kind, rounds: &Rounds) -> Option<u64> {
    let gas = match kind {
        Kind::Cryptoswap(_) => CRYPTOSWAP,
        Kind::Tricrypto => TRICRYPTO,
        Kind::TricryptoNg | Kind::TwocryptoNg | Kind::TwocryptoStable => return None,
    };
    let loops = gas.invariant * rounds.invariant + gas.balance * rounds.balance;
    let means = gas.mean * rounds.mean + gas.power * rounds.power;
    let now_and_then = gas.probe * rounds.probes + gas.move_scale * rounds.moves + gas.begin * rounds.begins;
    // trying a price scale takes about as many iterations as the swap; if unknown, half of that has the smallest error
    let try_scale = gas.move_scale + gas.invariant * rounds.invariant + gas.mean * rounds.mean;
    Some(gas.rest + loops + means + now_and_then + try_scale * rounds.maybe_moves / 2)
}

/// Returns the cost of coins beyond two.
fn more(coins: usize, each: u64) -> u64 {
    each * (coins as u64).saturating_sub(2)
}

impl State {
    /// Returns the gas units of a swap by itself, without the occasional work of a CryptoSwap pool.
    pub(crate) fn gas_units(&self, at: &ExecutionBlock, coin_out: u8, exchange_kind: ExchangeKind) -> u64 {
        match (&self.model, exchange_kind) {
            (Model::Stable(pool), _) => {
                let next = pool.rules.product == stable::ProductRule::Whole && pool.offpeg_fee_multiplier > 0;
                let base = if next { STABLE_NG_SWAP_GAS_UNITS } else { STABLE_SWAP_GAS_UNITS };
                let asked =
                    if self.has_oracle { pool.rates.0.iter().filter(|rate| rate.is_asked_for()).count() } else { 0 };
                let pays_shares = self.steth.is_some_and(|(coin, _)| coin == coin_out);
                base + more(pool.balances.len(), MORE_COINS_GAS_UNITS)
                    + asked as u64 * RATE_GAS_UNITS
                    + if pays_shares { PAY_STETH_GAS_UNITS } else { 0 }
            }
            (Model::Meta(meta), ExchangeKind::Own(..)) => META_SWAP_GAS_UNITS + price(meta, at),
            (Model::Meta(meta), exchange_kind) => {
                META_SWAP_GAS_UNITS + price(meta, at) + through(meta, exchange_kind) - asked_before(meta, at)
            }
            (Model::Crypto(pool), _) => crypto::swap_gas(pool.kind).swap,
            (Model::Lending(pool), ExchangeKind::Own(i, j) | ExchangeKind::Underlying(i, j)) => {
                let swap = match pool.lender {
                    lending::Lender::Aave => AAVE_SWAP_GAS_UNITS,
                    lending::Lender::Compound => COMPOUND_SWAP_GAS_UNITS,
                };
                let unlent = [i, j].into_iter().filter(|coin| !pool.lends(*coin)).count();
                swap + more(pool.markets.len(), MORE_COINS_LENT_GAS_UNITS) - unlent as u64 * AT_COMPOUND_GAS_UNITS
            }
        }
    }

    /// Returns the gas units of a swap by itself, counted along the loops of its arithmetic; `None` if [`State::swap`]
    /// already returns them. Takes about three times as long as a quote, so it is used only for a final plan.
    pub(crate) fn counted_gas_units(&self, at: &ExecutionBlock, before: &[Sale], trade: &Sale) -> Option<u64> {
        let Model::Crypto(own) = &self.model else { return None };
        let left = replayed(own, at, before).ok()?;
        let swap = left.as_ref().unwrap_or(own).swap(at, trade.coin_in, trade.coin_out, trade.amount_in).ok()?;
        own.repricing.as_ref().and_then(|_| counted(own.kind, &swap.rounds))
    }

    /// Tells whether a swap requests a rate from the base pool, or trades in it.
    pub(crate) fn goes_through_base(&self, [coin_in, coin_out]: [u8; 2], at: &ExecutionBlock) -> bool {
        let Model::Meta(meta) = &self.model else { return false };
        meta.asks_base(at) || matches!(self.exchange_kind(coin_in, coin_out), Some(ExchangeKind::Underlying(..)))
    }

    /// Returns the part of those gas units that a swap saves because earlier steps touched vaults whose rates the pool
    /// requests.
    pub(crate) fn saved_by_vaults(&self, touched: &dyn Fn(Address) -> bool) -> u64 {
        let Model::Stable(pool) = &self.model else { return 0 };
        let again = pool.rates.0.iter().filter(|rate| matches!(rate, Rate::Vault(share) if touched(share.address)));
        VAULT_AGAIN_GAS_UNITS * again.count() as u64
    }

    /// Returns the part of those gas units that a swap saves because an earlier step went through this pool (`again`),
    /// or through the base pool.
    pub(crate) fn saved_gas_units(&self, coins: [u8; 2], at: &ExecutionBlock, again: bool, base_again: bool) -> u64 {
        let Some(exchange_kind) = self.exchange_kind(coins[0], coins[1]) else { return 0 };
        match (&self.model, exchange_kind) {
            (Model::Stable(pool), _) if again => {
                STABLE_AGAIN_GAS_UNITS + COIN_AGAIN_GAS_UNITS * pool.balances.len() as u64
            }
            (Model::Meta(meta), exchange_kind) => {
                // the first swap cached the price, or left the requested slots warm
                let own = if again { META_AGAIN_GAS_UNITS + price(meta, at) } else { 0 };
                let base = match exchange_kind {
                    _ if !base_again => 0,
                    ExchangeKind::Own(..) if again => 0,
                    ExchangeKind::Own(..) => asked_before(meta, at),
                    ExchangeKind::Underlying(0, _) => WITHDRAW_AGAIN_GAS_UNITS - asked_before(meta, at),
                    ExchangeKind::Underlying(..) => DEPOSIT_AGAIN_GAS_UNITS - asked_before(meta, at),
                };
                own + base
            }
            (Model::Crypto(pool), _) if again => crypto::swap_gas(pool.kind).again,
            _ => 0,
        }
    }
}

/// Returns the gas units that a metapool's swap spends on the price of the base pool's shares.
fn price(meta: &MetaState, at: &ExecutionBlock) -> u64 {
    if !meta.asks_base(at) {
        return 0;
    }
    let remember = if meta.cached_price.is_some() { REMEMBER_PRICE_GAS_UNITS } else { 0 };
    VIRTUAL_PRICE_GAS_UNITS + more(meta.base.state.balances.len(), MORE_COINS_IN_PRICE_GAS_UNITS) + remember
}

/// Returns the saving of a trade in the base pool whose price was requested before.
fn asked_before(meta: &MetaState, at: &ExecutionBlock) -> u64 {
    let saved = BASE_ASKED_BEFORE_GAS_UNITS + more(meta.base.state.balances.len(), MORE_COINS_ASKED_BEFORE_GAS_UNITS);
    if meta.asks_base(at) { saved } else { 0 }
}

/// Returns the gas units of trading in the base pool.
fn through(meta: &MetaState, exchange_kind: ExchangeKind) -> u64 {
    let trade =
        if matches!(exchange_kind, ExchangeKind::Underlying(0, _)) { WITHDRAW_GAS_UNITS } else { DEPOSIT_GAS_UNITS };
    trade + more(meta.base.state.balances.len(), MORE_COINS_IN_BASE_GAS_UNITS)
}
