//! Reads a wrapped token and its reserve: which pool and tokens those are once, everything else in one round that every block repeats.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{
    super::{
        Accrual, Conversion, State,
        reader::{PROBE, assetCall, getCurrentBlockTimestampCall, previewDepositCall, previewRedeemCall},
    },
    AAVE_POOLS, MOST_DEPOSIT_BITS, RAY, Reserve, up,
};
use crate::{
    DecodeError, Discovered, PoolState, ReadProgress, StateReader,
    answers::{Answers, MULTICALL3, Question, ask, calls, impossible, narrow},
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
    function paused() external view returns (bool);
    function totalSupply() external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function scaledBalanceOf(address owner) external view returns (uint256);
    function scaledTotalSupply() external view returns (uint256);
    function getReserveData(address asset) external view returns (ReserveData);
    function getVirtualUnderlyingBalance(address asset) external view returns (uint128);
}

/// Places in the configuration of a reserve. Source: `ReserveConfiguration`.
const DECIMALS: usize = 48;
const IS_ACTIVE: usize = 56;
const IS_FROZEN: usize = 57;
const IS_PAUSED: usize = 60;
const RESERVE_FACTOR: usize = 64;
const SUPPLY_CAP: usize = 116;

/// A whole reserve factor, in hundredths of a percent.
const WHOLE_FACTOR: u64 = 10_000;

/// The contracts behind a wrapped token.
#[derive(Clone, Copy, Debug)]
struct Behind {
    pool: Address,
    a_token: Address,
    debt_token: Address,
}

/// Reads one wrapped token.
#[derive(Clone, Debug)]
pub(in crate::erc4626) struct WrappedReader {
    wrapped: Address,
    asset: Address,
    behind: Option<Behind>,
    asked: Vec<Question>,
}

impl WrappedReader {
    pub(in crate::erc4626) fn new(pool: &Discovered) -> Self {
        let asset = pool.coins.first().copied().unwrap_or_default();
        Self { wrapped: pool.key.contract, asset, behind: None, asked: Vec::new() }
    }

    /// A reader that knows the contracts behind from an earlier reading.
    pub(in crate::erc4626) fn again(pool: &Discovered, was: &State) -> Self {
        let behind = was.reserve.map(|of| Behind { pool: of.pool, a_token: of.a_token, debt_token: of.debt_token });
        Self { behind, ..Self::new(pool) }
    }

    fn odd(&self, what: &'static str) -> DecodeError {
        impossible(self.wrapped, what)
    }

    /// Who is behind: each pool is asked for the reserve of the asset at once.
    fn ask_behind(&self) -> Vec<Question> {
        let mut asked = vec![ask(self.wrapped, &POOLCall {}), ask(self.wrapped, &aTokenCall {})];
        asked.extend(AAVE_POOLS.map(|pool| ask(pool, &getReserveDataCall { asset: self.asset })));
        asked
    }

    fn hear_behind(&self, answers: &mut Answers<'_>) -> Result<Behind, DecodeError> {
        let (pool, a_token) = (answers.next::<POOLCall>()?, answers.next::<aTokenCall>()?);
        let mut behind = None;
        for known in AAVE_POOLS {
            let reserve = answers.try_next::<getReserveDataCall>();
            if let Some(reserve) = reserve.filter(|_| known == pool) {
                behind = Some((reserve.aToken, reserve.variableDebtToken));
            }
        }
        let (of_reserve, debt_token) = behind.ok_or(self.odd("a pool of Aave's that is not known"))?;
        if a_token.is_zero() || of_reserve != a_token {
            return Err(self.odd("another token than its reserve's"));
        }
        Ok(Behind { pool, a_token, debt_token })
    }

    fn ask_all(&self, behind: &Behind) -> Vec<Question> {
        let Self { wrapped, asset, .. } = *self;
        let Behind { pool, a_token, debt_token } = *behind;
        vec![
            ask(MULTICALL3, &getCurrentBlockTimestampCall {}),
            ask(wrapped, &assetCall {}),
            ask(wrapped, &pausedCall {}),
            ask(wrapped, &totalSupplyCall {}),
            ask(wrapped, &previewDepositCall { assets: PROBE }),
            ask(wrapped, &previewRedeemCall { shares: PROBE }),
            ask(pool, &getReserveDataCall { asset }),
            ask(pool, &getVirtualUnderlyingBalanceCall { asset }),
            ask(a_token, &scaledTotalSupplyCall {}),
            ask(a_token, &scaledBalanceOfCall { owner: wrapped }),
            ask(asset, &balanceOfCall { owner: a_token }),
            ask(debt_token, &scaledTotalSupplyCall {}),
        ]
    }

