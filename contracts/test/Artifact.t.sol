// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Test} from "forge-std/Test.sol";

/// The committed artifact is true of itself: its creation code, given to the canonical deployer, puts the runtime code
/// with the named hash at the named address.
contract ArtifactTest is Test {
    function test_creation_code_leaves_the_named_code_at_the_named_address() public {
        string memory json = vm.readFile("artifacts/ExecutionProxy.json");
        address deployer = vm.parseJsonAddress(json, ".create2.deployer");
        address named = vm.parseJsonAddress(json, ".address");
        bytes memory runtime = vm.parseJsonBytes(json, ".deployedBytecode");
        assertEq(named.code.length, 0);
        (bool ok,) = deployer.call(
            bytes.concat(vm.parseJsonBytes32(json, ".create2.salt"), vm.parseJsonBytes(json, ".bytecode"))
        );
        assertTrue(ok);
        assertEq(named.code, runtime);
        assertEq(named.codehash, vm.parseJsonBytes32(json, ".codeHash"));
        assertEq(runtime.length, vm.parseJsonUint(json, ".codeSize"));
        // well below the limit of the chain, 24,576: room for what is still to come
        assertLe(runtime.length, 22_000);
    }
}
