//! Reads a lending pool and its lender in one round.

use alloy_primitives::{Address, Bytes, U256, uint};
use alloy_sol_types::sol;
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;

use super::{
    Growth, Lender, Market, State,
    listed::{self, Listed},
};
use crate::curve::{
    known,
    pool::{Model, State as PoolOfCurve},
    read::StableReading,
    stable::{CompoundAccrual, CompoundRate, Rate},
};
use crate::{
    DecodeError, Discovered, PoolState, ReadProgress, StateReader,
    answers::{Answers, MULTICALL3, Question, ask, calls, impossible, narrow},
};

sol! {
    function decimals() external view returns (uint8);
    function balanceOf(address owner) external view returns (uint256);
    function getCurrentBlockTimestamp() external view returns (uint256);
    function getBlockNumber() external view returns (uint256);
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
    function exchangeRateStored() external view returns (uint256);
    function supplyRatePerBlock() external view returns (uint256);
    function borrowRatePerBlock() external view returns (uint256);
    function accrualBlockNumber() external view returns (uint256);
    function getCash() external view returns (uint256);
    function totalBorrows() external view returns (uint256);
    function totalReserves() external view returns (uint256);
    function reserveFactorMantissa() external view returns (uint256);
    function totalSupply() external view returns (uint256);
}

const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);
/// Above this rate a market of Compound's reverts. Source: `borrowRateMaxMantissa` of `CToken`.
const MOST_BORROW_RATE: U256 = uint!(5_000_000_000_000_U256);
/// Places of the flags in the configuration of a reserve of Aave's. Source: `ReserveConfiguration`.
const IS_ACTIVE: usize = 56;
const IS_FROZEN: usize = 57;

/// A reader of a listed lending pool; `None` for any other pool.
pub(in crate::curve) fn reader(pool: &Discovered) -> Option<Box<dyn StateReader>> {
    let listed = listed::find(pool.key.contract)?;
    Some(Box::new(LendingReader { listed, asked: Vec::new() }))
}

#[derive(Clone, Debug)]
struct LendingReader {
    listed: &'static Listed,
    asked: Vec<Question>,
}

impl LendingReader {
    fn impossible(&self, what: &'static str) -> DecodeError {
        impossible(self.listed.pool, what)
    }

    fn reading(&self) -> StableReading {
        let pool = self.listed.pool;
        let rates = self.listed.coins.iter().map(|_| WAD).collect();
        StableReading { pool, rates, rules: known::rules(pool), fee_moves: self.listed.lender == Lender::Aave }
    }

    /// Everything but what the pool itself is asked.
    fn questions(&self) -> Vec<Question> {
        let Listed { pool, lender, coins } = *self.listed;
        let mut asked =
            vec![ask(MULTICALL3, &getCurrentBlockTimestampCall {}), ask(MULTICALL3, &getBlockNumberCall {})];
        if lender == Lender::Aave {
            asked.push(ask(listed::AAVE, &pausedCall {}));
        }
        for (k, (coin, token)) in coins.iter().enumerate() {
            asked.push(ask(*coin, &decimalsCall {}));
            asked.push(ask(*coin, &balanceOfCall { owner: token.unwrap_or(pool) }));
            let Some(token) = *token else { continue };
            match lender {
                Lender::Aave => asked.extend([
                    ask(listed::AAVE, &getReserveDataCall { asset: *coin }),
                    ask(token, &scaledBalanceOfCall { owner: pool }),
                    ask(pool, &admin_balancesCall { coin: U256::from(k) }),
                ]),
                Lender::Compound => asked.extend([
                    ask(listed::COMPOUND, &mintGuardianPausedCall { market: token }),
                    ask(token, &exchangeRateStoredCall {}),
                    ask(token, &supplyRatePerBlockCall {}),
                    ask(token, &accrualBlockNumberCall {}),
                    ask(token, &getCashCall {}),
                    ask(token, &totalBorrowsCall {}),
                    ask(token, &totalReservesCall {}),
                    ask(token, &reserveFactorMantissaCall {}),
                    ask(token, &borrowRatePerBlockCall {}),
                    ask(token, &totalSupplyCall {}),
                ]),
            }
        }
        asked
    }

