//! A balance lent at Aave, which grows every second.

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use crate::{
    aave::{Interest, RAY, ray_mul},
    curve::arith::{Fault, Maths, add, div, mul, sub},
};

/// Values from which a pool's balance of an aToken follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// `scaledBalanceOf(pool)`: the balance divided by the index at deposit.
    pub scaled_balance: U256,
    /// `admin_balances(coin)`: the administrator's part of the balance.
    pub owed: U256,
    /// `liquidityIndex` of the reserve at its last update, 27 decimals.
    pub index: U256,
    /// `currentLiquidityRate` of the reserve: simple interest per year, 27 decimals.
    pub rate: U256,
    /// `lastUpdateTimestamp` of the reserve, in unix seconds.
    pub updated: u64,
}

impl Growth {
    fn income(&self, timestamp: u64) -> Maths<U256> {
        let interest = Interest { index: self.index, rate: self.rate, since: self.updated };
        interest.income(timestamp).ok_or(Fault::Arithmetic)
    }

    /// Computes the pool's net balance: `balanceOf(pool)` of the aToken less the administrator's part.
    pub(super) fn balance(&self, timestamp: u64) -> Maths<U256> {
        sub(ray_mul(self.scaled_balance, self.income(timestamp)?).ok_or(Fault::Arithmetic)?, self.owed)
    }

    /// Tells whether an amount is enough to mint or burn: the reserve refuses amounts that are zero in its scaled
    /// units.
    pub(super) fn moves(&self, timestamp: u64, amount: U256) -> Maths<bool> {
        let income = self.income(timestamp)?;
        Ok(!div(add(mul(amount, RAY)?, income >> 1)?, income)?.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::arith::int;

    fn growth() -> Growth {
        // A reserve of some years, with an index of 1.15 and a rate of 3.5 percent.
        Growth {
            scaled_balance: int(1_000_000_007),
            owed: int(11),
            index: RAY / int(100) * int(115) + int(1),
            rate: RAY / int(1_000) * int(35) + int(7),
            updated: 1_700_000_000,
        }
    }

    /// By the definition, in integers: the index becomes 1.15 · (1 + 0.035 · elapsed part of a year).
    #[test]
    fn interest_is_simple_by_the_second_and_rounded_to_the_nearest() {
        let growth = growth();
        assert_eq!(RAY, U256::from(10).pow(U256::from(27)));
        assert_eq!(growth.income(growth.updated), Ok(growth.index), "in the second of the last touch, what is stored");
        assert_eq!(growth.balance(growth.updated), Ok(int(1_150_000_008 - 11)), "1,150,000,008.05 is rounded down");
        // 1,150,000,008.05 · (1 + 0.035 · 172,800 / 31,536,000) = 1,150,220,555.9967
        assert_eq!(growth.balance(growth.updated + 172_800), Ok(int(1_150_220_556 - 11)), "and this up");
        assert!(growth.balance(growth.updated - 1).is_err(), "before the reserve was touched");
    }

    #[test]
    fn what_is_nothing_in_the_reserves_units_does_not_move() {
        let far = Growth { index: RAY * int(3), ..growth() };
        assert_eq!(far.moves(far.updated, int(1)), Ok(false), "a third, to the nearest");
        assert_eq!(far.moves(far.updated, int(2)), Ok(true), "two thirds");
        assert_eq!(growth().moves(growth().updated, int(1)), Ok(true));
    }

    #[test]
    fn more_than_the_administrators_part_must_be_there() {
        let poor = Growth { scaled_balance: int(3), ..growth() };
        assert_eq!(poor.balance(poor.updated), Err(Fault::Arithmetic));
    }
}
