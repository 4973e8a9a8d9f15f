// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {FLUID_LIQUIDITY, NATIVE, PERMIT2, STETH, WETH, WSTETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit, Swap} from "../src/IExecutionProxy.sol";
import {HostileV3Pool} from "./support/Hostile.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {Signing} from "./support/Signing.sol";
import {
    StandInCurvePool,
    StandInFluidLiquidity,
    StandInFluidPool,
    StandInStEth,
    StandInWstEth
} from "./support/StandIns.sol";
import {TestToken} from "./support/TestToken.sol";
import {NamedPool, Odd, OddPool, OddToken} from "./support/Odd.sol";

/// Small rules, each of which a proxy without it would pass every other test: found by `mutate.sh`.
contract SmallRulesTest is Signing {
    uint256 private constant AMOUNT = 3_000e6;

    function setUp() public override {
        super.setUp();
        TestToken[2] memory both = [usdc, dai];
        for (uint256 i; i < 2; ++i) {
            both[i].transfer(owner, 1e22);
            vm.startPrank(owner);
            // an owner with both approvals: to Permit2 and to the proxy
            both[i].approve(PERMIT2, type(uint256).max);
            both[i].approve(address(proxy), type(uint256).max);
            vm.stopPrank();
        }
    }

    function _refuse(Order memory order, bytes memory program, bytes4 error) private {
        uint256 valueWei = _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(error);
        proxy.execute{value: valueWei}(order, program);
    }

    function _step(uint8 opcode, uint8 to, bytes memory operands) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), Program.head(opcode, to, 0, 1, 0), operands);
    }

    // — an owner with both approvals is charged once —

    function _signed(Order memory order, bytes memory program, uint256 valueWei) private {
        Permit memory permit = Permit(owner, 7, block.timestamp, address(0));
        bytes memory signature = _sign(order, program, permit);
        vm.deal(address(this), valueWei);
        proxy.executeWithPermit2{value: valueWei}(order, program, permit, signature);
    }

    function _sells(address first, uint256 amount, address second, uint256 other)
        private
        view
        returns (Order memory order)
    {
        order = _order(first, amount, WETH, 1);
        order.inputs = new Input[](2);
        order.inputs[0] = Input(first, amount);
        order.inputs[1] = Input(second, other);
    }

    /// The first step spends another input than the one that is signed for.
    function test_signature_goes_straight_only_for_the_input_that_the_first_step_spends() public {
        HostileV3Pool quiet = new HostileV3Pool(address(proxy));
        quiet.callBack(1 ether, 0);
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v3(0, 1, 2, 0, address(quiet)), Program.v2(1, 0, 2, 0, v2UsdcWeth));
        uint256 before = usdc.balanceOf(owner);
        _signed(_sells(address(usdc), AMOUNT, NATIVE, 1 ether), program, 1 ether);
        assertEq(before - usdc.balanceOf(owner), AMOUNT, "charged twice");
        _assertNothingLeft();
    }

    function test_signature_over_several_inputs_never_goes_straight() public {
        HostileV3Pool quiet = new HostileV3Pool(address(proxy));
        quiet.callBack(1e18, 0);
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v3(0, 1, 2, 0, address(quiet)), Program.v2(1, 0, 2, 0, v2UsdcWeth));
        (uint256 usdcBefore, uint256 daiBefore) = (usdc.balanceOf(owner), dai.balanceOf(owner));
        _signed(_sells(address(usdc), AMOUNT, address(dai), 1e18), program, 0);
        assertEq(usdcBefore - usdc.balanceOf(owner), AMOUNT, "charged twice");
        assertEq(daiBefore - dai.balanceOf(owner), 1e18, "charged twice");
        _assertNothingLeft();
    }

    /// A fee on a signed input comes from the proxy, which has the input, and not from the owner once more.
    function test_fee_on_a_signed_input_is_charged_once() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        (order.partner, order.partnerFeeBps) = (partner, 100);
        uint256 before = usdc.balanceOf(owner);
        _signed(order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth)), 0);
        assertEq(before - usdc.balanceOf(owner), AMOUNT);
        assertEq(usdc.balanceOf(partner), AMOUNT / 100);
        _assertNothingLeft();
    }

    /// Ether of a signed order that no step spends is the owner's, whoever sent it.
    function test_ether_left_of_a_signed_order_goes_to_the_owner() public {
        uint256 before = owner.balance;
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 2, 0, v2UsdcWeth));
        _signed(_sells(address(usdc), AMOUNT, NATIVE, 1 ether), program, 1 ether);
        assertEq(owner.balance - before, 1 ether);
    }

    // — ether comes from the contract that the step called, and only while it runs —

    function _two(address first, address second) private view returns (Order memory order) {
        order = _order(address(usdc), 2e6, first, 1);
        order.outputs = new Output[](2);
        order.outputs[0] = Output(first, 1);
        order.outputs[1] = Output(second, 1);
    }

    function _curve(uint8 tokenOut, uint32 share, OddPool pool) private pure returns (bytes memory) {
        return bytes.concat(Program.head(0x20, 0, 0, tokenOut, share), abi.encodePacked(pool, uint8(0), uint8(1)));
    }

    /// A pool that takes usdc and pays dai.
    function _plainPool() private returns (OddPool pool) {
        pool = new OddPool(address(usdc), address(dai));
        dai.transfer(address(pool), 1e18);
        pool.take();
    }

    /// A pool that takes usdc and pays ether.
    function _etherPool() private returns (OddPool pool) {
        pool = new OddPool(address(usdc), address(0));
        vm.deal(address(pool), 10 ether);
        pool.take();
        pool.payEther(1 ether);
    }

    function test_ether_from_another_contract_during_a_step_is_refused() public {
        OddPool pool = _etherPool();
        OddPool friend = new OddPool(address(0), address(0));
        vm.deal(address(friend), 1);
        pool.callFirst(address(friend), abi.encodeCall(OddPool.spit, (address(proxy))));
        Order memory order = _order(address(usdc), 1e6, NATIVE, 1 ether);
        _refuse(order, bytes.concat(Program.tokens(), _curve(1, 0, pool)), IExecutionProxy.PoolCallFailed.selector);
    }

    function test_ether_of_a_pool_whose_step_is_over_is_refused() public {
        (OddPool payer, OddPool next) = (_etherPool(), _plainPool());
        bytes memory program = bytes.concat(Program.tokens(), _curve(1, 1 << 31, payer), _curve(2, 0, next));
        // as it is, both steps run
        uint256 rolled = vm.snapshotState();
        _run(_two(NATIVE, address(dai)), program);
        vm.revertToState(rolled);
        next.callFirst(address(payer), abi.encodeCall(OddPool.spit, (address(proxy))));
        _refuse(_two(NATIVE, address(dai)), program, IExecutionProxy.PoolCallFailed.selector);
    }

    function test_ether_of_fluids_layer_after_its_step_is_refused() public {
        vm.etch(FLUID_LIQUIDITY, address(new StandInFluidLiquidity()).code);
        vm.deal(FLUID_LIQUIDITY, 1_000 ether);
        StandInFluidPool pool = new StandInFluidPool(FLUID_LIQUIDITY, address(usdc), NATIVE);
        OddPool next = _plainPool();
        bytes memory program = bytes.concat(
            Program.tokens(), Program.head(0x60, 0, 0, 1, 1 << 31), abi.encodePacked(pool, uint8(1)), _curve(2, 0, next)
        );
        uint256 rolled = vm.snapshotState();
        _run(_two(NATIVE, address(dai)), program);
        vm.revertToState(rolled);
        bytes memory pay = abi.encodeCall(StandInFluidLiquidity.payOut, (NATIVE, address(proxy), 1));
        next.callFirst(FLUID_LIQUIDITY, pay);
        _refuse(_two(NATIVE, address(dai)), program, IExecutionProxy.PoolCallFailed.selector);
    }

    // — allowances —

    function test_pool_that_takes_nothing_of_its_allowance_is_refused() public {
        OddPool pool = new OddPool(address(usdc), address(dai));
        dai.transfer(address(pool), 1e18);
        Order memory order = _order(address(usdc), 1e6, address(dai), 1);
        _refuse(order, bytes.concat(Program.tokens(), _curve(1, 0, pool)), IExecutionProxy.InputNotTaken.selector);
    }

    /// Where a token lets a contract take any amount whatever is approved, nothing that was offered is left.
    function test_token_that_always_lets_its_vault_is_no_offer_left() public {
        OddToken token = new OddToken();
        token.mint(address(this), 1e18);
        OddPool pool = new OddPool(address(token), address(dai));
        dai.transfer(address(pool), 1e18);
        pool.take();
        token.always(address(pool));
        Order memory order = _order(address(token), 1e18, address(dai), 1e18);
        _run(order, bytes.concat(Program.tokens(), _curve(1, 0, pool)));
    }

    // — amounts —

    /// What is held of one token stays below 2^128 however many steps make it.
    function test_sum_of_what_steps_make_is_limited() public {
        HostileV3Pool huge = new HostileV3Pool(address(proxy));
        huge.callBack(int256(AMOUNT / 2), 0);
        huge.answer(-int256(uint256(type(uint128).max)), -int256(uint256(type(uint128).max)));
        bytes memory program = bytes.concat(
            Program.tokens(), Program.v3(0, 0, 1, 1 << 31, address(huge)), Program.v3(0, 0, 1, 0, address(huge))
        );
        _refuse(_order(address(usdc), AMOUNT, WETH, 1), program, IExecutionProxy.AmountTooLarge.selector);
    }

    function test_balance_that_shrinks_during_a_step_is_a_growth_of_nothing() public {
        OddToken token = new OddToken();
        token.mint(address(proxy), 5);
        OddPool pool = new OddPool(address(usdc), address(0));
        pool.take();
        pool.callFirst(address(token), abi.encodeCall(OddToken.burn, (address(proxy))));
        _refuse(
            _order(address(usdc), 1e6, address(token), 1),
            bytes.concat(Program.tokens(), _curve(1, 0, pool)),
            IExecutionProxy.OutputBelowMinimum.selector
        );
    }

    // — what contracts answer —

    function test_pool_without_code_is_refused_by_every_step_that_asks_for_no_answer() public {
        _refuse(
            _order(address(dai), 1e18, address(wbtc), 1),
            _step(0x20, 0, abi.encodePacked(makeAddr("nobody"), uint8(0), uint8(1))),
            IExecutionProxy.PoolCallFailed.selector
        );
    }

    function test_short_answers_are_refused() public {
        address odd = address(new Odd(31));
        // a vault: one word is asked for
        vm.mockCall(odd, abi.encodeWithSignature("balanceOf(address)"), abi.encode(0));
        Order memory order = _order(address(dai), 1e18, odd, 1);
        _refuse(order, _step(0x40, 0, ""), IExecutionProxy.InvalidPoolAnswer.selector);
        // a pair's reserves: two words
        order = _order(address(dai), 1e18, address(wbtc), 1);
        odd = address(new Odd(63));
        _refuse(order, _step(0x10, 0, abi.encodePacked(odd, uint16(30))), IExecutionProxy.InvalidPoolAnswer.selector);
        // Balancer's vault: the bytes of a callback's answer
        vm.etch(0xbA1333333333a1BA1108E8412f11850A5C319bA9, address(new Odd(95)).code);
        _refuse(order, _step(0x31, 0, abi.encodePacked(odd)), IExecutionProxy.InvalidPoolAnswer.selector);
        // a pool of V3's shape: two words, of code that calls back
        OddPool pool = new OddPool(address(0), address(0));
        _refuse(order, _step(0x11, 0, abi.encodePacked(pool)), IExecutionProxy.InvalidPoolAnswer.selector);
    }

    /// A token that tells a balance of less than a word.
    function test_balance_of_less_than_a_word_is_refused() public {
        address odd = address(new Odd(31));
        _refuse(_order(address(dai), 1e18, odd, 1), _step(0x40, 0, ""), IExecutionProxy.BalanceUnavailable.selector);
    }

    function test_token_that_answers_a_transfer_with_anything_but_true_is_refused() public {
        bytes[2] memory answers = [abi.encode(uint256(2)), abi.encode(uint256(0))];
        for (uint256 i; i < 2; ++i) {
            OddToken token = new OddToken();
            token.mint(address(this), 1e18);
            token.answerTransfersOf(address(proxy), answers[i]);
            Order memory order = _order(address(token), 1e18, WETH, 1);
            bytes memory program = bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, v2UsdcWeth));
            _refuse(order, program, IExecutionProxy.TransferFailed.selector);
        }
    }

    /// An answer of less than a word says nothing, whatever the token before answered.
    function test_short_answer_after_a_true_one_is_refused() public {
        OddToken token = new OddToken();
        token.mint(address(this), 1e24);
        address pair = _pair(address(token), 1e22, WETH, 1_000 ether);
        token.answerTransfersOf(address(proxy), new bytes(31));
        Order memory order = _two(address(usdc), address(token));
        order.inputs[0] = Input(WETH, 2 ether);
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 1 << 31, v2UsdcWeth), Program.v2(0, 0, 2, 0, pair));
        _refuse(order, program, IExecutionProxy.TransferFailed.selector);
    }

    /// Only the lower 20 bytes of a token's word count, in the order as in the ledger.
    function test_dirty_word_of_a_token_is_that_token() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        bytes memory data = abi.encodeCall(
            IExecutionProxy.execute, (order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth)))
        );
        // the words of the two tokens: after the selector two words, seven of the order, and a length each
        assembly ("memory-safe") {
            let input := add(data, add(0x24, mul(10, 0x20)))
            mstore(input, or(mload(input), shl(160, 1)))
            let output := add(data, add(0x24, mul(13, 0x20)))
            mstore(output, or(mload(output), shl(200, 7)))
        }
        _fund(order);
        vm.prank(alice);
        (bool ok,) = address(proxy).call(data);
        assertTrue(ok);
        assertGt(IToken(WETH).balanceOf(bob), 0);
    }

    /// Signed as it stands, with what is above the address; Permit2 is told the address.
    function test_dirty_word_among_several_signed_inputs_is_that_token() public {
        Order memory order = _sells(address(usdc), AMOUNT, address(dai), 1e18);
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v2(1, 0, 2, 0, v2UsdcWeth), Program.v2(1, 1, 2, 0, v2WethDai));
        Permit memory permit = Permit(owner, 0, block.timestamp, address(0));
        Input memory dirty = order.inputs[0];
        assembly ("memory-safe") {
            mstore(dirty, or(mload(dirty), shl(160, 1)))
        }
        bytes memory signature = _sign(order, program, permit);
        bytes memory data = abi.encodeCall(IExecutionProxy.executeWithPermit2, (order, program, permit, signature));
        // after the selector seven words of the call, seven of the order, and a length
        assembly ("memory-safe") {
            let input := add(data, add(0x24, mul(15, 0x20)))
            mstore(input, or(mload(input), shl(160, 1)))
        }
        (bool ok,) = address(proxy).call(data);
        assertTrue(ok);
        assertGt(IToken(WETH).balanceOf(bob), 0);
    }

    function test_dirty_word_of_ether_is_ether() public {
        Order memory order = _order(NATIVE, 1 ether, address(usdc), 1);
        bytes memory data = abi.encodeCall(
            IExecutionProxy.execute, (order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth)))
        );
        assembly ("memory-safe") {
            let input := add(data, add(0x24, mul(10, 0x20)))
            mstore(input, or(mload(input), shl(160, 1)))
        }
        vm.deal(alice, 1 ether);
        vm.prank(alice);
        (bool ok,) = address(proxy).call{value: 1 ether}(data);
        assertTrue(ok);
        assertGt(usdc.balanceOf(bob), 0);
    }

    // — steps of fixed tokens and destinations —

    function test_destinations_of_wrapping_and_of_lido_are_the_proxy() public {
        vm.etch(STETH, address(new StandInStEth()).code);
        vm.etch(WSTETH, address(new StandInWstEth()).code);
        vm.deal(STETH, 13_000 ether);
        StandInStEth(STETH).seed(10_000 ether, 12_345 ether);
        address[2][4] memory ways = [[WETH, NATIVE], [NATIVE, STETH], [STETH, WSTETH], [WSTETH, STETH]];
        uint8[4] memory opcodes = [0x02, 0x50, 0x51, 0x52];
        vm.deal(alice, 10 ether);
        vm.startPrank(alice);
        (bool staked,) = STETH.call{value: 5 ether}(abi.encodeWithSignature("submit(address)", address(0)));
        assertTrue(staked);
        IToken(STETH).approve(WSTETH, type(uint256).max);
        (bool wrapped,) = WSTETH.call(abi.encodeWithSignature("wrap(uint256)", 2 ether));
        assertTrue(wrapped);
        IToken(STETH).approve(address(proxy), type(uint256).max);
        IToken(WSTETH).approve(address(proxy), type(uint256).max);
        IToken(WETH).approve(address(proxy), type(uint256).max);
        vm.stopPrank();
        IToken(WETH).transfer(alice, 2 ether);
        for (uint256 i; i < 4; ++i) {
            for (uint8 to = 1; to < 4; ++to) {
                Order memory order = _order(ways[i][0], 1 ether, ways[i][1], 1);
                uint256 valueWei = ways[i][0] == NATIVE ? 1 ether : 0;
                bytes memory program = _step(opcodes[i], to, "");
                if (to == 2) program = bytes.concat(program, Program.v2(0, 1, 1, 0, v2UsdcWeth));
                vm.prank(alice);
                vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, to));
                proxy.execute{value: valueWei}(order, program);
            }
            // another token in or out
            for (uint256 side; side < 2; ++side) {
                Order memory order =
                    _order(side == 0 ? address(dai) : ways[i][0], 1, side == 0 ? ways[i][1] : address(dai), 1);
                uint256 valueWei = order.inputs[0].token == NATIVE ? 1 : 0;
                vm.prank(alice);
                vm.expectPartialRevert(IExecutionProxy.WrongToken.selector);
                proxy.execute{value: valueWei}(order, _step(opcodes[i], 0, ""));
            }
        }
    }

    function test_ether_into_a_vault_or_balancers_second_vault_is_refused() public {
        _refuse(_order(NATIVE, 1 ether, address(dai), 1), _step(0x40, 0, ""), IExecutionProxy.WrongToken.selector);
        _refuse(
            _order(NATIVE, 1 ether, address(dai), 1),
            _step(0x30, 0, abi.encodePacked(bytes32(uint256(1)))),
            IExecutionProxy.WrongToken.selector
        );
    }

    // — stETH's shares —

    function _lido() private {
        vm.etch(STETH, address(new StandInStEth()).code);
        vm.etch(WSTETH, address(new StandInWstEth()).code);
        vm.deal(STETH, 13_000 ether);
        StandInStEth(STETH).seed(10_000 ether, 12_345 ether + 6_789);
    }

    /// Shares that the rounding leaves go to whoever gets the rest: of an input the payer, of an output the recipient.
    function test_shares_that_rounding_leaves_go_where_the_rest_goes() public {
        _lido();
        vm.deal(alice, 10 ether);
        vm.startPrank(alice);
        (bool staked,) = STETH.call{value: 5 ether}(abi.encodeWithSignature("submit(address)", address(0)));
        assertTrue(staked);
        IToken(STETH).approve(PERMIT2, type(uint256).max);
        vm.stopPrank();
        // a share that stands at the proxy goes out with the output
        vm.prank(alice);
        StandInStEth(STETH).transferShares(address(proxy), 3);
        Order memory order = _order(NATIVE, 1 ether, STETH, 1);
        vm.deal(address(this), 1 ether);
        uint256[] memory received = proxy.execute{value: 1 ether}(order, _step(0x50, 0, ""));
        assertEq(received[0], IToken(STETH).balanceOf(bob), "the shares behind the amount count");
        assertEq(StandInStEth(STETH).sharesOf(address(proxy)), 0, "shares stay behind");
        // and with an input: half of it is spent, the rest and the crumbs go back to the payer
        uint256 bobs = StandInStEth(STETH).sharesOf(bob);
        order = _order(STETH, 1 ether, WSTETH, 1);
        vm.prank(alice);
        StandInStEth(STETH).transferShares(address(proxy), 3);
        vm.startPrank(alice);
        IToken(STETH).approve(address(proxy), type(uint256).max);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.head(0x51, 0, 0, 1, 1 << 31)));
        vm.stopPrank();
        assertEq(StandInStEth(STETH).sharesOf(address(proxy)), 0, "shares stay behind");
        assertEq(StandInStEth(STETH).sharesOf(bob), bobs, "the payer's shares went to the recipient");
    }

    // — callbacks have many names and one guard —

    function test_pool_may_ask_by_every_name_of_the_table_and_by_no_other() public {
        string[5] memory names = ["uniswapV3", "pancakeV3", "solidlyV3", "algebra", "nobodys"];
        for (uint256 i; i < 5; ++i) {
            bytes4 name = bytes4(keccak256(bytes(string.concat(names[i], "SwapCallback(int256,int256,bytes)"))));
            NamedPool pool = new NamedPool(name, address(dai));
            dai.transfer(address(pool), 1e18);
            Order memory order = _order(address(usdc), AMOUNT, address(dai), 1e18);
            bytes memory program = bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, address(pool)));
            if (i < 4) {
                _run(order, program);
            } else {
                _fund(order);
                bytes memory inner = abi.encodeWithSelector(IExecutionProxy.UnknownCall.selector, name);
                vm.prank(alice);
                vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, pool, inner));
                proxy.execute(order, program);
            }
        }
    }

    // — one order at a time —

    function _reenter(bytes memory call) private {
        OddPool pool = _plainPool();
        usdc.transfer(address(pool), AMOUNT);
        vm.prank(address(pool));
        usdc.approve(address(proxy), AMOUNT);
        // on its own the pool could do it
        uint256 rolled = vm.snapshotState();
        vm.prank(address(pool));
        (bool ok,) = address(proxy).call(call);
        assertTrue(ok);
        vm.revertToState(rolled);
        pool.callFirst(address(proxy), call);
        Order memory order = _order(address(usdc), 1e6, address(dai), 1);
        _refuse(order, bytes.concat(Program.tokens(), _curve(1, 0, pool)), IExecutionProxy.PoolCallFailed.selector);
    }

    function test_no_order_and_no_swap_runs_inside_another() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        _reenter(abi.encodeCall(IExecutionProxy.execute, (order, program)));
        Swap memory swap = _flat(order);
        _reenter(abi.encodeCall(IExecutionProxy.swap, (swap, bytes.concat(Program.SWAP, Program.hop(0)))));
        swap.amountOut = 0.5 ether;
        _reenter(abi.encodeCall(IExecutionProxy.swap, (swap, bytes.concat(Program.BUY, Program.hop(0)))));
    }

    // — what is told —

    function test_order_tells_one_event() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        (order.partner, order.partnerFeeBps) = (partner, 100);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 1 << 31, v2UsdcWeth));
        uint256 fee = AMOUNT / 100;
        uint256[] memory sold = new uint256[](1);
        uint256[] memory received = new uint256[](1);
        (sold[0], received[0]) = (fee + (AMOUNT - fee) / 2, _v2Out(v2UsdcWeth, address(usdc), (AMOUNT - fee) / 2));
        _fund(order);
        uint256 rolled = vm.snapshotState();
        vm.expectEmit(address(proxy));
        emit IExecutionProxy.Executed(0, alice, bob, partner, sold, received);
        vm.prank(alice);
        proxy.execute(order, program);
        assertEq(usdc.balanceOf(alice), AMOUNT - sold[0]);
        vm.revertToState(rolled);

        // signed, by a relayer, without a fee: the partner's field is not read
        order.partnerFeeBps = 0;
        (sold[0], received[0]) = (AMOUNT / 2, _v2Out(v2UsdcWeth, address(usdc), AMOUNT / 2));
        Permit memory permit = Permit(owner, 7, block.timestamp, address(0));
        bytes memory signature = _sign(order, program, permit);
        vm.expectEmit(address(proxy));
        emit IExecutionProxy.Executed(_witness(order, program, address(0)), owner, bob, address(0), sold, received);
        vm.prank(alice);
        proxy.executeWithPermit2(order, program, permit, signature);
    }

    // — what is seen, where what is counted is not enough —

    /// A token that keeps some of a transfer for itself: the recipient's gain is what arrived.
    function test_steps_count_no_more_than_arrived() public {
        OddToken token = new OddToken();
        token.mint(address(this), 1e24);
        address pair = _pair(address(token), 1e22, WETH, 1_000 ether);
        uint256 paid = _v2Out(pair, WETH, 1 ether);
        token.tax(bob, 1e18);
        Order memory order = _order(WETH, 1 ether, address(token), paid);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, pair));
        _refuse(order, program, IExecutionProxy.OutputBelowMinimum.selector);
        order.outputs[0].minimum = paid - 1e18;
        assertEq(_run(order, program)[0], paid - 1e18);
    }
}
