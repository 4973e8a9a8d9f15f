// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Order} from "./IExecutionProxy.sol";

/// @title Inputs and outputs of an order
/// @notice Reads an order's lists of inputs and outputs in calldata, by offset. An entry of either is two words: a token, then an amount or
/// a minimum.
/// @dev Does not check where a list ends: beyond the end of calldata everything is zero, and an amount or a minimum of zero reverts.
library Entries {
    uint256 private constant SIZE = 0x40;

    /// Returns where the first input stands, and how many there are.
    function inputs(Order calldata order) internal pure returns (uint256 at, uint256 count) {
        return _list(order, 0x00);
    }

    /// Returns where the first output stands, and how many there are.
    function outputs(Order calldata order) internal pure returns (uint256 at, uint256 count) {
        return _list(order, 0x20);
    }

    function _list(Order calldata order, uint256 place) private pure returns (uint256 at, uint256 count) {
        assembly ("memory-safe") {
            at := add(order, calldataload(add(order, place)))
            count := calldataload(at)
            at := add(at, 0x20)
        }
    }

    /// Returns an entry's token, the lower 20 bytes of its word, and its amount.
    function read(uint256 at) internal pure returns (address token, uint256 amount) {
        assembly ("memory-safe") {
            token := shr(96, shl(96, calldataload(at)))
            amount := calldataload(add(at, 0x20))
        }
    }

    function next(uint256 at) internal pure returns (uint256) {
        unchecked {
            return at + SIZE;
        }
    }
}
