//! What a swap costs, in gas units, as part of a route that the proxy runs: the pool's own work and the transfers of
//! [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the stand-ins of the local chain, whose arithmetic is the deployed pools' and whose compiler is not: see
//! `docs/internals/protocols/curve.md`, which sets these numbers beside what mainnet's pools used.

use alloy_primitives::Address;
use braid_primitives::ExecutionBlock;

use super::{
    crypto::{Kind, Rounds},
    lending,
    pool::{ExchangeKind, Model, State, replayed},
    stable::{self, MetaState, Rate},
};
use crate::Sale;

/// StableSwap of two coins, first generation.
pub const STABLE_SWAP_GAS_UNITS: u64 = 106_000;
/// StableSwap of two coins, next generation.
pub const STABLE_NG_SWAP_GAS_UNITS: u64 = 114_000;
/// Each further coin.
pub const MORE_COINS_GAS_UNITS: u64 = 9_500;
/// Each rate that a pool of the next generation asks for: an oracle's, a vault's.
pub const RATE_GAS_UNITS: u64 = 20_000;
/// What paying stETH costs more than paying a plain token.
pub const PAY_STETH_GAS_UNITS: u64 = 36_000;
/// A metapool's own two coins, at the price of shares that it remembers.
pub const META_SWAP_GAS_UNITS: u64 = 113_500;
/// Asking a base pool of two coins for that price.
pub const VIRTUAL_PRICE_GAS_UNITS: u64 = 37_500;
/// Each further coin of the base pool in its price.
pub const MORE_COINS_IN_PRICE_GAS_UNITS: u64 = 2_500;
/// Remembering a price anew.
pub const REMEMBER_PRICE_GAS_UNITS: u64 = 14_500;
/// What a trade through a base pool of two coins saves where the base pool was asked for its price before.
pub const BASE_ASKED_BEFORE_GAS_UNITS: u64 = 25_000;
/// As [`BASE_ASKED_BEFORE_GAS_UNITS`], for each further coin.
pub const MORE_COINS_ASKED_BEFORE_GAS_UNITS: u64 = 6_000;
/// Withdrawing one coin of a base pool of two.
pub const WITHDRAW_GAS_UNITS: u64 = 110_500;
/// Depositing one coin in a base pool of two.
pub const DEPOSIT_GAS_UNITS: u64 = 139_500;
/// Each further coin of the base pool in either.
pub const MORE_COINS_IN_BASE_GAS_UNITS: u64 = 14_000;
/// A pool of two coins at Aave.
pub const AAVE_SWAP_GAS_UNITS: u64 = 523_000;
/// A pool of two coins at Compound.
pub const COMPOUND_SWAP_GAS_UNITS: u64 = 564_000;
/// Each further coin of a lending pool.
pub const MORE_COINS_LENT_GAS_UNITS: u64 = 20_000;
/// What a deposit or a withdrawal at Compound costs, which a coin that is not lent needs none of.
pub const AT_COMPOUND_GAS_UNITS: u64 = 99_000;
/// What a pool saves where a vault that it asks for its rate was touched before in the transaction: accounts and words that are warm. Measured in
/// the middle of vaults with one and with several words (`execution/tests/it/gas_of_steps.rs`).
pub const VAULT_AGAIN_GAS_UNITS: u64 = 10_000;
/// What a further trade through the same StableSwap pool saves in one transaction.
pub const STABLE_AGAIN_GAS_UNITS: u64 = 21_000;
/// The same for each of its coins.
pub const COIN_AGAIN_GAS_UNITS: u64 = 6_000;
/// What a further trade through the same metapool saves, besides a price that was remembered the first time.
pub const META_AGAIN_GAS_UNITS: u64 = 20_000;
/// What withdrawing from a base pool saves that was touched before.
pub const WITHDRAW_AGAIN_GAS_UNITS: u64 = 48_500;
/// What depositing in a base pool saves that was touched before.
pub const DEPOSIT_AGAIN_GAS_UNITS: u64 = 81_000;

/// What a CryptoSwap pool's work costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CryptoGas {
    /// A swap after which the price scale stays.
    pub swap: u64,
    /// Looking for another price scale after it; where the average is not known, what that costs times how often it happens.
    pub seek_scale: u64,
    /// Finding the invariant anew before it, during a ramp.
    pub find_d: u64,
    /// What a further trade through the same pool saves in one transaction.
    pub again: u64,
}

/// The costs of a kind of pool.
pub const fn crypto(kind: Kind) -> CryptoGas {
    match kind {
        // that of the next generation: on the local chain no pool of the first takes a second trade
        Kind::Cryptoswap(_) => CryptoGas { swap: 190_000, seek_scale: 34_000, find_d: 35_000, again: 63_000 },
        Kind::Tricrypto => CryptoGas { swap: 242_000, seek_scale: 69_000, find_d: 46_000, again: 86_000 },
        Kind::TricryptoNg => CryptoGas { swap: 212_000, seek_scale: 59_000, find_d: 45_000, again: 78_000 },
        Kind::TwocryptoNg | Kind::TwocryptoStable => {
            CryptoGas { swap: 193_000, seek_scale: 13_000, find_d: 35_000, again: 63_000 }
        }
    }
}

