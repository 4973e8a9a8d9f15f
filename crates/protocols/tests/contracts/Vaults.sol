// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626 as OzVault, IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {ERC4626 as SolmateVault} from "@solmate/mixins/ERC4626.sol";
import {ERC20 as SolmateErc20} from "@solmate/tokens/ERC20.sol";
import {ERC4626 as SoladyVault} from "solady/src/tokens/ERC4626.sol";

/// @title An asset of the differential tests: balances at slot 0, no allowances
contract Asset {
    mapping(address => uint256) public balanceOf;
    uint8 public constant decimals = 18;

    function approve(address, uint256) external pure returns (bool) {
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return transferFrom(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public returns (bool) {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        return true;
    }
}

/// @title The same, of any decimals
contract AssetOf {
    mapping(address => uint256) public balanceOf;
    uint256 public immutable decimals;

    constructor(uint256 decimals_) {
        decimals = decimals_;
    }

    function approve(address, uint256) external pure returns (bool) {
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return transferFrom(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public returns (bool) {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        return true;
    }
}

/// @title OpenZeppelin's vault, with an offset
contract OzVaultWithOffset is OzVault {
    uint8 private immutable offset;

    constructor(address asset_, uint8 offset_) OzErc20("", "") OzVault(IERC20(asset_)) {
        offset = offset_;
    }

    function _decimalsOffset() internal view override returns (uint8) {
        return offset;
    }
}

/// @title solady's vault, with an offset
contract SoladyVaultWithOffset is SoladyVault {
    address private immutable held;
    uint8 private immutable offset;

    constructor(address asset_, uint8 offset_) {
        (held, offset) = (asset_, offset_);
    }

    function name() public pure override returns (string memory) {
        return "";
    }

    function symbol() public pure override returns (string memory) {
        return "";
    }

    function asset() public view override returns (address) {
        return held;
    }

    function _decimalsOffset() internal view override returns (uint8) {
        return offset;
    }
}

/// @title solmate's vault of what lies in it
contract RariVault is SolmateVault {
    constructor(address asset_) SolmateVault(SolmateErc20(asset_), "", "") {}

    function totalAssets() public view override returns (uint256) {
        return asset.balanceOf(address(this));
    }
}
