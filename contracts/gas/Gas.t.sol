// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {Order, Permit, Swap} from "../src/IExecutionProxy.sol";
import {IToken, Market} from "../test/support/Market.sol";
import {Program} from "../test/support/Program.sol";
import {IPermit2, Signing} from "../test/support/Signing.sol";

interface IRouter02 {
    function swapExactTokensForTokens(uint256, uint256, address[] calldata, address, uint256)
        external
        returns (uint256[] memory);
    function swapExactETHForTokens(uint256, address[] calldata, address, uint256)
        external
        payable
        returns (uint256[] memory);
    function swapExactTokensForETH(uint256, uint256, address[] calldata, address, uint256)
        external
        returns (uint256[] memory);
}

interface ISwapRouter02 {
    struct ExactInputSingleParams {
        address tokenIn;
        address tokenOut;
        uint24 fee;
        address recipient;
        uint256 amountIn;
        uint256 amountOutMinimum;
        uint160 sqrtPriceLimitX96;
    }

    struct ExactInputParams {
        bytes path;
        address recipient;
        uint256 amountIn;
        uint256 amountOutMinimum;
    }

    function exactInputSingle(ExactInputSingleParams calldata) external payable returns (uint256);
    function exactInput(ExactInputParams calldata) external payable returns (uint256);
    function swapExactTokensForTokens(uint256, uint256, address[] calldata, address) external payable returns (uint256);
    function unwrapWETH9(uint256, address) external payable;
    function multicall(uint256 deadline, bytes[] calldata) external payable returns (bytes[] memory);
}

interface IUniversalRouter {
    function execute(bytes calldata commands, bytes[] calldata inputs, uint256 deadline) external payable;
}

interface IPermit2Allowance {
    function approve(address token, address spender, uint160 amount, uint48 expiration) external;
    function allowance(address, address, address) external view returns (uint160, uint48, uint48);
}

struct PermitDetails {
    address token;
    uint160 amount;
    uint48 expiration;
    uint48 nonce;
}

struct PermitSingle {
    PermitDetails details;
    address spender;
    uint256 sigDeadline;
}

