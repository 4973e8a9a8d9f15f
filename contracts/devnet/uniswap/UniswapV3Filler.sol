// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {TickMath} from "@uniswap/v4-core/src/libraries/TickMath.sol";
import {LiquidityAmounts} from "@uniswap/v4-periphery/src/libraries/LiquidityAmounts.sol";

interface IFilledPool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function slot0() external view returns (uint160 sqrtPriceX96, int24, uint16, uint16, uint16, uint32, bool);
    function mint(address recipient, int24 tickLower, int24 tickUpper, uint128 amount, bytes calldata data)
        external
        returns (uint256 amount0, uint256 amount1);
}

interface IPaid {
    function transferFrom(address from, address to, uint256 amount) external;
}

/// @title Adds liquidity to pools of Uniswap V3, SushiSwap V3 and PancakeSwap V3, with what the caller holds and approved
/// @notice Of the local chain. The position managers would make a token of each position, and a node that hashes its whole
/// state for each block would need half as long again for these tokens.
contract UniswapV3Filler {
    /// Adds as much liquidity as both amounts pay for. The position belongs to the caller.
    function fill(IFilledPool pool, int24 tickLower, int24 tickUpper, uint256 amount0, uint256 amount1) external {
        (uint160 price,,,,,,) = pool.slot0();
        uint128 liquidity = LiquidityAmounts.getLiquidityForAmounts(
            price, TickMath.getSqrtPriceAtTick(tickLower), TickMath.getSqrtPriceAtTick(tickUpper), amount0, amount1
        );
        pool.mint(msg.sender, tickLower, tickUpper, liquidity, abi.encode(msg.sender));
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata data) external {
        pay(owed0, owed1, abi.decode(data, (address)));
    }

    function pancakeV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata data) external {
        pay(owed0, owed1, abi.decode(data, (address)));
    }

    /// The local chain alone holds this contract: whoever calls back is taken for a pool.
    function pay(uint256 owed0, uint256 owed1, address payer) private {
        if (owed0 > 0) IPaid(IFilledPool(msg.sender).token0()).transferFrom(payer, msg.sender, owed0);
        if (owed1 > 0) IPaid(IFilledPool(msg.sender).token1()).transferFrom(payer, msg.sender, owed1);
    }
}
