//! Move of a CryptoSwap pool's price scale after a swap: `tweak_price`.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::newton::{E16, Rounds, Shape, e20};
use super::roots::{exp_of_minus, half_power, isqrt, sqrt_wad};
use super::state::{ClassicTwo, Kind, Repricing, State, pair};
use super::{three, two};
use crate::SwapError;
use crate::curve::arith::{Fault, Maths, WAD, add, div, int, mul, mul_div, require, sub};

/// The swap that precedes the move.
pub(super) struct Traded {
    pub(super) i: usize,
    pub(super) j: usize,
    pub(super) amount_in: U256,
    pub(super) amount_out: U256,
    /// First guess for the invariant after it, or zero.
    pub(super) root: U256,
    /// End of the ramp, as the pool stores it during the swap.
    pub(super) ramp_end: u64,
}

/// Prices of the pool after a swap.
pub(super) struct Repriced {
    pub(super) price_scale: [U256; 2],
    pub(super) d: U256,
    pub(super) repricing: Repricing,
}

/// Largest amount that is too small for the 2021 pools to derive a price from.
const DUST: U256 = int(100_000);

impl State {
    /// Computes prices, profit and price scale after a swap; `None` if they cannot be known.
    pub(super) fn reprice(
        &self,
        at: &ExecutionBlock,
        shape: &Shape,
        xp: &[U256; 3],
        traded: &Traded,
        rounds: &mut Rounds,
    ) -> Maths<Option<Repriced>> {
        let (Some(before), false) = (&self.repricing, self.kind == Kind::TwocryptoStable) else { return Ok(None) };
        let mut now = *before;
        self.average_prices(at, &mut now, rounds)?;
        let d = self.kind.d(shape, xp, traded.root, rounds)?;
        now.last_prices = self.prices_after(shape, xp, d, traded, before, rounds)?;
        let virtual_price = self.virtual_price_after(at, d, before, traded.ramp_end, rounds)?;
        now.xcp_profit = if before.virtual_price.is_zero() {
            WAD
        } else {
            mul_div(before.xcp_profit, virtual_price, before.virtual_price)?
        };
        let moved = self.move_scale(shape, xp, before.virtual_price, virtual_price, &mut now, rounds)?;
        Ok(match moved {
            Move::To { price_scale, d, virtual_price } => {
                Some(Repriced { price_scale, d, repricing: Repricing { virtual_price, ..now } })
            }
            Move::Stays => {
                Some(Repriced { price_scale: self.price_scale, d, repricing: Repricing { virtual_price, ..now } })
            }
            Move::Unknown => None,
        })
    }

    /// Returns the number of prices.
    const fn prices(&self) -> usize {
        self.kind.coins() - 1
    }

    /// Moves the averages towards the last prices by the elapsed time.
    fn average_prices(&self, at: &ExecutionBlock, now: &mut Repricing, rounds: &mut Rounds) -> Maths<()> {
        if now.last_prices_timestamp >= at.timestamp {
            return Ok(());
        }
        let seconds = int(at.timestamp - now.last_prices_timestamp);
        now.last_prices_timestamp = at.timestamp;
        let power = mul_div(seconds, WAD, int(now.averaging_seconds))?;
        let classic = self.kind.is_classic();
        let weight = if classic { half_power(power, rounds)? } else { exp_of_minus(power)? };
        let Some(oracle) = &mut now.price_oracle else { return Ok(()) };
        let places = now.last_prices.iter().zip(&self.price_scale).zip(oracle).take(self.prices());
        for ((last, scale), average) in places {
            let last = if classic { *last } else { (*last).min(mul(int(2), *scale)?) };
            let sum = add(mul(last, sub(WAD, weight)?)?, mul(*average, weight)?)?;
            *average = div(sum, WAD)?;
        }
        Ok(())
    }

    /// Computes the prices of this swap: the invariant's slope in the next generation, the paid price in the 2021
    /// pools.
    fn prices_after(
        &self,
        shape: &Shape,
        xp: &[U256; 3],
        d: U256,
        traded: &Traded,
        before: &Repricing,
        rounds: &mut Rounds,
    ) -> Maths<[U256; 2]> {
        let over = |prices: [U256; 2]| -> Maths<[U256; 2]> {
            Ok([mul_div(prices[0], self.price_scale[0], WAD)?, mul_div(prices[1], self.price_scale[1], WAD)?])
        };
        match self.kind {
            Kind::TricryptoNg => over(three::prices(shape, xp, d)?),
            Kind::TwocryptoNg | Kind::TwocryptoStable => over([two::price(shape, &pair(xp), d)?, U256::ZERO]),
            Kind::Cryptoswap(_) | Kind::Tricrypto => {
                let paid = if traded.amount_in > DUST && traded.amount_out > DUST {
                    self.prices_paid(traded, before)?
                } else {
                    None
                };
                paid.map_or_else(|| self.prices_probed(shape, xp, d, rounds), Ok)
            }
        }
    }

