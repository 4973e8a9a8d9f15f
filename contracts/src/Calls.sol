// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IExecutionProxy} from "./IExecutionProxy.sol";

/// @title Calls to pools
/// @notice Calls contracts that are not trusted. Their answer never costs more memory than is asked for.
library Calls {
    /// Limits how much of a revert's data is passed on, in bytes.
    uint256 private constant REASON_LIMIT = 512;

    /// Calls a pool and reads the first two words of its answer.
    /// Reverts with `PoolCallFailed` if the pool reverts or has no code, `InvalidPoolAnswer` if fewer than `words` came back.
    function pool(uint256 step, address target, uint256 valueWei, bytes memory data, uint256 words)
        internal
        returns (uint256 first, uint256 second)
    {
        bool ok;
        uint256 answered;
        assembly ("memory-safe") {
            ok := call(gas(), target, valueWei, add(data, 0x20), mload(data), 0x00, 0x40)
            first := mload(0x00)
            second := mload(0x20)
            answered := returndatasize()
        }
        if (!ok || (answered == 0 && target.code.length == 0)) {
            revert IExecutionProxy.PoolCallFailed(step, target, reason());
        }
        if (answered < words * 32) revert IExecutionProxy.InvalidPoolAnswer(step, target);
    }

    /// Calls a pool with one argument or two (`size` of the call data is 0x24 or 0x44) and reads the first word of its answer; errors as
    /// above. Encodes in one place what would be written out at each call.
    function poolWord(
        uint256 step,
        address target,
        uint256 valueWei,
        bytes4 selector,
        uint256 a,
        uint256 b,
        uint256 size
    ) internal returns (uint256 first) {
        bytes memory data = abi.encodeWithSelector(selector, a, b);
        assembly ("memory-safe") {
            mstore(data, size)
        }
        (first,) = pool(step, target, valueWei, data, 1);
    }

    /// Returns a later word of the answer to the call just made.
    function answerWord(uint256 step, address target, uint256 index) internal pure returns (uint256 value) {
        uint256 size;
        assembly ("memory-safe") {
            size := returndatasize()
        }
        if (size < (index + 1) * 32) revert IExecutionProxy.InvalidPoolAnswer(step, target);
        assembly ("memory-safe") {
            returndatacopy(0x00, mul(index, 0x20), 0x20)
            value := mload(0x00)
        }
    }

    /// Reads the first two words that a view of a pool answers to a selector and one word; errors as `pool`.
    function view_(uint256 step, address target, bytes4 selector, uint256 argument, uint256 words)
        internal
        view
        returns (uint256 first, uint256 second)
    {
        bool ok;
        uint256 answered;
        assembly ("memory-safe") {
            mstore(0x00, selector)
            mstore(0x04, argument)
            ok := staticcall(gas(), target, 0x00, 0x24, 0x00, 0x40)
            first := mload(0x00)
            second := mload(0x20)
            answered := returndatasize()
        }
        if (!ok) revert IExecutionProxy.PoolCallFailed(step, target, reason());
        if (answered < words * 32) revert IExecutionProxy.InvalidPoolAnswer(step, target);
    }

    /// Returns the data of the last call's answer, cut at the limit.
    function reason() internal pure returns (bytes memory data) {
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, REASON_LIMIT) { size := REASON_LIMIT }
            data := mload(0x40)
            mstore(data, size)
            returndatacopy(add(data, 0x20), 0, size)
            mstore(0x40, add(data, and(add(size, 0x3f), not(0x1f))))
        }
    }
}
