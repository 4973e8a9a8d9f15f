// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {IN_CALLBACK, PERMIT2} from "./Constants.sol";
import {Tokens} from "./Tokens.sol";

/// On what terms a pool that calls back is paid: three words of memory, a token, an amount in atomic units and a source;
/// where the source is a signature, the call to Permit2 that pays the pool stands behind them.
library Terms {
    uint256 internal constant SIZE = 0x60;
    /// Stands where an account would: no account pays, a signature does.
    address private constant SIGNATURE = address(0);
    /// The selector of PermitFailed(), which marks an error of Permit2 on its way through a pool.
    bytes4 private constant PERMIT_FAILED = 0xb78cb0dd;

    /// Terms by which an account pays: the payer or the proxy.
    function write(uint256 at, address token, uint256 amount, address source) internal pure {
        assembly ("memory-safe") {
            mstore(at, token)
            mstore(add(at, 0x20), amount)
            mstore(add(at, 0x40), source)
        }
    }

    /// Terms by which a signature pays, with the call to Permit2, its length in the word before it; returns their size.
    function writeSigned(uint256 at, address token, uint256 amount, uint256 permitCall)
        internal
        pure
        returns (uint256 size)
    {
        write(at, token, amount, SIGNATURE);
        assembly ("memory-safe") {
            size := mload(permitCall)
            mcopy(add(at, SIZE), add(permitCall, 0x20), size)
            size := add(size, SIZE)
        }
    }

    function amountOf(uint256 at) internal pure returns (uint256 amount) {
        assembly ("memory-safe") {
            amount := mload(add(at, 0x20))
        }
    }

    /// Pays the contract that calls back. The terms are those of the step that waits for it.
    function pay(uint256 at, uint256 size) internal {
        address token;
        address source;
        assembly ("memory-safe") {
            token := mload(at)
            source := mload(add(at, 0x40))
        }
        if (source == address(this)) Tokens.transfer(IN_CALLBACK, token, msg.sender, amountOf(at));
        else if (source != SIGNATURE) Tokens.transferFrom(IN_CALLBACK, token, source, msg.sender, amountOf(at));
        else _permit(at + SIZE, size - SIZE);
    }

    /// The call to Permit2, whose error is marked, so that it is known again behind the pool.
    function _permit(uint256 at, uint256 size) private {
        assembly ("memory-safe") {
            if iszero(call(gas(), PERMIT2, 0, at, size, 0, 0)) {
                mstore(at, PERMIT_FAILED)
                returndatacopy(add(at, 4), 0, returndatasize())
                revert(at, add(returndatasize(), 4))
            }
        }
    }

    /// After a pool failed that a signature pays: an error of Permit2 comes through as it is.
    function passPermitError() internal pure {
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, 3) {
                returndatacopy(0, 0, 4)
                if eq(shr(224, mload(0)), shr(224, PERMIT_FAILED)) {
                    let at := mload(0x40)
                    returndatacopy(at, 4, sub(size, 4))
                    revert(at, sub(size, 4))
                }
            }
        }
    }
}
