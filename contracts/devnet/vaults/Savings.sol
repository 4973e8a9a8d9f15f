// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StandardToken} from "../Token.sol";
import {Compounding} from "./Compounding.sol";

interface IAsset {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
    function balanceOf(address owner) external view returns (uint256);
}

/// @title Stand-in for MakerDAO's pot on the local chain
/// @notice A rate that compounds every second. `chi` and `dsr` in ray, `rho` in unix seconds, as deployed.
contract StandInPot {
    uint256 public dsr;
    uint256 public chi;
    uint256 public rho;
    address private immutable maker;

    constructor(address maker_, uint256 chi_, uint256 dsr_) {
        (maker, chi, dsr, rho) = (maker_, chi_, dsr_, block.timestamp);
    }

    function drip() external returns (uint256) {
        chi = now_();
        rho = block.timestamp;
        return chi;
    }

    function setRate(uint256 dsr_) external {
        require(msg.sender == maker && rho == block.timestamp, "drip first");
        dsr = dsr_;
    }

    /// @return the rate at this block's time, without writing it
    function now_() public view returns (uint256) {
        return Compounding.grown(chi, dsr, block.timestamp - rho);
    }
}

/// @title Stand-in for sDAI on the local chain
/// @notice Shares of DAI at the pot's rate. It pays out of what the world's builder put here, where the deployed one exits the pot.
contract StandInSavingsDai is StandardToken {
    IAsset private immutable dai;
    StandInPot private immutable pot;

    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares
    );

    constructor(address dai_, address pot_, address holder, uint256 supply)
        StandardToken("Savings Dai (stand-in)", "sDAI", 18, holder, supply)
    {
        (dai, pot) = (IAsset(dai_), StandInPot(pot_));
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = assets * 1e27 / _chi();
        require(dai.transferFrom(msg.sender, address(this), assets));
        balanceOf[receiver] += shares;
        totalSupply += shares;
        emit Transfer(address(0), receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        if (owner != msg.sender) _spend(owner, msg.sender, shares);
        assets = shares * _chi() / 1e27;
        balanceOf[owner] -= shares;
        totalSupply -= shares;
        emit Transfer(owner, address(0), shares);
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
        require(dai.transfer(receiver, assets));
    }

    function asset() external view returns (address) {
        return address(dai);
    }

    function totalAssets() external view returns (uint256) {
        return totalSupply * pot.now_() / 1e27;
    }

    function maxDeposit(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function previewDeposit(uint256 assets) external view returns (uint256) {
        return assets * 1e27 / pot.now_();
    }

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return shares * pot.now_() / 1e27;
    }

    function previewRedeem(uint256 shares) external view returns (uint256) {
        return shares * pot.now_() / 1e27;
    }

    function previewMint(uint256 shares) external view returns (uint256) {
        return _divideUp(shares * pot.now_(), 1e27);
    }

    function previewWithdraw(uint256 assets) external view returns (uint256) {
        return _divideUp(assets * 1e27, pot.now_());
    }

    function _divideUp(uint256 a, uint256 b) private pure returns (uint256) {
        return a == 0 ? 0 : (a - 1) / b + 1;
    }

    function _chi() private returns (uint256) {
        return block.timestamp > pot.rho() ? pot.drip() : pot.chi();
    }
}

abstract contract Gap {
    uint256[4] private gap;
}

/// @title Stand-in for Ethena's sUSDe on the local chain
/// @notice Shares of USDe, less a reward that vests in eight hours. Holders have to wait: with a cooldown nobody redeems. Balances lie at the
/// deployed contract's slot.
contract StandInStakedUsde is Gap, StandardToken {
    uint256 private constant VESTING_PERIOD = 8 hours;
    IAsset private immutable usde;
    address private immutable maker;
    uint24 public cooldownDuration = 7 days;
    uint256 public vestingAmount;
    uint256 public lastDistributionTimestamp;

    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares
    );

    constructor(address usde_, address holder, uint256 supply)
        StandardToken("Staked USDe (stand-in)", "sUSDe", 18, holder, supply)
    {
        (usde, maker) = (IAsset(usde_), holder);
    }

    function transferInRewards(uint256 amount) external {
        require(msg.sender == maker);
        (vestingAmount, lastDistributionTimestamp) = (amount, block.timestamp);
        require(usde.transferFrom(msg.sender, address(this), amount));
    }

    function setCooldownDuration(uint24 duration) external {
        require(msg.sender == maker);
        cooldownDuration = duration;
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = previewDeposit(assets);
        require(shares > 0);
        require(usde.transferFrom(msg.sender, address(this), assets));
        balanceOf[receiver] += shares;
        totalSupply += shares;
        emit Transfer(address(0), receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        require(cooldownDuration == 0, "OperationNotAllowed");
        if (owner != msg.sender) _spend(owner, msg.sender, shares);
        assets = previewRedeem(shares);
        balanceOf[owner] -= shares;
        totalSupply -= shares;
        emit Transfer(owner, address(0), shares);
        require(usde.transfer(receiver, assets));
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }

    function asset() external view returns (address) {
        return address(usde);
    }

    function maxDeposit(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function totalAssets() public view returns (uint256) {
        uint256 passed = block.timestamp - lastDistributionTimestamp;
        uint256 left = passed >= VESTING_PERIOD ? 0 : (VESTING_PERIOD - passed) * vestingAmount / VESTING_PERIOD;
        return usde.balanceOf(address(this)) - left;
    }

    function previewDeposit(uint256 assets) public view returns (uint256) {
        return assets * (totalSupply + 1) / (totalAssets() + 1);
    }

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return previewRedeem(shares);
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        return shares * (totalAssets() + 1) / (totalSupply + 1);
    }
}
