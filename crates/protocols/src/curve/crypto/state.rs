//! State of a CryptoSwap pool, as far as swaps depend on it.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::newton::{A_MULTIPLIER, Rounds, Shape};
use super::{three, two};
use crate::SwapError;
use crate::curve::arith::{FEE_WHOLE, Fault, Maths, WAD, add, div, int, mul, mul_div, sub};
use crate::curve::stable::{Invariant, ProductRule};

/// Contract of a pool. All share the invariant. They differ in rounding, in the search for a balance, and in the moves
/// of the price scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Two coins: pools of 2021 and of the factory after it.
    Cryptoswap(ClassicTwo),
    /// Three coins, 2021 (tricrypto2).
    Tricrypto,
    /// Three coins, next generation.
    TricryptoNg,
    /// Two coins, next generation, v2.0.0 to v2.1.1.
    TwocryptoNg,
    /// Two coins, next generation on StableSwap maths, v2.1.0d and later.
    TwocryptoStable,
}

/// Variants of the first two-coin pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassicTwo {
    /// EURT, EURS, CRV: the price scale moves by a fixed step.
    Early,
    /// CVX, SPELL, T: by at least a tenth of the distance.
    Tenth,
    /// XAUT and EUROC: as [`Self::Tenth`]; Newton's slope is rounded differently.
    TenthLoose,
    /// The factory's pools: by at least a fifth of the distance.
    Factory,
}

/// Amplification and gamma, with their ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmpGamma {
    /// Amplification and gamma at the start of the ramp.
    pub initial: (U256, U256),
    /// The same from the end of the ramp on.
    pub future: (U256, U256),
    /// Start of the ramp, in unix seconds.
    pub initial_time: u64,
    /// End of the ramp, in unix seconds. The 2021 pools store 1 here until the swap after the ramp's end.
    pub future_time: u64,
}

/// Variables that move the price scale after a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repricing {
    /// Average prices of coins 1 and 2 in coin 0, 18 decimals, as stored. `None` if only the average at the block of
    /// the reading is known: then the state after a swap that may move the price scale is unknown.
    pub price_oracle: Option<[U256; 2]>,
    /// Prices after the last swap.
    pub last_prices: [U256; 2],
    /// Time at which the average was last moved, in unix seconds.
    pub last_prices_timestamp: u64,
    /// Half time (2021) or time constant (next generation) of the average, in seconds.
    pub averaging_seconds: u64,
    /// Shares in circulation, in atomic units.
    pub total_supply: U256,
    /// `xcp_profit()`, 18 decimals.
    pub xcp_profit: U256,
    /// `virtual_price()`, as stored.
    pub virtual_price: U256,
    /// `allowed_extra_profit()`, 18 decimals.
    pub allowed_extra_profit: U256,
    /// `adjustment_step()`, 18 decimals.
    pub adjustment_step: U256,
    /// Whether a move of the price scale is in progress in a pool of 2021, where the flag is private; `None` if
    /// unknown, with the same consequence.
    pub not_adjusted: Option<bool>,
}

/// A CryptoSwap pool: two or three coins around a price that moves. Unused entries are zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Kind of contract.
    pub kind: Kind,
    /// Balance of each coin, in atomic units.
    pub balances: [U256; 3],
    /// Factor that scales each coin to 18 decimals.
    pub precisions: [U256; 3],
    /// Prices of coins 1 and 2 in coin 0 around which liquidity is concentrated, 18 decimals.
    pub price_scale: [U256; 2],
    /// Invariant as stored.
    pub d: U256,
    /// Amplification and gamma.
    pub amp_gamma: AmpGamma,
    /// Fee in balance, in units of 10⁻¹⁰.
    pub mid_fee: u64,
    /// Fee far from balance, in units of 10⁻¹⁰.
    pub out_fee: u64,
    /// Rate of the transition between the two fees, 18 decimals.
    pub fee_gamma: U256,
    /// Variables of the price scale. `None` if they were not read. A swap is then exact, but not a second swap after
    /// it, and the revert of a swap so small that it causes a loss is not detected.
    pub repricing: Option<Repricing>,
}

impl AmpGamma {
    /// Returns constant values.
    pub const fn constant(amp: U256, gamma: U256) -> Self {
        Self { initial: (amp, gamma), future: (amp, gamma), initial_time: 0, future_time: 0 }
    }

    /// Computes the values in a block. Source: `_A_gamma` of every CryptoSwap pool.
    fn at(&self, timestamp: u64) -> Maths<Shape> {
        let (amp, gamma) = self.future;
        if timestamp >= self.future_time {
            return Ok(Shape { amp, gamma });
        }
        let length = self.future_time.checked_sub(self.initial_time).ok_or(Fault::Arithmetic)?;
        let elapsed = timestamp.checked_sub(self.initial_time).ok_or(Fault::Arithmetic)?;
        let left = length.checked_sub(elapsed).ok_or(Fault::Arithmetic)?;
        let mix = |from, to| div(add(mul(from, int(left))?, mul(to, int(elapsed))?)?, int(length));
        Ok(Shape { amp: mix(self.initial.0, amp)?, gamma: mix(self.initial.1, gamma)? })
    }
}

/// Returns the first two of three.
pub(super) const fn pair(x: &[U256; 3]) -> [U256; 2] {
    [x[0], x[1]]
}

impl Kind {
    /// Returns the number of coins.
    pub const fn coins(self) -> usize {
        match self {
            Self::Tricrypto | Self::TricryptoNg => 3,
            Self::Cryptoswap(_) | Self::TwocryptoNg | Self::TwocryptoStable => 2,
        }
    }

