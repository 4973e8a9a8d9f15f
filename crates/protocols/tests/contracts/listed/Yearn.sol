// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for a vault of Yearn's release 3.0.4, whose one strategy is the test
contract StandInYearnVault is OzErc20 {
    IERC20 public immutable asset;
    string public constant apiVersion = "3.0.4";
    bool public auto_allocate;
    address public deposit_limit_module;
    address public withdraw_limit_module;
    uint256 public depositLimit = type(uint256).max;
    uint256 public totalIdle;
    uint256 public totalDebt;
    uint256 public profitUnlockingRate;
    uint256 public lastProfitUpdate;
    uint256 public fullProfitUnlockDate;

    constructor(address asset_) OzErc20("", "") {
        asset = IERC20(asset_);
    }

    function set(bool allocates, address deposits, address withdrawals, uint256 limit) external {
        (auto_allocate, deposit_limit_module, withdraw_limit_module, depositLimit) = (allocates, deposits, withdrawals, limit);
    }

    /// @notice Lends what is idle, but for so much.
    function lend(uint256 keep) external {
        uint256 amount = totalIdle > keep ? totalIdle - keep : 0;
        (totalIdle, totalDebt) = (totalIdle - amount, totalDebt + amount);
        asset.transfer(msg.sender, amount);
    }

    /// @notice A profit of the strategy, whose shares go in so many seconds.
    function report(uint256 gain, uint256 time) external {
        uint256 locked = previewDeposit(gain);
        _burn(address(this), unlockedShares());
        totalDebt += gain;
        if (locked != 0) _mint(address(this), locked);
        profitUnlockingRate = super.balanceOf(address(this)) * 1e12 / time;
        (lastProfitUpdate, fullProfitUnlockDate) = (block.timestamp, block.timestamp + time);
    }

    function totalAssets() public view returns (uint256) {
        return totalIdle + totalDebt;
    }

    function totalSupply() public view override returns (uint256) {
        return super.totalSupply() - unlockedShares();
    }

    /// @notice What the vault has of itself is what is still locked.
    function balanceOf(address account) public view override returns (uint256) {
        uint256 balance = super.balanceOf(account);
        return account == address(this) ? balance - unlockedShares() : balance;
    }

    function unlockedShares() public view returns (uint256) {
        if (fullProfitUnlockDate == 0) return 0;
        if (block.timestamp >= fullProfitUnlockDate) return super.balanceOf(address(this));
        return profitUnlockingRate * (block.timestamp - lastProfitUpdate) / 1e12;
    }

    function maxDeposit(address) public view returns (uint256) {
        uint256 all = totalAssets();
        if (depositLimit == type(uint256).max) return depositLimit;
        return all >= depositLimit ? 0 : depositLimit - all;
    }

    function previewDeposit(uint256 assets) public view returns (uint256) {
        uint256 all = totalAssets();
        if (all == 0) return totalSupply() == 0 ? assets : 0;
        return assets * totalSupply() / all;
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        return totalSupply() == 0 ? shares : shares * totalAssets() / totalSupply();
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = previewDeposit(assets);
        require(assets <= maxDeposit(receiver) && assets > 0 && shares > 0, "limit");
        asset.transferFrom(msg.sender, address(this), assets);
        totalIdle += assets;
        _mint(receiver, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        assets = previewRedeem(shares);
        require(shares > 0 && assets > 0, "nothing");
        _burn(owner, shares);
        if (assets > totalIdle) {
            // the strategy gives back what is missing
            uint256 missing = assets - totalIdle;
            asset.transferFrom(tx.origin, address(this), missing);
            (totalIdle, totalDebt) = (assets, totalDebt - missing);
        }
        totalIdle -= assets;
        asset.transfer(receiver, assets);
    }
}
