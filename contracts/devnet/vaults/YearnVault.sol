// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for a vault of Yearn's release 3.0.4, behind a proxy, whose one strategy is who asks
/// @notice The words that the deployed one reads and writes, in Solidity, which costs something else than Vyper. Anybody may set what the deployed
/// one asks for roles for.
contract StandInYearnVault is OzErc20 {
    IERC20 public asset;
    string public constant apiVersion = "3.0.4";
    uint256 private entered;
    bool private shutdown;
    bool public auto_allocate;
    address public deposit_limit_module;
    address public withdraw_limit_module;
    uint256 public depositLimit;
    uint256 public totalIdle;
    uint256 public totalDebt;
    uint256 public profitUnlockingRate;
    uint256 public lastProfitUpdate;
    uint256 public fullProfitUnlockDate;

    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);

    modifier once() {
        require(entered == 3, "again");
        entered = 2;
        _;
        entered = 3;
    }

    constructor() OzErc20("", "") {}

    function initialize(address asset_) external {
        require(entered == 0, "once");
        (asset, depositLimit, entered) = (IERC20(asset_), type(uint256).max, 3);
    }

    function name() public pure override returns (string memory) {
        return "Savings USG (stand-in)";
    }

    function symbol() public pure override returns (string memory) {
        return "sUSG";
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

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return previewRedeem(shares);
    }

    function deposit(uint256 assets, address receiver) external once returns (uint256 shares) {
        require(!shutdown && deposit_limit_module == address(0), "closed");
        shares = previewDeposit(assets);
        require(assets <= maxDeposit(receiver) && assets > 0 && shares > 0, "limit");
        asset.transferFrom(msg.sender, address(this), assets);
        totalIdle += assets;
        _mint(receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
        require(!auto_allocate, "nowhere to allocate to");
    }

    function redeem(uint256 shares, address receiver, address owner) external once returns (uint256 assets) {
        require(withdraw_limit_module == address(0), "closed");
        assets = previewRedeem(shares);
        require(shares > 0 && assets > 0, "nothing");
        if (owner != msg.sender) _spendAllowance(owner, msg.sender, shares);
        uint256 idle = totalIdle;
        if (assets > idle) {
            // the strategy gives back what is missing
            uint256 missing = assets - idle;
            asset.transferFrom(tx.origin, address(this), missing);
            (idle, totalDebt) = (assets, totalDebt - missing);
        }
        _burn(owner, shares);
        totalIdle = idle - assets;
        asset.transfer(receiver, assets);
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }
}
