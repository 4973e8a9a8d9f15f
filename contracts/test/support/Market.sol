// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Preinstalls} from "@eth-optimism/contracts-bedrock/src/libraries/Preinstalls.sol";
import {Test} from "forge-std/Test.sol";
import {NATIVE, PERMIT2, WETH} from "../../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output} from "../../src/IExecutionProxy.sol";
import {TestToken} from "./TestToken.sol";

interface IToken {
    function balanceOf(address) external view returns (uint256);
    function allowance(address, address) external view returns (uint256);
    function approve(address, uint256) external returns (bool);
    function transfer(address, uint256) external returns (bool);
}

interface IWeth is IToken {
    function deposit() external payable;
}

interface IV2Factory {
    function createPair(address, address) external returns (address);
    function getPair(address, address) external view returns (address);
}

interface IV2Pair {
    function mint(address) external returns (uint256);
    function getReserves() external view returns (uint112, uint112, uint32);
    function token0() external view returns (address);
}

interface IV3Factory {
    function createPool(address, address, uint24) external returns (address);
}

interface IV3Pool {
    function initialize(uint160) external;
    function mint(address, int24, int24, uint128, bytes calldata) external returns (uint256, uint256);
    function swap(address, bool, int256, uint160, bytes calldata) external returns (int256, int256);
    function token0() external view returns (address);
    function token1() external view returns (address);
    function liquidity() external view returns (uint128);
}

