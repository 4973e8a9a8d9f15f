// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

// The one chain on which the addresses below are what they say.
uint256 constant CHAIN_ID = 1;
// Native ether's place among token addresses (ERC-7528).
address constant NATIVE = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;
// Wrapped ether of chain 1.
address constant WETH = 0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2;
// Permit2, the same address on every chain.
address constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;
// Lido's staked ether and its wrapper, chain 1.
address constant STETH = 0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84;
address constant WSTETH = 0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0;
// Balancer's vaults, chain 1.
address constant BALANCER_V2_VAULT = 0xBA12222222228d8Ba445958a75a0704d566BF2C8;
address constant BALANCER_V3_VAULT = 0xbA1333333333a1BA1108E8412f11850A5C319bA9;
// Fluid's liquidity layer, which pays out for every Fluid pool, chain 1.
address constant FLUID_LIQUIDITY = 0x52Aa899454998Be5b000Ad077a46Bbe360F4e497;

// The largest partner fee, basis points.
uint256 constant PARTNER_FEE_LIMIT_BPS = 300;
// The largest amount that the ledger holds, atomic units: products of amounts, fees and uint112 reserves stay below 2^256.
uint256 constant AMOUNT_LIMIT = type(uint128).max;
// Token indices are one byte.
uint256 constant TOKEN_LIMIT = 255;
// Stands for "inside a callback" where an error names a step.
uint256 constant IN_CALLBACK = type(uint256).max;
