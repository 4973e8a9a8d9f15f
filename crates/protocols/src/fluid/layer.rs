//! Fluid's liquidity layer: the supply and debt of a protocol there, exchange prices and limits.
//!
//! Amounts are stored as a coefficient and an exponent, rounded against the protocol. Amounts with interest are raw:
//! multiply them by their exchange price. Sources: `LiquidityCalcs`, `UserModule.operate`.

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use super::arith::{bits, expand, mul_div_up, pack, small_bits};
use crate::{SharedWords, SwapError};

/// One, in the decimals of exchange prices (12).
const PRICE_ONE: U256 = U256::from_limbs([1_000_000_000_000, 0, 0, 0]);
/// One hundred percent, in basis points.
const FOUR: u64 = 10_000;
const SECONDS_PER_YEAR: u64 = 365 * 86_400;
/// Bits of a stored amount's coefficient.
const COEFFICIENT: usize = 56;
/// Amount up to which the layer does not check the growth against the totals: 2⁸⁰.
const RATIO_FREE: U256 = U256::from_limbs([0, 1 << 16, 0, 0]);
/// Maximum deposit or loan, as a multiple of the total of its kind.
const MOST_GROWTH: u64 = 10_000;

/// One token in the layer, with one protocol's supply and debt of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// `exchangePricesAndConfig` of the token.
    pub exchange_prices: U256,
    /// `totalAmounts` of the token.
    pub total_amounts: U256,
    /// Maximum utilisation for loans, in basis points.
    pub max_utilization: u16,
    /// `userSupplyData` of the protocol.
    pub supply: U256,
    /// `userBorrowData` of the protocol.
    pub borrow: U256,
    /// Balance of the token in the layer, or what it staked elsewhere if that is more, in atomic units; no more can
    /// leave it.
    pub held: U256,
}

/// Exchange prices of supply and debt at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangePrices {
    /// Of supply with interest, 12 decimals.
    pub supply: U256,
    /// Of debt with interest, 12 decimals.
    pub borrow: U256,
}

/// Computes the exchange prices at a time. `None` if the token is not listed. Source:
/// `LiquidityCalcs.calcExchangePrices`.
pub fn exchange_prices(word: U256, now: u64) -> Option<ExchangePrices> {
    let (mut supply, mut borrow) = (bits(word, 91, 64), bits(word, 155, 64));
    if supply.is_zero() || borrow.is_zero() {
        return None;
    }
    let rate = bits(word, 0, 16);
    let seconds = U256::from(now.saturating_sub(small_bits(word, 58, 33)));
    let borrow_ratio = small_bits(word, 234, 15);
    if seconds.is_zero() || rate.is_zero() || borrow_ratio == 1 {
        return Some(ExchangePrices { supply, borrow });
    }
    borrow += borrow * rate * seconds / U256::from(SECONDS_PER_YEAR * FOUR);
    let supply_ratio = small_bits(word, 219, 15);
    if supply_ratio == 1 {
        return Some(ExchangePrices { supply, borrow });
    }
    let one = U256::from(10).pow(U256::from(27));
    let four = U256::from(FOUR);
    let utilization = bits(word, 30, 14);
    let half = U256::from(supply_ratio >> 1);
    // the shares of suppliers who earn interest, and of borrowers who pay it
    let earning = if supply_ratio & 1 == 1 {
        utilization * (one + (one * four).checked_div(half)?) / four
    } else {
        one * utilization * (four + half) / (four * four)
    };
    let half = U256::from(borrow_ratio >> 1);
    let free = half * one / (four + half);
    let paying = if borrow_ratio & 1 == 1 { free } else { one - free };
    let ratio = four * earning * paying / (one * one);
    let fee = bits(word, 16, 14);
    let supply_rate = rate * ratio * four.checked_sub(fee)?;
    supply += supply * supply_rate * seconds / (U256::from(SECONDS_PER_YEAR) * four * four * four);
    Some(ExchangePrices { supply, borrow })
}

/// Extracts the amount from a word of a protocol's supply or debt; raw if it bears interest.
fn stored(word: U256) -> U256 {
    expand(bits(word, 1, 64))
}

/// Tells whether the amount bears interest.
fn bears_interest(word: U256) -> bool {
    word.bit(0)
}

