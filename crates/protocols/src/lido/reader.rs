//! Reads Lido in one round. The rate is that of the shares that stand for pooled ether ("internal"), as `getSharesByPooledEth`
//! computes; before vaults could mint shares of their own, all were.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::sol;

use super::{STETH, StakeLimit, State, WSTETH};
use crate::{
    DecodeError, PoolState, ReadProgress, StateReader,
    answers::{Answers, Question, ask, calls, impossible, narrow},
};

sol! {
    function getTotalPooledEther() external view returns (uint256);
    function getTotalShares() external view returns (uint256);
    function getExternalEther() external view returns (uint256);
    function getExternalShares() external view returns (uint256);
    function getPooledEthByShares(uint256 shares) external view returns (uint256);
    function getSharesByPooledEth(uint256 ether_) external view returns (uint256);
    function isStopped() external view returns (bool);
    function getStakeLimitFullInfo() external view returns (bool isStakingPaused, bool isStakingLimitSet, uint256 currentStakeLimit, uint256 maxStakeLimit, uint256 maxStakeLimitGrowthBlocks, uint256 prevStakeLimit, uint256 prevStakeBlockNumber);
    function stETH() external view returns (address);
}

/// An amount so large that the rate's last digit shows, and below 2^128.
const PROBE: U256 = U256::from_limbs([0x1234_5678_9abc_def1, 0x0fed_cba9_8765_4321, 0, 0]);

/// Reads either pool.
#[derive(Clone, Debug)]
pub(super) struct LidoReader {
    pool: Address,
    asked: Vec<Question>,
}

impl LidoReader {
    pub(super) const fn new(pool: Address) -> Self {
        Self { pool, asked: Vec::new() }
    }

    fn state(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let pool = self.pool;
        let (ether, shares) = (answers.next::<getTotalPooledEtherCall>()?, answers.next::<getTotalSharesCall>()?);
        // the contract of the years before has no such functions
        let external_ether = answers.try_next::<getExternalEtherCall>().unwrap_or_default();
        let external_shares = answers.try_next::<getExternalSharesCall>().unwrap_or_default();
        let short = || impossible(pool, "more external shares than shares");
        let limit = answers.next::<getStakeLimitFullInfoCall>()?;
        let state = State {
            total_pooled_ether_wei: ether.checked_sub(external_ether).ok_or_else(short)?,
            total_shares: shares.checked_sub(external_shares).ok_or_else(short)?,
            stake_limit: stake_limit(pool, &limit)?,
            stopped: answers.next::<isStoppedCall>()?,
        };
        let by_shares = answers.next::<getPooledEthBySharesCall>()?;
        let by_ether = answers.next::<getSharesByPooledEthCall>()?;
        if state.pooled_ether_of(PROBE) != Ok(by_shares) || state.shares_of(PROBE) != Ok(by_ether) {
            return Err(impossible(pool, "a rate that does not follow from its totals"));
        }
        if pool == WSTETH && answers.next::<stETHCall>()? != STETH {
            return Err(impossible(pool, "a wrapper of another token"));
        }
        Ok(state)
    }
}

fn stake_limit(pool: Address, info: &getStakeLimitFullInfoReturn) -> Result<StakeLimit, DecodeError> {
    if info.isStakingPaused {
        return Ok(StakeLimit::Paused);
    }
    if !info.isStakingLimitSet {
        return Ok(StakeLimit::Unlimited);
    }
    let growth = info.maxStakeLimit.checked_div(info.maxStakeLimitGrowthBlocks).unwrap_or_default();
    Ok(StakeLimit::Limited {
        previous_wei: info.prevStakeLimit,
        previous_block: narrow(pool, info.prevStakeBlockNumber, "a block number beyond 64 bits")?,
        growth_per_block_wei: growth,
        max_wei: info.maxStakeLimit,
    })
}

impl StateReader for LidoReader {
    fn start(&mut self) -> ReadProgress {
        self.asked = vec![
            ask(STETH, &getTotalPooledEtherCall {}),
            ask(STETH, &getTotalSharesCall {}),
            ask(STETH, &getExternalEtherCall {}),
            ask(STETH, &getExternalSharesCall {}),
            ask(STETH, &getStakeLimitFullInfoCall {}),
            ask(STETH, &isStoppedCall {}),
            ask(STETH, &getPooledEthBySharesCall { shares: PROBE }),
            ask(STETH, &getSharesByPooledEthCall { ether_: PROBE }),
        ];
        if self.pool == WSTETH {
            self.asked.push(ask(WSTETH, &stETHCall {}));
        }
        ReadProgress::Calls(calls(&self.asked))
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = Answers::new(self.pool, &asked, answers)?;
        self.state(&mut answers).map(|state| ReadProgress::Done(PoolState::Lido(state)))
    }
}
