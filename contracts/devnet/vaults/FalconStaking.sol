// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC4626Upgradeable, IERC20} from "@openzeppelin/contracts-upgradeable/token/ERC20/extensions/ERC4626Upgradeable.sol";

/// @title Stand-in for Falcon's sUSDf, behind a proxy
/// @notice A second writing of the rules, over the library that the deployed one uses. Anybody may set what the deployed one asks for roles for;
/// waiting for a cooldown's end is left out.
contract StandInStakedUsdf is ERC4626Upgradeable {
    uint256 public vestingAmount;
    uint40 public lastDistributionTimestamp;
    uint32 public vestingPeriod;
    uint24 public cooldownDuration;

    mapping(address => bool) private restricted;

    event RewardsReceived(uint256 amount);

    function initialize(address usdf, uint32 period) external initializer {
        __ERC20_init("Staked USDf (stand-in)", "sUSDf");
        __ERC4626_init(IERC20(usdf));
        (vestingPeriod, cooldownDuration) = (period, 3 days);
    }

    function setCooldownDuration(uint24 duration) external {
        cooldownDuration = duration;
    }

    function transferInRewards(uint256 amount) external {
        (vestingAmount, lastDistributionTimestamp) = (amount, uint40(block.timestamp));
        IERC20(asset()).transferFrom(msg.sender, address(this), amount);
        emit RewardsReceived(amount);
    }

    function totalAssets() public view override returns (uint256) {
        uint256 passed = block.timestamp - lastDistributionTimestamp;
        uint256 locked = passed < vestingPeriod ? vestingAmount * (vestingPeriod - passed) / vestingPeriod : 0;
        return super.totalAssets() - locked;
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        require(assets != 0 && shares != 0 && !restricted[caller] && !restricted[receiver], "not so");
        super._deposit(caller, receiver, assets, shares);
        _leaves();
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares) internal override {
        require(cooldownDuration == 0, "cooldown");
        require(assets != 0 && shares != 0 && !restricted[caller], "not so");
        require(!restricted[receiver] && !restricted[owner], "restricted");
        super._withdraw(caller, receiver, owner, assets, shares);
        _leaves();
    }

    function _leaves() private view {
        require(totalSupply() == 0 || totalSupply() >= 1e18, "too few");
    }
}
