//! Swaps of a CryptoSwap pool.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::newton::{Rounds, Shape};
use super::reprice::{Repriced, Traded};
use super::state::{Kind, Repricing, State};
use crate::curve::arith::{Fault, Maths, WAD, add, div, int, mul, mul_div, sub};
use crate::{SwapError, error::positions};

/// Result of a swap of a CryptoSwap pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptoSwap {
    /// Amount out in atomic units.
    pub amount_out: U256,
    /// State afterwards; `None` if it is unknown: without [`State::repricing`], in the pools on StableSwap maths, and
    /// in a two-coin pool of 2021 that collects its administrator's fees.
    pub after: Option<CryptoAfter>,
    /// Iteration counts of its loops.
    pub rounds: Rounds,
}

/// Variables of a pool that a swap changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptoAfter {
    /// Balances, in atomic units.
    pub balances: [U256; 3],
    /// Price scale.
    pub price_scale: [U256; 2],
    /// Invariant.
    pub d: U256,
    /// End of the ramp as stored; the 2021 pools reset it after the ramp.
    pub ramp_end: u64,
    /// Prices, profit and virtual price.
    pub repricing: Repricing,
}

/// A solved swap, before the price scale moves.
struct Solved {
    shape: Shape,
    amount_out: U256,
    fee: U256,
    balances: [U256; 3],
    xp: [U256; 3],
    root: U256,
}

impl State {
    /// Returns the pool after an earlier swap of the same route.
    #[must_use]
    pub fn with(&self, after: &CryptoAfter) -> Self {
        let mut state = self.clone();
        state.balances = after.balances;
        state.price_scale = after.price_scale;
        state.d = after.d;
        state.amp_gamma.future_time = after.ramp_end;
        state.repricing = Some(after.repricing);
        state
    }

    /// Computes what `exchange` pays for `amount_in` of coin `coin_in`.
    ///
    /// The balance is solved by the contract's own method. One scaled unit is kept back, and fee and payment are
    /// rounded down.
    ///
    /// # Errors
    /// [`SwapError`] where the contract reverts: balances too far apart, a loop that does not converge, and, if
    /// [`State::repricing`] is known, a swap that would not raise the virtual price. [`SwapError::ZeroOutput`] if it
    /// would pay nothing.
    ///
    /// Source: `exchange` and `tweak_price` of the pools named at [`Kind`].
    pub fn swap(
        &self,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<CryptoSwap, SwapError> {
        let (i, j) = positions(self.kind.coins(), coin_in, coin_out, amount_in)?;
        let swap = self.exchange(at, i, j, amount_in).map_err(|fault| fault.refusal(amount_in))?;
        if swap.amount_out.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(swap) }
    }

    /// Computes a swap like [`State::swap`] without the state afterwards, in a fraction of the time.
    ///
    /// A revert with a loss is tested only where it is possible: if the fee is less than a billionth of the invariant
    /// (which Newton's method finds to 10⁻¹⁴), or a balance is near the accepted limits.
    ///
    /// # Errors
    /// As [`State::swap`].
    pub fn amount_out(
        &self,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<U256, SwapError> {
        let (i, j) = positions(self.kind.coins(), coin_in, coin_out, amount_in)?;
        let refuse = |fault: Fault| fault.refusal(amount_in);
        let solved = self.shape(at).and_then(|shape| {
            let rounds = &mut Rounds::default();
            let d = self.d_before(at, &shape, rounds)?;
            Ok((self.solve(&shape, d, i, j, amount_in, rounds)?, d))
        });
        let (solved, d) = solved.map_err(refuse)?;
        if self.repricing.is_some() && !self.surely_gains(&solved, j, d).map_err(refuse)? {
            return Ok(self.swap(at, coin_in, coin_out, amount_in)?.amount_out);
        }
        if solved.amount_out.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(solved.amount_out) }
    }

    /// Tells whether a swap is so far from every limit that the rest of it cannot revert.
    fn surely_gains(&self, solved: &Solved, j: usize, d: U256) -> Maths<bool> {
        let fee = self.scale(j, solved.fee)?;
        let near = |held: &U256| *held > d / int(50) && *held < mul(d, int(50)).unwrap_or(U256::MAX);
        Ok(mul(fee, int(1_000_000_000))? > d && solved.xp[..self.kind.coins()].iter().all(near))
    }

    /// Computes the pool's `get_dy`.
    ///
    /// # Errors
    /// As [`State::swap`], but a zero amount out is not an error.
    pub fn view(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<U256, SwapError> {
        let (i, j) = positions(self.kind.coins(), coin_in, coin_out, amount_in)?;
        self.get_dy(at, i, j, amount_in).map_err(|fault| fault.refusal(amount_in))
    }

    fn get_dy(&self, at: &ExecutionBlock, i: usize, j: usize, amount_in: U256) -> Maths<U256> {
        let shape = self.shape(at)?;
        // the views of tricrypto2 ignore the ramp
        let rounds = &mut Rounds::default();
        let d = if self.kind == Kind::Tricrypto { self.d } else { self.d_before(at, &shape, rounds)? };
        Ok(self.solve(&shape, d, i, j, amount_in, rounds)?.amount_out)
    }

    fn solve(&self, shape: &Shape, d: U256, i: usize, j: usize, amount_in: U256, rounds: &mut Rounds) -> Maths<Solved> {
        let mut balances = self.balances;
        balances[i] = add(balances[i], amount_in)?;
        let mut xp = self.scaled(&balances)?;
        let (y, root) = self.kind.y(shape, &xp, d, j, rounds)?;
        let mut amount_out = sub(sub(xp[j], y)?, U256::ONE)?;
        xp[j] = y;
        if j > 0 {
            amount_out = mul_div(amount_out, WAD, self.price_scale[j - 1])?;
        }
        amount_out = div(amount_out, self.precisions[j])?;
        let fee = self.fee_on(&xp, amount_out)?;
        amount_out = sub(amount_out, fee)?;
        balances[j] = sub(balances[j], amount_out)?;
        xp[j] = self.scale(j, balances[j])?;
        Ok(Solved { shape: *shape, amount_out, fee, balances, xp, root })
    }

    fn exchange(&self, at: &ExecutionBlock, i: usize, j: usize, amount_in: U256) -> Maths<CryptoSwap> {
        let shape = self.shape(at)?;
        let mut rounds = Rounds::default();
        let d = self.d_before(at, &shape, &mut rounds)?;
        let solved = self.solve(&shape, d, i, j, amount_in, &mut rounds)?;
        let amount_out = solved.amount_out;
        let ramp_end = self.ramp_end_at_swap(at);
        let traded = Traded { i, j, amount_in, amount_out, root: solved.root, ramp_end };
        let repriced = self.reprice(at, &solved.shape, &solved.xp, &traded, &mut rounds)?;
        let after = repriced.map(|Repriced { price_scale, d, repricing }| CryptoAfter {
            balances: solved.balances,
            price_scale,
            d,
            ramp_end: if self.kind.is_classic() && ramp_end == 1 { 0 } else { ramp_end },
            repricing,
        });
        Ok(CryptoSwap { amount_out, after, rounds })
    }

    /// Returns the end of the ramp that the pool stores once a swap has begun: the 2021 pools store 1 when it is over.
    fn ramp_end_at_swap(&self, at: &ExecutionBlock) -> u64 {
        let end = self.amp_gamma.future_time;
        if self.kind.is_classic() && end > 0 && at.timestamp >= end { 1 } else { end }
    }
}
