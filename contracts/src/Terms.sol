// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IN_CALLBACK, PERMIT2} from "./Constants.sol";
import {Hop} from "./Hops.sol";
import {Tokens} from "./Tokens.sol";

/// @title Terms of a payment
/// @notice Writes and fulfils the terms on which a pool that calls back is paid: three words of memory, a token, an amount in atomic units
/// and a source. If the source is a signature, the call to Permit2 that pays the pool stands behind them.
/// @dev Terms of which the amount is zero are those of a purchase: the pool names the amount, and the first word is the most that may be
/// sold in all. Behind the source stand how many hops of the path are still to be bought, how many it has, the hops, and, where the source
/// is a signature, the call to Permit2 with its length.
library Terms {
    uint256 internal constant SIZE = 0x60;
    /// Stands where an account would: no account pays, a signature does.
    address internal constant SIGNATURE = address(0);
    /// Is the selector of PermitFailed(), which marks an error of Permit2 on its way through a pool.
    bytes4 private constant PERMIT_FAILED = 0xb78cb0dd;
    /// Say where the hops stand in the terms of a purchase, and the size of one.
    uint256 private constant HOPS = 0xa0;
    uint256 private constant HOP_SIZE = 0x40;

    /// Writes terms by which an account pays: the payer or the proxy.
    function write(uint256 place, address token, uint256 amount, address source) internal pure {
        assembly ("memory-safe") {
            mstore(place, token)
            mstore(add(place, 0x20), amount)
            mstore(add(place, 0x40), source)
        }
    }

    /// Writes terms by which a signature pays, with the call to Permit2, its length in the word before it; returns their size.
    function writeSigned(uint256 place, address token, uint256 amount, uint256 permitCall)
        internal
        pure
        returns (uint256 size)
    {
        write(place, token, amount, SIGNATURE);
        assembly ("memory-safe") {
            size := mload(permitCall)
            mcopy(add(place, SIZE), add(permitCall, 0x20), size)
            size := add(size, SIZE)
        }
    }

    function amountOf(uint256 place) internal pure returns (uint256 amount) {
        assembly ("memory-safe") {
            amount := mload(add(place, 0x20))
        }
    }

    /// Pays the contract that calls back. The terms are those of the step that waits for it.
    function pay(uint256 place, uint256 size) internal {
        address token;
        address source;
        assembly ("memory-safe") {
            token := mload(place)
            source := mload(add(place, 0x40))
        }
        if (source == address(this)) Tokens.transfer(IN_CALLBACK, token, msg.sender, amountOf(place));
        else if (source != SIGNATURE) Tokens.transferFrom(IN_CALLBACK, token, source, msg.sender, amountOf(place));
        else _permit(place + SIZE, size - SIZE);
    }

    /// Calls Permit2, and marks its error, so that it can be recognised after the pool has passed it on.
    function _permit(uint256 place, uint256 size) private {
        assembly ("memory-safe") {
            if iszero(call(gas(), PERMIT2, 0, place, size, 0, 0)) {
                mstore(place, PERMIT_FAILED)
                returndatacopy(add(place, 4), 0, returndatasize())
                revert(place, add(returndatasize(), 4))
            }
        }
    }

    /// Passes on an error of Permit2 as it is, after a pool failed that a signature pays.
    function passPermitError() internal pure {
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, 3) {
                returndatacopy(0, 0, 4)
                if eq(shr(224, mload(0)), shr(224, PERMIT_FAILED)) {
                    let place := mload(0x40)
                    returndatacopy(place, 4, sub(size, 4))
                    revert(place, sub(size, 4))
                }
            }
        }
    }

    // — purchases —

    /// Writes the terms of a purchase of a whole path into new memory; returns their place and size.
    function writePurchase(Hop first, Hop end, uint256 maximum, address source, uint256 permitCall)
        internal
        pure
        returns (uint256 place, uint256 size)
    {
        assembly ("memory-safe") {
            place := mload(0x40)
            size := sub(end, first)
            let count := div(size, HOP_SIZE)
            mstore(place, maximum)
            mstore(add(place, 0x20), 0)
            mstore(add(place, 0x40), source)
            mstore(add(place, 0x60), count)
            mstore(add(place, 0x80), count)
            mcopy(add(place, HOPS), first, size)
            size := add(size, HOPS)
            if permitCall {
                let length := add(mload(permitCall), 0x20)
                mcopy(add(place, size), permitCall, length)
                size := add(size, length)
            }
            // one more word: hashing the terms writes behind them
            mstore(0x40, and(add(add(place, size), 0x3f), not(0x1f)))
        }
    }

    /// Takes the last hop that is still to be bought off the terms, if there is one.
    function takeHop(uint256 place) internal pure returns (bool found, uint256 step, Hop hop) {
        assembly ("memory-safe") {
            let count := mload(add(place, 0x60))
            found := iszero(iszero(count))
            if found {
                step := sub(count, 1)
                mstore(add(place, 0x60), step)
                hop := add(place, add(HOPS, mul(step, HOP_SIZE)))
            }
        }
    }

    /// Returns who pays for a purchase, the most that may be sold, the token, and the call to Permit2.
    function payment(uint256 place)
        internal
        pure
        returns (address token, uint256 maximum, address source, uint256 permitCall)
    {
        assembly ("memory-safe") {
            maximum := mload(place)
            source := mload(add(place, 0x40))
            // the first hop's
            token := mload(add(place, add(HOPS, 0x20)))
            permitCall := add(place, add(HOPS, mul(mload(add(place, 0x80)), HOP_SIZE)))
        }
    }
}
