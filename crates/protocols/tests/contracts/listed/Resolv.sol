// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for Resolv's stUSR, without transfers
contract StandInStUsr {
    using Math for uint256;

    IERC20 private immutable usr;
    uint256 public totalShares;
    mapping(address => uint256) public sharesOf;

    constructor(address usr_) {
        usr = IERC20(usr_);
    }

    function deposit(uint256 amount) external {
        uint256 shares = previewDeposit(amount);
        require(shares != 0, "no shares");
        totalShares += shares;
        sharesOf[msg.sender] += shares;
        usr.transferFrom(msg.sender, address(this), amount);
    }

    function withdraw(uint256 amount, address receiver) external {
        uint256 shares = amount.mulDiv(totalShares + 1000, usr.balanceOf(address(this)) + 1, Math.Rounding.Ceil);
        sharesOf[msg.sender] -= shares;
        totalShares -= shares;
        usr.transfer(receiver, amount);
    }

    function previewDeposit(uint256 amount) public view returns (uint256) {
        return amount.mulDiv(totalShares + 1000, usr.balanceOf(address(this)) + 1);
    }

    function worth(uint256 shares) external view returns (uint256) {
        return shares.mulDiv(usr.balanceOf(address(this)) + 1, totalShares + 1000);
    }
}

/// @title Stand-in for Resolv's wstUSR
contract StandInWstUsr is OzErc20 {
    IERC20 public immutable asset;
    address public immutable stUSRAddress;

    constructor(address usr, address staked) OzErc20("", "") {
        (asset, stUSRAddress) = (IERC20(usr), staked);
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = previewDeposit(assets);
        asset.transferFrom(msg.sender, address(this), assets);
        StandInStUsr(stUSRAddress).deposit(assets);
        _mint(receiver, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        require(shares <= balanceOf(owner), "too much");
        assets = previewRedeem(shares);
        StandInStUsr(stUSRAddress).withdraw(assets, receiver);
        _burn(owner, shares);
    }

    function totalAssets() external view returns (uint256) {
        return previewRedeem(totalSupply());
    }

    function maxDeposit(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function previewDeposit(uint256 assets) public view returns (uint256) {
        return StandInStUsr(stUSRAddress).previewDeposit(assets) / 1000;
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        return StandInStUsr(stUSRAddress).worth(shares * 1000);
    }
}
