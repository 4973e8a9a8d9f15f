// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {Calls} from "../Calls.sol";
import {Guard} from "../Guard.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Run, Runs} from "../Run.sol";

/// Pools of Uniswap V3 and SushiSwap V3. Operands: pool:address.
abstract contract UniswapV3 is Guard {
    using Runs for Run;

    // one inside TickMath's range of square-root prices: a swap runs until its input is used up
    uint160 private constant LOWEST_LIMIT = 4295128740;
    uint160 private constant HIGHEST_LIMIT = 1461446703485210103287273052203988822378723970341;
    bytes4 private constant SWAP = 0x128acb08;

    function _swapV3(Run memory run) internal returns (uint256 amountOut) {
        address pool = address(uint160(Runs.word(run.take(20)) >> 96));
        address to = run.receiver();
        bool zeroForOne = run.tokenIn < run.tokenOut;
        uint160 limit = zeroForOne ? LOWEST_LIMIT : HIGHEST_LIMIT;

        _expectCallback(pool, run.tokenIn, run.amountIn, run.source());
        (uint256 delta0, uint256 delta1) =
            Calls.poolAt(run.step, pool, 0, _encodeSwap(to, zeroForOne, run.amountIn, limit), 0xc4, 2);
        _requireCallbackDone(run.step, pool);

        int256 delta = int256(zeroForOne ? delta1 : delta0);
        if (delta > 0) revert IExecutionProxy.InvalidPoolAnswer(run.step, pool);
        unchecked {
            amountOut = uint256(-delta);
        }
    }

    /// swap(to, zeroForOne, amountIn, limit, ""), laid out by hand above the memory in use
    function _encodeSwap(address to, bool zeroForOne, uint256 amountIn, uint160 limit)
        private
        pure
        returns (uint256 data)
    {
        assembly ("memory-safe") {
            data := mload(0x40)
            mstore(data, SWAP)
            mstore(add(data, 0x04), to)
            mstore(add(data, 0x24), zeroForOne)
            mstore(add(data, 0x44), amountIn)
            mstore(add(data, 0x64), limit)
            mstore(add(data, 0x84), 0xa0)
            mstore(add(data, 0xa4), 0)
        }
    }

    /// The pool asks for its input: the positive delta, in atomic units.
    function uniswapV3SwapCallback(int256 amount0Delta, int256 amount1Delta, bytes calldata) external {
        (address token, uint256 amount, address source) = _consumeCallback();
        uint256 owed = uint256(amount0Delta > 0 ? amount0Delta : amount1Delta);
        if (owed != amount) revert IExecutionProxy.CallbackAmountMismatch(owed, amount);
        _payCaller(token, amount, source);
    }
}