/// Computes a protocol's supply or debt at an exchange price, in atomic units, rounded down.
pub fn worth(word: U256, price: U256) -> U256 {
    let amount = stored(word);
    if bears_interest(word) { amount.saturating_mul(price) / PRICE_ONE } else { amount }
}

/// Computes the maximum withdrawal by the protocol's limit, in atomic units, rounded down.
pub fn withdrawable(word: U256, price: U256, now: u64) -> U256 {
    let amount = stored(word);
    let raw = amount.saturating_sub(withdrawal_limit(word, amount, now));
    if bears_interest(word) { raw.saturating_mul(price) / PRICE_ONE } else { raw }
}

/// Writes amount, limit and time into a word.
fn write(word: U256, amount: U256, limit: U256, now: u64) -> U256 {
    let mask: U256 = ((U256::ONE << 161) - U256::ONE) << 1;
    (word & !mask) | (amount << 1) | (limit << 65) | (U256::from(now) << 129)
}

/// Computes the minimum supply after a withdrawal. Source: `calcWithdrawalLimitBeforeOperate`.
fn withdrawal_limit(word: U256, amount: U256, now: u64) -> U256 {
    let last = expand(bits(word, 65, 64));
    if last.is_zero() {
        return last;
    }
    let most = bits(word, 162, 14) * amount / U256::from(FOUR);
    let seconds = U256::from(now.saturating_sub(small_bits(word, 129, 33)));
    let duration = bits(word, 176, 24);
    let expanded = most.saturating_mul(seconds).checked_div(duration).unwrap_or(most);
    last.saturating_sub(expanded).max(amount.saturating_sub(most))
}

/// Computes the withdrawal limit to be stored afterwards. Source: `calcWithdrawalLimitAfterOperate`.
fn withdrawal_limit_after(word: U256, amount: U256, limit: U256) -> U256 {
    if amount < expand(bits(word, 200, 18)) {
        return U256::ZERO;
    }
    let least = amount.saturating_sub(amount * bits(word, 162, 14) / U256::from(FOUR));
    limit.max(least)
}

/// Computes the maximum debt after a loan. Source: `calcBorrowLimitBeforeOperate`.
fn borrow_limit(word: U256, amount: U256, now: u64) -> U256 {
    let most = amount * bits(word, 162, 14) / U256::from(FOUR);
    let seconds = U256::from(now.saturating_sub(small_bits(word, 129, 33)));
    let duration = bits(word, 176, 24);
    let expanded = most.saturating_mul(seconds).checked_div(duration).unwrap_or(most);
    let limit = expanded.saturating_add(expand(bits(word, 65, 64))).min(amount + most);
    let base = expand(bits(word, 200, 18));
    if limit < base { base } else { limit.min(expand(bits(word, 218, 18))) }
}

/// Computes the borrow limit to be stored afterwards. Source: `calcBorrowLimitAfterOperate`.
fn borrow_limit_after(word: U256, amount: U256, limit: U256) -> U256 {
    let most = amount + amount * bits(word, 162, 14) / U256::from(FOUR);
    let base = expand(bits(word, 200, 18));
    if most < base {
        return base;
    }
    limit.min(most.min(expand(bits(word, 218, 18))))
}

/// Extracts a total from a word of amounts, with its position: raw with interest at `from`, without interest 64 bits
/// above.
fn total(word: U256, from: usize, interest: bool) -> (usize, U256) {
    let at = if interest { from } else { from + 64 };
    (at, expand(bits(word, at, 64)))
}

/// Error of an operation so small that the stored amount would not change, which the layer refuses.
const TOO_SMALL: SwapError = SwapError::ZeroOutput;

impl Token {
    /// Returns the words that all protocols share.
    pub(super) const fn shared(&self) -> SharedWords {
        SharedWords([self.exchange_prices, self.total_amounts, self.held])
    }

    /// Replaces the words that all protocols share.
    pub(super) const fn put_shared(&mut self, words: &SharedWords) {
        [self.exchange_prices, self.total_amounts, self.held] = words.0;
    }

    /// Computes the exchange prices at a time.
    ///
    /// # Errors
    /// [`SwapError::Closed`] if the token is not listed.
    pub fn prices(&self, now: u64) -> Result<ExchangePrices, SwapError> {
        exchange_prices(self.exchange_prices, now).ok_or(SwapError::Closed)
    }

