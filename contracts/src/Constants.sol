// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

// Native ether's place among token addresses (ERC-7528).
address constant NATIVE = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;
// Wrapped ether of chain 1.
address constant WETH = 0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2;
// Permit2, the same address on every chain.
address constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;

// The largest partner fee, basis points.
uint256 constant PARTNER_FEE_LIMIT_BPS = 300;
// The largest amount that the ledger holds, atomic units: products of amounts, fees and uint112 reserves stay below 2^256.
uint256 constant AMOUNT_LIMIT = type(uint128).max;
// Token indices are one byte.
uint256 constant TOKEN_LIMIT = 255;
// Stands for "inside a callback" where an error names a step.
uint256 constant IN_CALLBACK = type(uint256).max;
