// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {ERC4626 as SolmateVault} from "@solmate/mixins/ERC4626.sol";
import {ERC20 as SolmateErc20} from "@solmate/tokens/ERC20.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for Frax's sFRAX
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

    constructor(address frax, uint256 length_, uint256 most) SolmateVault(SolmateErc20(frax), "", "") {
        (length, maxDistributionPerSecondPerAsset) = (length_, most);
        visit();
    }

    function visit() public {
        storedTotalAssets += _came();
        lastRewardsDistribution = block.timestamp;
        if (block.timestamp <= rewardsCycleData.cycleEnd) return;
        uint256 end = (block.timestamp / length + 1) * length;
        if (end - block.timestamp < length / 20) end += length;
        uint256 fresh = asset.balanceOf(address(this)) - storedTotalAssets;
        rewardsCycleData = Cycle(uint40(end), uint40(block.timestamp), uint216(fresh));
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
