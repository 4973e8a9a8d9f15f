// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Is what the running order has of one token: the memory place of seven words,
/// the token, `due` (still with the payer) and `held` (at the proxy), atomic units, for an output `minimum`, `base` and `paid`, and
/// the partner's `fee`.
type Account is uint256;

using Accounts for Account global;

/// @title Accounts of a running order
/// @notice Reads and writes what the running order has of each token.
/// @dev Accounts stand one after another; a value type keeps them from being copied or allocated again.
library Accounts {
    uint256 private constant SIZE = 0xe0;

    /// Makes room for `count` empty accounts and returns the first.
    function open(uint256 count) internal pure returns (Account first) {
        assembly ("memory-safe") {
            first := mload(0x40)
            let size := mul(count, SIZE)
            calldatacopy(first, calldatasize(), size)
            mstore(0x40, add(first, size))
        }
    }

    /// Returns the account `index` places further on.
    function next(Account first, uint256 index) internal pure returns (Account found) {
        assembly ("memory-safe") {
            found := add(first, mul(index, SIZE))
        }
    }

    function isBefore(Account account, Account other) internal pure returns (bool before) {
        assembly ("memory-safe") {
            before := lt(account, other)
        }
    }

    function token(Account account) internal pure returns (address value) {
        assembly ("memory-safe") {
            value := mload(account)
        }
    }

    function due(Account account) internal pure returns (uint256 amount) {
        assembly ("memory-safe") {
            amount := mload(add(account, 0x20))
        }
    }

    function held(Account account) internal pure returns (uint256 amount) {
        assembly ("memory-safe") {
            amount := mload(add(account, 0x40))
        }
    }

    /// Returns the least that the recipient must gain of an output.
    function minimum(Account account) internal pure returns (uint256 amount) {
        assembly ("memory-safe") {
            amount := mload(add(account, 0x60))
        }
    }

    /// Returns whether the token is one of the order's outputs, which all have a minimum.
    function isOutput(Account account) internal pure returns (bool) {
        return account.minimum() != 0;
    }

    /// Returns the recipient's balance of an output before the order.
    function base(Account account) internal pure returns (uint256 amount) {
        assembly ("memory-safe") {
            amount := mload(add(account, 0x80))
        }
    }

    /// Returns what steps and the proxy have paid to the recipient of an output.
    function paid(Account account) internal pure returns (uint256 amount) {
        assembly ("memory-safe") {
            amount := mload(add(account, 0xa0))
        }
    }

    /// Returns the partner's fee in this token, which is no longer in `due` or `held`.
    function fee(Account account) internal pure returns (uint256 amount) {
        assembly ("memory-safe") {
            amount := mload(add(account, 0xc0))
        }
    }

    function setToken(Account account, address value) internal pure {
        assembly ("memory-safe") {
            mstore(account, shr(96, shl(96, value)))
        }
    }

    function setDue(Account account, uint256 amount) internal pure {
        assembly ("memory-safe") {
            mstore(add(account, 0x20), amount)
        }
    }

    function setHeld(Account account, uint256 amount) internal pure {
        assembly ("memory-safe") {
            mstore(add(account, 0x40), amount)
        }
    }

    function setMinimum(Account account, uint256 amount) internal pure {
        assembly ("memory-safe") {
            mstore(add(account, 0x60), amount)
        }
    }

    function setBase(Account account, uint256 amount) internal pure {
        assembly ("memory-safe") {
            mstore(add(account, 0x80), amount)
        }
    }

    function setPaid(Account account, uint256 amount) internal pure {
        assembly ("memory-safe") {
            mstore(add(account, 0xa0), amount)
        }
    }

    function setFee(Account account, uint256 amount) internal pure {
        assembly ("memory-safe") {
            mstore(add(account, 0xc0), amount)
        }
    }
}
