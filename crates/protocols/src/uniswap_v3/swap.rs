//! Swap loop with an exact input or output and no price limit: `UniswapV3Pool.swap` of v3-core.

use alloy_primitives::U256;

use super::{
    After, State,
    bitmap::{Cursor, Stop, words_between},
    gas::Costs,
    liquidity_math, swap_math,
    tick_math::{self, MAX_SQRT_PRICE_X96, MAX_TICK, MIN_SQRT_PRICE_X96, MIN_TICK},
};
use crate::{Swap, SwapError};

/// Price limit of a swap with falling price: one above the lowest price.
const LOWEST_LIMIT_X96: U256 = U256::from_limbs([MIN_SQRT_PRICE_X96.as_limbs()[0] + 1, 0, 0, 0]);
/// Price limit of a swap with rising price: one below the exclusive maximum.
const HIGHEST_LIMIT_X96: U256 = {
    let [l0, l1, l2, l3] = *MAX_SQRT_PRICE_X96.as_limbs();
    U256::from_limbs([l0 - 1, l1, l2, l3])
};

/// Variables of the loop.
struct SwapLoop<'a> {
    state: &'a State,
    zero_for_one: bool,
    limit_x96: U256,
    cursor: Cursor,
    price_x96: U256,
    tick: i32,
    liquidity: u128,
    /// Whether the output is exact, instead of the input.
    buys: bool,
    /// Amount still to be sold, or to be bought.
    remaining: U256,
    /// Amount bought so far, or sold.
    moved: U256,
    ticks_crossed: u32,
    words_crossed: u32,
}

impl State {
    /// Computes a swap of all of `amount_in`, with the gas of Uniswap's own code.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] if the pool was never initialised, or its state is impossible.
    /// - [`SwapError::InsufficientLiquidity`] if the price reaches the end of its range before all is consumed.
    /// - [`SwapError::Overflow`] for 2²⁵⁵ and more, and where the contract's arithmetic reverts.
    /// - [`SwapError::ZeroOutput`] if the output rounds to zero; the contract would keep the input.
    pub fn swap(&self, zero_for_one: bool, amount_in: U256) -> Result<Swap, SwapError> {
        self.swap_from(&self.now(), zero_for_one, amount_in, &Costs::UNISWAP)
    }

    /// Computes a swap like [`State::swap`] from price, tick and liquidity after an earlier swap of the same route,
    /// with the given gas costs.
    ///
    /// # Errors
    /// As [`State::swap`].
    pub fn swap_from(
        &self,
        before: &After,
        zero_for_one: bool,
        amount_in: U256,
        costs: &Costs,
    ) -> Result<Swap, SwapError> {
        if amount_in.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        let mut walk = SwapLoop::new(self, before, zero_for_one, amount_in, false)?;
        walk.run().ok_or(SwapError::Overflow { amount_in })?;
        if !walk.remaining.is_zero() {
            let consumed = amount_in.saturating_sub(walk.remaining);
            return Err(SwapError::InsufficientLiquidity { consumed, amount_in });
        }
        if walk.moved.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        let gas_units = costs.of_swap(walk.tick != before.tick, walk.ticks_crossed, walk.words_crossed);
        Ok(Swap {
            amount_out: walk.moved,
            gas_units: gas_units + self.protocol_fee_gas_units(zero_for_one),
            after: crate::After::UniswapV3(After {
                sqrt_price_x96: walk.price_x96,
                tick: walk.tick,
                liquidity: walk.liquidity,
            }),
        })
    }

    /// Computes the input for exactly `amount_out`.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] as [`State::swap`].
    /// - [`SwapError::InsufficientLiquidity`] if the price reaches the end of its range before all is bought.
    /// - [`SwapError::Overflow`] for 2²⁵⁵ and more, and where the contract's arithmetic reverts.
    pub fn swap_exact_out(&self, zero_for_one: bool, amount_out: U256) -> Result<U256, SwapError> {
        if amount_out.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        let mut walk = SwapLoop::new(self, &self.now(), zero_for_one, amount_out, true)?;
        walk.run().ok_or(SwapError::Overflow { amount_in: amount_out })?;
        if !walk.remaining.is_zero() {
            return Err(SwapError::InsufficientLiquidity { consumed: walk.moved, amount_in: amount_out });
        }
        Ok(walk.moved)
    }
}

