// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface IFactory {
    function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address);
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address);
}

interface IPool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function slot0() external view returns (uint160 sqrtPriceX96, int24, uint16, uint16, uint16, uint32, bool);
    function initialize(uint160 sqrtPriceX96) external;
    function swap(address recipient, bool zeroForOne, int256 amount, uint160 limit, bytes calldata data)
        external
        returns (int256 amount0, int256 amount1);
}

interface IErc20 {
    function transferFrom(address from, address to, uint256 amount) external;
}

/// Stands in for PancakeSwap V3's position manager and router, of which the package ships no code: it opens pools and
/// sells an exact input, by the calls of the deployed contracts.
/// Left out: positions, several hops, ether, minimums and deadlines.
contract StandInPancakeV3Periphery {
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

    function exactInputSingle(ExactInputSingleParams calldata params) external returns (uint256 amountOut) {
        IPool pool = IPool(FACTORY.getPool(params.tokenIn, params.tokenOut, params.fee));
        bool zeroForOne = params.tokenIn < params.tokenOut;
        (int256 amount0, int256 amount1) = pool.swap(
            params.recipient, zeroForOne, int256(params.amountIn), params.sqrtPriceLimitX96, abi.encode(msg.sender)
        );
        amountOut = uint256(-(zeroForOne ? amount1 : amount0));
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
