//! Trades in a composable pool's own token (BPT): bought by joining with one coin, sold by exiting to one.
//!
//! To the vault such a trade is a swap. The pool first mints to the protocol its due fees on swaps and yield since the
//! last join or exit. It then trades, mints the protocol's fee of the trade itself, and stores the new invariant.
//!
//! Source: `ComposableStablePool._swapWithBpt`, `ComposableStablePoolProtocolFees`.

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;

use super::{Minting, OwnToken, Shares, StableModel};
use crate::{
    balancer::{
        StablePool,
        fixed_point::{add, complement, div_down, mul_down, sub, total},
        revert::Revert,
        stable::{listed, newer_invariant},
    },
    pool::MAX_COINS,
};

/// Bits in which a pool stores an invariant.
const INVARIANT_BITS: usize = 233;
/// Maximum join, as a multiple of the pool's total balance. The contract sets no limit and pays next to nothing for
/// more. Without a limit the curve, and the bound from it, would have no end.
pub(super) const JOIN_LIMIT: U256 = U256::from_limbs([64, 0, 0, 0]);

/// A trade in the pool's own token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trade {
    /// An amount of a coin, in its atomic units, for BPT.
    Join(usize, U256),
    /// An amount of BPT for a coin.
    Exit(usize, U256),
}

/// Computes the BPT to mint so that they are a given share of the resulting supply. Source:
/// `ExternalFees.bptForPoolOwnershipPercentage`, in the first generation `_calculateAdjustedProtocolFeeAmount`.
fn minted_for_share(minting: Minting, supply: U256, share_wad: U256) -> Result<U256, Revert> {
    let rest = complement(share_wad);
    match minting {
        Minting::Twice => div_down(mul_down(supply, share_wad)?, rest),
        Minting::Once => {
            supply.checked_mul(share_wad).and_then(|product| product.checked_div(rest)).ok_or(Revert::Arithmetic)
        }
    }
}

/// Computes the BPT that a trade mints to the protocol for its own fee: a share of the invariant's growth that the
/// supply does not explain. Takes invariants and supplies before and after. Source: `_updateInvariantAfterJoinExit`.
fn minted_for_trade(own: &OwnToken, invariants: [U256; 2], supplies: [U256; 2]) -> Result<U256, Revert> {
    let ([before, after], [supply, supply_after]) = (invariants, supplies);
    let explained = mul_down(before, div_down(supply_after, supply)?)?;
    let excess = after.saturating_sub(explained);
    if excess.is_zero() {
        return Ok(U256::ZERO);
    }
    let share = excess.checked_mul(own.fee_share_wad).and_then(|product| product.checked_div(after));
    minted_for_share(own.minting, supply_after, share.ok_or(Revert::Arithmetic)?)
}

/// Rates of each coin at the last join or exit, and now.
type Rates = ArrayVec<[U256; 2], MAX_COINS>;

impl OwnToken {
    /// Computes the balances at the rates of the last join or exit, for all coins or only for those exempt from yield
    /// fees.
    fn without_earnings(
        &self,
        balances: &[U256],
        rates: &Rates,
        all: bool,
    ) -> Result<ArrayVec<U256, MAX_COINS>, Revert> {
        let mut adjusted = listed(balances);
        for ((balance, earning), [last, now]) in adjusted.iter_mut().zip(&self.earnings).zip(rates) {
            if all || earning.exempt {
                *balance =
                    balance.checked_mul(*last).and_then(|all| all.checked_div(*now)).ok_or(Revert::Arithmetic)?;
            }
        }
        Ok(adjusted)
    }

    /// Computes the protocol's share of the pool, for fees and yield since the last join or exit. `total` is the
    /// invariant now, with the amplification of then. Source: `_getProtocolPoolOwnershipPercentage`.
    fn share_due(&self, shares: &Shares, balances: &[U256], rates: &Rates, total: U256) -> Result<U256, Revert> {
        let invariant = |adjusted: ArrayVec<U256, MAX_COINS>| {
            let same = adjusted[..] == *balances;
            if same { Ok(total) } else { newer_invariant(shares.last_amp_times_1000, &adjusted) }
        };
        let by_fees = invariant(self.without_earnings(balances, rates, true)?)?;
        let by_shared_earnings = invariant(self.without_earnings(balances, rates, false)?)?;
        let fees = div_down(by_fees.saturating_sub(shares.last_invariant), total)?;
        let earned = div_down(by_shared_earnings.saturating_sub(by_fees), total)?;
        let (fees, earned) = (mul_down(fees, self.fee_share_wad)?, mul_down(earned, self.yield_share_wad)?);
        add(fees, earned)
    }
}

impl StableModel {
    /// Computes a trade in the pool's own token: the amount out in atomic units, the token's new state, and the amount
    /// that was due to the protocol before. `pool` has the block's rates and the balances after earlier trades;
    /// `joined` is the token's state after an earlier join or exit in the block.
    pub(super) fn trade_own(
        &self,
        own: &OwnToken,
        pool: &StablePool,
        at: &ExecutionBlock,
        joined: Option<&Shares>,
        trade: Trade,
    ) -> Result<(U256, Shares, U256), Revert> {
        let shares = joined.unwrap_or(&own.shares);
        let rates = self.rates.iter().zip(&own.earnings).map(|(rate, earning)| {
            let now = if at.timestamp > rate.expires { earning.next_rate } else { earning.rate };
            if joined.is_some() { [now; 2] } else { [earning.last_rate, now] }
        });
        let rates: Rates = rates.collect();
        let mut balances = pool.scaled_balances()?;
        let then = newer_invariant(shares.last_amp_times_1000, &balances)?;
        let share_due = own.share_due(shares, &balances, &rates, then)?;
        let due = minted_for_share(own.minting, shares.circulating, share_due)?;
        let supply = add(shares.circulating, due)?;
        let same_amp = pool.amp_times_1000 == shares.last_amp_times_1000;
        let invariant = if same_amp { then } else { pool.invariant_of(&balances)? };

        let scale = pool.scale();
        let (paid, supply_after, held) = match trade {
            Trade::Join(coin, amount) => {
                let amount = scale.up(amount, coin)?;
                let limit = total(&balances)?.checked_mul(JOIN_LIMIT).ok_or(Revert::Arithmetic)?;
                if amount > limit {
                    return Err(Revert::Ratio(limit));
                }
                let out = pool.minted_for(&balances, coin, amount, supply, invariant)?;
                let balance = balances.get_mut(coin).ok_or(Revert::Arithmetic)?;
                *balance = add(*balance, amount)?;
                (out, add(supply, out)?, sub(shares.held, out)?)
            }
            Trade::Exit(coin, amount) => {
                let out = pool.paid_for(&balances, coin, amount, supply, invariant)?;
                let balance = balances.get_mut(coin).ok_or(Revert::Arithmetic)?;
                *balance = sub(*balance, out)?;
                (scale.down(out, coin)?, sub(supply, amount)?, add(shares.held, amount)?)
            }
        };
        let last_invariant = pool.invariant_of(&balances)?;
        if last_invariant.bit_len() > INVARIANT_BITS {
            return Err(Revert::Arithmetic);
        }
        let minted = minted_for_trade(own, [invariant, last_invariant], [supply, supply_after])?;
        let circulating = add(supply_after, minted)?;
        Ok((paid, Shares { held, circulating, last_invariant, last_amp_times_1000: pool.amp_times_1000 }, due))
    }
}
