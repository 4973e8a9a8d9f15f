//! Aave's wrapped tokens (`StataTokenV2`): shares of a supply to an Aave V3 reserve.
//!
//! A share is worth the reserve's normalised income. A deposit supplies to the reserve and a redemption withdraws from
//! it. So the reserve's supply cap, its cash and its status limit both. Sources: `StataTokenV2`,
//! `ERC4626StataTokenUpgradeable`, `SupplyLogic`, `ReserveLogic`, `ValidationLogic` (`@aave-dao/aave-v3-origin` 3.6.0).

mod reader;

use alloy_primitives::{Address, U256, address};
use serde::{Deserialize, Serialize};

use crate::{
    aave::{Interest, RAY},
    maths::{mul_div, mul_div_up},
};

pub(super) use reader::{Behind, ask_behind, read};

/// Aave pools whose wrapped tokens are modelled: the main one, and Prime. Source: Aave's address book,
/// `AaveV3Ethereum.POOL`, `AaveV3EthereumLido.POOL`.
pub const AAVE_POOLS: [Address; 2] =
    [address!("87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2"), address!("4e033931ad43597d96D6bcc25c280717730B58B1")];

/// Margin for the treasury's part, in atomic units: releases of Aave round it differently.
const TREASURY_SLACK: u64 = 4;

/// Maximum bits of a deposit, beyond which a reserve's own numbers of 120 bits may overflow.
const MOST_DEPOSIT_BITS: usize = 112;

/// A reserve of Aave V3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// Aave pool of the reserve.
    pub pool: Address,
    /// The reserve's aToken.
    pub a_token: Address,
    /// The reserve's variable debt token.
    pub debt_token: Address,
    /// Supply cap in assets; `None` if there is none.
    pub cap_assets: Option<U256>,
    /// Supply plus the treasury's accrued part, both divided by the index (scaled).
    pub scaled_supply: U256,
    /// Treasury's part of all debt, in assets, at the last update. Its interest counts towards the cap.
    pub taxed_debt_assets: U256,
    /// Interest per year on debt, in ray.
    pub borrow_rate_ray: U256,
    /// Last update of the reserve, in unix seconds.
    pub updated: u64,
}

impl Reserve {
    /// Estimates the treasury's accrual since the last update, scaled; rather too high than too low.
    fn taxed(&self, income: U256, now: u64) -> Option<U256> {
        let interest = Interest { index: RAY, rate: self.borrow_rate_ray, since: self.updated };
        let assets = mul_div(self.taxed_debt_assets, interest.owed(now)?, RAY)?;
        let slack = if now == self.updated { U256::ZERO } else { U256::from(TREASURY_SLACK) };
        mul_div_up(assets.checked_add(slack)?, RAY, income)
    }

    /// Computes the maximum deposit at a normalised income. Source: `validateSupply`, `maxDeposit`.
    pub(super) fn room(&self, income: U256, now: u64) -> Option<U256> {
        let Some(cap) = self.cap_assets else { return Some(U256::MAX) };
        let supplied = self.scaled_supply.checked_add(self.taxed(income, now)?)?;
        Some(cap.saturating_sub(mul_div_up(supplied, income, RAY)?))
    }

    /// Returns the reserve after a trade that supplied an amount. The treasury's part is then accrued for this second.
    /// Withdrawals do not free the cap here.
    pub(super) fn after(&self, income: U256, now: u64, supplied: U256) -> Self {
        let more = || self.taxed(income, now)?.checked_add(mul_div_up(supplied, RAY, income)?);
        let scaled_supply = more().and_then(|more| self.scaled_supply.checked_add(more));
        match scaled_supply {
            Some(scaled_supply) => Self { scaled_supply, taxed_debt_assets: U256::ZERO, updated: now, ..*self },
            // a cap that can no longer be computed counts as reached
            None => Self { cap_assets: Some(U256::ZERO), scaled_supply: U256::ZERO, ..*self },
        }
    }
}
