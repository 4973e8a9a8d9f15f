// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StandInPancakeV3PoolDeployer} from "../devnet/pancakeswap/StandInPancakeV3PoolDeployer.sol";
import {NATIVE, WETH} from "../src/Constants.sol";
import {Order} from "../src/IExecutionProxy.sol";
import {IToken, IV3Factory, IV3Pool, Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";

/// PancakeSwap V3's own pools run the V3 step and ask for their input by a callback of their own name.
contract PancakeSwapTest is Market {
    address private pool;

    function setUp() public override {
        super.setUp();
        // where mainnet has it
        address deployer = 0x41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9;
        _deployAt(
            deployer,
            bytes.concat(type(StandInPancakeV3PoolDeployer).creationCode, abi.encode(_hexField(_file("PancakeV3Pool"))))
        );
        v3Factory = IV3Factory(_deploy(_hexField(_file("PancakeV3Factory")), abi.encode(deployer)));
        pool = _pool(address(usdc), 2_999e6, WETH, 1 ether, 500, 2e18);
    }

    function test_one_hop_is_paid_in_the_callback() public {
        uint256 expected = _v3Out(pool, address(usdc), 3_000e6);
        Order memory order = _order(address(usdc), 3_000e6, WETH, expected);
        assertEq(_run(order, bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, pool)))[0], expected);
        assertEq(IToken(WETH).balanceOf(bob), expected);
    }

    function test_ether_in() public {
        uint256 expected = _v3Out(pool, WETH, 2 ether);
        Order memory order = _order(NATIVE, 2 ether, address(usdc), expected);
        assertEq(_run(order, bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, pool)))[0], expected);
    }

    /// Three exchanges in one program: PancakeSwap's pool pays a pair, and Uniswap's pool stands beside.
    function test_stands_in_one_program_with_uniswaps_pools() public {
        uint256 half = 1_500e6;
        uint256 weth = _v3Out(pool, address(usdc), half) + _v3Out(v3UsdcWeth, address(usdc), half);
        uint256 expected = _v2Out(v2WethDai, WETH, weth);
        bytes memory program = bytes.concat(
            Program.tokens(WETH),
            Program.v3(0, 0, 2, 1 << 31, pool),
            Program.v3(0, 0, 2, 0, v3UsdcWeth),
            Program.v2(1, 2, 1, 0, v2WethDai)
        );
        assertEq(_run(_order(address(usdc), 3_000e6, address(dai), expected), program)[0], expected);
    }

    function testFuzz_pays_what_the_pool_pays(uint96 amount, bool sellEther) public {
        address tokenIn = sellEther ? WETH : address(usdc);
        uint256 amountIn = bound(amount, 1e6, sellEther ? 1_000 ether : 3_000_000e6);
        uint256 expected = _v3Out(pool, tokenIn, amountIn);
        vm.assume(expected > 0);
        Order memory order = _order(tokenIn, amountIn, sellEther ? address(usdc) : WETH, expected);
        assertEq(_run(order, bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, pool)))[0], expected);
    }

    function pancakeV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        IToken(IV3Pool(msg.sender).token0()).transfer(msg.sender, owed0);
        IToken(IV3Pool(msg.sender).token1()).transfer(msg.sender, owed1);
    }

    function pancakeV3SwapCallback(int256 delta0, int256 delta1, bytes calldata) external {
        if (delta0 > 0) IToken(IV3Pool(msg.sender).token0()).transfer(msg.sender, uint256(delta0));
        if (delta1 > 0) IToken(IV3Pool(msg.sender).token1()).transfer(msg.sender, uint256(delta1));
    }

    function _file(string memory name) private pure returns (string memory) {
        return string.concat("node_modules/@pancakeswap/v3-core/artifacts/contracts/", name, ".sol/", name, ".json");
    }
}
