// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Pools} from "../Pools.sol";
import {Run, Runs} from "../Run.sol";
import {Terms} from "../Terms.sol";
import {Wrapping} from "./Wrapping.sol";

/// @title Step of Uniswap V3
/// @notice Swaps through pools of Uniswap V3 and its forks. Operands: pool:address. Ether is wrapped first.
abstract contract UniswapV3 is Wrapping {
    using Runs for Run;

    // one inside TickMath's range of square-root prices: a swap runs until its input is used up
    uint160 private constant LOWEST_LIMIT = 4295128740;
    uint160 private constant HIGHEST_LIMIT = 1461446703485210103287273052203988822378723970341;
    bytes4 private constant SWAP = 0x128acb08;
    bytes4 private constant FEE = 0xddca3f43;
    /// Says where the bytes begin that the pool returns in its callback, in the call to it.
    uint256 internal constant TERMS = 0xc4;

    function _swapV3(Run memory run) internal returns (uint256 amountOut) {
        address pool = address(uint160(Runs.word(run.take(20)) >> 96));
        address tokenIn = _wrapEther(run);
        address to = run.receiver(run.goesToRecipient() && _isKnownPool(run.step, pool, tokenIn, run.tokenOut));
        // a signature pays once
        uint256 permitCall = run.permitCall;
        run.permitCall = 0;
        return _swapPool(run.step, pool, tokenIn, run.tokenOut, run.amountIn, run.payerOrProxy(), permitCall, to);
    }

    /// Swaps exactly an amount that the pool is paid in its callback: by the source, or by the call to Permit2 that stands at a place in
    /// memory, if there is one.
    function _swapPool(
        uint256 step,
        address pool,
        address tokenIn,
        address tokenOut,
        uint256 amountIn,
        address source,
        uint256 permitCall,
        address to
    ) internal returns (uint256 amountOut) {
        uint256 data = _freePlace();
        uint256 size = Terms.SIZE;
        unchecked {
            if (permitCall == 0) Terms.write(data + TERMS, tokenIn, amountIn, source);
            else size = Terms.writeSigned(data + TERMS, tokenIn, amountIn, permitCall);
        }
        return _callPool(step, pool, data, size, tokenIn < tokenOut, amountIn, to);
    }

    /// Calls `swap(to, zeroForOne, amount, limit, terms)`; the terms stand at their place behind the call, which is laid out here
    /// above the memory in use. A negative amount is one of the token out. Returns what came out, in atomic units.
    function _callPool(
        uint256 step,
        address pool,
        uint256 data,
        uint256 termsSize,
        bool zeroForOne,
        uint256 amount,
        address to
    ) internal returns (uint256 amountOut) {
        unchecked {
            _expectCallback(pool, data + TERMS, termsSize);
        }
        uint256 delta;
        bool ok;
        uint256 answered;
        uint160 limit = zeroForOne ? LOWEST_LIMIT : HIGHEST_LIMIT;
        assembly ("memory-safe") {
            mstore(data, SWAP)
            mstore(add(data, 0x04), to)
            mstore(add(data, 0x24), zeroForOne)
            mstore(add(data, 0x44), amount)
            mstore(add(data, 0x64), limit)
            mstore(add(data, 0x84), 0xa0)
            mstore(add(data, 0xa4), termsSize)
            ok := call(gas(), pool, 0, data, add(termsSize, TERMS), 0x00, 0x40)
            delta := mload(mul(zeroForOne, 0x20))
            answered := returndatasize()
        }
        if (!ok) {
            // longer than the usual terms: a signature may stand behind them
            if (termsSize > Terms.SIZE) Terms.passPermitError();
            revert IExecutionProxy.PoolCallFailed(step, pool, Calls.reason());
        }
        if (answered < 0x40) {
            if (answered == 0 && pool.code.length == 0) revert IExecutionProxy.PoolCallFailed(step, pool, "");
            revert IExecutionProxy.InvalidPoolAnswer(step, pool);
        }
        if (_isCallbackPending()) revert IExecutionProxy.CallbackMissing(step, pool);
        if (int256(delta) > 0) revert IExecutionProxy.InvalidPoolAnswer(step, pool);
        unchecked {
            amountOut = uint256(-int256(delta));
        }
    }

    /// Returns the first byte of memory that is not in use.
    function _freePlace() internal pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := mload(0x40)
        }
    }

    /// Returns whether the pool is at the address of one of the factories' pools of these tokens with the fee that it states.
    function _isKnownPool(uint256 step, address pool, address tokenIn, address tokenOut) private view returns (bool) {
        (uint256 feePips,) = Calls.view_(step, pool, FEE, 0, 1);
        for (uint256 factory = Pools.UNISWAP_V3; factory < Pools.FACTORIES; ++factory) {
            if (pool == Pools.find(factory, tokenIn, tokenOut, feePips)) return true;
        }
        return false;
    }

    function _copy(uint256 to, uint256 from, uint256 size) internal pure {
        assembly ("memory-safe") {
            mcopy(to, from, size)
        }
    }

    // — the callback —

    /// Lists the names under which pools ask for their payment, `…Callback(int256,int256,bytes)`, four bytes each: Algebra's, Solidly's,
    /// PancakeSwap's, and Uniswap's, which is SushiSwap's too and is asked first. A fork is one name more.
    uint256 private constant CALLBACK_NAMES = 0x2c8958f6_3a1c453c_23a69e75_fa461e33;

    /// @notice Pays the pool that the running step called: the positive one of the two deltas of its callback, in atomic units. Accepts
    /// `uniswapV3SwapCallback`, `pancakeV3SwapCallback`, `solidlyV3SwapCallback` and `algebraSwapCallback`, each with the arguments
    /// (int256 amount0Delta, int256 amount1Delta, bytes terms). Only the pool of the running step may call, once.
    /// @dev Reverts with `UnknownCall` for any other selector, with `UnexpectedCallback` if no step waits for this pool with these terms,
    /// and with `CallbackAmountMismatch` if the pool asks for another amount than that of the step. In a purchase the pool states the
    /// amount, which is bought from the hop before.
    fallback() external {
        uint256 name = uint32(msg.sig);
        uint256 names = CALLBACK_NAMES;
        while (uint32(names) != name) {
            names >>= 32;
            if (names == 0) revert IExecutionProxy.UnknownCall(msg.sig);
        }
        (int256 amount0Delta, int256 amount1Delta) = (int256(Runs.word(0x04)), int256(Runs.word(0x24)));
        bytes calldata terms;
        // what lies beyond the end reads as zero, and terms that are not the step's own are refused
        assembly ("memory-safe") {
            let place := add(calldataload(0x44), 0x04)
            terms.offset := add(place, 0x20)
            terms.length := calldataload(place)
            if gt(terms.length, calldatasize()) { revert(0, 0) }
        }
        uint256 place_ = _consumeCallback(terms);
        uint256 owed = uint256(amount0Delta > 0 ? amount0Delta : amount1Delta);
        uint256 amount = Terms.amountOf(place_);
        if (amount == 0) return _obtain(place_, terms.length, owed, msg.sender);
        if (owed != amount) revert IExecutionProxy.CallbackAmountMismatch(owed, amount);
        Terms.pay(place_, terms.length);
    }

    /// Pays the pool that calls back what it asks for, by the terms of a purchase.
    function _obtain(uint256 terms, uint256 size, uint256 amount, address to) internal virtual;
}
