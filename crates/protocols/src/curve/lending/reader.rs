//! Reads a lending pool and its lender in one round.

use std::sync::Arc;

use alloy_primitives::{Address, U256, uint};
use alloy_sol_types::sol;
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;

use super::{
    Growth, Lender, Market, State,
    listed::{self, Listed},
};
use crate::curve::{
    arith::WAD,
    pool::{Model, State as PoolOfCurve},
    presets::listed_rules,
    read::StableReading,
    stable::{CompoundAccrual, CompoundRate, Rate},
};
use crate::{
    Discovered, StateReader,
    reading::{self, Reading, Stop, all},
};

sol! {
    function decimals() external view returns (uint8);
    function balanceOf(address owner) external view returns (uint256);
    function admin_balances(uint256 coin) external view returns (uint256);
    function paused() external view returns (bool);
    function scaledBalanceOf(address owner) external view returns (uint256);
    struct ReserveData {
        uint256 configuration; uint128 liquidityIndex; uint128 variableBorrowIndex; uint128 currentLiquidityRate;
        uint128 currentVariableBorrowRate; uint128 currentStableBorrowRate; uint40 lastUpdateTimestamp; address aToken;
        address stableDebtToken; address variableDebtToken; address interestRateStrategy; uint8 id;
    }
    function getReserveData(address asset) external view returns (ReserveData);
    function mintGuardianPaused(address market) external view returns (bool);
}

/// Borrow rate above which a Compound market reverts. Source: `borrowRateMaxMantissa` of `CToken`.
const MOST_BORROW_RATE: U256 = uint!(5_000_000_000_000_U256);
/// Bit positions of flags in the configuration of an Aave reserve. Source: `ReserveConfiguration`.
const IS_ACTIVE: usize = 56;
const IS_FROZEN: usize = 57;

/// Returns a reader of a listed lending pool; `None` for any other pool.
pub(in crate::curve) fn reader(pool: &Discovered) -> Option<Box<dyn StateReader>> {
    let listed = listed::find(pool.key.contract)?;
    Some(reading::reader(listed.pool, move |reading| read(listed, reading).map(Arc::new)))
}

fn read(listed: &Listed, reading: &mut Reading) -> Result<PoolOfCurve, Stop> {
    let Listed { pool: address, lender, coins } = *listed;
    let (timestamp, number) = (reading.timestamp(), reading.block_number());
    let paused = if lender == Lender::Aave { reading.ask(listed::AAVE, &pausedCall {}) } else { Ok(false) };
    let rates = coins.iter().map(|_| WAD).collect();
    let of_pool =
        StableReading { pool: address, rates, rules: listed_rules(address), fee_moves: lender == Lender::Aave };
    let pool = of_pool.read(reading);
    let read = all(coins.iter().enumerate().map(|(k, (coin, token))| {
        let (decimals, owner) = (reading.ask(*coin, &decimalsCall {}), token.unwrap_or(address));
        let cash = reading.ask(*coin, &balanceOfCall { owner });
        let lent = match (lender, *token) {
            (_, None) => Ok(Lent::Not),
            (Lender::Aave, Some(token)) => reserve(address, k, *coin, token, reading),
            (Lender::Compound, Some(token)) => market(token, reading),
        };
        let (decimals, cash) = (decimals?, cash?);
        let exponent = 18_u8.checked_sub(decimals).ok_or(reading.impossible("a coin with more than 18 decimals"))?;
        let precision = U256::from(10).pow(U256::from(exponent));
        Ok((Market { precision, growth: None, cash, takes: true, pays: true }, lent?))
    }))?;
    let mut pool = pool?;
    let open = !paused?;
    let mut markets = ArrayVec::new();
    for ((unlent, lent), rate) in read.into_iter().zip(&mut pool.rates.0) {
        *rate = Rate::Fixed(unlent.precision * WAD);
        markets.push(match lent {
            Lent::Not => unlent,
            Lent::Aave { growth, active, takes } => {
                Market { growth: Some(growth), takes: open && takes, pays: open && active, ..unlent }
            }
            Lent::Compound { worth, takes } => {
                let worth = CompoundRate { multiplier: unlent.precision, ..worth };
                if worth.accrual.as_ref().is_none_or(|accrual| accrual.cash != unlent.cash) {
                    return Err(
                        reading.impossible("a market whose cash is held elsewhere, and may earn interest there")
                    );
                }
                if !worth.follows() {
                    return Err(reading.impossible("a share rate that does not follow from its market"));
                }
                *rate = Rate::Compound(Box::new(worth));
                Market { takes, ..unlent }
            }
        });
    }
    let at = ExecutionBlock { number: number?, timestamp: timestamp? };
    let state = State { pool, lender, lender_address: lender.address(), markets }.without_what_follows(&at);
    let state = state.ok_or(reading.impossible("balances that do not follow from its lender's state"))?;
    let model = Model::Lending(state);
    let state = PoolOfCurve { model, ether_coin: None, base_pool: None, has_oracle: false, steth: None };
    state.validate().map_err(|what| reading.impossible(what))?;
    Ok(state)
}

/// State of a coin at its lender.
enum Lent {
    Not,
    Aave { growth: Growth, active: bool, takes: bool },
    Compound { worth: CompoundRate, takes: bool },
}

/// Reads a coin of a pool at Aave.
fn reserve(pool: Address, k: usize, coin: Address, token: Address, reading: &mut Reading) -> Result<Lent, Stop> {
    let scaled_balance = reading.ask(token, &scaledBalanceOfCall { owner: pool });
    let owed = reading.ask(pool, &admin_balancesCall { coin: U256::from(k) });
    let reserve = reading.ask(listed::AAVE, &getReserveDataCall { asset: coin })?;
    if reserve.aToken != token {
        return Err(reading.impossible("a coin with another token at its lender"));
    }
    let active = reserve.configuration.bit(IS_ACTIVE);
    let growth = Growth {
        scaled_balance: scaled_balance?,
        owed: owed?,
        index: U256::from(reserve.liquidityIndex),
        rate: U256::from(reserve.currentLiquidityRate),
        updated: reserve.lastUpdateTimestamp.to(),
    };
    Ok(Lent::Aave { growth, active, takes: active && !reserve.configuration.bit(IS_FROZEN) })
}

/// Reads a coin at Compound, with the worth of a share.
fn market(token: Address, reading: &mut Reading) -> Result<Lent, Stop> {
    let paused = reading.ask(listed::COMPOUND, &mintGuardianPausedCall { market: token });
    let views = ["exchangeRateStored()", "supplyRatePerBlock()", "accrualBlockNumber()", "borrowRatePerBlock()"];
    let rates = reading.words(token, views);
    let views = ["getCash()", "totalBorrows()", "totalReserves()", "reserveFactorMantissa()", "totalSupply()"];
    let [cash, borrows, reserves, reserve_factor, shares] = reading.words(token, views)?;
    let [exchange_rate_stored, supply_rate_per_block, since, borrow_rate_per_block] = rates?;
    if borrow_rate_per_block > MOST_BORROW_RATE {
        return Err(reading.impossible("a market that reverts at its borrow rate"));
    }
    let accrual = CompoundAccrual { cash, borrows, reserves, reserve_factor, borrow_rate_per_block, shares };
    let worth = CompoundRate {
        multiplier: U256::ONE,
        exchange_rate_stored,
        supply_rate_per_block,
        accrual_block: reading.narrow(since)?,
        accrual: Some(accrual),
    };
    Ok(Lent::Compound { worth, takes: !paused? })
}
