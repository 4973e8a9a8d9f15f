// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626, IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @title OpenZeppelin's vault as it comes
/// @notice Nothing but the name is ours: the arithmetic, the tokens and the events are OpenZeppelin's own code.
contract OpenZeppelinVault is ERC4626 {
    constructor(address asset_, string memory name_, string memory symbol_) ERC20(name_, symbol_) ERC4626(IERC20(asset_)) {}
}
