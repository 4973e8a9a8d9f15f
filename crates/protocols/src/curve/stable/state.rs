//! State of a StableSwap pool, as far as swaps depend on it.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{Balances, Invariant, ProductRule, Rates};
use crate::curve::arith::{FEE_WHOLE, Maths, WAD, add, div, int, mul, mul_div, ramp, sub};

/// Amplification and its ramp. Values are the contract's own, scaled by its precision of `A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amplification {
    /// Value at the start of the ramp.
    pub initial: U256,
    /// Value from the end of the ramp on.
    pub future: U256,
    /// Start of the ramp, in unix seconds.
    pub initial_time: u64,
    /// End of the ramp, in unix seconds.
    pub future_time: u64,
    /// Scale of the values: 1 for the first pools, 100 for the later ones.
    pub precision: u16,
}

impl Amplification {
    /// Returns a constant amplification.
    pub const fn constant(value: U256, precision: u16) -> Self {
        Self { initial: value, future: value, initial_time: 0, future_time: 0, precision }
    }

    /// Computes the scaled amplification at a block time.
    pub(crate) fn at(&self, timestamp: u64) -> Maths<U256> {
        ramp(self.initial, self.future, self.initial_time, self.future_time, timestamp)
    }
}

/// Order of fee and scaling in a view. Every `exchange` takes the fee before scaling. Some `get_dy` views take it
/// after, and differ by one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeeStep {
    /// Fee before scaling to the coin's own units.
    BeforeScaling,
    /// Fee after scaling.
    AfterScaling,
}

/// Source of a pool's balances, which determines how a swap changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BalanceSource {
    /// Stored by the pool, which adds and subtracts amounts: most pools.
    Stored,
    /// Stored, but both balances are recomputed from their scaled values: the first lending pools, aETH and rETH.
    Restated,
    /// Read from the coins, which rebase or round: new balances are known only by reading again.
    Token,
}

/// Differences between pools with the same invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Rounding of the product in the invariant.
    pub product: ProductRule,
    /// Whether `exchange` keeps one scaled unit back.
    pub exchange_keeps_one: bool,
    /// Whether `get_dy` keeps one scaled unit back.
    pub view_keeps_one: bool,
    /// Order of fee and scaling in `get_dy`.
    pub view_fee: FeeStep,
    /// Source of balances.
    pub balance_source: BalanceSource,
    /// Whether Newton loops return their last value instead of reverting.
    pub gives_unsettled: bool,
}

impl Rules {
    /// Returns the rules of later pools: the plain and meta factories, EURS, sETH, LINK, and all of the next generation
    /// (these take [`ProductRule::Whole`]).
    pub const fn standard(product: ProductRule) -> Self {
        Self {
            product,
            exchange_keeps_one: true,
            view_keeps_one: true,
            view_fee: FeeStep::BeforeScaling,
            balance_source: BalanceSource::Stored,
            gives_unsettled: false,
        }
    }

    /// 3pool, HBTC, renBTC and sBTC: the view takes the fee after scaling.
    pub const THREE_POOL: Self =
        Self { view_fee: FeeStep::AfterScaling, gives_unsettled: true, ..Self::standard(ProductRule::TimesN) };

    /// Compound, USDT, Y, BUSD and sUSD: nothing kept back, balances recomputed.
    pub const COMPOUND: Self = Self {
        exchange_keeps_one: false,
        view_keeps_one: false,
        view_fee: FeeStep::AfterScaling,
        balance_source: BalanceSource::Restated,
        gives_unsettled: true,
        product: ProductRule::TimesNPlusOne,
    };

    /// Pax: as Compound, but its view keeps one unit back and its product is the usual one.
    pub const PAX: Self = Self { view_keeps_one: true, product: ProductRule::TimesN, ..Self::COMPOUND };

