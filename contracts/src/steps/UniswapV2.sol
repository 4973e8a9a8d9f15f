// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Pools} from "../Pools.sol";
import {Run, Runs} from "../Run.sol";
import {Wrapping} from "./Wrapping.sol";

/// @title Step of Uniswap V2
/// @notice Swaps through pairs of Uniswap V2 and its forks. Operands: pool:address fee_bps:u16. Ether is wrapped first.
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
        address tokenIn = _wrapEther(run);
        address to = run.receiver(run.goesToRecipient() && _isKnownPair(pair, tokenIn, run.tokenOut));

        if (run.source != Runs.IN_POOL) run.pay(pair);
        return _swapPair(run.step, pair, tokenIn < run.tokenOut, run.amountIn, feeBps, to);
    }

    /// Takes out of a pair what its product rule allows for an amount that it has been paid.
    function _swapPair(uint256 step, address pair, bool zeroForOne, uint256 amountIn, uint256 feeBps, address to)
        internal
        returns (uint256 amountOut)
    {
        (uint256 reserveIn, uint256 reserveOut) = _reserves(step, pair, zeroForOne);
        // amountIn < 2^128, feeBps < 10,000 and amountIn > 0: the product stays below 2^(128 + 14 + 112), the divisor above 0
        unchecked {
            uint256 afterFee = amountIn * (WHOLE_BPS - feeBps);
            amountOut = afterFee * reserveOut / (reserveIn * WHOLE_BPS + afterFee);
        }
        _takeOut(step, pair, zeroForOne, amountOut, to);
    }

    /// Returns what a pair must be paid for an amount out: the least that its product rule takes, rounded up.
    function _amountIn(uint256 step, address pair, bool zeroForOne, uint256 amountOut, uint256 feeBps)
        internal
        view
        returns (uint256)
    {
        (uint256 reserveIn, uint256 reserveOut) = _reserves(step, pair, zeroForOne);
        if (amountOut >= reserveOut) revert IExecutionProxy.OutputMissed(step, reserveOut, amountOut);
        // both reserves are below 2^112, the divisor is above 0
        unchecked {
            return reserveIn * amountOut * WHOLE_BPS / ((reserveOut - amountOut) * (WHOLE_BPS - feeBps)) + 1;
        }
    }

    /// Calls `swap(amount0, amount1, to, "")`, encoded by hand.
    function _takeOut(uint256 step, address pair, bool zeroForOne, uint256 amountOut, address to) internal {
        bool ok;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, SWAP)
            mstore(add(data, 0x04), mul(amountOut, iszero(zeroForOne)))
            mstore(add(data, 0x24), mul(amountOut, zeroForOne))
            mstore(add(data, 0x44), to)
            mstore(add(data, 0x64), 0x80)
            mstore(add(data, 0x84), 0)
            ok := call(gas(), pair, 0, data, 0xa4, 0, 0)
        }
        // the pair has code: it has just told its reserves
        if (!ok) revert IExecutionProxy.PoolCallFailed(step, pair, Calls.reason());
    }

    /// Returns a pair's reserves, in atomic units: of what goes in and of what comes out.
    function _reserves(uint256 step, address pair, bool zeroForOne)
        internal
        view
        returns (uint256 reserveIn, uint256 reserveOut)
    {
        (uint256 reserve0, uint256 reserve1) = Calls.view_(step, pair, GET_RESERVES, 0, 2);
        if (reserve0 > type(uint112).max || reserve1 > type(uint112).max) {
            revert IExecutionProxy.InvalidPoolAnswer(step, pair);
        }
        return zeroForOne ? (reserve0, reserve1) : (reserve1, reserve0);
    }

    function _isKnownPair(address pair, address tokenIn, address tokenOut) private pure returns (bool) {
        return pair == Pools.find(Pools.UNISWAP_V2, tokenIn, tokenOut, 0)
            || pair == Pools.find(Pools.SUSHISWAP_V2, tokenIn, tokenOut, 0);
    }
}