    /// Deposits and pays back, in atomic units.
    ///
    /// # Errors
    /// [`SwapError::Closed`] for a paused protocol, [`SwapError::ZeroOutput`] for an amount that is too small to be
    /// stored, [`SwapError::LimitExceeded`] above the debt, or far above the totals.
    pub fn pay_in(&mut self, now: u64, deposit: U256, payback: U256) -> Result<(), SwapError> {
        let prices = self.prices(now)?;
        if !deposit.is_zero() {
            let word = open(self.supply)?;
            let raw = if bears_interest(word) { deposit * PRICE_ONE / prices.supply } else { deposit };
            let (before, total_change) = (stored(word), self.add(0, bears_interest(word), raw, false)?);
            let amount = before + raw;
            let limit = withdrawal_limit_after(word, amount, withdrawal_limit(word, before, now));
            self.supply = stored_anew(word, amount, limit, now, false)?;
            self.total_amounts = total_change;
        }
        if !payback.is_zero() {
            let word = open(self.borrow)?;
            let raw = if bears_interest(word) { payback * PRICE_ONE / prices.borrow } else { payback };
            let before = stored(word);
            let owed = SwapError::LimitExceeded { limit: before, amount: raw };
            let total_change = self.take(128, bears_interest(word), raw, true)?;
            let amount = before.checked_sub(raw).ok_or(owed)?;
            let limit = borrow_limit_after(word, amount, borrow_limit(word, before, now));
            self.borrow = stored_anew(word, amount, limit, now, true)?;
            self.total_amounts = total_change;
        }
        self.settle(now, prices, false)
    }

    /// Withdraws and borrows, in atomic units.
    ///
    /// # Errors
    /// As [`Token::pay_in`]; [`SwapError::LimitExceeded`] above a limit, above the maximum utilisation, or above the
    /// layer's balance.
    pub fn pay_out(&mut self, now: u64, withdraw: U256, borrow: U256) -> Result<(), SwapError> {
        let prices = self.prices(now)?;
        let paid = withdraw.saturating_add(borrow);
        self.held = self.held.checked_sub(paid).ok_or(SwapError::LimitExceeded { limit: self.held, amount: paid })?;
        if !withdraw.is_zero() {
            let word = open(self.supply)?;
            let raw = if bears_interest(word) {
                mul_div_up(withdraw, PRICE_ONE, prices.supply).ok_or(SwapError::Closed)?
            } else {
                withdraw
            };
            let before = stored(word);
            let limit = withdrawal_limit(word, before, now);
            let free = before.saturating_sub(limit);
            let amount = before.checked_sub(raw).filter(|amount| *amount >= limit);
            let amount = amount.ok_or(SwapError::LimitExceeded { limit: free, amount: raw })?;
            let total_change = self.take(0, bears_interest(word), raw, false)?;
            let limit = withdrawal_limit_after(word, amount, limit);
            self.supply = stored_anew(word, amount, limit, now, false)?;
            self.total_amounts = total_change;
        }
        if !borrow.is_zero() {
            let word = open(self.borrow)?;
            let raw = if bears_interest(word) {
                mul_div_up(borrow, PRICE_ONE, prices.borrow).ok_or(SwapError::Closed)?
            } else {
                borrow
            };
            let before = stored(word);
            let limit = borrow_limit(word, before, now);
            let amount = before + raw;
            if amount > limit {
                return Err(SwapError::LimitExceeded { limit: limit.saturating_sub(before), amount: raw });
            }
            let total_change = self.add(128, bears_interest(word), raw, true)?;
            let limit = borrow_limit_after(word, amount, limit);
            self.borrow = stored_anew(word, amount, limit, now, true)?;
            self.total_amounts = total_change;
        }
        self.settle(now, prices, !borrow.is_zero())
    }

    /// Computes the total after an addition. Amounts are bounded first, so nothing here can overflow.
    fn add(&self, from: usize, interest: bool, raw: U256, round_up: bool) -> Result<U256, SwapError> {
        let (at, before) = total(self.total_amounts, from, interest);
        let most = before.saturating_mul(U256::from(MOST_GROWTH));
        if raw > RATIO_FREE && raw > most {
            return Err(SwapError::LimitExceeded { limit: most, amount: raw });
        }
        self.with_total(at, before.saturating_add(raw), round_up)
    }