    /// Tells whether the contract is of 2021.
    pub(crate) const fn is_classic(self) -> bool {
        matches!(self, Self::Cryptoswap(_) | Self::Tricrypto)
    }

    const fn stable(amp: U256) -> Invariant {
        Invariant { amp, a_precision: A_MULTIPLIER, product: ProductRule::Whole, gives_unsettled: false }
    }

    /// Computes the invariant of scaled balances; `k0_prev` is a first guess that the next generation takes from the
    /// swap.
    pub(super) fn d(self, shape: &Shape, xp: &[U256; 3], k0_prev: U256, rounds: &mut Rounds) -> Maths<U256> {
        match self {
            Self::Cryptoswap(_) => two::d_classic(shape, &pair(xp), rounds),
            Self::Tricrypto => three::d_classic(shape, xp, rounds),
            Self::TricryptoNg => three::d_ng(shape, xp, k0_prev, rounds),
            Self::TwocryptoNg => two::d_ng(shape, &pair(xp), k0_prev, rounds),
            Self::TwocryptoStable => Self::stable(shape.amp).d(&pair(xp)),
        }
    }

    /// Computes balance `j` at an invariant, and the root that helps to find the next invariant.
    pub(super) fn y(
        self,
        shape: &Shape,
        xp: &[U256; 3],
        d: U256,
        j: usize,
        rounds: &mut Rounds,
    ) -> Maths<(U256, U256)> {
        match self {
            Self::Cryptoswap(which) => {
                let loose = which == ClassicTwo::TenthLoose;
                Ok((two::y_classic(shape, &pair(xp), d, j, loose, rounds)?, U256::ZERO))
            }
            Self::Tricrypto => Ok((three::y_classic(shape, xp, d, j, rounds)?, U256::ZERO)),
            Self::TricryptoNg => three::y_ng(shape, xp, d, j, rounds),
            Self::TwocryptoNg => two::y_ng(shape, &pair(xp), d, j, rounds),
            Self::TwocryptoStable => Ok((Self::stable(shape.amp).y_of_d(j, &pair(xp), d)?, U256::ZERO)),
        }
    }
}

impl State {
    /// Computes amplification and gamma in a block.
    pub(super) fn shape(&self, at: &ExecutionBlock) -> Maths<Shape> {
        self.amp_gamma.at(at.timestamp)
    }

    /// Scales an amount of coin `k` to the common unit, 18 decimals.
    pub(super) fn scale(&self, k: usize, amount: U256) -> Maths<U256> {
        let precise = mul(amount, self.precisions[k])?;
        if k == 0 { Ok(precise) } else { mul_div(precise, self.price_scale[k - 1], WAD) }
    }

    /// Scales an amount like [`State::scale`], without the reason of a failure.
    pub(crate) fn scaled_amount(&self, k: usize, amount: U256) -> Option<U256> {
        self.scale(k, amount).ok()
    }

    /// Scales balances to the common unit.
    pub(super) fn scaled(&self, balances: &[U256; 3]) -> Maths<[U256; 3]> {
        let mut xp = [U256::ZERO; 3];
        for k in 0..self.kind.coins() {
            xp[k] = self.scale(k, balances[k])?;
        }
        Ok(xp)
    }

    /// Computes the fee at these scaled balances, in units of 10⁻¹⁰, rounded down.
    pub(super) fn fee(&self, xp: &[U256; 3]) -> Maths<U256> {
        let weight = match self.kind {
            Kind::Tricrypto | Kind::TricryptoNg => three::fee_weight(xp, self.fee_gamma)?,
            Kind::Cryptoswap(_) | Kind::TwocryptoNg => two::fee_weight(&pair(xp), self.fee_gamma)?,
            Kind::TwocryptoStable => two::fee_weight_stable(&pair(xp), self.fee_gamma)?,
        };
        let mixed = add(mul(int(self.mid_fee), weight)?, mul(int(self.out_fee), sub(WAD, weight)?)?)?;
        div(mixed, WAD)
    }

    /// Tells whether a swap in this block computes the invariant again: during a ramp, and in the 2021 pools until one
    /// swap after it.
    pub(crate) fn finds_d(&self, at: &ExecutionBlock) -> bool {
        let end = self.amp_gamma.future_time;
        if self.kind.is_classic() { end > 0 } else { end > at.timestamp }
    }

    /// Returns the invariant from which a swap in this block starts.
    pub(super) fn d_before(&self, at: &ExecutionBlock, shape: &Shape, rounds: &mut Rounds) -> Maths<U256> {
        if !self.finds_d(at) {
            return Ok(self.d);
        }
        self.kind.d(shape, &self.scaled(&self.balances)?, U256::ZERO, rounds)
    }

    /// Computes the invariant of the balances in a block, as the contract would set `D`.
    ///
    /// # Errors
    /// [`SwapError`] where the contract reverts.
    pub fn invariant(&self, at: &ExecutionBlock) -> Result<U256, SwapError> {
        let shape = self.shape(at).map_err(|fault| fault.refusal(U256::ZERO))?;
        let found =
            self.scaled(&self.balances).and_then(|xp| self.kind.d(&shape, &xp, U256::ZERO, &mut Rounds::default()));
        found.map_err(|fault| fault.refusal(U256::ZERO))
    }

    /// Computes the fee on an amount out.
    pub(super) fn fee_on(&self, xp: &[U256; 3], amount: U256) -> Maths<U256> {
        mul_div(self.fee(xp)?, amount, FEE_WHOLE)
    }
}