impl<'a> SwapLoop<'a> {
    fn new(state: &'a State, before: &After, zero_for_one: bool, amount: U256, buys: bool) -> Result<Self, SwapError> {
        let price_x96 = before.sqrt_price_x96;
        let in_range = (MIN_SQRT_PRICE_X96..MAX_SQRT_PRICE_X96).contains(&price_x96)
            && (MIN_TICK..=MAX_TICK).contains(&before.tick);
        if !in_range || state.validate_parameters().is_err() {
            return Err(SwapError::Closed);
        }
        // the contract takes the amount as an int256
        if amount.bit(255) {
            return Err(SwapError::Overflow { amount_in: amount });
        }
        let limit_x96 = if zero_for_one { LOWEST_LIMIT_X96 } else { HIGHEST_LIMIT_X96 };
        // the contract reverts at once if the price is at or past the limit
        if if zero_for_one { price_x96 <= limit_x96 } else { price_x96 >= limit_x96 } {
            return Err(SwapError::InsufficientLiquidity { consumed: U256::ZERO, amount_in: amount });
        }
        Ok(Self {
            state,
            zero_for_one,
            limit_x96,
            cursor: Cursor::new(state, before.tick, zero_for_one),
            price_x96,
            tick: before.tick,
            liquidity: before.liquidity,
            buys,
            remaining: amount,
            moved: U256::ZERO,
            ticks_crossed: 0,
            words_crossed: 0,
        })
    }

    /// Runs the contract's loop to its end. `None` where the contract reverts.
    fn run(&mut self) -> Option<()> {
        while !self.remaining.is_zero() && self.price_x96 != self.limit_x96 {
            self.step()?;
        }
        Some(())
    }

    /// Runs one iteration of the contract's loop. Without liquidity, runs all iterations up to the next initialised
    /// tick, because they spend and pay nothing. `None` where the contract reverts.
    fn step(&mut self) -> Option<()> {
        if self.liquidity == 0 {
            return self.skip_empty_range();
        }
        let stop = self.cursor.stop(self.state, self.tick);
        let stop_x96 = self.price_at(stop)?;
        let target_x96 = self.clamp_to_limit(stop_x96);
        let (price, liquidity, left, fee) = (self.price_x96, self.liquidity, self.remaining, self.state.fee_pips);
        let (step, done, moved) = if self.buys {
            let step = swap_math::step_out(price, target_x96, liquidity, left, fee, self.zero_for_one)?;
            (step, step.amount_out, step.spent)
        } else {
            let step = swap_math::step(price, target_x96, liquidity, left, fee, self.zero_for_one)?;
            (step, step.spent, step.amount_out)
        };
        self.remaining = self.remaining.checked_sub(done)?;
        self.moved = self.moved.checked_add(moved)?;
        let start_x96 = core::mem::replace(&mut self.price_x96, step.price_x96);
        if step.price_x96 == stop_x96 {
            self.arrive(stop)?;
        } else if step.price_x96 != start_x96 {
            self.tick = tick_math::tick_at_sqrt_price(step.price_x96)?;
        }
        Some(())
    }

    fn skip_empty_range(&mut self) -> Option<()> {
        let next = self.cursor.candidate().and_then(|at| Some((at, self.state.ticks.get(at)?)));
        let Some((position, next)) = next else {
            self.price_x96 = self.limit_x96;
            return Some(());
        };
        self.words_crossed += words_between(self.tick, next.index, self.state.tick_spacing);
        self.price_x96 = self.clamp_to_limit(next.sqrt_price_x96);
        if self.price_x96 == next.sqrt_price_x96 {
            self.arrive(Stop { tick: next.index, initialised: Some(position) })?;
        }
        Some(())
    }

    fn price_at(&self, stop: Stop) -> Option<U256> {
        match stop.initialised {
            Some(position) => Some(self.state.ticks.get(position)?.sqrt_price_x96),
            None => tick_math::sqrt_price_at_tick(stop.tick),
        }
    }

    fn clamp_to_limit(&self, price_x96: U256) -> U256 {
        if self.zero_for_one { price_x96.max(self.limit_x96) } else { price_x96.min(self.limit_x96) }
    }

    /// Handles a price exactly at the step's end: crosses the tick if it is initialised. Stores the tick in which the
    /// price continues, which is one below for a falling price.
    fn arrive(&mut self, stop: Stop) -> Option<()> {
        if let Some(position) = stop.initialised {
            let net = self.state.ticks.get(position)?.liquidity_net;
            self.liquidity = liquidity_math::cross(self.liquidity, net, self.zero_for_one)?;
            self.cursor.advance();
            self.ticks_crossed += 1;
        } else {
            self.words_crossed += 1;
        }
        self.tick = if self.zero_for_one { stop.tick - 1 } else { stop.tick };
        Some(())
    }
}