    fn take(&self, from: usize, interest: bool, raw: U256, round_up: bool) -> Result<U256, SwapError> {
        let (at, before) = total(self.total_amounts, from, interest);
        let most = before / U256::from(2);
        if raw > RATIO_FREE && raw > most {
            return Err(SwapError::LimitExceeded { limit: most, amount: raw });
        }
        self.with_total(at, before.saturating_sub(raw), round_up)
    }

    fn with_total(&self, at: usize, amount: U256, round_up: bool) -> Result<U256, SwapError> {
        let mask = U256::from(u64::MAX) << at;
        let word = (self.total_amounts & !mask) | ((pack(amount, COEFFICIENT, round_up) << at) & mask);
        if word == self.total_amounts { Err(TOO_SMALL) } else { Ok(word) }
    }

    /// Checks the utilisation, and stores prices and utilisation like the layer. The interest rate that the layer also
    /// stores takes effect only from the next second.
    fn settle(&mut self, now: u64, prices: ExchangePrices, borrows: bool) -> Result<(), SwapError> {
        let four = U256::from(FOUR);
        let sum = |from: usize, price: U256| {
            let free = expand(bits(self.total_amounts, from + 64, 64));
            let interest = expand(bits(self.total_amounts, from, 64)).saturating_mul(price) / PRICE_ONE;
            (interest, free)
        };
        let ratio = |(interest, free): (U256, U256)| {
            let part =
                |less: U256, more: U256| less.saturating_mul(four).checked_div(more).unwrap_or_default() << 1_usize;
            match interest.cmp(&free) {
                core::cmp::Ordering::Greater => part(free, interest),
                core::cmp::Ordering::Less => part(interest, free) | U256::ONE,
                core::cmp::Ordering::Equal if interest.is_zero() => U256::ZERO,
                core::cmp::Ordering::Equal => four << 1_usize,
            }
        };
        let (supplied, borrowed) = (sum(0, prices.supply), sum(128, prices.borrow));
        let (supply, borrow) = (supplied.0.saturating_add(supplied.1), borrowed.0.saturating_add(borrowed.1));
        let utilization = borrow.saturating_mul(four).checked_div(supply).unwrap_or_default();
        if borrows && !supply.is_zero() && utilization > U256::from(self.max_utilization) {
            let most = supply.saturating_mul(U256::from(self.max_utilization)) / four;
            return Err(SwapError::LimitExceeded { limit: most, amount: borrow });
        }
        let word = self.exchange_prices;
        let threshold = bits(word, 44, 14);
        let far = |stored: U256, fresh: U256| stored.abs_diff(fresh) > threshold;
        let turned = |from: usize, fresh: U256| {
            let stored = bits(word, from, 15);
            stored.bit(0) != fresh.bit(0) || far(stored >> 1_usize, fresh >> 1_usize)
        };
        let (supply_ratio, borrow_ratio) = (ratio(supplied), ratio(borrowed));
        let due = now > small_bits(word, 58, 33).saturating_add(86_400)
            || far(bits(word, 30, 14), utilization)
            || turned(219, supply_ratio)
            || turned(234, borrow_ratio);
        if due {
            let mut word = word;
            let fields = [
                (30, 14, utilization),
                (58, 33, U256::from(now)),
                (91, 64, prices.supply),
                (155, 64, prices.borrow),
                (219, 15, supply_ratio),
                (234, 15, borrow_ratio),
            ];
            for (from, count, value) in fields {
                let mask: U256 = (U256::ONE << count) - U256::ONE;
                if value > mask {
                    return Err(SwapError::Overflow { amount_in: value });
                }
                let place: U256 = mask << from;
                word = (word & !place) | (value << from);
            }
            self.exchange_prices = word;
        }
        Ok(())
    }

    /// Returns the stored utilisation, in basis points.
    pub fn utilization(&self) -> u64 {
        small_bits(self.exchange_prices, 30, 14)
    }
}

/// Returns a protocol's word, if the protocol is known and not paused.
fn open(word: U256) -> Result<U256, SwapError> {
    if word.is_zero() || word.bit(255) { Err(SwapError::Closed) } else { Ok(word) }
}

fn stored_anew(word: U256, amount: U256, limit: U256, now: u64, round_up: bool) -> Result<U256, SwapError> {
    let packed = pack(amount, COEFFICIENT, round_up);
    if packed == bits(word, 1, 64) {
        return Err(TOO_SMALL);
    }
    Ok(write(word, packed, pack(limit, COEFFICIENT, false), now))
}
