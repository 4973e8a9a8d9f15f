// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Order, Permit, Swap} from "../src/IExecutionProxy.sol";
import {IToken, IV2Pair, IV3Pool} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {IPermit2, Signing} from "./support/Signing.sol";

/// One input, one output, along pools that their factories vouch for: sold exactly, or bought exactly.
contract PathsTest is Signing {
    uint256 private constant AMOUNT = 3_000e6;

    function setUp() public override {
        super.setUp();
        usdc.transfer(alice, 1e15);
        usdc.transfer(owner, 1e15);
        vm.prank(owner);
        usdc.approve(PERMIT2, type(uint256).max);
        vm.prank(alice);
        usdc.approve(address(proxy), type(uint256).max);
        vm.deal(alice, 1_000 ether);
    }

    // — ways —

    function _pairHop() private pure returns (bytes memory) {
        return Program.hop(Program.UNISWAP_V2);
    }

    function _poolHop(uint24 fee) private pure returns (bytes memory) {
        return Program.hop(Program.UNISWAP_V3, fee);
    }

    /// usdc → WETH → dai, each hop through a pair or a pool.
    function _way(bytes1 kind, uint256 shape) private pure returns (bytes memory) {
        bytes memory first = shape & 1 == 0 ? _pairHop() : _poolHop(500);
        bytes memory second = shape & 2 == 0 ? _pairHop() : _poolHop(3000);
        return bytes.concat(kind, first, abi.encodePacked(WETH), second);
    }

    function _swap(address from, uint256 amountIn, address into, uint256 amountOut) private view returns (Swap memory) {
        return Swap(from, amountIn, into, amountOut, bob, block.timestamp);
    }

    function _balance(address token, address who) private view returns (uint256) {
        return token == NATIVE ? who.balance : IToken(token).balanceOf(who);
    }

    function _go(Swap memory order, bytes memory path) private returns (uint256 amount, uint256 sold, uint256 gained) {
        (uint256 had, uint256 has) = (_balance(order.tokenIn, alice), _balance(order.tokenOut, bob));
        uint256 valueWei = order.tokenIn == NATIVE ? order.amountIn : 0;
        vm.prank(alice);
        amount = proxy.swap{value: valueWei}(order, path);
        sold = had - _balance(order.tokenIn, alice);
        gained = _balance(order.tokenOut, bob) - has;
        _assertNothingLeft();
    }

    function _out(address pool, bool pair, address token, uint256 amount) private returns (uint256) {
        return pair ? _v2Out(pool, token, amount) : _v3Out(pool, token, amount);
    }

    // — sold exactly —

    function test_every_shape_pays_what_its_pools_pay() public {
        for (uint256 shape; shape < 4; ++shape) {
            uint256 rolled = vm.snapshotState();
            bool pair1 = shape & 1 == 0;
            bool pair2 = shape & 2 == 0;
            uint256 weth = _out(pair1 ? v2UsdcWeth : v3UsdcWeth, pair1, address(usdc), AMOUNT);
            uint256 expected = _out(pair2 ? v2WethDai : v3WethDai, pair2, WETH, weth);
            Swap memory order = _swap(address(usdc), AMOUNT, address(dai), expected);
            (uint256 amount, uint256 sold, uint256 gained) = _go(order, _way(Program.SWAP, shape));
            assertEq(amount, expected);
            assertEq(sold, AMOUNT);
            assertEq(gained, expected);
            vm.revertToState(rolled);

            order.amountOut = expected + 1;
            vm.prank(alice);
            vm.expectRevert(
                abi.encodeWithSelector(
                    IExecutionProxy.OutputBelowMinimum.selector, 0, address(dai), expected, expected + 1
                )
            );
            proxy.swap(order, _way(Program.SWAP, shape));
        }
    }

    function test_ether_in_and_out() public {
        bytes[2] memory paths = [bytes.concat(Program.SWAP, _pairHop()), bytes.concat(Program.SWAP, _poolHop(500))];
        for (uint256 i; i < 2; ++i) {
            address pool = i == 0 ? v2UsdcWeth : v3UsdcWeth;
            uint256 expected = _out(pool, i == 0, WETH, 2 ether);
            (uint256 amount, uint256 sold, uint256 gained) =
                _go(_swap(NATIVE, 2 ether, address(usdc), expected), paths[i]);
            assertEq(amount, expected);
            assertEq(sold, 2 ether);
            assertEq(gained, expected);
            expected = _out(pool, i == 0, address(usdc), AMOUNT);
            (amount, sold, gained) = _go(_swap(address(usdc), AMOUNT, NATIVE, expected), paths[i]);
            assertEq(amount, expected);
            assertEq(gained, expected);
        }
    }

    /// forge-config: default.fuzz.runs = 500
    /// forge-config: long.fuzz.runs = 20000
    function testFuzz_a_path_pays_what_the_same_steps_pay(uint256 amount, uint8 shape) public {
        amount = bound(amount, 1e4, 1e12);
        bool pair1 = shape & 1 == 0;
        bool pair2 = shape & 2 == 0;
        Order memory steps = _order(address(usdc), amount, address(dai), 1);
        bytes memory first =
            pair1 ? Program.v2(pair2 ? 2 : 0, 0, 2, 0, v2UsdcWeth) : Program.v3(pair2 ? 2 : 0, 0, 2, 0, v3UsdcWeth);
        bytes memory second = pair2 ? Program.v2(1, 2, 1, 0, v2WethDai) : Program.v3(1, 2, 1, 0, v3WethDai);
        uint256 rolled = vm.snapshotState();
        vm.prank(alice);
        uint256 expected = proxy.execute(steps, bytes.concat(Program.tokens(WETH), first, second))[0];
        vm.revertToState(rolled);
        (uint256 got, uint256 sold, uint256 gained) =
            _go(_swap(address(usdc), amount, address(dai), 1), _way(Program.SWAP, shape & 3));
        assertEq(got, expected);
        assertEq(gained, expected);
        assertEq(sold, amount);
    }

    // — bought exactly —

    function test_every_shape_buys_exactly_and_takes_no_more_than_it_costs() public {
        for (uint256 shape; shape < 4; ++shape) {
            uint256 rolled = vm.snapshotState();
            (uint256 amount, uint256 sold, uint256 gained) =
                _go(_swap(address(usdc), 1e15, address(dai), 2_500e18), _way(Program.BUY, shape));
            assertEq(gained, 2_500e18);
            assertEq(amount, sold);
            vm.revertToState(rolled);

            // one less than it costs is refused
            Swap memory order = _swap(address(usdc), sold - 1, address(dai), 2_500e18);
            vm.prank(alice);
            vm.expectRevert();
            proxy.swap(order, _way(Program.BUY, shape));
            // selling what it cost pays as much, or next to nothing more
            order = _swap(address(usdc), sold, address(dai), 2_500e18);
            (,, gained) = _go(order, _way(Program.SWAP, shape));
            assertApproxEqRel(gained, 2_500e18, 1e13);
            vm.revertToState(rolled);
        }
    }

    function test_dear_purchase_names_the_price() public {
        Swap memory order = _swap(address(usdc), 100e6, WETH, 1 ether);
        bytes memory path = bytes.concat(Program.BUY, _pairHop());
        uint256 price = _v2In(v2UsdcWeth, address(usdc), 1 ether);
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InputAboveMaximum.selector, price, 100e6));
        proxy.swap(order, path);
        // to the wei
        order.amountIn = price;
        assertEq(proxy.swap(order, path), price);
    }

    function _v2In(address pair, address tokenIn, uint256 amountOut) private view returns (uint256) {
        (uint256 r0, uint256 r1,) = IV2Pair(pair).getReserves();
        if (IV2Pair(pair).token0() != tokenIn) (r0, r1) = (r1, r0);
        return r0 * amountOut * 1000 / ((r1 - amountOut) * 997) + 1;
    }

    function test_ether_that_a_purchase_does_not_need_comes_back() public {
        bytes[2] memory paths = [bytes.concat(Program.BUY, _pairHop()), bytes.concat(Program.BUY, _poolHop(500))];
        for (uint256 i; i < 2; ++i) {
            (uint256 amount, uint256 sold, uint256 gained) =
                _go(_swap(NATIVE, 5 ether, address(usdc), AMOUNT), paths[i]);
            assertEq(gained, AMOUNT);
            assertEq(amount, sold, "the rest came back");
            assertLt(sold, 1.1 ether);
            (amount, sold, gained) = _go(_swap(address(usdc), 2 * AMOUNT, NATIVE, 1 ether), paths[i]);
            assertEq(gained, 1 ether);
            assertEq(amount, sold);
        }
    }

    function test_pool_that_has_less_than_is_bought_is_refused() public {
        Swap memory order = _swap(address(usdc), 1e15, WETH, 10_001 ether);
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.OutputMissed.selector, 0, 10_000 ether, 10_001 ether));
        proxy.swap(order, bytes.concat(Program.BUY, _pairHop()));
        // a pool gives what it has, for a price beyond all bounds
        order.amountOut = 1e25;
        vm.expectRevert();
        proxy.swap(order, bytes.concat(Program.BUY, _poolHop(500)));
        order.amountOut = 2 ** 128;
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.AmountTooLarge.selector, 0, 2 ** 128, type(uint128).max));
        proxy.swap(order, bytes.concat(Program.BUY, _poolHop(500)));
    }

    /// A pool whose liquidity lies in a narrow range gives all of that for little, and stops.
    function test_pool_that_gives_less_than_is_bought_is_refused() public {
        IV3Pool narrow = IV3Pool(v3Factory.createPool(address(dai), address(wbtc), 10_000));
        narrow.initialize(1 << 96);
        narrow.mint(address(this), -2_000, 2_000, 1e12, "");
        dai.transfer(alice, 1e24);
        vm.startPrank(alice);
        dai.approve(address(proxy), type(uint256).max);
        bytes memory path = bytes.concat(Program.BUY, _poolHop(10_000));
        vm.expectPartialRevert(IExecutionProxy.OutputMissed.selector);
        proxy.swap(_swap(address(dai), 1e24, address(wbtc), 1e18), path);
        // what it has, it gives
        assertGt(proxy.swap(_swap(address(dai), 1e24, address(wbtc), 1e10), path), 1e10);
        vm.stopPrank();
        assertEq(wbtc.balanceOf(bob), 1e10);
    }

    /// forge-config: default.fuzz.runs = 500
    /// forge-config: long.fuzz.runs = 20000
    function testFuzz_a_purchase_pays_exactly_and_never_above_the_most(uint256 amount, uint256 most, uint8 shape)
        public
    {
        amount = bound(amount, 1e12, 2e24);
        most = bound(most, 1, 1e13);
        Swap memory order = _swap(address(usdc), most, address(dai), amount);
        uint256 before = usdc.balanceOf(alice);
        vm.prank(alice);
        (bool ok, bytes memory answer) =
            address(proxy).call(abi.encodeCall(IExecutionProxy.swap, (order, _way(Program.BUY, shape & 3))));
        uint256 sold = before - usdc.balanceOf(alice);
        if (ok) {
            assertEq(dai.balanceOf(bob), amount);
            assertLe(sold, most);
            assertEq(abi.decode(answer, (uint256)), sold);
        } else {
            assertEq(sold, 0);
        }
        _assertNothingLeft();
    }

    // — by signature —

    function _permit(address sender) private view returns (Permit memory) {
        return Permit(owner, 7, block.timestamp, sender);
    }

    function _asOrder(Swap memory swap) private view returns (Order memory order) {
        order = _order(swap.tokenIn, swap.amountIn, swap.tokenOut, swap.amountOut);
        order.recipient = swap.recipient;
    }

    function test_signature_sells_along_every_shape() public {
        for (uint256 shape; shape < 4; ++shape) {
            uint256 rolled = vm.snapshotState();
            Swap memory order = _swap(address(usdc), AMOUNT, address(dai), 1);
            bytes memory path = _way(Program.SWAP, shape);
            bytes memory signature = _sign(_asOrder(order), path, _permit(address(this)));
            uint256 before = usdc.balanceOf(owner);
            uint256 amount = proxy.swapWithPermit2(order, path, _permit(address(this)), signature);
            assertEq(dai.balanceOf(bob), amount);
            assertEq(before - usdc.balanceOf(owner), AMOUNT);
            _assertNothingLeft();
            // once
            vm.expectRevert();
            proxy.swapWithPermit2(order, path, _permit(address(this)), signature);
            vm.revertToState(rolled);
        }
    }

    function test_signature_buys_along_every_shape_and_no_more_is_taken_than_needed() public {
        for (uint256 shape; shape < 4; ++shape) {
            uint256 rolled = vm.snapshotState();
            Swap memory order = _swap(address(usdc), 2 * AMOUNT, address(dai), 2_500e18);
            bytes memory path = _way(Program.BUY, shape);
            bytes memory signature = _sign(_asOrder(order), path, _permit(address(0)));
            uint256 before = usdc.balanceOf(owner);
            uint256 sold = proxy.swapWithPermit2(order, path, _permit(address(0)), signature);
            assertEq(dai.balanceOf(bob), 2_500e18);
            assertEq(before - usdc.balanceOf(owner), sold);
            assertLt(sold, AMOUNT);
            _assertNothingLeft();
            vm.revertToState(rolled);
        }
    }

    /// A purchase asks Permit2 behind all its pools, so its error comes by way of them.
    function test_bad_signature_over_a_purchase_is_told_through_its_pools() public {
        Swap memory order = _swap(address(usdc), AMOUNT, WETH, 0.1 ether);
        bytes memory sale = bytes.concat(Program.SWAP, _poolHop(500));
        bytes memory signature = _sign(_asOrder(order), sale, _permit(address(0)));
        bytes memory invalid = abi.encodeWithSelector(IPermit2.InvalidSigner.selector);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, v3UsdcWeth, invalid));
        proxy.swapWithPermit2(order, bytes.concat(Program.BUY, _poolHop(500)), _permit(address(0)), signature);
        vm.expectRevert(invalid);
        proxy.swapWithPermit2(order, bytes.concat(Program.BUY, _pairHop()), _permit(address(0)), signature);
    }

    /// What a signature over a sale, a purchase and a program is good for is that alone.
    function test_signature_over_one_kind_is_none_over_another() public {
        Swap memory order = _swap(address(usdc), AMOUNT, WETH, 1);
        bytes memory sale = bytes.concat(Program.SWAP, _pairHop());
        bytes memory signature = _sign(_asOrder(order), sale, _permit(address(0)));
        vm.expectRevert(IPermit2.InvalidSigner.selector);
        proxy.swapWithPermit2(order, bytes.concat(Program.BUY, _pairHop()), _permit(address(0)), signature);
        // as a program it lists more tokens than a program may
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.ProgramTruncated.selector, 0, 1, 255 * 20));
        proxy.executeWithPermit2(_asOrder(order), sale, _permit(address(0)), signature);
        bytes memory long = bytes.concat(sale, new bytes(255 * 20));
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.TooManyTokens.selector, 257, 255));
        proxy.executeWithPermit2(_asOrder(order), long, _permit(address(0)), signature);
        // and a program is no path
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.UnknownPath.selector, 0));
        proxy.swapWithPermit2(order, bytes.concat(Program.tokens(), hex"00"), _permit(address(0)), signature);
    }

    function test_every_word_of_a_signed_swap_is_bound() public {
        Swap memory order = _swap(address(usdc), AMOUNT, WETH, 0.9 ether);
        bytes memory path = bytes.concat(Program.SWAP, _poolHop(500));
        Permit memory permit = _permit(address(this));
        bytes memory signature = _sign(_asOrder(order), path, permit);
        for (uint256 i; i < 9; ++i) {
            Swap memory changed = _swap(address(usdc), AMOUNT, WETH, 0.9 ether);
            Permit memory other = _permit(address(this));
            bytes memory way = path;
            if (i == 0) changed.tokenIn = address(dai);
            if (i == 1) changed.amountIn = AMOUNT - 1;
            if (i == 2) changed.tokenOut = NATIVE;
            if (i == 3) changed.amountOut = 1;
            if (i == 4) changed.recipient = alice;
            if (i == 5) changed.deadline += 1;
            if (i == 6) other.nonce = 8;
            if (i == 7) other.sender = address(0);
            if (i == 8) way = bytes.concat(Program.SWAP, _pairHop());
            vm.expectRevert();
            proxy.swapWithPermit2(changed, way, other, signature);
        }
        proxy.swapWithPermit2(order, path, permit, signature);
    }

    function test_ether_is_not_signed_for_and_another_sender_is_refused() public {
        Swap memory order = _swap(NATIVE, 1 ether, address(usdc), 1);
        bytes memory path = bytes.concat(Program.SWAP, _pairHop());
        vm.expectRevert(IExecutionProxy.NothingToPermit.selector);
        proxy.swapWithPermit2(order, path, _permit(address(0)), "");
        order = _swap(address(usdc), AMOUNT, WETH, 1);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.WrongSender.selector, address(this), alice));
        proxy.swapWithPermit2(order, path, _permit(alice), "");
    }

    // — what is refused —

    function _refuse(Swap memory order, bytes memory path, bytes memory reason) private {
        vm.prank(alice);
        vm.expectRevert(reason);
        proxy.swap(order, path);
    }

    function test_broken_orders_are_refused() public {
        bytes memory path = bytes.concat(Program.SWAP, _pairHop());
        Swap memory order = _swap(address(usdc), AMOUNT, WETH, 1);
        order.deadline = block.timestamp - 1;
        _refuse(
            order,
            path,
            abi.encodeWithSelector(IExecutionProxy.DeadlinePassed.selector, block.timestamp - 1, block.timestamp)
        );
        order = _swap(address(usdc), AMOUNT, WETH, 1);
        order.recipient = address(0);
        _refuse(order, path, abi.encodeWithSelector(IExecutionProxy.InvalidRecipient.selector, address(0)));
        order.recipient = address(proxy);
        _refuse(order, path, abi.encodeWithSelector(IExecutionProxy.InvalidRecipient.selector, address(proxy)));
        uint256 most = type(uint128).max;
        bytes4 wrong = IExecutionProxy.InvalidInputAmount.selector;
        _refuse(_swap(address(usdc), 0, WETH, 1), path, abi.encodeWithSelector(wrong, 0, 0, most));
        _refuse(_swap(address(usdc), most + 1, WETH, 1), path, abi.encodeWithSelector(wrong, 0, most + 1, most));
        _refuse(
            _swap(address(usdc), AMOUNT, WETH, 0), path, abi.encodeWithSelector(IExecutionProxy.ZeroMinimum.selector, 0)
        );
        _refuse(
            _swap(NATIVE, 1 ether, address(usdc), 1),
            path,
            abi.encodeWithSelector(IExecutionProxy.ValueMismatch.selector, 0, 1 ether)
        );
        order = _swap(address(usdc), AMOUNT, WETH, 1);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.ValueMismatch.selector, 1, 0));
        proxy.swap{value: 1}(order, path);
    }

    function test_broken_paths_are_refused() public {
        Swap memory order = _swap(address(usdc), AMOUNT, WETH, 1);
        bytes4 cut = IExecutionProxy.ProgramTruncated.selector;
        _refuse(order, "", abi.encodeWithSelector(cut, 0, 0, 2));
        _refuse(order, hex"ff", abi.encodeWithSelector(cut, 0, 1, 2));
        _refuse(order, hex"fd00", abi.encodeWithSelector(IExecutionProxy.UnknownPath.selector, 0xfd));
        _refuse(order, hex"ff05", abi.encodeWithSelector(IExecutionProxy.UnknownFactory.selector, 0, 5));
        _refuse(order, hex"ff020001", abi.encodeWithSelector(cut, 0, 3, 25));
        // a pair and a token, and no hop behind
        _refuse(order, bytes.concat(hex"ff00", bytes20(address(dai))), abi.encodeWithSelector(cut, 0, 21, 22));
        // a second hop that is cut
        bytes memory path = bytes.concat(hex"ff00", bytes20(address(dai)), hex"0200");
        _refuse(order, path, abi.encodeWithSelector(cut, 1, 2, 25));
    }

    function test_pools_that_no_factory_made_are_refused() public {
        Swap memory order = _swap(address(usdc), AMOUNT, address(wbtc), 1);
        vm.startPrank(alice);
        for (uint8 factory; factory < 2; ++factory) {
            vm.expectPartialRevert(IExecutionProxy.InvalidPoolAnswer.selector);
            proxy.swap(order, bytes.concat(Program.SWAP, Program.hop(factory)));
            vm.expectPartialRevert(IExecutionProxy.InvalidPoolAnswer.selector);
            proxy.swap(order, bytes.concat(Program.BUY, Program.hop(factory)));
        }
        for (uint8 factory = 2; factory < 5; ++factory) {
            vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
            proxy.swap(order, bytes.concat(Program.SWAP, Program.hop(factory, 500)));
            vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
            proxy.swap(order, bytes.concat(Program.BUY, Program.hop(factory, 500)));
        }
        // one token twice in a row is no pool
        order.tokenOut = address(usdc);
        vm.expectPartialRevert(IExecutionProxy.InvalidPoolAnswer.selector);
        proxy.swap(order, bytes.concat(Program.SWAP, _pairHop()));
    }

    /// The addresses of mainnet's largest pools follow from the table.
    function test_factories_of_the_table_are_those_of_mainnet() public {
        address usdc_ = 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48;
        vm.etch(usdc_, address(usdc).code);
        Swap memory order = _swap(usdc_, 1, WETH, 1);
        address[5] memory known = [
            0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc,
            0x397FF1542f962076d0BFE58eA045FfA2d347ACa0,
            0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640,
            0x35644Fb61aFBc458bf92B15AdD6ABc1996Be5014,
            0x1ac1A8FEaAEa1900C4166dEeed0C11cC10669D36
        ];
        for (uint8 factory; factory < 5; ++factory) {
            bytes memory hop = factory < 2 ? Program.hop(factory) : Program.hop(factory, 500);
            vm.expectRevert(
                factory < 2
                    ? abi.encodeWithSelector(IExecutionProxy.InvalidPoolAnswer.selector, 0, known[factory])
                    : abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, known[factory], bytes(""))
            );
            proxy.swap(order, bytes.concat(factory < 2 ? Program.BUY : Program.SWAP, hop));
        }
    }

    // — what is told —

    function test_swap_tells_one_event() public {
        Swap memory order = _swap(address(usdc), AMOUNT, WETH, 1);
        bytes memory path = bytes.concat(Program.SWAP, _pairHop());
        vm.expectEmit(address(proxy));
        emit IExecutionProxy.Swapped(0, alice, bob, AMOUNT, _v2Out(v2UsdcWeth, address(usdc), AMOUNT));
        vm.prank(alice);
        proxy.swap(order, path);

        path = bytes.concat(Program.BUY, _pairHop());
        order = _swap(address(usdc), 2 * AMOUNT, WETH, 0.5 ether);
        bytes memory signature = _sign(_asOrder(order), path, _permit(alice));
        bytes32 witness = _witness(_asOrder(order), path, alice);
        vm.expectEmit(address(proxy));
        emit IExecutionProxy.Swapped(witness, owner, bob, _v2In(v2UsdcWeth, address(usdc), 0.5 ether), 0.5 ether);
        vm.prank(alice);
        proxy.swapWithPermit2(order, path, _permit(alice), signature);
    }
}
