// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Stands in for the contract that PancakeSwap V3's factory asks to deploy pools: no package has its code. The pools that it
/// deploys are the package's own creation code, by CREATE2 with the salt that mainnet's deployer uses.
/// Left out: the owner's call that names the one factory that may deploy.
contract StandInPancakeV3PoolDeployer {
    struct Parameters {
        address factory;
        address token0;
        address token1;
        uint24 fee;
        int24 tickSpacing;
    }

    /// What the pool's constructor reads while it runs.
    Parameters public parameters;
    /// Holds the pool's creation code behind one byte that stops execution.
    address private immutable CODE;

    /// @param poolCode creation code of a pool
    constructor(bytes memory poolCode) {
        // Copies what follows these eleven bytes to the new contract.
        bytes memory creation = bytes.concat(hex"600b5981380380925939f3", hex"00", poolCode);
        address made;
        assembly ("memory-safe") {
            made := create(0, add(creation, 0x20), mload(creation))
        }
        require(made != address(0), "pool code");
        CODE = made;
    }

    function deploy(address factory, address token0, address token1, uint24 fee, int24 tickSpacing)
        external
        returns (address pool)
    {
        parameters = Parameters(factory, token0, token1, fee, tickSpacing);
        bytes32 salt = keccak256(abi.encode(token0, token1, fee));
        address code = CODE;
        assembly ("memory-safe") {
            let size := sub(extcodesize(code), 1)
            let creation := mload(0x40)
            extcodecopy(code, creation, 1, size)
            pool := create2(0, creation, size, salt)
        }
        require(pool != address(0), "pool exists");
        delete parameters;
    }
}
