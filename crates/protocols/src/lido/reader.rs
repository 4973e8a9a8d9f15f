//! Reads Lido in one round. The rate is that of the internal shares, as in `getSharesByPooledEth`. Before vaults could
//! mint external shares, all shares were internal.

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;

use super::{STETH, StakeLimit, State, WSTETH};
use crate::reading::{Reading, Stop};

sol! {
    function getExternalEther() external view returns (uint256);
    function getExternalShares() external view returns (uint256);
    function getPooledEthByShares(uint256 shares) external view returns (uint256);
    function getSharesByPooledEth(uint256 ether_) external view returns (uint256);
    function getStakeLimitFullInfo() external view returns (bool isStakingPaused, bool isStakingLimitSet, uint256 currentStakeLimit, uint256 maxStakeLimit, uint256 maxStakeLimitGrowthBlocks, uint256 prevStakeLimit, uint256 prevStakeBlockNumber);
    function stETH() external view returns (address);
}

/// Amount large enough to reveal the rate's last digit, and below 2^128.
const PROBE: U256 = U256::from_limbs([0x1234_5678_9abc_def1, 0x0fed_cba9_8765_4321, 0, 0]);

/// Reads the state of either pool.
pub(super) fn read(pool: Address, reading: &mut Reading) -> Result<State, Stop> {
    let totals = reading.words(STETH, ["getTotalPooledEther()", "getTotalShares()", "isStopped()"]);
    let by_shares = reading.ask(STETH, &getPooledEthBySharesCall { shares: PROBE });
    let by_ether = reading.ask(STETH, &getSharesByPooledEthCall { ether_: PROBE });
    let limit = reading.ask(STETH, &getStakeLimitFullInfoCall {});
    let wraps = if pool == WSTETH { reading.ask(WSTETH, &stETHCall {}) } else { Ok(STETH) };
    // older versions of the contract lack these functions
    let external = reading.try_ask(STETH, &getExternalEtherCall {});
    let external_shares = reading.try_ask(STETH, &getExternalSharesCall {})?.unwrap_or_default();
    let (external_ether, [ether, shares, stopped]) = (external?.unwrap_or_default(), totals?);
    let short = || reading.impossible("more external shares than shares");
    let state = State {
        total_pooled_ether_wei: ether.checked_sub(external_ether).ok_or_else(short)?,
        total_shares: shares.checked_sub(external_shares).ok_or_else(short)?,
        stake_limit: stake_limit(&limit?, reading)?,
        stopped: !stopped.is_zero(),
    };
    if state.pooled_ether_of(PROBE) != Ok(by_shares?) || state.shares_of(PROBE) != Ok(by_ether?) {
        return Err(reading.impossible("a rate that does not follow from its totals"));
    }
    if wraps? != STETH {
        return Err(reading.impossible("a wrapper of another token"));
    }
    Ok(state)
}

fn stake_limit(info: &getStakeLimitFullInfoReturn, reading: &Reading) -> Result<StakeLimit, Stop> {
    if info.isStakingPaused {
        return Ok(StakeLimit::Paused);
    }
    if !info.isStakingLimitSet {
        return Ok(StakeLimit::Unlimited);
    }
    let growth = info.maxStakeLimit.checked_div(info.maxStakeLimitGrowthBlocks).unwrap_or_default();
    Ok(StakeLimit::Limited {
        previous_wei: info.prevStakeLimit,
        previous_block: reading.narrow(info.prevStakeBlockNumber)?,
        growth_per_block_wei: growth,
        max_wei: info.maxStakeLimit,
    })
}
