// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {TickMath} from "@uniswap/v4-core/src/libraries/TickMath.sol";
import {LiquidityAmounts} from "@uniswap/v4-periphery/src/libraries/LiquidityAmounts.sol";

interface IFactory {
    function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address);
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address);
}

interface IPool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function slot0() external view returns (uint160 sqrtPriceX96, int24, uint16, uint16, uint16, uint32, bool);
    function initialize(uint160 sqrtPriceX96) external;
    function mint(address recipient, int24 tickLower, int24 tickUpper, uint128 amount, bytes calldata data)
        external
        returns (uint256 amount0, uint256 amount1);
    function swap(address recipient, bool zeroForOne, int256 amount, uint160 limit, bytes calldata data)
        external
        returns (int256 amount0, int256 amount1);
}

interface IErc20 {
    function transferFrom(address from, address to, uint256 amount) external;
}

/// Stands in for PancakeSwap V3's position manager and router, of which the package ships no code: it opens pools, adds
/// liquidity and sells an exact input, by the calls of the deployed contracts.
/// Left out: positions as tokens, several hops, ether, minimums and deadlines.
contract StandInPancakeV3Periphery {
    struct MintParams {
        address token0;
        address token1;
        uint24 fee;
        int24 tickLower;
        int24 tickUpper;
        uint256 amount0Desired;
        uint256 amount1Desired;
        uint256 amount0Min;
        uint256 amount1Min;
        address recipient;
        uint256 deadline;
    }

    struct ExactInputSingleParams {
        address tokenIn;
        address tokenOut;
        uint24 fee;
        address recipient;
        uint256 deadline;
        uint256 amountIn;
        uint256 amountOutMinimum;
        uint160 sqrtPriceLimitX96;
    }

    IFactory private immutable FACTORY;

    constructor(IFactory factory) {
        FACTORY = factory;
    }

    function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96)
        external
        returns (address pool)
    {
        pool = FACTORY.getPool(token0, token1, fee);
        if (pool == address(0)) pool = FACTORY.createPool(token0, token1, fee);
        (uint160 known,,,,,,) = IPool(pool).slot0();
        if (known == 0) IPool(pool).initialize(sqrtPriceX96);
    }

    /// Adds as much liquidity as both amounts pay for. Every position belongs to `recipient`.
    function mint(MintParams calldata params)
        external
        returns (uint256 positions, uint128 liquidity, uint256 amount0, uint256 amount1)
    {
        IPool pool = IPool(FACTORY.getPool(params.token0, params.token1, params.fee));
        (uint160 price,,,,,,) = pool.slot0();
        liquidity = LiquidityAmounts.getLiquidityForAmounts(
            price,
            TickMath.getSqrtPriceAtTick(params.tickLower),
            TickMath.getSqrtPriceAtTick(params.tickUpper),
            params.amount0Desired,
            params.amount1Desired
        );
        (amount0, amount1) =
            pool.mint(params.recipient, params.tickLower, params.tickUpper, liquidity, abi.encode(msg.sender));
        positions = 0;
    }

    function exactInputSingle(ExactInputSingleParams calldata params) external returns (uint256 amountOut) {
        IPool pool = IPool(FACTORY.getPool(params.tokenIn, params.tokenOut, params.fee));
        bool zeroForOne = params.tokenIn < params.tokenOut;
        (int256 amount0, int256 amount1) = pool.swap(
            params.recipient, zeroForOne, int256(params.amountIn), params.sqrtPriceLimitX96, abi.encode(msg.sender)
        );
        amountOut = uint256(-(zeroForOne ? amount1 : amount0));
    }

    function pancakeV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata data) external {
        _pay(owed0, owed1, abi.decode(data, (address)));
    }

    function pancakeV3SwapCallback(int256 delta0, int256 delta1, bytes calldata data) external {
        _pay(delta0 > 0 ? uint256(delta0) : 0, delta1 > 0 ? uint256(delta1) : 0, abi.decode(data, (address)));
    }

    /// The local chain alone holds this contract: whoever calls back is taken for a pool.
    function _pay(uint256 owed0, uint256 owed1, address payer) private {
        if (owed0 > 0) IErc20(IPool(msg.sender).token0()).transferFrom(payer, msg.sender, owed0);
        if (owed1 > 0) IErc20(IPool(msg.sender).token1()).transferFrom(payer, msg.sender, owed1);
    }
}
