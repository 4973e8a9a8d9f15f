//! The partner fee: a share of the inputs or of the outputs, paid by the proxy in the same transaction.

use braid_primitives::{Address, BPS, U256};
use serde::{Deserialize, Serialize};

/// The highest partner fee that the proxy pays, in basis points.
pub const MAX_PARTNER_FEE_BPS: u16 = 300;

/// A fee to the integrator that brought the trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerFee {
    /// Basis points, 1 to [`MAX_PARTNER_FEE_BPS`].
    pub bps: u16,
    /// Who is paid.
    pub recipient: Address,
    /// Taken from each output instead of from each input.
    pub on_output: bool,
}

impl PartnerFee {
    /// Returns the fee on an amount: `floor(amount × bps / 10⁴)`.
    ///
    /// ```
    /// # use braid_execution::PartnerFee;
    /// # use braid_primitives::{Address, U256};
    /// let fee = PartnerFee { bps: 25, recipient: Address::repeat_byte(1), on_output: false };
    /// assert_eq!(fee.on(U256::from(39_999)), U256::from(99));
    /// assert_eq!(fee.after_input(U256::from(39_999)), U256::from(39_900));
    /// assert_eq!(fee.after_output(U256::from(39_999)), U256::from(39_999));
    /// ```
    pub fn on(&self, amount: U256) -> U256 {
        crate::amounts::part_of(amount, u64::from(self.bps).min(BPS))
    }

    /// Returns what an input of `amount` leaves to the route.
    pub fn after_input(&self, amount: U256) -> U256 {
        if self.on_output { amount } else { amount - self.on(amount) }
    }

    /// Returns the least input that leaves `amount` to the route.
    pub fn before_input(&self, amount: U256) -> U256 {
        if self.on_output { amount } else { self.before(amount) }
    }

    /// Returns the least that a route must make of an output for the recipient to get `amount`.
    pub fn before_output(&self, amount: U256) -> U256 {
        if self.on_output { self.before(amount) } else { amount }
    }

    /// Returns the least amount that is `left` or more after the fee: `floor((left − 1) × 10⁴ / (10⁴ − bps)) + 1`,
    /// since a fee is rounded down.
    fn before(&self, left: U256) -> U256 {
        let Some(less) = left.checked_sub(U256::ONE) else { return U256::ZERO };
        let kept = U256::from(BPS.saturating_sub(u64::from(self.bps)).max(1));
        let (quotient, remainder) = less.div_rem(kept);
        quotient
            .saturating_mul(U256::from(BPS))
            .saturating_add(remainder * U256::from(BPS) / kept)
            .saturating_add(U256::ONE)
    }

    /// Returns what the recipient gets of an output of which the route makes `amount`.
    pub fn after_output(&self, amount: U256) -> U256 {
        if self.on_output { amount - self.on(amount) } else { amount }
    }
}
