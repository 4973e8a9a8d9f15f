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
        (uint256 delta0, uint256 delta1) = Calls.pool(
            run.step, pool, 0, abi.encodeWithSelector(SWAP, to, zeroForOne, int256(run.amountIn), limit, ""), 2
        );
        _requireCallbackDone(run.step, pool);

        int256 delta = int256(zeroForOne ? delta1 : delta0);
        if (delta > 0) revert IExecutionProxy.InvalidPoolAnswer(run.step, pool);
        unchecked {
            amountOut = uint256(-delta);
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
