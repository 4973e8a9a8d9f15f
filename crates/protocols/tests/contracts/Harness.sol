// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface IPair {
    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
}

interface IPool {
    function initialize(uint160 sqrtPriceX96) external;
    function mint(address owner, int24 lower, int24 upper, uint128 liquidity, bytes calldata data)
        external
        returns (uint256, uint256);
    function burn(int24 lower, int24 upper, uint128 liquidity) external returns (uint256, uint256);
    function swap(address to, bool zeroForOne, int256 amount, uint160 limitX96, bytes calldata data)
        external
        returns (int256, int256);
}

/// @title A coin of the differential tests: balances at slot 0, nothing else
contract Coin {
    mapping(address => uint256) public balanceOf;

    constructor(address holder, uint256 supply) {
        balanceOf[holder] = supply;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
        return true;
    }
}

/// @title Calls pairs and pools the way that the execution proxy does, and pays what they ask for
contract Harness {
    uint160 private constant LOWEST_LIMIT_X96 = 4295128739 + 1;
    uint160 private constant HIGHEST_LIMIT_X96 = 1461446703485210103287273052203988822378723970342 - 1;

    Coin private immutable coin0;
    Coin private immutable coin1;

    /// @dev Coins in the pool's order.
    constructor(Coin coin0_, Coin coin1_) {
        coin0 = coin0_;
        coin1 = coin1_;
    }

    function swapPair(IPair pair, bool zeroForOne, uint256 amountIn, uint256 amountOut) external {
        (zeroForOne ? coin0 : coin1).transfer(address(pair), amountIn);
        (uint256 out0, uint256 out1) = zeroForOne ? (uint256(0), amountOut) : (amountOut, uint256(0));
        pair.swap(out0, out1, address(this), "");
    }

    function swapPool(IPool pool, bool zeroForOne, uint256 amountIn) external returns (int256, int256) {
        require(amountIn <= uint256(type(int256).max), "amount");
        uint160 limit = zeroForOne ? LOWEST_LIMIT_X96 : HIGHEST_LIMIT_X96;
        return pool.swap(address(this), zeroForOne, int256(amountIn), limit, "");
    }

    function mint(IPool pool, int24 lower, int24 upper, uint128 liquidity) external {
        pool.mint(address(this), lower, upper, liquidity, "");
    }

    function burn(IPool pool, int24 lower, int24 upper, uint128 liquidity) external {
        pool.burn(lower, upper, liquidity);
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        _payMint(owed0, owed1);
    }

    function pancakeV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        _payMint(owed0, owed1);
    }

    function uniswapV3SwapCallback(int256 owed0, int256 owed1, bytes calldata) external {
        _paySwap(owed0, owed1);
    }

    function pancakeV3SwapCallback(int256 owed0, int256 owed1, bytes calldata) external {
        _paySwap(owed0, owed1);
    }

    function _payMint(uint256 owed0, uint256 owed1) private {
        if (owed0 > 0) coin0.transfer(msg.sender, owed0);
        if (owed1 > 0) coin1.transfer(msg.sender, owed1);
    }

    function _paySwap(int256 owed0, int256 owed1) private {
        if (owed0 > 0) coin0.transfer(msg.sender, uint256(owed0));
        if (owed1 > 0) coin1.transfer(msg.sender, uint256(owed1));
    }
}