    /// Aave and sAave: nothing kept back, dynamic fee.
    pub const AAVE: Self = Self {
        exchange_keeps_one: false,
        view_keeps_one: false,
        view_fee: FeeStep::AfterScaling,
        balance_source: BalanceSource::Token,
        ..Self::standard(ProductRule::TimesNPlusOne)
    };

    /// stETH.
    pub const STETH: Self = Self { balance_source: BalanceSource::Token, ..Self::standard(ProductRule::TimesNPlusOne) };

    /// aETH and rETH: only the swap keeps one unit back.
    pub const ANKR: Self =
        Self { view_keeps_one: false, balance_source: BalanceSource::Restated, ..Self::standard(ProductRule::TimesN) };
}

/// A StableSwap pool of any generation: two to eight coins around one price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Balance of each coin in atomic units, net of administrator fees.
    pub balances: Balances,
    /// Worth of one atomic unit of each coin, in units of 10⁻³⁶ of the common unit (10¹⁸ for a plain coin of 18
    /// decimals, 10³⁰ for one of 6).
    pub rates: Rates,
    /// Amplification.
    pub amplification: Amplification,
    /// Fee on the amount out, in units of 10⁻¹⁰.
    pub fee: u64,
    /// Maximum growth of the fee away from balance, in units of 10⁻¹⁰; at or below 100% the fee is fixed.
    pub offpeg_fee_multiplier: u64,
    /// Administrator's share of the fee, in units of 10⁻¹⁰.
    pub admin_fee: u64,
    /// Rounding rules.
    pub rules: Rules,
}

impl State {
    /// Returns the invariant's constants in a block.
    pub(crate) fn invariant(&self, at: &ExecutionBlock) -> Maths<Invariant> {
        Ok(Invariant {
            amp: self.amplification.at(at.timestamp)?,
            a_precision: int(u64::from(self.amplification.precision)),
            product: self.rules.product,
            gives_unsettled: self.rules.gives_unsettled,
        })
    }

    /// Returns the pool with other balances and without its rates, for callers that already have the rates.
    pub(crate) fn holding(&self, balances: Balances) -> Self {
        let Self { amplification, fee, offpeg_fee_multiplier, admin_fee, rules, .. } = *self;
        Self { balances, rates: Rates::default(), amplification, fee, offpeg_fee_multiplier, admin_fee, rules }
    }

    /// Tells whether there are at least two coins, and a rate for each.
    pub(crate) fn is_whole(&self) -> bool {
        self.balances.len() >= 2 && self.rates.0.len() == self.balances.len()
    }

    /// Scales the balances to the common unit, 18 decimals.
    pub(crate) fn scaled(&self, rates: &[U256]) -> Maths<Balances> {
        scale(&self.balances, rates)
    }

    /// Tells whether the invariant converges, at these rates, within the iterations that sampling affords.
    pub(crate) fn settles_soon(&self, at: &ExecutionBlock, rates: &[U256]) -> Maths<bool> {
        self.invariant(at)?.settles_soon(&self.scaled(rates)?)
    }

    /// Computes the fee between two average scaled balances, which grows with their distance.
    ///
    /// Source: `_dynamic_fee` of the Aave pool and of StableSwap-NG.
    pub(crate) fn fee_between(&self, x: U256, y: U256, base_fee: U256) -> Maths<U256> {
        let multiplier = int(self.offpeg_fee_multiplier);
        if multiplier <= FEE_WHOLE {
            return Ok(base_fee);
        }
        let sum = add(x, y)?;
        let square = mul(sum, sum)?;
        let product = mul(mul(mul(sub(multiplier, FEE_WHOLE)?, int(4))?, x)?, y)?;
        div(mul(multiplier, base_fee)?, add(div(product, square)?, FEE_WHOLE)?)
    }
}

/// Multiplies balances by rates, to 18 decimals.
pub(crate) fn scale(balances: &[U256], rates: &[U256]) -> Maths<Balances> {
    balances.iter().zip(rates).map(|(balance, rate)| mul_div(*rate, *balance, WAD)).collect()
}