    /// Computes the paid price; `None` if it rounds to zero.
    fn prices_paid(&self, traded: &Traded, before: &Repricing) -> Maths<Option<[U256; 2]>> {
        let (i, j) = (traded.i, traded.j);
        let paid_in = mul(traded.amount_in, self.precisions[i])?;
        let paid_out = mul(traded.amount_out, self.precisions[j])?;
        let (place, price) = if i == 0 {
            (j - 1, mul_div(paid_in, WAD, paid_out)?)
        } else if j == 0 {
            (i - 1, mul_div(paid_out, WAD, paid_in)?)
        } else {
            (j - 1, mul_div(before.last_prices[i - 1], paid_in, paid_out)?)
        };
        let mut prices = before.last_prices;
        prices[place] = price;
        Ok((!price.is_zero()).then_some(prices))
    }

    /// Computes the price of a millionth of coin 0.
    fn prices_probed(&self, shape: &Shape, xp: &[U256; 3], d: U256, rounds: &mut Rounds) -> Maths<[U256; 2]> {
        let probe = div(xp[0], int(1_000_000))?;
        let mut moved = *xp;
        moved[0] = add(moved[0], probe)?;
        let mut prices = [U256::ZERO; 2];
        for k in 0..self.prices() {
            let (y, _) = self.kind.y(shape, &moved, d, k + 1, rounds)?;
            rounds.probes += 1;
            prices[k] = mul_div(self.price_scale[k], probe, sub(xp[k + 1], y)?)?;
        }
        Ok(prices)
    }

    /// Computes the geometric mean (`√` or `∛`) of the balanced pool's balances in real units, at an invariant and a
    /// price scale.
    fn balanced_mean(&self, d: U256, price_scale: &[U256; 2], rounds: &mut Rounds) -> Maths<U256> {
        let coins = |price: U256| mul_div(d, WAD, mul(int(3), price)?);
        match self.kind {
            Kind::Cryptoswap(_) => two::balanced_mean_classic(d, price_scale[0], rounds),
            Kind::TwocryptoNg | Kind::TwocryptoStable => two::balanced_mean_ng(d, price_scale[0]),
            Kind::Tricrypto | Kind::TricryptoNg => {
                let x = [div(d, int(3))?, coins(price_scale[0])?, coins(price_scale[1])?];
                if self.kind == Kind::Tricrypto {
                    three::geometric_mean(&x, rounds)
                } else {
                    three::geometric_mean_ng(&x)
                }
            }
        }
    }

    /// Computes the worth of a share at the stored invariant, 18 decimals, for a total supply.
    ///
    /// # Errors
    /// [`SwapError`] where the contract reverts.
    pub fn virtual_price(&self, total_supply: U256) -> Result<U256, SwapError> {
        let mean = self.balanced_mean(self.d, &self.price_scale, &mut Rounds::default());
        mean.and_then(|mean| mul_div(WAD, mean, total_supply)).map_err(|fault| fault.refusal(U256::ZERO))
    }

    /// Computes the worth of a share now; fails where the contract reverts with a loss.
    fn virtual_price_after(
        &self,
        at: &ExecutionBlock,
        d: U256,
        before: &Repricing,
        ramp_end: u64,
        rounds: &mut Rounds,
    ) -> Maths<U256> {
        let old = before.virtual_price;
        if old.is_zero() {
            return Ok(WAD);
        }
        let new = mul_div(WAD, self.balanced_mean(d, &self.price_scale, rounds)?, before.total_supply)?;
        let loss =
            if self.kind.is_classic() { new < old && ramp_end == 0 } else { new <= old && ramp_end < at.timestamp };
        if loss { Err(Fault::Loss) } else { Ok(new) }
    }

    /// Tells whether profits pay for a move of the price scale: `2·v − 1 > profit + 2·allowed`.
    pub(super) fn affords_move(virtual_price: U256, now: &Repricing) -> Maths<bool> {
        let gained = sub(mul(int(2), virtual_price)?, WAD)?;
        Ok(gained > add(now.xcp_profit, mul(int(2), now.allowed_extra_profit)?)?)
    }

