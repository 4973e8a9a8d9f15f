//! Joins and exits of a stable pool with a single coin, for the pool's own token (BPT): `StableMath`.
//!
//! Amounts and balances have 18 decimals and include the coins' rates. `supply` is the circulating supply, `invariant`
//! that of `balances`.

use alloy_primitives::U256;

use super::{
    StablePool,
    fixed_point::{ONE, add, complement, div_down, div_up, mul_down, mul_up, sub, total},
    revert::Revert,
};

impl StablePool {
    /// Computes the BPT minted for `amount` of one coin, rounded down. The part of the amount that unbalances the pool
    /// pays the fee. Source: `StableMath._calcBptOutGivenExactTokensIn`.
    pub(super) fn minted_for(
        &self,
        balances: &[U256],
        coin: usize,
        amount: U256,
        supply: U256,
        invariant: U256,
    ) -> Result<U256, Revert> {
        let sum = total(balances)?;
        let grown = |place: usize, balance: U256| if place == coin { add(balance, amount) } else { Ok(balance) };
        let mut all_grow = U256::ZERO;
        for (place, balance) in balances.iter().enumerate() {
            let ratio = div_down(grown(place, *balance)?, *balance)?;
            all_grow = add(all_grow, mul_down(ratio, div_down(*balance, sum)?)?)?;
        }
        // weights are rounded down: for an amount so small that the total does not grow, the contract's fee computation
        // reverts
        let growth = all_grow.checked_sub(ONE).ok_or(Revert::TooSmall)?;
        let balance = *balances.get(coin).ok_or(Revert::Arithmetic)?;
        let counted = if div_down(add(balance, amount)?, balance)? > all_grow {
            let untaxed = mul_down(balance, growth)?;
            add(untaxed, mul_down(sub(amount, untaxed)?, sub(ONE, self.fee_wad)?)?)?
        } else {
            amount
        };
        let mut after = super::stable::listed(balances);
        *after.get_mut(coin).ok_or(Revert::Arithmetic)? = add(balance, counted)?;
        let ratio = div_down(self.invariant_of(&after)?, invariant)?;
        mul_down(supply, ratio.saturating_sub(ONE))
    }

    /// Computes the payout in one coin for `burned` BPT, rounded down. Source:
    /// `StableMath._calcTokenOutGivenExactBptIn`.
    pub(super) fn paid_for(
        &self,
        balances: &[U256],
        coin: usize,
        burned: U256,
        supply: U256,
        invariant: U256,
    ) -> Result<U256, Revert> {
        let left = mul_up(div_up(sub(supply, burned)?, supply)?, invariant)?;
        let balance = *balances.get(coin).ok_or(Revert::Arithmetic)?;
        let untaxed = sub(balance, self.balance_given_invariant(balances, left, coin)?)?;
        let share = div_down(balance, total(balances)?)?;
        let taxable = mul_up(untaxed, complement(share))?;
        add(sub(untaxed, taxable)?, mul_down(taxable, sub(ONE, self.fee_wad)?)?)
    }
}
