// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20Upgradeable} from "@openzeppelin/contracts-upgradeable/token/ERC20/ERC20Upgradeable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for Resolv's stUSR, behind a proxy and without transfers
contract StandInStUsr {
    using Math for uint256;

    uint256 public totalShares;
    mapping(address => uint256) public sharesOf;
    IERC20 private usr;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event TransferShares(address indexed from, address indexed to, uint256 shares);
    event Deposit(address indexed sender, address indexed receiver, uint256 usr, uint256 shares);
    event Withdraw(address indexed sender, address indexed receiver, uint256 usr, uint256 shares);

    function initialize(address usr_) external {
        require(address(usr) == address(0), "once");
        usr = IERC20(usr_);
    }

    function deposit(uint256 amount) external {
        uint256 shares = previewDeposit(amount);
        require(shares != 0, "no shares");
        _moved(address(0), msg.sender, shares);
        totalShares += shares;
        sharesOf[msg.sender] += shares;
        usr.transferFrom(msg.sender, address(this), amount);
        emit Deposit(msg.sender, msg.sender, amount, shares);
    }

    function withdraw(uint256 amount, address receiver) external {
        uint256 shares = amount.mulDiv(totalShares + 1000, totalSupply() + 1, Math.Rounding.Ceil);
        _moved(msg.sender, address(0), shares);
        sharesOf[msg.sender] -= shares;
        totalShares -= shares;
        usr.transfer(receiver, amount);
        emit Withdraw(msg.sender, receiver, amount, shares);
    }

    function totalSupply() public view returns (uint256) {
        return usr.balanceOf(address(this));
    }

    function previewDeposit(uint256 amount) public view returns (uint256) {
        return amount.mulDiv(totalShares + 1000, totalSupply() + 1);
    }

    function convertToUnderlyingToken(uint256 shares) public view returns (uint256) {
        return shares.mulDiv(totalSupply() + 1, totalShares + 1000);
    }

    /// @dev What is logged is worth what shares were before.
    function _moved(address from, address to, uint256 shares) private {
        emit Transfer(from, to, convertToUnderlyingToken(shares));
        emit TransferShares(from, to, shares);
    }
}

/// @title Stand-in for Resolv's wstUSR, behind a proxy
contract StandInWstUsr is ERC20Upgradeable {
    address public stUSRAddress;
    IERC20 public asset;

    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);

    function initialize(address usr, address staked) external initializer {
        __ERC20_init("Wrapped stUSR (stand-in)", "wstUSR");
        (asset, stUSRAddress) = (IERC20(usr), staked);
        asset.approve(staked, type(uint256).max);
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = previewDeposit(assets);
        asset.transferFrom(msg.sender, address(this), assets);
        StandInStUsr(stUSRAddress).deposit(assets);
        _mint(receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        require(shares <= balanceOf(owner), "too much");
        assets = previewRedeem(shares);
        if (owner != msg.sender) _spendAllowance(owner, msg.sender, shares);
        StandInStUsr(stUSRAddress).withdraw(assets, receiver);
        _burn(owner, shares);
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }

    function totalAssets() external view returns (uint256) {
        return convertToAssets(totalSupply());
    }

    function maxDeposit(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function convertToAssets(uint256 shares) public view returns (uint256) {
        return StandInStUsr(stUSRAddress).convertToUnderlyingToken(shares * 1000);
    }

    function previewDeposit(uint256 assets) public view returns (uint256) {
        return StandInStUsr(stUSRAddress).previewDeposit(assets) / 1000;
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        StandInStUsr staked = StandInStUsr(stUSRAddress);
        return Math.mulDiv(shares * 1000, staked.totalSupply() + 1, staked.totalShares() + 1000);
    }
}
