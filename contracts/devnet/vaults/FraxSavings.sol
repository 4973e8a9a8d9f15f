// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC4626 as SolmateVault} from "@solmate/mixins/ERC4626.sol";
import {ERC20 as SolmateErc20} from "@solmate/tokens/ERC20.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for Frax's sFRAX
/// @notice A cycle may be longer than the deployed one's week. The timelock's settings are left out.
contract StandInStakedFrax is SolmateVault {
    struct Cycle {
        uint40 cycleEnd;
        uint40 lastSync;
        uint216 rewardCycleAmount;
    }

    uint256 private immutable length;
    Cycle public rewardsCycleData;
    uint256 public lastRewardsDistribution;
    uint256 public storedTotalAssets;
    uint256 public maxDistributionPerSecondPerAsset;

    event SyncRewards(uint40 cycleEnd, uint40 lastSync, uint216 rewardCycleAmount);
    event DistributeRewards(uint256 rewards);

    constructor(address frax, uint256 length_, uint256 most)
        SolmateVault(SolmateErc20(frax), "Staked FRAX (stand-in)", "sFRAX")
    {
        (length, maxDistributionPerSecondPerAsset) = (length_, most);
        visit();
    }

    function visit() public {
        uint256 came = _came();
        if (came != 0) storedTotalAssets += came;
        lastRewardsDistribution = block.timestamp;
        emit DistributeRewards(came);
        if (block.timestamp <= rewardsCycleData.cycleEnd) return;
        uint256 end = (block.timestamp / length + 1) * length;
        if (end - block.timestamp < length / 20) end += length;
        uint256 fresh = asset.balanceOf(address(this)) - storedTotalAssets;
        rewardsCycleData = Cycle(uint40(end), uint40(block.timestamp), uint216(fresh));
        emit SyncRewards(uint40(end), uint40(block.timestamp), uint216(fresh));
    }

    function totalAssets() public view override returns (uint256) {
        return storedTotalAssets + _came();
    }

    function deposit(uint256 assets, address receiver) public override returns (uint256) {
        visit();
        return super.deposit(assets, receiver);
    }

    function redeem(uint256 shares, address receiver, address owner) public override returns (uint256) {
        visit();
        return super.redeem(shares, receiver, owner);
    }

    function afterDeposit(uint256 assets, uint256) internal override {
        storedTotalAssets += assets;
    }

    function beforeWithdraw(uint256 assets, uint256) internal override {
        storedTotalAssets -= assets;
    }

    function _came() private view returns (uint256) {
        Cycle memory cycle = rewardsCycleData;
        if (cycle.cycleEnd == 0) return 0;
        uint256 passed = (block.timestamp > cycle.cycleEnd ? cycle.cycleEnd : block.timestamp) - lastRewardsDistribution;
        uint256 spread = cycle.rewardCycleAmount * passed / (cycle.cycleEnd - cycle.lastSync);
        uint256 most = maxDistributionPerSecondPerAsset * passed * storedTotalAssets / 1e18;
        return spread < most ? spread : most;
    }
}

/// @title Stand-in for Frax's sfrxETH
/// @notice A cycle may be longer than the deployed one's week.
contract StandInSfrxEth is SolmateVault {
    uint32 private immutable length;
    uint32 public lastSync;
    uint32 public rewardsCycleEnd;
    uint192 public lastRewardAmount;
    uint256 private stored;

    event NewRewardsCycle(uint32 indexed cycleEnd, uint256 rewardAmount);

    constructor(address frxEth, uint32 length_)
        SolmateVault(SolmateErc20(frxEth), "Staked Frax Ether (stand-in)", "sfrxETH")
    {
        (length, rewardsCycleEnd) = (length_, uint32(block.timestamp / length_ * length_));
    }

    /// @notice What came since the last cycle began is the next one's reward.
    function syncRewards() public {
        require(block.timestamp >= rewardsCycleEnd, "not yet");
        (uint256 all, uint256 reward) = (stored, lastRewardAmount);
        uint256 next = asset.balanceOf(address(this)) - all - reward;
        stored = all + reward;
        (lastRewardAmount, lastSync) = (uint192(next), uint32(block.timestamp));
        rewardsCycleEnd = uint32((block.timestamp + length) / length * length);
        emit NewRewardsCycle(rewardsCycleEnd, next);
    }

    function totalAssets() public view override returns (uint256) {
        (uint256 all, uint256 reward, uint256 since, uint256 end) = (stored, lastRewardAmount, lastSync, rewardsCycleEnd);
        if (block.timestamp >= end) return all + reward;
        return all + reward * (block.timestamp - since) / (end - since);
    }

    function deposit(uint256 assets, address receiver) public override returns (uint256) {
        if (block.timestamp >= rewardsCycleEnd) syncRewards();
        return super.deposit(assets, receiver);
    }

    function afterDeposit(uint256 assets, uint256) internal override {
        stored += assets;
    }

    function beforeWithdraw(uint256 assets, uint256) internal override {
        stored -= assets;
    }
}