    /// Computes the distance of the averages from the price scale, and the step towards them.
    pub(super) fn distance_and_step(&self, now: &Repricing, oracle: &[U256; 2]) -> Maths<(U256, U256)> {
        let ratio = |k: usize| Ok(mul_div(oracle[k], WAD, self.price_scale[k])?.abs_diff(WAD));
        let fixed = now.adjustment_step;
        Ok(match self.kind {
            Kind::Tricrypto | Kind::TricryptoNg => {
                let (a, b): (U256, U256) = (ratio(0)?, ratio(1)?);
                let square = add(mul(a, a)?, mul(b, b)?)?;
                if self.kind == Kind::TricryptoNg {
                    let norm = isqrt(square);
                    (norm, fixed.max(norm.wrapping_div(int(5))))
                } else if square > mul(fixed, fixed)? {
                    (sqrt_wad(square.wrapping_div(WAD))?, fixed)
                } else {
                    (U256::ZERO, fixed)
                }
            }
            Kind::Cryptoswap(which) => {
                let norm: U256 = ratio(0)?;
                let step = match which {
                    ClassicTwo::Early => fixed,
                    ClassicTwo::Tenth | ClassicTwo::TenthLoose => fixed.max(norm.wrapping_div(int(10))),
                    ClassicTwo::Factory => fixed.max(norm.wrapping_div(int(5))),
                };
                (norm, step)
            }
            Kind::TwocryptoNg | Kind::TwocryptoStable => {
                let norm: U256 = ratio(0)?;
                (norm, fixed.max(norm.wrapping_div(int(5))))
            }
        })
    }

    /// Decides whether the price scale moves, and moves it.
    ///
    /// The next generation moves it whenever profits afford it and the averages are far enough. The 2021 pools keep a
    /// flag over several swaps, and the two-coin ones collect fees when a move ends.
    fn move_scale(
        &self,
        shape: &Shape,
        xp: &[U256; 3],
        old_virtual_price: U256,
        virtual_price: U256,
        now: &mut Repricing,
        rounds: &mut Rounds,
    ) -> Maths<Move> {
        let classic = self.kind.is_classic();
        let affords = Self::affords_move(virtual_price, now)?;
        let may_move = affords || (classic && now.not_adjusted != Some(false));
        if !may_move {
            return Ok(Move::Stays);
        }
        let Some(oracle) = now.price_oracle else {
            if affords {
                rounds.begins += u64::from(!self.is_under_way());
                rounds.suppose_move();
            }
            return Ok(Move::Unknown);
        };
        let (norm, step) = self.distance_and_step(now, &oracle)?;
        // tricrypto2 compares squares; `distance_and_step` returns zero for a near average
        let distant = if self.kind == Kind::Tricrypto { !norm.is_zero() } else { norm > step };
        if !classic {
            return if distant {
                self.moved_towards(shape, xp, (norm, step), now, &oracle, rounds)
            } else {
                Ok(Move::Stays)
            };
        }
        let far = distant && !old_virtual_price.is_zero();
        let two = matches!(self.kind, Kind::Cryptoswap(_));
        let begins = affords && (far || matches!(self.kind, Kind::Tricrypto | Kind::Cryptoswap(ClassicTwo::Early)));
        match now.not_adjusted {
            None if !begins => return Ok(if !two && !far { Move::Stays } else { Move::Unknown }),
            Some(false) if !begins => return Ok(Move::Stays),
            _ => {
                rounds.begins += u64::from(!self.is_under_way());
                now.not_adjusted = Some(true);
            }
        }
        if !far {
            return Ok(if two { Move::Unknown } else { Move::Stays });
        }
        let moved = self.moved_towards(shape, xp, (norm, step), now, &oracle, rounds)?;
        if matches!(moved, Move::Stays) {
            now.not_adjusted = Some(false);
            return Ok(if two { Move::Unknown } else { Move::Stays });
        }
        Ok(moved)
    }

    /// Moves the price scale one step towards the averages, unless that would cost more than half of the profit.
    fn moved_towards(
        &self,
        shape: &Shape,
        xp: &[U256; 3],
        (norm, step): (U256, U256),
        now: &Repricing,
        oracle: &[U256; 2],
        rounds: &mut Rounds,
    ) -> Maths<Move> {
        rounds.moves += 1;
        let mut price_scale = self.price_scale;
        let mut moved = *xp;
        for k in 0..self.prices() {
            let old = mul(self.price_scale[k], sub(norm, step)?)?;
            price_scale[k] = div(add(old, mul(step, oracle[k])?)?, norm)?;
            moved[k + 1] = mul_div(xp[k + 1], price_scale[k], self.price_scale[k])?;
        }
        let d = self.kind.d(shape, &moved, U256::ZERO, rounds)?;
        if self.kind == Kind::TricryptoNg {
            for held in &moved {
                let fraction = mul_div(*held, WAD, d)?;
                require(fraction >= E16 && fraction <= e20())?;
            }
        }
        let virtual_price = mul_div(WAD, self.balanced_mean(d, &price_scale, rounds)?, now.total_supply)?;
        let pays = virtual_price > WAD && sub(mul(int(2), virtual_price)?, WAD)? > now.xcp_profit;
        Ok(if pays { Move::To { price_scale, d, virtual_price } } else { Move::Stays })
    }
}

/// Result of the decision on the price scale.
enum Move {
    /// The scale moves.
    To { price_scale: [U256; 2], d: U256, virtual_price: U256 },
    /// The scale stays.
    Stays,
    /// Unknown from the state that was read, or the pool collects its administrator's fees, which is not modelled.
    Unknown,
}
