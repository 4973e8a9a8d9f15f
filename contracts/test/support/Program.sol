// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Writes programs as `docs/internals/program.md` specifies them.
library Program {
    uint8 internal constant TO_PROXY = 0;
    uint8 internal constant TO_RECIPIENT = 1;
    uint8 internal constant TO_NEXT = 2;

    function tokens() internal pure returns (bytes memory) {
        return hex"00";
    }

    function tokens(address a) internal pure returns (bytes memory) {
        return abi.encodePacked(uint8(1), a);
    }

    function tokens(address a, address b) internal pure returns (bytes memory) {
        return abi.encodePacked(uint8(2), a, b);
    }

    function head(uint8 opcode, uint8 to, uint8 tokenIn, uint8 tokenOut, uint32 share)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(opcode, to, tokenIn, tokenOut, share);
    }

    function wrap(uint8 tokenIn, uint8 tokenOut) internal pure returns (bytes memory) {
        return head(0x01, TO_PROXY, tokenIn, tokenOut, 0);
    }

    function unwrap(uint8 tokenIn, uint8 tokenOut) internal pure returns (bytes memory) {
        return head(0x02, TO_PROXY, tokenIn, tokenOut, 0);
    }

    function v2(uint8 to, uint8 tokenIn, uint8 tokenOut, uint32 share, address pair)
        internal
        pure
        returns (bytes memory)
    {
        return v2(to, tokenIn, tokenOut, share, pair, 30);
    }

    function v2(uint8 to, uint8 tokenIn, uint8 tokenOut, uint32 share, address pair, uint16 feeBps)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(head(0x10, to, tokenIn, tokenOut, share), pair, feeBps);
    }

    function v3(uint8 to, uint8 tokenIn, uint8 tokenOut, uint32 share, address pool)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(head(0x11, to, tokenIn, tokenOut, share), pool);
    }

    // — paths —

    uint8 internal constant UNISWAP_V2 = 0;
    uint8 internal constant SUSHISWAP_V2 = 1;
    uint8 internal constant UNISWAP_V3 = 2;
    uint8 internal constant SUSHISWAP_V3 = 3;
    uint8 internal constant PANCAKESWAP_V3 = 4;
    bytes1 internal constant SWAP = 0xff;
    bytes1 internal constant BUY = 0xfe;

    /// A hop through a pair.
    function hop(uint8 factory) internal pure returns (bytes memory) {
        return abi.encodePacked(factory);
    }

    /// A hop through a pool with a fee in millionths.
    function hop(uint8 factory, uint24 feePips) internal pure returns (bytes memory) {
        return abi.encodePacked(factory, feePips);
    }
}