/// What a CryptoSwap pool of 2021 costs for each of what its [`Rounds`] count, and besides.
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

/// What a swap costs whose loops go round so often; `None` for the next generation, which finds balances in closed form.
const fn counted(kind: Kind, rounds: &Rounds) -> Option<u64> {
    let gas = match kind {
        Kind::Cryptoswap(_) => CRYPTOSWAP,
        Kind::Tricrypto => TRICRYPTO,
        Kind::TricryptoNg | Kind::TwocryptoNg | Kind::TwocryptoStable => return None,
    };
    let loops = gas.invariant * rounds.invariant + gas.balance * rounds.balance;
    let means = gas.mean * rounds.mean + gas.power * rounds.power;
    let now_and_then = gas.probe * rounds.probes + gas.move_scale * rounds.moves + gas.begin * rounds.begins;
    // Trying another price scale takes about as many rounds as the swap itself; where nobody can tell, half of that is least off.
    let try_scale = gas.move_scale + gas.invariant * rounds.invariant + gas.mean * rounds.mean;
    Some(gas.rest + loops + means + now_and_then + try_scale * rounds.maybe_moves / 2)
}

/// For each coin beyond two.
fn more(coins: usize, each: u64) -> u64 {
    each * (coins as u64).saturating_sub(2)
}

impl State {
    /// Gas units of a swap by itself, but for what a CryptoSwap pool does only now and then.
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
            (Model::Crypto(pool), _) => crypto(pool.kind).swap,
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

    /// What a swap costs by itself, counted along the loops of its arithmetic; `None` where that is what [`State::swap`] says. Takes some
    /// three times as long as a quote: for a plan that is settled.
    pub(crate) fn counted_gas_units(&self, at: &ExecutionBlock, before: &[Sale], trade: &Sale) -> Option<u64> {
        let Model::Crypto(own) = &self.model else { return None };
        let left = replayed(own, at, before).ok()?;
        let swap = left.as_ref().unwrap_or(own).swap(at, trade.coin_in, trade.coin_out, trade.amount_in).ok()?;
        own.repricing.as_ref().and_then(|_| counted(own.kind, &swap.rounds))
    }

    /// Whether a trade asks the base pool anything, or trades there.
    pub(crate) fn goes_through_base(&self, [coin_in, coin_out]: [u8; 2], at: &ExecutionBlock) -> bool {
        let Model::Meta(meta) = &self.model else { return false };
        meta.asks_base(at) || matches!(self.exchange_kind(coin_in, coin_out), Some(ExchangeKind::Underlying(..)))
    }

    /// What of those gas units a trade saves where steps before it touched vaults that the pool asks for their rates.
    pub(crate) fn saved_by_vaults(&self, touched: &dyn Fn(Address) -> bool) -> u64 {
        let Model::Stable(pool) = &self.model else { return 0 };
        let again = pool.rates.0.iter().filter(|rate| matches!(rate, Rate::Vault(share) if touched(share.address)));
        VAULT_AGAIN_GAS_UNITS * again.count() as u64
    }

    /// What of those gas units a trade saves where one before it went through this pool (`again`), and where one did through the base pool.
    pub(crate) fn saved_gas_units(&self, coins: [u8; 2], at: &ExecutionBlock, again: bool, base_again: bool) -> u64 {
        let Some(exchange_kind) = self.exchange_kind(coins[0], coins[1]) else { return 0 };
        match (&self.model, exchange_kind) {
            (Model::Stable(pool), _) if again => {
                STABLE_AGAIN_GAS_UNITS + COIN_AGAIN_GAS_UNITS * pool.balances.len() as u64
            }
            (Model::Meta(meta), exchange_kind) => {
                // the first trade remembered the price, or left what is asked warm
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
            (Model::Crypto(pool), _) if again => crypto(pool.kind).again,
            _ => 0,
        }
    }
}

/// What a metapool's trade spends on the price of the base pool's shares.
fn price(meta: &MetaState, at: &ExecutionBlock) -> u64 {
    if !meta.asks_base(at) {
        return 0;
    }
    let remember = if meta.cached_price.is_some() { REMEMBER_PRICE_GAS_UNITS } else { 0 };
    VIRTUAL_PRICE_GAS_UNITS + more(meta.base.state.balances.len(), MORE_COINS_IN_PRICE_GAS_UNITS) + remember
}

/// What a trade through the base pool saves for having asked it for that price.
fn asked_before(meta: &MetaState, at: &ExecutionBlock) -> u64 {
    let saved = BASE_ASKED_BEFORE_GAS_UNITS + more(meta.base.state.balances.len(), MORE_COINS_ASKED_BEFORE_GAS_UNITS);
    if meta.asks_base(at) { saved } else { 0 }
}

/// What trading in the base pool costs.
fn through(meta: &MetaState, exchange_kind: ExchangeKind) -> u64 {
    let trade =
        if matches!(exchange_kind, ExchangeKind::Underlying(0, _)) { WITHDRAW_GAS_UNITS } else { DEPOSIT_GAS_UNITS };
    trade + more(meta.base.state.balances.len(), MORE_COINS_IN_BASE_GAS_UNITS)
}