    fn hear_all(&self, behind: Behind, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let timestamp = narrow(self.wrapped, answers.next::<getCurrentBlockTimestampCall>()?, "a time beyond 64 bits")?;
        if answers.next::<assetCall>()? != self.asset {
            return Err(self.odd("another asset than was announced"));
        }
        let open = !answers.next::<pausedCall>()?;
        let total_shares = answers.next::<totalSupplyCall>()?;
        let shares_for_probe = answers.next::<previewDepositCall>()?;
        let assets_for_probe = answers.next::<previewRedeemCall>()?;
        let reserve = answers.next::<getReserveDataCall>()?;
        let lent_out = U256::from(answers.next::<getVirtualUnderlyingBalanceCall>()?);
        let scaled_supply = answers.next::<scaledTotalSupplyCall>()?;
        let scaled_balance = answers.next::<scaledBalanceOfCall>()?;
        let held = answers.next::<balanceOfCall>()?;
        let scaled_debt = answers.next::<scaledTotalSupplyCall>()?;
        if (reserve.aToken, reserve.variableDebtToken) != (behind.a_token, behind.debt_token) {
            return Err(self.odd("a reserve whose tokens changed"));
        }
        if scaled_balance < total_shares {
            return Err(self.odd("less in its reserve than its shares stand for"));
        }
        let bits = |place: usize, count: usize| (reserve.configuration >> place) & ((U256::ONE << count) - U256::ONE);
        let flag = |place: usize| reserve.configuration.bit(place);
        let active = open && flag(IS_ACTIVE) && !flag(IS_PAUSED);
        let whole = U256::from(10).checked_pow(bits(DECIMALS, 8));
        let cap = whole.and_then(|whole| bits(SUPPLY_CAP, 36).checked_mul(whole));
        let cap = cap.ok_or(self.odd("a cap beyond 256 bits"))?;
        let debt = up(scaled_debt, U256::from(reserve.variableBorrowIndex), RAY);
        let taxed = debt.and_then(|debt| up(debt, bits(RESERVE_FACTOR, 16), U256::from(WHOLE_FACTOR)));
        let state = State {
            conversion: Conversion::Rate { rate: U256::from(reserve.liquidityIndex), one: RAY },
            accrual: Accrual::Linear {
                per_year_ray: U256::from(reserve.currentLiquidityRate),
                since: reserve.lastUpdateTimestamp.to(),
            },
            max_deposit_assets: if active && !flag(IS_FROZEN) { U256::ONE << MOST_DEPOSIT_BITS } else { U256::ZERO },
            max_redeem_shares: if active { total_shares } else { U256::ZERO },
            max_withdraw_assets: lent_out.min(held),
            reserve: Some(Reserve {
                pool: behind.pool,
                a_token: behind.a_token,
                debt_token: behind.debt_token,
                cap_assets: Some(cap).filter(|cap| !cap.is_zero()),
                scaled_supply: scaled_supply.saturating_add(U256::from(reserve.accruedToTreasury)),
                taxed_debt_assets: taxed.ok_or(self.odd("a debt beyond 256 bits"))?,
                borrow_rate_ray: U256::from(reserve.currentVariableBorrowRate),
            }),
            cap: None,
            form: None,
        };
        let now = ExecutionBlock { number: 0, timestamp };
        let agrees = state.preview_deposit(&now, PROBE) == Ok(shares_for_probe)
            && state.preview_redeem(&now, PROBE) == Ok(assets_for_probe);
        if agrees { Ok(state) } else { Err(self.odd("previews that do not follow from its reserve")) }
    }

    fn ask_next(&mut self, behind: &Behind) -> ReadProgress {
        self.asked = self.ask_all(behind);
        ReadProgress::Calls(calls(&self.asked))
    }
}

impl StateReader for WrappedReader {
    fn start(&mut self) -> ReadProgress {
        if let Some(behind) = self.behind {
            return self.ask_next(&behind);
        }
        self.asked = self.ask_behind();
        ReadProgress::Calls(calls(&self.asked))
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = Answers::new(self.wrapped, &asked, answers)?;
        let Some(behind) = self.behind else {
            let behind = self.hear_behind(&mut answers)?;
            self.behind = Some(behind);
            return Ok(self.ask_next(&behind));
        };
        let state = self.hear_all(behind, &mut answers)?;
        Ok(ReadProgress::Done(PoolState::Erc4626(Box::new(state))))
    }
}
