// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, WETH} from "./Constants.sol";
import {IExecutionProxy} from "./IExecutionProxy.sol";
import {Pools} from "./Pools.sol";

/// Is one hop of a path: the memory place of two words, the pool with what is known of it, and the token that goes in.
/// Hops stand one after another; behind the last stands an end, whose token is what the path pays.
type Hop is uint256;

using Hops for Hop global;
using {_isSame as ==} for Hop global;

function _isSame(Hop a, Hop b) pure returns (bool) {
    return Hop.unwrap(a) == Hop.unwrap(b);
}

/// @title Hops of a path
/// @notice Reads a path: a kind of one byte, then for each hop a factory of one byte, for a pool with a fee three bytes of it in
/// millionths, and, but for the last hop, the token that comes out.
library Hops {
    /// Are the first bytes of a sale, of an exact input, and of a purchase, of an exact output. As the first byte of a
    /// program both would list more tokens than a program may, so that no signature over one can be used as one over another.
    uint256 internal constant SWAP = 0xff;
    uint256 internal constant BUY = 0xfe;

    uint256 private constant SIZE = 0x40;
    uint256 private constant ZERO_FOR_ONE = 1 << 160;
    uint256 private constant PAIR = 1 << 161;

    /// Reads a path between two tokens into memory, and whether it is a purchase. Ether is WETH here.
    function read(bytes calldata path, address from, address into)
        internal
        pure
        returns (bool buys, Hop first, Hop end)
    {
        if (from == NATIVE) from = WETH;
        if (into == NATIVE) into = WETH;
        uint256 cursor;
        uint256 left;
        uint256 kind;
        assembly ("memory-safe") {
            first := mload(0x40)
            cursor := add(path.offset, 1)
            left := sub(path.length, 1)
            kind := byte(0, calldataload(path.offset))
        }
        if (path.length < 2) revert IExecutionProxy.ProgramTruncated(0, path.length, 2);
        buys = kind == BUY;
        if (!buys && kind != SWAP) revert IExecutionProxy.UnknownPath(kind);
        end = first;
        uint256 step;
        while (left != 0) {
            uint256 word;
            assembly ("memory-safe") {
                word := calldataload(cursor)
            }
            uint256 factory = word >> 248;
            if (factory >= Pools.FACTORIES) revert IExecutionProxy.UnknownFactory(step, factory);
            bool pair = Pools.isPair(factory);
            uint256 size = pair ? 1 : 4;
            address out = into;
            // sums of a few small numbers, and a rest that is known to be there
            unchecked {
                if (left != size) {
                    // a token, and at least one hop behind it
                    if (left < size + 21) revert IExecutionProxy.ProgramTruncated(step, left, size + 21);
                    assembly ("memory-safe") {
                        out := shr(96, calldataload(add(cursor, size)))
                    }
                    size += 20;
                }
                cursor += size;
                left -= size;
                ++step;
            }
            uint256 known = uint160(Pools.find(factory, from, out, pair ? 0 : uint24(word >> 224)));
            if (from < out) known |= ZERO_FOR_ONE;
            if (pair) known |= PAIR;
            assembly ("memory-safe") {
                mstore(end, known)
                mstore(add(end, 0x20), from)
                end := add(end, SIZE)
                // finding a pool uses the memory behind
                mstore(0x40, end)
            }
            from = out;
        }
        assembly ("memory-safe") {
            mstore(add(end, 0x20), from)
            mstore(0x40, add(end, SIZE))
        }
    }

    function next(Hop hop) internal pure returns (Hop following) {
        assembly ("memory-safe") {
            following := add(hop, SIZE)
        }
    }

    function pool(Hop hop) internal pure returns (address found) {
        assembly ("memory-safe") {
            found := shr(96, shl(96, mload(hop)))
        }
    }

    function zeroForOne(Hop hop) internal pure returns (bool yes) {
        assembly ("memory-safe") {
            yes := and(shr(160, mload(hop)), 1)
        }
    }

    function isPair(Hop hop) internal pure returns (bool yes) {
        assembly ("memory-safe") {
            yes := and(shr(161, mload(hop)), 1)
        }
    }

    function tokenIn(Hop hop) internal pure returns (address token) {
        assembly ("memory-safe") {
            token := mload(add(hop, 0x20))
        }
    }
}