/// A small market on the real bytecode of Uniswap V2 and V3, with WETH and Permit2 at their addresses.
abstract contract Market is Test {
    IExecutionProxy internal proxy;
    TestToken internal usdc;
    TestToken internal dai;
    TestToken internal wbtc;
    IV2Factory internal v2Factory;
    IV3Factory internal v3Factory;
    address internal v2UsdcWeth;
    address internal v2WethDai;
    address internal v2WethWbtc;
    address internal v3UsdcWeth;
    address internal v3WethDai;

    address internal alice = makeAddr("alice");
    address internal bob = makeAddr("bob");
    address internal partner = makeAddr("partner");

    uint256 internal constant RICH = 1e30;

    function setUp() public virtual {
        proxy = IExecutionProxy(_deploy(_hexField("artifacts/ExecutionProxy.json"), ""));
        vm.etch(WETH, _runtime(_v2File("v2-periphery", "WETH9")));
        vm.etch(PERMIT2, Preinstalls.getPermit2Code(block.chainid));
        vm.deal(address(this), 1e6 ether);
        IWeth(WETH).deposit{value: 5e5 ether}();
        usdc = new TestToken(6);
        dai = new TestToken(18);
        wbtc = new TestToken(8);
        for (uint256 i; i < 3; ++i) {
            [usdc, dai, wbtc][i].mint(address(this), RICH);
        }

        // where mainnet has them, so that their pools stand at the addresses by which the proxy knows them
        v2Factory = IV2Factory(0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f);
        v3Factory = IV3Factory(0x1F98431c8aD98523631AE4a59f267346ea31F984);
        _deployAt(
            address(v2Factory),
            bytes.concat(_hexField(_v2File("v2-core", "UniswapV2Factory")), abi.encode(address(this)))
        );
        _deployAt(address(v3Factory), _hexField(_v3File("v3-core", "UniswapV3Factory")));
        v2UsdcWeth = _pair(address(usdc), 30_000_000e6, WETH, 10_000 ether);
        v2WethDai = _pair(WETH, 5_000 ether, address(dai), 15_010_000e18);
        v2WethWbtc = _pair(WETH, 3_000 ether, address(wbtc), 100e8);
        v3UsdcWeth = _pool(address(usdc), 3_001e6, WETH, 1 ether, 500, 2e18);
        v3WethDai = _pool(WETH, 1 ether, address(dai), 3_002e18, 3000, 1e23);
    }

    // — orders —

    function _order(address tokenIn, uint256 amount, address tokenOut, uint256 minimum)
        internal
        view
        returns (Order memory order)
    {
        order.inputs = new Input[](1);
        order.inputs[0] = Input(tokenIn, amount);
        order.outputs = new Output[](1);
        order.outputs[0] = Output(tokenOut, minimum);
        order.recipient = bob;
        order.deadline = block.timestamp;
    }

    /// Gives alice what the order needs and lets the proxy take exactly that.
    function _fund(Order memory order) internal returns (uint256 valueWei) {
        return _fund(order, address(proxy));
    }

    function _fund(Order memory order, address spender) internal returns (uint256 valueWei) {
        for (uint256 i; i < order.inputs.length; ++i) {
            Input memory input = order.inputs[i];
            if (input.token == NATIVE) {
                valueWei = input.amount;
                vm.deal(alice, valueWei);
            } else {
                _send(input.token, alice, input.amount);
                _approve(input.token, spender, 0);
                _approve(input.token, spender, input.amount);
            }
        }
    }

    /// Some tokens answer nothing, which IToken would not take.
    function _send(address token, address to, uint256 amount) internal {
        (bool ok,) = token.call(abi.encodeCall(IToken.transfer, (to, amount)));
        require(ok, "transfer failed");
    }

    function _approve(address token, address spender, uint256 amount) internal {
        vm.prank(alice);
        (bool ok,) = token.call(abi.encodeCall(IToken.approve, (spender, amount)));
        require(ok, "approval failed");
    }

    /// Funds alice and runs the order as her.
    function _run(Order memory order, bytes memory program) internal returns (uint256[] memory received) {
        uint256 valueWei = _fund(order);
        vm.prank(alice);
        received = proxy.execute{value: valueWei}(order, program);
        _assertNothingLeft();
    }

    function _assertNothingLeft() internal view {
        address[6] memory all = [address(usdc), address(dai), address(wbtc), WETH, v2UsdcWeth, v2WethDai];
        for (uint256 i; i < all.length; ++i) {
            assertEq(IToken(all[i]).balanceOf(address(proxy)), 0, "the proxy holds a token");
        }
        assertEq(address(proxy).balance, 0, "the proxy holds ether");
    }

    // — what the pools pay —

    function _v2Out(address pair, address tokenIn, uint256 amountIn) internal view returns (uint256) {
        (uint256 r0, uint256 r1,) = IV2Pair(pair).getReserves();
        if (IV2Pair(pair).token0() != tokenIn) (r0, r1) = (r1, r0);
        uint256 afterFee = amountIn * 997;
        return afterFee * r1 / (r0 * 1000 + afterFee);
    }

    /// Swaps on the pool itself and rolls the state back.
    function _v3Out(address pool, address tokenIn, uint256 amountIn) internal returns (uint256 amountOut) {
        uint256 snapshot = vm.snapshotState();
        bool zeroForOne = IV3Pool(pool).token0() == tokenIn;
        uint160 limit = zeroForOne ? 4295128740 : 1461446703485210103287273052203988822378723970341;
        (int256 d0, int256 d1) = IV3Pool(pool).swap(address(this), zeroForOne, int256(amountIn), limit, "");
        amountOut = uint256(-(zeroForOne ? d1 : d0));
        vm.revertToState(snapshot);
    }

    // — building —

    function _pair(address a, uint256 amountA, address b, uint256 amountB) internal returns (address pair) {
        pair = v2Factory.createPair(a, b);
        _send(a, pair, amountA);
        _send(b, pair, amountB);
        IV2Pair(pair).mint(address(this));
    }

    /// A pool at the price `amountA` of a for `amountB` of b, with one position over the whole range.
    function _pool(address a, uint256 amountA, address b, uint256 amountB, uint24 fee, uint128 liquidity)
        internal
        returns (address pool)
    {
        pool = v3Factory.createPool(a, b, fee);
        (uint256 amount0, uint256 amount1) = a < b ? (amountA, amountB) : (amountB, amountA);
        uint256 ratio = _sqrt((amount1 << 128) / amount0) << 32;
        IV3Pool(pool).initialize(uint160(ratio));
        IV3Pool(pool).mint(address(this), -887220, 887220, liquidity, "");
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        if (owed0 != 0) IToken(IV3Pool(msg.sender).token0()).transfer(msg.sender, owed0);
        if (owed1 != 0) IToken(IV3Pool(msg.sender).token1()).transfer(msg.sender, owed1);
    }

    function uniswapV3SwapCallback(int256 delta0, int256 delta1, bytes calldata) external {
        if (delta0 > 0) IToken(IV3Pool(msg.sender).token0()).transfer(msg.sender, uint256(delta0));
        if (delta1 > 0) IToken(IV3Pool(msg.sender).token1()).transfer(msg.sender, uint256(delta1));
    }

    receive() external payable {}

    // — packages —

    function _v2File(string memory package, string memory name) internal pure returns (string memory) {
        return string.concat("node_modules/@uniswap/", package, "/build/", name, ".json");
    }

    function _v3File(string memory package, string memory name) internal pure returns (string memory) {
        return string.concat("node_modules/@uniswap/", package, "/artifacts/contracts/", name, ".sol/", name, ".json");
    }

    function _hexField(string memory file) internal view returns (bytes memory) {
        string memory value = vm.parseJsonString(vm.readFile(file), ".bytecode");
        return vm.parseBytes(bytes(value)[1] == "x" ? value : string.concat("0x", value));
    }

    function _runtime(string memory file) internal returns (bytes memory) {
        return _deploy(_hexField(file), "").code;
    }

    function _deploy(bytes memory creation, bytes memory arguments) internal returns (address made) {
        bytes memory code = bytes.concat(creation, arguments);
        assembly ("memory-safe") {
            made := create(0, add(code, 0x20), mload(code))
        }
        require(made != address(0), "deployment failed");
    }

    /// Runs a constructor so that its code and its storage stand at a fixed address.
    function _deployAt(address where, bytes memory creation) internal {
        vm.etch(where, creation);
        (bool ok, bytes memory runtime) = where.call("");
        require(ok, "deployment failed");
        vm.etch(where, runtime);
    }

    function _sqrt(uint256 x) internal pure returns (uint256 y) {
        uint256 z = (x >> 1) + 1;
        y = x;
        while (z < y) (y, z) = (z, (x / z + z) >> 1);
    }
}
