// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @title Views of a concentrated-liquidity pool
/// @notice Names the views of Uniswap V3's pools that the lens calls. It needs their selectors only, so no answers are declared.
interface IConcentratedPool {
    /// @notice Returns seven words: the square root of the price, the tick, three words that the lens skips, the protocol's share of the
    /// fee, and whether the pool is unlocked.
    function slot0() external view;

    /// @notice Returns the liquidity in range.
    function liquidity() external view;

    /// @notice Returns one bit for each of 256 tick indices: whether that tick is initialised.
    /// @param word index of the word, in units of 256 tick spacings
    function tickBitmap(int16 word) external view;

    /// @notice Returns eight words: the gross and the net liquidity of a tick, five words that the lens skips, and whether it is
    /// initialised.
    /// @param tick index of the tick
    function ticks(int24 tick) external view;
}

/// @title Lens
/// @notice Reads a concentrated-liquidity pool whole in one call, and makes many calls of any contracts in one.
/// @dev Is never deployed: a state override of `eth_call` places its code at an address for the duration of the call. Anyone may call.
/// Reverts without data if a pool answers anything else than expected; the caller then reads the pool call by call.
contract Lens {
    /// Is what `probe` returns.
    uint256 internal constant PROBE = 0xb4a1d;

    /// Reserves gas for the last word and for what the caller still has to do.
    uint256 internal constant RESERVE_GAS = 3_000_000;

    /// @notice Returns a constant, by which the caller recognises a node that supports state overrides.
    /// @return 0xb4a1d
    function probe() external pure returns (uint256) {
        return PROBE;
    }

    /// @notice Reads the pool's price, tick, protocol fee, lock and liquidity, and the initialised ticks of the bitmap's words from `word`
    /// to `last`.
    /// @dev Returns packed bytes, big-endian, without ABI encoding: square root of the price (uint160), tick (int24), protocol's share of the
    /// fee (uint32), unlocked (uint8), liquidity (uint128), the first word that was not read (int32; last + 1 if all were), then 35 bytes
    /// for each tick, ascending: index (int24), net liquidity (int128), gross liquidity (uint128). Stops between two words once `gasBudget`
    /// is used or little gas is left; the caller continues there. Reverts without data if a view of the pool reverts or answers too little,
    /// or if a tick of the bitmap is not initialised.
    /// @param pool pool to read
    /// @param spacing tick spacing of the pool
    /// @param word first word of the bitmap to read
    /// @param last last word of the bitmap to read
    /// @param gasBudget gas units that the call may use before it stops
    function read(address pool, int256 spacing, int256 word, int256 last, uint256 gasBudget) external view {
        uint256 entry = gasleft();
        uint256 stopBelow = entry / 4 < RESERVE_GAS ? entry / 4 : RESERVE_GAS;
        if (entry > gasBudget && entry - gasBudget > stopBelow) stopBelow = entry - gasBudget;
        // Answers come to the first eight words; what is packed follows, and nothing else uses memory.
        uint256 answer;
        uint256 out;
        assembly {
            answer := mload(0x40)
            out := add(answer, 0x100)
        }
        ask(pool, IConcentratedPool.slot0.selector, 0, 7, answer);
        assembly {
            mstore(out, shl(96, mload(answer)))
            mstore(add(out, 20), shl(232, mload(add(answer, 0x20))))
            mstore(add(out, 23), shl(224, mload(add(answer, 0xa0))))
            mstore(add(out, 27), shl(248, iszero(iszero(mload(add(answer, 0xc0))))))
        }
        ask(pool, IConcentratedPool.liquidity.selector, 0, 1, answer);
        assembly {
            mstore(add(out, 28), shl(128, mload(answer)))
        }
        uint256 end = out + 48;
        for (; word <= last; word++) {
            if (gasleft() < stopBelow) break;
            ask(pool, IConcentratedPool.tickBitmap.selector, word, 1, answer);
            uint256 bits;
            assembly {
                bits := mload(answer)
            }
            for (int256 tick = word * 256 * spacing; bits != 0; bits >>= 1) {
                // Empty stretches are passed in large steps.
                while (bits & 0xff == 0) {
                    bits >>= 8;
                    tick += 8 * spacing;
                }
                if (bits & 1 == 1) end = readTick(pool, tick, answer, end);
                tick += spacing;
            }
        }
        assembly {
            // Four bytes before the ticks; what they overwrite beyond is written again first.
            let first := mload(add(out, 48))
            mstore(add(out, 44), or(shl(224, word), shr(32, first)))
            return(out, sub(end, out))
        }
    }

    function readTick(address pool, int256 tick, uint256 answer, uint256 end) internal view returns (uint256) {
        ask(pool, IConcentratedPool.ticks.selector, tick, 8, answer);
        assembly {
            // A tick that the bitmap names and the pool does not know is no tick.
            if iszero(mload(add(answer, 0xe0))) { revert(0, 0) }
            mstore(end, shl(232, tick))
            mstore(add(end, 3), shl(128, mload(add(answer, 0x20))))
            mstore(add(end, 19), shl(128, mload(answer)))
        }
        return end + 35;
    }

    /// @notice Makes many calls and returns the answers of all. Each of them may fail.
    /// @dev Takes and returns packed bytes without ABI encoding, to keep requests short. The calldata is four bytes of selector, then
    ///
    /// - a table of contracts: their number (uint16), then 20 bytes each;
    /// - each call: its contract's place in the table (uint16), then how many words its calldata has after the selector (uint8), the
    ///   selector, and each word as its length in bytes (uint8) and its bytes without leading zeros; or 255, the length (uint16) and the
    ///   calldata as it is.
    ///
    /// The return data has for each call: how many words it returned (uint8) and each word as above; or 254, the length (uint24) and what
    /// was returned as it is; or 255 where the call failed.
    function callAll() external {
        assembly {
            // The bytes of a number without its leading zeros.
            function bytesOf(value) -> count {
                if value {
                    let bits := shl(7, lt(0xffffffffffffffffffffffffffffffff, value))
                    bits := or(bits, shl(6, lt(0xffffffffffffffff, shr(bits, value))))
                    bits := or(bits, shl(5, lt(0xffffffff, shr(bits, value))))
                    bits := or(bits, shl(4, lt(0xffff, shr(bits, value))))
                    bits := or(bits, shl(3, lt(0xff, shr(bits, value))))
                    count := add(shr(3, bits), 1)
                }
            }
            let table := 6
            let at := add(table, mul(shr(240, calldataload(4)), 20))
            let out := mload(0x40)
            let end := out
            for {} lt(at, calldatasize()) {} {
                let target := shr(96, calldataload(add(table, mul(shr(240, calldataload(at)), 20))))
                let words := byte(0, calldataload(add(at, 2)))
                at := add(at, 3)
                // The calldata of this call is put together behind what was answered so far.
                let data := add(end, 0x20)
                let size := 0
                switch words
                case 255 {
                    size := shr(240, calldataload(at))
                    calldatacopy(data, add(at, 2), size)
                    at := add(at, add(size, 2))
                }
                default {
                    calldatacopy(data, at, 4)
                    at := add(at, 4)
                    size := 4
                    for {} words { words := sub(words, 1) } {
                        let count := byte(0, calldataload(at))
                        mstore(add(data, size), shr(sub(256, shl(3, count)), calldataload(add(at, 1))))
                        at := add(at, add(count, 1))
                        size := add(size, 0x20)
                    }
                }
                // One that burns all it gets leaves enough for the others; the lens itself stops in time.
                let allowed := gas()
                if iszero(eq(target, address())) { allowed := shr(2, allowed) }
                let ok := call(allowed, target, 0, data, size, 0, 0)
                size := returndatasize()
                words := shr(5, size)
                switch or(iszero(ok), gt(size, 0xffffff))
                case 1 {
                    mstore8(end, 255)
                    end := add(end, 1)
                }
                default {
                    switch or(and(size, 0x1f), gt(words, 253))
                    case 0 {
                        mstore8(end, words)
                        // Far enough behind that what is written never reaches what is still to be read.
                        let from := add(end, add(words, 0x40))
                        returndatacopy(from, 0, size)
                        end := add(end, 1)
                        for { let last := add(from, size) } lt(from, last) { from := add(from, 0x20) } {
                            let word := mload(from)
                            let count := bytesOf(word)
                            mstore8(end, count)
                            mstore(add(end, 1), shl(sub(256, shl(3, count)), word))
                            end := add(end, add(count, 1))
                        }
                    }
                    default {
                        mstore(end, or(shl(248, 254), shl(224, size)))
                        returndatacopy(add(end, 4), 0, size)
                        end := add(end, add(size, 4))
                    }
                }
            }
            return(out, sub(end, out))
        }
    }

    /// Calls a view function of at most one argument; at least `words` words must come back.
    function ask(address pool, bytes4 selector, int256 argument, uint256 words, uint256 answer) internal view {
        assembly {
            mstore(0, selector)
            mstore(4, argument)
            let size := mul(words, 0x20)
            let ok := staticcall(gas(), pool, 0, 0x24, answer, size)
            if or(iszero(ok), lt(returndatasize(), size)) { revert(0, 0) }
        }
    }
}
