//! The ABI of the contract functions that this crate calls.
#![allow(missing_docs)]

use alloy::sol;

sol! {
    interface IErc20 {
        function balanceOf(address owner) external view returns (uint256);
        function approve(address spender, uint256 value) external;
        function transfer(address to, uint256 value) external;
        function deposit() external payable;
    }

    interface IV2Factory {
        function createPair(address tokenA, address tokenB) external returns (address pair);
        function getPair(address tokenA, address tokenB) external view returns (address pair);
    }

    interface IV2Pair {
        function mint(address to) external returns (uint256 liquidity);
    }

    interface IV3Factory {
        function enableFeeAmount(uint24 fee, int24 tickSpacing) external;
        function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address pool);
    }

    interface IV2Router {
        function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)
            external returns (uint256[] amounts);
    }

    interface ISwapRouter {
        struct ExactInputSingleParams {
            address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline;
            uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96;
        }
        function exactInputSingle(ExactInputSingleParams calldata params) external payable returns (uint256 amountOut);
    }

    interface IPositionManager {
        function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96)
            external payable returns (address pool);
    }
    interface IV3Filler {
        function fill(address pool, int24 tickLower, int24 tickUpper, uint256 amount0, uint256 amount1) external;
    }
}
