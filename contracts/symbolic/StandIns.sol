// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Guard} from "../src/Guard.sol";

interface Cheats {
    function prank(address) external;
}

/// A token that says yes, and remembers what was asked of it.
contract AnyToken {
    uint256 public moved;
    uint256 public transfers;
    address public payer;
    address public receiver;

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        (moved, payer, receiver) = (moved + amount, from, to);
        ++transfers;
        return true;
    }
}

/// A pool of V3's shape that asks for what it likes and answers what it likes; or has somebody else ask in its place.
contract AnyPool {
    Cheats private constant CHEATS = Cheats(address(uint160(uint256(keccak256("hevm cheat code")))));

    int256 private asked;
    int256 private other;
    int256 private answer;
    address private thief;
    address public paysTo;

    function behave(int256 asked_, int256 other_, int256 answer_) external {
        (asked, other, answer) = (asked_, other_, answer_);
    }

    function letIn(address thief_) external {
        thief = thief_;
    }

    function swap(address to, bool, int256, uint160, bytes calldata terms) external returns (int256, int256) {
        paysTo = to;
        if (thief != address(0)) CHEATS.prank(thief);
        (bool ok,) = msg.sender.call(abi.encodeWithSelector(0xfa461e33, asked, other, terms));
        require(ok, "not paid");
        return (answer, answer);
    }
}

/// The guard, laid bare: terms of three words.
contract BareGuard is Guard {
    function expect(address pool, bytes calldata terms) external {
        uint256 place;
        assembly ("memory-safe") {
            place := mload(0x40)
            calldatacopy(place, terms.offset, terms.length)
        }
        _expectCallback(pool, place, terms.length);
    }

    function consume(bytes calldata terms) external {
        _consumeCallback(terms);
    }
}
