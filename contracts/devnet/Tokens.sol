// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Balances, StandardToken, TextMetadata} from "./Token.sol";

// Empty storage in front of the balances, so that they start at the real token's slot.
abstract contract Slot1 { uint256[1] private gap; }
abstract contract Slot2 { uint256[2] private gap; }
abstract contract Slot3 { uint256[3] private gap; }
abstract contract Slot4 { uint256[4] private gap; }
abstract contract Slot9 { uint256[9] private gap; }

contract TokenAtSlot0 is StandardToken {
    constructor(string memory n, string memory s, uint8 d, address h, uint256 t) StandardToken(n, s, d, h, t) {}
}

contract TokenAtSlot1 is Slot1, StandardToken {
    constructor(string memory n, string memory s, uint8 d, address h, uint256 t) StandardToken(n, s, d, h, t) {}
}

contract TokenAtSlot2 is Slot2, StandardToken {
    constructor(string memory n, string memory s, uint8 d, address h, uint256 t) StandardToken(n, s, d, h, t) {}
}

contract TokenAtSlot3 is Slot3, StandardToken {
    constructor(string memory n, string memory s, uint8 d, address h, uint256 t) StandardToken(n, s, d, h, t) {}
}

contract TokenAtSlot4 is Slot4, StandardToken {
    constructor(string memory n, string memory s, uint8 d, address h, uint256 t) StandardToken(n, s, d, h, t) {}
}

contract TokenAtSlot9 is Slot9, StandardToken {
    constructor(string memory n, string memory s, uint8 d, address h, uint256 t) StandardToken(n, s, d, h, t) {}
}

/// @notice Tether's quirks: transfers and approvals return nothing, and an allowance must go through zero.
contract NoReturnToken is Slot2, Balances, TextMetadata {
    constructor(string memory n, string memory s, uint8 d, address h, uint256 t) Balances(h, t) TextMetadata(n, s, d) {}

    function transfer(address to, uint256 value) external {
        _move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        _spend(from, msg.sender, value);
        _move(from, to, value);
    }

    function approve(address spender, uint256 value) external {
        require(value == 0 || allowance[msg.sender][spender] == 0, "allowance must be zero first");
        _approve(spender, value);
    }
}

/// @notice Maker's quirk: name and symbol are 32 bytes, padded with zeros on the right, and decimals a full word.
contract Bytes32Token is Slot1, Balances {
    bytes32 public name;
    bytes32 public symbol;
    uint256 public decimals;

    constructor(bytes32 n, bytes32 s, uint256 d, address h, uint256 t) Balances(h, t) {
        name = n;
        symbol = s;
        decimals = d;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        _spend(from, msg.sender, value);
        _move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(spender, value);
        return true;
    }
}

/// @notice STASIS Euro's quirk: what cannot be paid is answered with false instead of a revert.
contract FalseOnFailureToken is Balances, TextMetadata {
    constructor(string memory n, string memory s, uint8 d, address h, uint256 t) Balances(h, t) TextMetadata(n, s, d) {}

    function transfer(address to, uint256 value) external returns (bool) {
        if (balanceOf[msg.sender] < value) return false;
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        if (allowance[from][msg.sender] < value || balanceOf[from] < value) return false;
        _spend(from, msg.sender, value);
        _move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(spender, value);
        return true;
    }
}
