// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626 as OzVault, IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for Falcon's sUSDf
contract StandInStakedUsdf is OzVault {
    uint256 public vestingAmount;
    uint40 public lastDistributionTimestamp;
    uint32 public vestingPeriod;
    uint24 public cooldownDuration = 3 days;

    constructor(address usdf, uint32 period) OzErc20("", "") OzVault(IERC20(usdf)) {
        vestingPeriod = period;
    }

    function setCooldownDuration(uint24 duration) external {
        cooldownDuration = duration;
    }

    function transferInRewards(uint256 amount) external {
        (vestingAmount, lastDistributionTimestamp) = (amount, uint40(block.timestamp));
        IERC20(asset()).transferFrom(msg.sender, address(this), amount);
    }

    function totalAssets() public view override returns (uint256) {
        uint256 passed = block.timestamp - lastDistributionTimestamp;
        uint256 locked = passed < vestingPeriod ? vestingAmount * (vestingPeriod - passed) / vestingPeriod : 0;
        return super.totalAssets() - locked;
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        super._deposit(caller, receiver, assets, shares);
        _leaves(assets, shares);
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares) internal override {
        require(cooldownDuration == 0, "cooldown");
        super._withdraw(caller, receiver, owner, assets, shares);
        _leaves(assets, shares);
    }

    function _leaves(uint256 assets, uint256 shares) private view {
        require(assets != 0 && shares != 0 && (totalSupply() == 0 || totalSupply() >= 1e18), "too few");
    }
}
