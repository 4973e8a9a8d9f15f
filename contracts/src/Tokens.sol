// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "./Calls.sol";
import {IExecutionProxy} from "./IExecutionProxy.sol";

/// @title Calls to tokens
/// @notice Moves, approves and reads ERC-20s, and sends ether. A token that returns nothing or true succeeds, any other answer is a
/// failure.
/// @dev `step` is only for the error.
library Tokens {
    bytes4 private constant TRANSFER = 0xa9059cbb;
    bytes4 private constant TRANSFER_FROM = 0x23b872dd;
    bytes4 private constant APPROVE = 0x095ea7b3;
    bytes4 private constant BALANCE_OF = 0x70a08231;
    bytes4 private constant ALLOWANCE = 0xdd62ed3e;

    /// Limits what a receiver of ether that is not trusted may use, in gas units.
    uint256 private constant OFFER_GAS = 30_000;

    /// Moves the proxy's own tokens.
    function transfer(uint256 step, address token, address to, uint256 amount) internal {
        if (!_call(token, TRANSFER, uint160(to), amount, 0, 0x44)) {
            revert IExecutionProxy.TransferFailed(step, token, address(this), to, amount, Calls.reason());
        }
    }

    /// Moves the payer's tokens by the allowance to the proxy.
    function transferFrom(uint256 step, address token, address from, address to, uint256 amount) internal {
        if (!_call(token, TRANSFER_FROM, uint160(from), uint160(to), amount, 0x64)) {
            revert IExecutionProxy.TransferFailed(step, token, from, to, amount, Calls.reason());
        }
    }

    /// Sends ether with all gas.
    function sendEther(uint256 step, address to, uint256 amountWei) internal {
        bool ok;
        assembly ("memory-safe") {
            ok := call(gas(), to, amountWei, 0, 0, 0, 0)
        }
        if (!ok) revert IExecutionProxy.EtherTransferFailed(step, to, amountWei, Calls.reason());
    }

    /// Sends ether with a bounded amount of gas; returns whether it was taken. With less gas at hand than that it reverts, so that whoever
    /// sends the transaction cannot starve the receiver.
    function offerEther(address to, uint256 amountWei) internal returns (bool ok) {
        // of what is left, a call can pass on 63 parts of 64; the rest is the cost of a call with value
        if (gasleft() < OFFER_GAS + OFFER_GAS / 63 + 40_000) revert IExecutionProxy.NotEnoughGas();
        assembly ("memory-safe") {
            ok := call(OFFER_GAS, to, amountWei, 0, 0, 0, 0)
        }
    }

    /// Approves a pool for exactly `amount`. The allowance before is zero, because no step ends with one.
    function allow(uint256 step, address token, address spender, uint256 amount) internal {
        if (!_call(token, APPROVE, uint160(spender), amount, 0, 0x44)) {
            revert IExecutionProxy.ApprovalFailed(step, token, spender, amount, Calls.reason());
        }
    }

    /// Returns what a pool has not taken of its allowance, in atomic units.
    function allowanceLeft(address token, address spender) internal view returns (uint256) {
        return _read(token, ALLOWANCE, uint160(address(this)), uint160(spender), 0x44);
    }

    /// Returns the account's balance, in atomic units.
    function balanceOf(address token, address account) internal view returns (uint256) {
        return _read(token, BALANCE_OF, uint160(account), 0, 0x24);
    }

    function _read(address token, bytes4 selector, uint256 a, uint256 b, uint256 size)
        private
        view
        returns (uint256 value)
    {
        bool ok;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, selector)
            mstore(add(data, 0x04), a)
            mstore(add(data, 0x24), b)
            ok := staticcall(gas(), token, data, size, 0x00, 0x20)
            ok := and(ok, gt(returndatasize(), 0x1f))
            value := mload(0x00)
        }
        if (!ok) revert IExecutionProxy.BalanceUnavailable(token, Calls.reason());
    }

    function _call(address token, bytes4 selector, uint256 a, uint256 b, uint256 c, uint256 size)
        private
        returns (bool ok)
    {
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, selector)
            mstore(add(data, 0x04), a)
            mstore(add(data, 0x24), b)
            mstore(add(data, 0x44), c)
            ok := call(gas(), token, 0, data, size, 0x00, 0x20)
            switch returndatasize()
            case 0 { ok := and(ok, gt(extcodesize(token), 0)) }
            default { ok := and(ok, and(gt(returndatasize(), 0x1f), eq(mload(0x00), 1))) }
        }
    }
}
