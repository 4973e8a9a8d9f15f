//! Aave's wrapped tokens (`StataTokenV2`): shares of what a reserve of Aave's third version owes its suppliers.
//!
//! A share is worth what one supplied at the beginning has become. A deposit supplies the reserve and a redemption withdraws from it, so
//! that the reserve's cap, what lies in it and whether it is open bound both. Sources: `StataTokenV2`, `ERC4626StataTokenUpgradeable`,
//! `SupplyLogic`, `ReserveLogic`, `ValidationLogic` (`@aave-dao/aave-v3-origin` 3.6.0).

mod reader;

use alloy_primitives::{Address, U256, address};
use serde::{Deserialize, Serialize};

use super::{RAY, mul_div};
use crate::{aave::Interest, vault::mul_div_up};

pub(super) use reader::{Behind, ask_behind, read};

/// Aave's pools whose wrapped tokens are understood: the main one, and Prime. Source: Aave's address book, `AaveV3Ethereum.POOL`,
/// `AaveV3EthereumLido.POOL`.
pub const AAVE_POOLS: [Address; 2] =
    [address!("87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2"), address!("4e033931ad43597d96D6bcc25c280717730B58B1")];

/// By how much the treasury's part may be counted short here, in atomic units: releases of Aave round it differently.
const TREASURY_SLACK: u64 = 4;

/// The most that is deposited at once: beyond it a reserve's own numbers of 120 bits may overflow.
const MOST_DEPOSIT_BITS: usize = 112;

/// A reserve of Aave's third version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// The pool that it is one of.
    pub pool: Address,
    /// What suppliers have of it.
    pub a_token: Address,
    /// What borrowers owe it.
    pub debt_token: Address,
    /// The most assets that may be supplied in all; `None` where there is no cap.
    pub cap_assets: Option<U256>,
    /// What is supplied and what is owed to the treasury, in units of what was one at the beginning.
    pub scaled_supply: U256,
    /// The treasury's part of all debt, in assets, at the last update: what it earns counts towards the cap.
    pub taxed_debt_assets: U256,
    /// A year's interest on debt, in ray.
    pub borrow_rate_ray: U256,
    /// When the reserve was updated last, unix seconds.
    pub updated: u64,
}

impl Reserve {
    /// What the treasury has earned since the last update, in units of what was one at the beginning; rather too much than too little.
    fn taxed(&self, income: U256, now: u64) -> Option<U256> {
        let interest = Interest { index: RAY, rate: self.borrow_rate_ray, since: self.updated };
        let assets = mul_div(self.taxed_debt_assets, interest.owed(now)?, RAY)?;
        let slack = if now == self.updated { U256::ZERO } else { U256::from(TREASURY_SLACK) };
        mul_div_up(assets.checked_add(slack)?, RAY, income)
    }

    /// The most that a deposit brings, where one at the beginning has become `income`. Source: `validateSupply`, `maxDeposit`.
    pub(super) fn room(&self, income: U256, now: u64) -> Option<U256> {
        let Some(cap) = self.cap_assets else { return Some(U256::MAX) };
        let supplied = self.scaled_supply.checked_add(self.taxed(income, now)?)?;
        Some(cap.saturating_sub(mul_div_up(supplied, income, RAY)?))
    }

    /// After a trade that supplied so much: the treasury has its part, and no more of it comes in this second. What a withdrawal takes
    /// from under the cap is not counted.
    pub(super) fn after(&self, income: U256, now: u64, supplied: U256) -> Self {
        let more = || self.taxed(income, now)?.checked_add(mul_div_up(supplied, RAY, income)?);
        let scaled_supply = more().and_then(|more| self.scaled_supply.checked_add(more));
        match scaled_supply {
            Some(scaled_supply) => Self { scaled_supply, taxed_debt_assets: U256::ZERO, updated: now, ..*self },
            // a cap that cannot be counted any more is one that is reached
            None => Self { cap_assets: Some(U256::ZERO), scaled_supply: U256::ZERO, ..*self },
        }
    }
}
