//! Reads a wrapped token and its reserve: the contracts behind it once, everything else in one round that is repeated
//! every block.

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;

use super::{
    super::{Accrual, Conversion, Limits, State, accrual::YEAR_SECONDS, parts::VaultAddresses, previews::Previews},
    AAVE_POOLS, MOST_DEPOSIT_BITS, Reserve,
};
use crate::{
    aave::RAY,
    maths::mul_div_up,
    reading::{Reading, Stop},
    vault::Rounding,
};

sol! {
    struct ReserveData {
        uint256 configuration; uint128 liquidityIndex; uint128 currentLiquidityRate; uint128 variableBorrowIndex;
        uint128 currentVariableBorrowRate; uint128 currentStableBorrowRate; uint40 lastUpdateTimestamp; uint16 id;
        address aToken; address stableDebtToken; address variableDebtToken; address interestRateStrategy;
        uint128 accruedToTreasury; uint128 unbacked; uint128 isolationModeTotalDebt;
    }
    function POOL() external view returns (address);
    function aToken() external view returns (address);
    function balanceOf(address owner) external view returns (uint256);
    function scaledBalanceOf(address owner) external view returns (uint256);
    function getReserveData(address asset) external view returns (ReserveData);
    function getVirtualUnderlyingBalance(address asset) external view returns (uint128);
}

/// Bit positions in the configuration of a reserve. Source: `ReserveConfiguration`.
const DECIMALS: usize = 48;
const IS_ACTIVE: usize = 56;
const IS_FROZEN: usize = 57;
const IS_PAUSED: usize = 60;
const RESERVE_FACTOR: usize = 64;
const SUPPLY_CAP: usize = 116;

/// Reserve factor of 100%, in basis points.
const WHOLE_FACTOR: u64 = 10_000;

/// View of a reserve token's supply divided by the index.
const SCALED_SUPPLY: &str = "scaledTotalSupply()";

/// Contracts behind a wrapped token.
#[derive(Clone, Copy, Debug)]
pub(in crate::erc4626) struct Behind {
    pub(in crate::erc4626) pool: Address,
    pub(in crate::erc4626) a_token: Address,
    pub(in crate::erc4626) debt_token: Address,
}

/// Finds the contracts behind a wrapped token; all pools are asked for the reserve of the asset in one round.
pub(in crate::erc4626) fn ask_behind(of: VaultAddresses, reading: &mut Reading) -> Result<Behind, Stop> {
    let (pool, a_token) = (reading.ask(of.vault, &POOLCall {}), reading.ask(of.vault, &aTokenCall {}));
    let reserves = AAVE_POOLS.map(|pool| (pool, reading.try_ask(pool, &getReserveDataCall { asset: of.asset })));
    let (pool, a_token) = (pool?, a_token?);
    let reserve = reserves.into_iter().find(|(known, _)| *known == pool);
    let unknown = reading.impossible("an unknown Aave pool");
    let Some((_, reserve)) = reserve else { return Err(unknown) };
    let reserve = reserve?.ok_or(unknown)?;
    if a_token.is_zero() || reserve.aToken != a_token {
        return Err(reading.impossible("another token than its reserve's"));
    }
    Ok(Behind { pool, a_token, debt_token: reserve.variableDebtToken })
}

/// Reads everything else of a wrapped token.
pub(in crate::erc4626) fn read(of: VaultAddresses, behind: Behind, reading: &mut Reading) -> Result<State, Stop> {
    let (VaultAddresses { vault, asset }, Behind { pool, a_token, debt_token }) = (of, behind);
    let previews = Previews::ask(of, None, reading);
    let reserve = reading.ask(pool, &getReserveDataCall { asset });
    let not_lent = reading.ask(pool, &getVirtualUnderlyingBalanceCall { asset });
    let held = reading.ask(asset, &balanceOfCall { owner: a_token });
    let scaled_balance = reading.ask(a_token, &scaledBalanceOfCall { owner: vault });
    let (scaled_supply, scaled_debt) = (reading.word(a_token, SCALED_SUPPLY), reading.word(debt_token, SCALED_SUPPLY));
    let [paused, total_shares] = reading.words(vault, ["paused()", "totalSupply()"])?;
    let (previews, reserve) = (previews?, reserve?);
    if (reserve.aToken, reserve.variableDebtToken) != (a_token, debt_token) {
        return Err(reading.impossible("a reserve whose tokens changed"));
    }
    if scaled_balance? < total_shares {
        return Err(reading.impossible("a reserve balance below the worth of its shares"));
    }
    let bits = |place: usize, count: usize| (reserve.configuration >> place) & ((U256::ONE << count) - U256::ONE);
    let flag = |place: usize| reserve.configuration.bit(place);
    let active = paused.is_zero() && flag(IS_ACTIVE) && !flag(IS_PAUSED);
    let whole = U256::from(10).checked_pow(bits(DECIMALS, 8));
    let cap = whole.and_then(|whole| bits(SUPPLY_CAP, 36).checked_mul(whole));
    let cap = cap.ok_or(reading.impossible("a cap beyond 256 bits"))?;
    let debt = mul_div_up(scaled_debt?, U256::from(reserve.variableBorrowIndex), RAY);
    let taxed = debt.and_then(|debt| mul_div_up(debt, bits(RESERVE_FACTOR, 16), U256::from(WHOLE_FACTOR)));
    let updated = reserve.lastUpdateTimestamp.to();
    let limits = Limits {
        max_deposit_assets: if active && !flag(IS_FROZEN) { U256::ONE << MOST_DEPOSIT_BITS } else { U256::ZERO },
        max_redeem_shares: if active { total_shares } else { U256::ZERO },
        max_withdraw_assets: U256::from(not_lent?).min(held?),
        counts_shares: true,
        cap: None,
        reserve: Some(Reserve {
            pool,
            a_token,
            debt_token,
            cap_assets: Some(cap).filter(|cap| !cap.is_zero()),
            scaled_supply: scaled_supply?.saturating_add(U256::from(reserve.accruedToTreasury)),
            taxed_debt_assets: taxed.ok_or(reading.impossible("a debt beyond 256 bits"))?,
            borrow_rate_ray: U256::from(reserve.currentVariableBorrowRate),
            updated,
        }),
    };
    let conversion = Conversion::Rate { rate: U256::from(reserve.liquidityIndex), one: RAY };
    let accrual = Accrual::Simple {
        interest_ray: U256::from(reserve.currentLiquidityRate),
        period_seconds: YEAR_SECONDS,
        since: updated,
        rounding: Rounding::Nearest,
    };
    let state = State { conversion, accrual, limits, form: None };
    let unlike = reading.impossible("previews that do not follow from its reserve");
    if previews.agree(&state) { Ok(state) } else { Err(unlike) }
}
