// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {console} from "forge-std/console.sol";
import {Signing} from "./Signing.sol";

/// Runs many random orders in one test. Each is undone by a revert before the next, which is much quicker than a test for each. Counts, for
/// each kind of order, how many ran and how many succeeded: a property says little where nothing succeeds.
abstract contract Campaign is Signing {
    /// An order ran and is undone: of which kinds it was, a bit for each, and whether it succeeded.
    error Undone(uint256 kinds, bool succeeded);

    /// For one order with all that surrounds it, gas units.
    uint256 private constant GAS = 1 << 26;

    /// What the running order is.
    uint256 internal kinds;
    uint256 internal seed;

    function _is(uint256 kind) internal {
        kinds |= 1 << kind;
    }

    function _random(uint256 below) internal returns (uint256) {
        seed = uint256(keccak256(abi.encode(seed)));
        return seed % below;
    }

    /// A share that is now and then everything.
    function _share() internal returns (uint32) {
        return _random(3) == 0 ? 0 : uint32(1 + _random(type(uint32).max));
    }

    function _give(address to, uint256 valueWei) internal {
        (bool ok,) = to.call{value: valueWei}("");
        require(ok, "no ether for the order");
    }

    /// Calls `one(seed)` so many times, or as often as CALLS says, with seeds that follow from SEED. Fails with the seed of an order that
    /// broke a property, and where one of every thousand of a kind does not succeed.
    function _campaign(string memory name, bytes4 one, string[] memory names, uint256 calls) internal {
        calls = vm.envOr("CALLS", calls);
        uint256 first = vm.envOr("SEED", vm.randomUint());
        uint256[] memory ran = new uint256[](names.length);
        uint256[] memory succeeded = new uint256[](names.length);
        uint256 all;
        for (uint256 i; i < calls; ++i) {
            (uint256 found, bool ok) = _undone(one, first, i);
            if (ok) ++all;
            for (uint256 kind; kind < names.length; ++kind) {
                if ((found >> kind) & 1 == 0) continue;
                ++ran[kind];
                if (ok) ++succeeded[kind];
            }
        }
        console.log("%s: %d calls, %d succeeded", name, calls, all);
        for (uint256 kind; kind < names.length; ++kind) {
            console.log("  %s: %d, %d succeeded", names[kind], ran[kind], succeeded[kind]);
            assertGt(succeeded[kind] * 1000, ran[kind], names[kind]);
        }
    }

    function _undone(bytes4 one, uint256 first, uint256 index) private returns (uint256 found, bool ok) {
        bytes4 expected = Undone.selector;
        uint256 roll;
        bool undone;
        // memory is not kept: a million orders would fill it
        assembly ("memory-safe") {
            mstore(0x00, first)
            mstore(0x20, index)
            roll := keccak256(0x00, 0x40)
            let place := mload(0x40)
            mstore(place, one)
            mstore(add(place, 0x04), roll)
            let returned := call(GAS, address(), 0, place, 0x24, place, 0x44)
            undone := and(iszero(returned), eq(returndatasize(), 0x44))
            undone := and(undone, eq(shr(224, mload(place)), shr(224, expected)))
            found := mload(add(place, 0x04))
            ok := mload(add(place, 0x24))
        }
        if (undone) return (found, ok);
        (, bytes memory reason) = address(this).call(abi.encodeWithSelector(one, roll));
        revert(string.concat("seed ", vm.toString(roll), ": ", vm.toString(reason)));
    }
}
