// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @title Known pools
/// @notice Finds the pools of mainnet's factories by their CREATE2 address, which contains the hash of the pool's code.
/// @dev A pool at such an address has that code, and does what that code does.
library Pools {
    uint256 internal constant UNISWAP_V2 = 0;
    uint256 internal constant SUSHISWAP_V2 = 1;
    uint256 internal constant UNISWAP_V3 = 2;
    uint256 internal constant SUSHISWAP_V3 = 3;
    uint256 internal constant PANCAKESWAP_V3 = 4;
    /// Is one more than the last.
    uint256 internal constant FACTORIES = 5;

    address private constant UNISWAP_V2_FACTORY = 0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f;
    address private constant SUSHISWAP_V2_FACTORY = 0xC0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac;
    address private constant UNISWAP_V3_FACTORY = 0x1F98431c8aD98523631AE4a59f267346ea31F984;
    address private constant SUSHISWAP_V3_FACTORY = 0xbACEB8eC6b9355Dfc0269C18bac9d6E2Bdc29C4F;
    /// Deploys the pools of PancakeSwap's factory.
    address private constant PANCAKESWAP_V3_DEPLOYER = 0x41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9;

    uint256 private constant UNISWAP_V2_CODE = 0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f;
    uint256 private constant SUSHISWAP_V2_CODE = 0xe18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303;
    uint256 private constant UNISWAP_V3_CODE = 0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54;
    uint256 private constant PANCAKESWAP_V3_CODE = 0x6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2;

    /// Returns whether the factory makes pairs, whose address depends on no fee, and not pools with a fee.
    function isPair(uint256 factory) internal pure returns (bool) {
        return factory <= SUSHISWAP_V2;
    }

    /// Returns the address of the factory's pool of two tokens, for a pool with this fee in millionths. There may be no pool at it.
    function find(uint256 factory, address tokenA, address tokenB, uint256 feePips)
        internal
        pure
        returns (address pool)
    {
        (address deployer, uint256 codeHash) = _origin(factory);
        assembly ("memory-safe") {
            let free := mload(0x40)
            let swapped := lt(tokenB, tokenA)
            let token0 := xor(tokenA, mul(swapped, xor(tokenA, tokenB)))
            let token1 := xor(tokenB, mul(swapped, xor(tokenA, tokenB)))
            switch lt(factory, UNISWAP_V3)
            case 1 {
                // the two addresses without padding
                mstore(add(free, 0x14), token1)
                mstore(free, token0)
                mstore(add(free, 0x20), keccak256(add(free, 0x0c), 0x28))
            }
            default {
                mstore(free, token0)
                mstore(add(free, 0x20), token1)
                mstore(add(free, 0x40), feePips)
                mstore(add(free, 0x20), keccak256(free, 0x60))
            }
            mstore(free, or(shl(160, 0xff), deployer))
            mstore(add(free, 0x40), codeHash)
            pool := shr(96, shl(96, keccak256(add(free, 0x0b), 0x55)))
        }
    }

    function _origin(uint256 factory) private pure returns (address deployer, uint256 codeHash) {
        if (factory == UNISWAP_V3) return (UNISWAP_V3_FACTORY, UNISWAP_V3_CODE);
        if (factory == UNISWAP_V2) return (UNISWAP_V2_FACTORY, UNISWAP_V2_CODE);
        if (factory == SUSHISWAP_V2) return (SUSHISWAP_V2_FACTORY, SUSHISWAP_V2_CODE);
        if (factory == SUSHISWAP_V3) return (SUSHISWAP_V3_FACTORY, UNISWAP_V3_CODE);
        return (PANCAKESWAP_V3_DEPLOYER, PANCAKESWAP_V3_CODE);
    }
}
