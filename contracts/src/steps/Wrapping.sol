// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {NATIVE, WETH} from "../Constants.sol";
import {Guard} from "../Guard.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Run, Runs} from "../Run.sol";

/// @title Steps of WETH
/// @notice Wraps native ether as WETH and unwraps it, one for one. Operands: none.
abstract contract Wrapping is Guard {
    using Runs for Run;

    bytes4 private constant DEPOSIT = 0xd0e30db0;
    bytes4 private constant WITHDRAW = 0x2e1a7d4d;

    function _wrap(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(NATIVE, WETH);
        run.requireToProxy();
        amountOut = run.amountIn;
        _deposit(run.step, amountOut);
    }

    /// Wraps the ether of a step whose pool trades only WETH; the step then spends WETH of the proxy.
    /// Returns the token that the pool is paid in.
    function _wrapEther(Run memory run) internal returns (address tokenIn) {
        tokenIn = run.tokenIn;
        if (tokenIn == NATIVE) {
            tokenIn = run.tokenIn = WETH;
            _deposit(run.step, run.amountIn);
        }
    }

    function _unwrap(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(WETH, NATIVE);
        run.requireToProxy();
        run.bring();
        amountOut = run.amountIn;
        _withdraw(run.step, amountOut);
    }

    function _deposit(uint256 step, uint256 amountWei) internal {
        assembly ("memory-safe") {
            mstore(0x00, DEPOSIT)
        }
        _callWeth(step, amountWei, 0x00, 0x04);
    }

    function _withdraw(uint256 step, uint256 amountWei) internal {
        assembly ("memory-safe") {
            mstore(0x00, WITHDRAW)
            mstore(0x04, amountWei)
        }
        _expectEtherFrom(WETH);
        _callWeth(step, 0, 0x00, 0x24);
        _expectNoEther();
    }

    /// Calls WETH, which returns nothing. Does not check that it has code: without code, the transfer that pays out of it would fail.
    function _callWeth(uint256 step, uint256 valueWei, uint256 data, uint256 size) private {
        bool ok;
        assembly ("memory-safe") {
            ok := call(gas(), WETH, valueWei, data, size, 0, 0)
        }
        if (!ok) revert IExecutionProxy.PoolCallFailed(step, WETH, Calls.reason());
    }
}