/// Whole transactions on the same pools with the same payment, ours and Uniswap's own routers. Run with --isolate,
/// so that every call is a transaction with cold storage, its intrinsic gas and its calldata.
contract GasTest is Signing {
    uint256 private constant SELL = 3_000e6;
    IRouter02 private router02;
    ISwapRouter02 private swapRouter02;
    IUniversalRouter private universal;

    uint256 private _untouched;

    bytes1 private constant V3_SWAP = 0x00;
    bytes1 private constant V2_SWAP = 0x08;
    bytes1 private constant PERMIT = 0x0a;
    bytes1 private constant WRAP = 0x0b;
    bytes1 private constant UNWRAP = 0x0c;

    function setUp() public override {
        super.setUp();
        router02 = IRouter02(
            _deploy(_hexField(_v2File("v2-periphery", "UniswapV2Router02")), abi.encode(address(v2Factory), WETH))
        );
        swapRouter02 = ISwapRouter02(
            _deploy(
                _hexField(_v3File("swap-router-contracts", "SwapRouter02")),
                abi.encode(address(v2Factory), address(v3Factory), address(this), WETH)
            )
        );
        universal = IUniversalRouter(
            _deploy(
                _hexField(_v3File("universal-router", "UniversalRouter")),
                bytes.concat(
                    abi.encode(
                        PERMIT2, WETH, v2Factory, v3Factory, keccak256(_hexField(_v2File("v2-core", "UniswapV2Pair")))
                    ),
                    abi.encode(keccak256(_hexField(_v3File("v3-core", "UniswapV3Pool"))), 1, 1, 1, 1)
                )
            )
        );
        // a trader who has traded before: balances are not zero, allowances are unlimited
        alice = owner;
        usdc.transfer(alice, 1e12);
        dai.transfer(alice, 1e24);
        IToken(WETH).transfer(alice, 10 ether);
        vm.deal(alice, 100 ether);
        address[4] memory spenders = [address(proxy), address(router02), address(swapRouter02), PERMIT2];
        for (uint256 i; i < 4; ++i) {
            vm.prank(alice);
            usdc.approve(spenders[i], type(uint256).max);
        }
        vm.prank(alice);
        IPermit2Allowance(PERMIT2).approve(address(usdc), address(universal), type(uint160).max, type(uint48).max);
        // nonces used before: the bitmap word of ours is not zero
        vm.store(
            PERMIT2, keccak256(abi.encode(uint256(0), keccak256(abi.encode(alice, uint256(0))))), bytes32(uint256(1))
        );
        _untouched = vm.snapshotState();
    }

    // — one V2 hop —

    function test_one_v2_hop() public {
        uint256 least = _v2Out(v2UsdcWeth, address(usdc), SELL) * 99 / 100;
        _ours("one V2 hop", address(usdc), SELL, WETH, least, _pair());
        vm.prank(alice);
        router02.swapExactTokensForTokens(SELL, least, _path(address(usdc), WETH), alice, block.timestamp);
        vm.snapshotGasLastCall("router", "one V2 hop");
        _universal(
            "one V2 hop", bytes.concat(V2_SWAP), abi.encode(alice, SELL, least, _path(address(usdc), WETH), true)
        );
    }

    function test_one_v3_hop() public {
        uint256 least = 0.98 ether;
        _ours("one V3 hop", address(usdc), SELL, WETH, least, _pool());
        vm.prank(alice);
        swapRouter02.exactInputSingle(
            ISwapRouter02.ExactInputSingleParams(address(usdc), WETH, 500, alice, SELL, least, 0)
        );
        vm.snapshotGasLastCall("router", "one V3 hop");
        _universal("one V3 hop", bytes.concat(V3_SWAP), abi.encode(alice, SELL, least, _hop(), true));
    }

    function test_two_v3_hops() public {
        uint256 least = 2_900e18;
        bytes memory path = bytes.concat(_pool(), abi.encodePacked(WETH), Program.hop(Program.UNISWAP_V3, 3000));
        _ours("two V3 hops", address(usdc), SELL, address(dai), least, path);
        vm.prank(alice);
        swapRouter02.exactInput(
            ISwapRouter02.ExactInputParams(
                abi.encodePacked(address(usdc), uint24(500), WETH, uint24(3000), address(dai)), alice, SELL, least
            )
        );
        vm.snapshotGasLastCall("router", "two V3 hops");
        path = bytes.concat(_hop(), abi.encodePacked(uint24(3000), address(dai)));
        _universal("two V3 hops", bytes.concat(V3_SWAP), abi.encode(alice, SELL, least, path, true));
    }

    function test_two_way_split() public {
        uint256 least = 0.98 ether;
        bytes memory program = bytes.concat(
            Program.tokens(), Program.v2(1, 0, 1, 1 << 31, v2UsdcWeth), Program.v3(1, 0, 1, 0, v3UsdcWeth)
        );
        _oursInSteps("two-way split", address(usdc), SELL, WETH, least, program);
        bytes[] memory calls = new bytes[](2);
        calls[0] = abi.encodeCall(
            ISwapRouter02.swapExactTokensForTokens, (SELL / 2, least / 2, _path(address(usdc), WETH), alice)
        );
        calls[1] = abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams(address(usdc), WETH, 500, alice, SELL / 2, least / 2, 0))
        );
        vm.prank(alice);
        swapRouter02.multicall(block.timestamp, calls);
        vm.snapshotGasLastCall("router", "two-way split");
        bytes[] memory inputs = new bytes[](2);
        inputs[0] = abi.encode(alice, SELL / 2, least / 2, _path(address(usdc), WETH), true);
        inputs[1] = abi.encode(alice, SELL / 2, least / 2, _hop(), true);
        _universal("two-way split", bytes.concat(V2_SWAP, V3_SWAP), inputs, 0);
    }

    function test_ether_in() public {
        uint256 least = 2_900e6;
        _ours("ether in, V2", NATIVE, 1 ether, address(usdc), least, _pair());
        vm.prank(alice);
        router02.swapExactETHForTokens{value: 1 ether}(least, _path(WETH, address(usdc)), alice, block.timestamp);
        vm.snapshotGasLastCall("router", "ether in, V2");
        bytes[] memory inputs = new bytes[](2);
        inputs[0] = abi.encode(address(2), 1 ether);
        inputs[1] = abi.encode(alice, 1 ether, least, _path(WETH, address(usdc)), false);
        _universal("ether in, V2", bytes.concat(WRAP, V2_SWAP), inputs, 1 ether);
    }

    function test_ether_in_v3() public {
        uint256 least = 2_900e6;
        _ours("ether in, V3", NATIVE, 1 ether, address(usdc), least, _pool());
        vm.prank(alice);
        swapRouter02.exactInputSingle{value: 1 ether}(
            ISwapRouter02.ExactInputSingleParams(WETH, address(usdc), 500, alice, 1 ether, least, 0)
        );
        vm.snapshotGasLastCall("router", "ether in, V3");
        bytes[] memory inputs = new bytes[](2);
        inputs[0] = abi.encode(address(2), 1 ether);
        inputs[1] = abi.encode(alice, 1 ether, least, abi.encodePacked(WETH, uint24(500), address(usdc)), false);
        _universal("ether in, V3", bytes.concat(WRAP, V3_SWAP), inputs, 1 ether);
    }

    function test_ether_out() public {
        uint256 least = 0.98 ether;
        _ours("ether out, V2", address(usdc), SELL, NATIVE, least, _pair());
        vm.prank(alice);
        router02.swapExactTokensForETH(SELL, least, _path(address(usdc), WETH), alice, block.timestamp);
        vm.snapshotGasLastCall("router", "ether out, V2");
        bytes[] memory inputs = new bytes[](2);
        inputs[0] = abi.encode(address(2), SELL, uint256(0), _path(address(usdc), WETH), true);
        inputs[1] = abi.encode(alice, least);
        _universal("ether out, V2", bytes.concat(V2_SWAP, UNWRAP), inputs, 0);
    }

    function test_ether_out_v3() public {
        uint256 least = 0.98 ether;
        _ours("ether out, V3", address(usdc), SELL, NATIVE, least, _pool());
        bytes[] memory calls = new bytes[](2);
        calls[0] = abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams(address(usdc), WETH, 500, address(2), SELL, least, 0))
        );
        calls[1] = abi.encodeCall(ISwapRouter02.unwrapWETH9, (least, alice));
        vm.prank(alice);
        swapRouter02.multicall(block.timestamp, calls);
        vm.snapshotGasLastCall("router", "ether out, V3");
        bytes[] memory inputs = new bytes[](2);
        inputs[0] = abi.encode(address(2), SELL, uint256(0), _hop(), true);
        inputs[1] = abi.encode(alice, least);
        _universal("ether out, V3", bytes.concat(V3_SWAP, UNWRAP), inputs, 0);
    }

    function test_one_v3_hop_signed() public {
        uint256 least = 0.98 ether;
        _signed("one V3 hop, signed", least, _pool(), V3_SWAP, abi.encode(alice, SELL, least, _hop(), true));
    }

    function test_one_v2_hop_signed() public {
        uint256 least = _v2Out(v2UsdcWeth, address(usdc), SELL) * 99 / 100;
        bytes memory input = abi.encode(alice, SELL, least, _path(address(usdc), WETH), true);
        _signed("one V2 hop, signed", least, _pair(), V2_SWAP, input);
    }

    /// A hop that each router pays for with a fresh Permit2 signature over exactly what is sold, usable now and once. Ours binds what
    /// must come back too; the Universal Router's is an allowance.
    function _signed(string memory name, uint256 least, bytes memory path, bytes1 command, bytes memory input) private {
        Order memory order = _order(address(usdc), SELL, WETH, least);
        order.recipient = alice;
        Permit memory permit = Permit(owner, 7, block.timestamp, alice);
        bytes memory signature = _sign(order, path, permit);
        uint256 snapshot = vm.snapshotState();
        vm.prank(alice);
        proxy.swapWithPermit2(_flat(order), path, permit, signature);
        vm.snapshotGasLastCall("proxy", name);
        vm.revertToState(snapshot);

        bytes[] memory inputs = new bytes[](2);
        (,, uint48 nonce) = IPermit2Allowance(PERMIT2).allowance(alice, address(usdc), address(universal));
        PermitDetails memory details = PermitDetails(address(usdc), uint160(SELL), uint48(block.timestamp), nonce);
        PermitSingle memory single = PermitSingle(details, address(universal), block.timestamp);
        inputs[0] = abi.encode(single, _signDigest(_singleDigest(single)));
        inputs[1] = input;
        _universal(name, bytes.concat(PERMIT, command), inputs, 0);
    }

    function _singleDigest(PermitSingle memory single) private view returns (bytes32) {
        bytes32 details = keccak256(
            abi.encode(
                keccak256("PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)"), single.details
            )
        );
        bytes32 hash = keccak256(
            abi.encode(
                keccak256(
                    "PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)"
                ),
                details,
                single.spender,
                single.sigDeadline
            )
        );
        return keccak256(abi.encodePacked(hex"1901", IPermit2(PERMIT2).DOMAIN_SEPARATOR(), hash));
    }

    function _universal(string memory name, bytes memory command, bytes memory input) private {
        bytes[] memory inputs = new bytes[](1);
        inputs[0] = input;
        _universal(name, command, inputs, 0);
    }

    function _universal(string memory name, bytes memory commands, bytes[] memory inputs, uint256 valueWei) private {
        vm.revertToState(_untouched);
        vm.prank(alice);
        universal.execute{value: valueWei}(commands, inputs, block.timestamp);
        vm.snapshotGasLastCall("universal-router", name);
    }

    function _hop() private view returns (bytes memory) {
        return abi.encodePacked(address(usdc), uint24(500), WETH);
    }

    /// Runs ours and rolls the pools back, so that the router meets the same state.
    function _ours(string memory name, address from, uint256 amount, address into, uint256 least, bytes memory path)
        private
    {
        uint256 snapshot = vm.snapshotState();
        vm.prank(alice);
        proxy.swap{value: from == NATIVE ? amount : 0}(Swap(from, amount, into, least, alice, block.timestamp), path);
        vm.snapshotGasLastCall("proxy", name);
        vm.revertToState(snapshot);
    }

    function _pair() private pure returns (bytes memory) {
        return bytes.concat(Program.SWAP, Program.hop(Program.UNISWAP_V2));
    }

    function _pool() private pure returns (bytes memory) {
        return bytes.concat(Program.SWAP, Program.hop(Program.UNISWAP_V3, 500));
    }

    /// An order that no path says, in steps.
    function _oursInSteps(
        string memory name,
        address from,
        uint256 amount,
        address into,
        uint256 least,
        bytes memory program
    ) private {
        Order memory order = _order(from, amount, into, least);
        order.recipient = alice;
        uint256 snapshot = vm.snapshotState();
        vm.prank(alice);
        proxy.execute{value: from == NATIVE ? amount : 0}(order, program);
        vm.snapshotGasLastCall("proxy", name);
        vm.revertToState(snapshot);
    }

    function _path(address a, address b) private pure returns (address[] memory path) {
        path = new address[](2);
        (path[0], path[1]) = (a, b);
    }
}
