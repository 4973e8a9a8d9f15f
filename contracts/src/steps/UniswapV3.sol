// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {Calls} from "../Calls.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Run, Runs} from "../Run.sol";
import {Terms} from "../Terms.sol";
import {Wrapping} from "./Wrapping.sol";

/// Pools of Uniswap V3, SushiSwap V3 and PancakeSwap V3. Operands: pool:address. Ether is wrapped first.
abstract contract UniswapV3 is Wrapping {
    using Runs for Run;

    // one inside TickMath's range of square-root prices: a swap runs until its input is used up
    uint160 private constant LOWEST_LIMIT = 4295128740;
    uint160 private constant HIGHEST_LIMIT = 1461446703485210103287273052203988822378723970341;
    bytes4 private constant SWAP = 0x128acb08;
    /// Where the bytes begin that the pool gives back, in the call to it.
    uint256 private constant TERMS = 0xc4;

    function _swapV3(Run memory run) internal returns (uint256 amountOut) {
        address pool = address(uint160(Runs.word(run.take(20)) >> 96));
        address to = run.receiver();
        address tokenIn = _wrapEther(run);
        bool zeroForOne = tokenIn < run.tokenOut;

        (uint256 data, uint256 size) = _encodeSwap(run, to, tokenIn, zeroForOne);
        unchecked {
            _expectCallback(pool, data + TERMS, size - TERMS);
        }
        (uint256 delta0, uint256 delta1) = _callSwap(run, pool, data, size);
        if (_isCallbackPending()) revert IExecutionProxy.CallbackMissing(run.step, pool);

        int256 delta = int256(zeroForOne ? delta1 : delta0);
        if (delta > 0) revert IExecutionProxy.InvalidPoolAnswer(run.step, pool);
        unchecked {
            amountOut = uint256(-delta);
        }
    }

    /// swap(to, zeroForOne, amountIn, limit, terms), laid out by hand above the memory in use
    function _encodeSwap(Run memory run, address to, address tokenIn, bool zeroForOne)
        private
        view
        returns (uint256 data, uint256 size)
    {
        uint160 limit = zeroForOne ? LOWEST_LIMIT : HIGHEST_LIMIT;
        uint256 amountIn = run.amountIn;
        assembly ("memory-safe") {
            data := mload(0x40)
            mstore(data, SWAP)
            mstore(add(data, 0x04), to)
            mstore(add(data, 0x24), zeroForOne)
            mstore(add(data, 0x44), amountIn)
            mstore(add(data, 0x64), limit)
            mstore(add(data, 0x84), 0xa0)
        }
        unchecked {
            uint256 terms = data + TERMS;
            size = Terms.SIZE;
            if (run.permitCall == 0) {
                Terms.write(terms, tokenIn, amountIn, run.payerOrProxy());
            } else {
                size = Terms.writeSigned(terms, tokenIn, amountIn, run.permitCall);
                // a signature pays once
                run.permitCall = 0;
            }
            assembly ("memory-safe") {
                mstore(add(data, 0xa4), size)
            }
            size += TERMS;
        }
    }

    function _callSwap(Run memory run, address pool, uint256 data, uint256 size)
        private
        returns (uint256 delta0, uint256 delta1)
    {
        bool ok;
        uint256 answered;
        assembly ("memory-safe") {
            ok := call(gas(), pool, 0, data, size, 0x00, 0x40)
            delta0 := mload(0x00)
            delta1 := mload(0x20)
            answered := returndatasize()
        }
        if (!ok) {
            // longer than the usual terms: a signature stands behind them
            if (size > TERMS + Terms.SIZE) Terms.passPermitError();
            revert IExecutionProxy.PoolCallFailed(run.step, pool, Calls.reason());
        }
        if (answered < 0x40) {
            if (answered == 0 && pool.code.length == 0) revert IExecutionProxy.PoolCallFailed(run.step, pool, "");
            revert IExecutionProxy.InvalidPoolAnswer(run.step, pool);
        }
    }

    /// Answers a pool of Uniswap or SushiSwap that asks for its input: the positive delta, in atomic units.
    function uniswapV3SwapCallback(int256 amount0Delta, int256 amount1Delta, bytes calldata terms) external {
        _paySwap(amount0Delta, amount1Delta, terms);
    }

    /// Answers a pool of PancakeSwap, the same way.
    function pancakeV3SwapCallback(int256 amount0Delta, int256 amount1Delta, bytes calldata terms) external {
        _paySwap(amount0Delta, amount1Delta, terms);
    }

    function _paySwap(int256 amount0Delta, int256 amount1Delta, bytes calldata terms) private {
        uint256 at = _consumeCallback(terms);
        uint256 owed = uint256(amount0Delta > 0 ? amount0Delta : amount1Delta);
        uint256 amount = Terms.amountOf(at);
        if (owed != amount) revert IExecutionProxy.CallbackAmountMismatch(owed, amount);
        Terms.pay(at, terms.length);
    }
}
