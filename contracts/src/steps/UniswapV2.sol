// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {Calls} from "../Calls.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Run, Runs} from "../Run.sol";
import {Wrapping} from "./Wrapping.sol";

/// Pairs of Uniswap V2 and its forks. Operands: pool:address fee_bps:u16. Ether is wrapped first.
abstract contract UniswapV2 is Wrapping {
    using Runs for Run;

    uint256 private constant WHOLE_BPS = 10_000;
    bytes4 private constant GET_RESERVES = 0x0902f1ac;
    bytes4 private constant SWAP = 0x022c0d9f;

    function _swapV2(Run memory run) internal returns (uint256 amountOut) {
        uint256 operands = Runs.word(run.take(22));
        address pair = address(uint160(operands >> 96));
        uint256 feeBps = uint16(operands >> 80);
        if (feeBps >= WHOLE_BPS) revert IExecutionProxy.InvalidFee(run.step, feeBps, WHOLE_BPS);
        address to = run.receiver();
        bool zeroForOne = _wrapEther(run) < run.tokenOut;

        if (run.source != Runs.IN_POOL) run.pay(pair);
        amountOut = _amountOut(run, pair, zeroForOne, feeBps);
        (uint256 amount0, uint256 amount1) = zeroForOne ? (uint256(0), amountOut) : (amountOut, uint256(0));
        _callSwap(run.step, pair, amount0, amount1, to);
    }

    /// swap(amount0, amount1, to, ""), laid out by hand
    function _callSwap(uint256 step, address pair, uint256 amount0, uint256 amount1, address to) private {
        bool ok;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, SWAP)
            mstore(add(data, 0x04), amount0)
            mstore(add(data, 0x24), amount1)
            mstore(add(data, 0x44), to)
            mstore(add(data, 0x64), 0x80)
            mstore(add(data, 0x84), 0)
            ok := call(gas(), pair, 0, data, 0xa4, 0, 0)
        }
        // the pair has code: it has just told its reserves
        if (!ok) revert IExecutionProxy.PoolCallFailed(step, pair, Calls.reason());
    }

    /// The most that the pair's product rule lets out, rounded down.
    function _amountOut(Run memory run, address pair, bool zeroForOne, uint256 feeBps) private view returns (uint256) {
        (uint256 reserve0, uint256 reserve1) = Calls.view_(run.step, pair, GET_RESERVES, 0, 2);
        if (reserve0 > type(uint112).max || reserve1 > type(uint112).max) {
            revert IExecutionProxy.InvalidPoolAnswer(run.step, pair);
        }
        (uint256 reserveIn, uint256 reserveOut) = zeroForOne ? (reserve0, reserve1) : (reserve1, reserve0);
        // amountIn < 2^128, feeBps < 10,000 and amountIn > 0: the product stays below 2^(128 + 14 + 112), the divisor above 0
        unchecked {
            uint256 afterFee = run.amountIn * (WHOLE_BPS - feeBps);
            return afterFee * reserveOut / (reserveIn * WHOLE_BPS + afterFee);
        }
    }
}