    fn state(&self, answers: &mut Answers<'_>, of_pool: &[Option<Bytes>]) -> Result<State, DecodeError> {
        let Listed { pool: address, lender, coins } = *self.listed;
        let mut pool = self.reading().state(of_pool)?;
        let timestamp = narrow(address, answers.next::<getCurrentBlockTimestampCall>()?, "a time beyond 64 bits")?;
        let number = narrow(address, answers.next::<getBlockNumberCall>()?, "a block beyond 64 bits")?;
        let open = lender != Lender::Aave || !answers.next::<pausedCall>()?;
        let mut markets = ArrayVec::new();
        for ((_, token), rate) in coins.iter().zip(&mut pool.rates.0) {
            let exponent = 18_u8.checked_sub(answers.next::<decimalsCall>()?);
            let exponent = exponent.ok_or_else(|| self.impossible("a coin with more than 18 decimals"))?;
            let precision = U256::from(10).pow(U256::from(exponent));
            *rate = Rate::Fixed(precision * WAD);
            let cash = answers.next::<balanceOfCall>()?;
            let unlent = Market { precision, growth: None, cash, takes: true, pays: true };
            markets.push(match (lender, token) {
                (_, None) => unlent,
                (Lender::Aave, Some(token)) => self.reserve(answers, *token, unlent, open)?,
                (Lender::Compound, Some(_)) => {
                    let (market, worth) = self.market(answers, unlent)?;
                    *rate = Rate::Compound(Box::new(worth));
                    market
                }
            });
        }
        let state = State { pool, lender, lender_address: lender.address(), markets };
        let state = state.without_what_follows(&ExecutionBlock { number, timestamp });
        state.ok_or_else(|| self.impossible("balances that do not follow from its lender's numbers"))
    }

    /// A coin at Aave.
    fn reserve(
        &self,
        answers: &mut Answers<'_>,
        token: Address,
        unlent: Market,
        open: bool,
    ) -> Result<Market, DecodeError> {
        let reserve = answers.next::<getReserveDataCall>()?;
        if reserve.aToken != token {
            return Err(self.impossible("a coin that its lender keeps under another token"));
        }
        let active = open && reserve.configuration.bit(IS_ACTIVE);
        let growth = Growth {
            scaled_balance: answers.next::<scaledBalanceOfCall>()?,
            owed: answers.next::<admin_balancesCall>()?,
            index: U256::from(reserve.liquidityIndex),
            rate: U256::from(reserve.currentLiquidityRate),
            updated: reserve.lastUpdateTimestamp.to(),
        };
        let takes = active && !reserve.configuration.bit(IS_FROZEN);
        Ok(Market { growth: Some(growth), takes, pays: active, ..unlent })
    }

    /// A coin at Compound, and what a share of it is worth.
    fn market(&self, answers: &mut Answers<'_>, unlent: Market) -> Result<(Market, CompoundRate), DecodeError> {
        let takes = !answers.next::<mintGuardianPausedCall>()?;
        let exchange_rate_stored = answers.next::<exchangeRateStoredCall>()?;
        let supply_rate_per_block = answers.next::<supplyRatePerBlockCall>()?;
        let since = answers.next::<accrualBlockNumberCall>()?;
        let accrual = CompoundAccrual {
            cash: answers.next::<getCashCall>()?,
            borrows: answers.next::<totalBorrowsCall>()?,
            reserves: answers.next::<totalReservesCall>()?,
            reserve_factor: answers.next::<reserveFactorMantissaCall>()?,
            borrow_rate_per_block: answers.next::<borrowRatePerBlockCall>()?,
            shares: answers.next::<totalSupplyCall>()?,
        };
        if accrual.cash != unlent.cash {
            return Err(self.impossible("a market whose cash lies elsewhere, and may grow there"));
        }
        if accrual.borrow_rate_per_block > MOST_BORROW_RATE {
            return Err(self.impossible("a market that does not accrue at so high a rate"));
        }
        let worth = CompoundRate {
            multiplier: unlent.precision,
            exchange_rate_stored,
            supply_rate_per_block,
            accrual_block: narrow(self.listed.pool, since, "a block beyond 64 bits")?,
            accrual: Some(accrual),
        };
        if !worth.follows() {
            return Err(self.impossible("a share's worth that does not follow from its market"));
        }
        Ok((Market { takes, ..unlent }, worth))
    }
}

impl StateReader for LendingReader {
    fn start(&mut self) -> ReadProgress {
        self.asked = self.questions();
        ReadProgress::Calls([calls(&self.asked), self.reading().calls()].concat())
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let own = self.asked.len();
        let expected = own + self.reading().calls().len();
        let Some((of_lender, of_pool)) = answers.split_at_checked(own).filter(|_| answers.len() == expected) else {
            return Err(DecodeError::AnswerCount { expected, got: answers.len() });
        };
        let asked = self.asked.clone();
        let state = self.state(&mut Answers::new(self.listed.pool, &asked, of_lender)?, of_pool)?;
        let model = Model::Lending(state);
        let state = PoolOfCurve { model, ether_coin: None, base_pool: None, has_oracle: false, steth: None };
        state.validate().map_err(|what| self.impossible(what))?;
        Ok(ReadProgress::Done(PoolState::Curve(state.into())))
    }
}
