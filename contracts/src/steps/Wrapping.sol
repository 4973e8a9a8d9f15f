// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {Calls} from "../Calls.sol";
import {NATIVE, WETH} from "../Constants.sol";
import {Guard} from "../Guard.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Run, Runs} from "../Run.sol";

/// Native ether and WETH, one for one. Operands: none.
abstract contract Wrapping is Guard {
    using Runs for Run;

    bytes4 private constant DEPOSIT = 0xd0e30db0;
    bytes4 private constant WITHDRAW = 0x2e1a7d4d;

    function _wrap(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(NATIVE, WETH);
        run.requireToProxy();
        amountOut = run.amountIn;
        uint256 data;
        assembly ("memory-safe") {
            data := mload(0x40)
            mstore(data, DEPOSIT)
        }
        _callWeth(run.step, amountOut, data, 0x04);
    }

    function _unwrap(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(WETH, NATIVE);
        run.requireToProxy();
        run.bring();
        amountOut = run.amountIn;
        uint256 data;
        assembly ("memory-safe") {
            data := mload(0x40)
            mstore(data, WITHDRAW)
            mstore(add(data, 0x04), amountOut)
        }
        _expectEtherFrom(WETH);
        _callWeth(run.step, 0, data, 0x24);
        _expectNoEther();
    }

    /// WETH answers nothing, and that it has code is known: where it had none, the transfer that pays out of it would fail.
    function _callWeth(uint256 step, uint256 valueWei, uint256 data, uint256 size) private {
        bool ok;
        assembly ("memory-safe") {
            ok := call(gas(), WETH, valueWei, data, size, 0, 0)
        }
        if (!ok) revert IExecutionProxy.PoolCallFailed(step, WETH, Calls.reason());
    }
}
