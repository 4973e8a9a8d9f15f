// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Permit} from "../src/IExecutionProxy.sol";
import {BlockingToken, HostileV3Pool, MessengerPool, Reentrant, SessionPool, TaxedToken} from "./support/Hostile.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {IPermit2, Signing} from "./support/Signing.sol";

/// A V3-shaped pool that makes a call of the test's before it asks for its payment.
contract CallingPool {
    address private target;
    bytes private call;
    bool public succeeded;

    function prepare(address target_, bytes calldata call_) external {
        (target, call) = (target_, call_);
    }

    function swap(address, bool, int256 amount, uint160, bytes calldata terms) external returns (int256, int256) {
        (succeeded,) = target.call(call);
        (bool ok, bytes memory reason) = msg.sender
        .call(abi.encodeWithSignature("uniswapV3SwapCallback(int256,int256,bytes)", amount, amount, terms));
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(reason, 0x20), mload(reason))
            }
        }
        return (0, 0);
    }
}

/// A signed input that the first step spends whole goes from the owner to that step's pool: a pair is paid before its swap, a pool that
/// calls back is paid in its callback. Everything that can go wrong in between.
contract Permit2StraightTest is Signing {
    uint256 private constant AMOUNT = 3_000e6;
    address private relayer = makeAddr("relayer");
    BlockingToken private shy;
    address private shyV2;
    address private shyV3;
    HostileV3Pool private hostile;

    function setUp() public override {
        super.setUp();
        shy = new BlockingToken();
        shy.mint(address(this), RICH);
        shyV2 = _pair(address(shy), 3_000_000e18, WETH, 1_000 ether);
        shyV3 = _pool(address(shy), 3_000e18, WETH, 1 ether, 3000, 1e23);
        // this token refuses to be at the proxy
        shy.block_(address(proxy));
        hostile = new HostileV3Pool(address(proxy));
        for (uint256 i; i < 3; ++i) {
            IToken token = IToken([address(usdc), WETH, address(shy)][i]);
            token.transfer(owner, [2 * AMOUNT, 10 ether, 10e18][i]);
            vm.prank(owner);
            token.approve(PERMIT2, type(uint256).max);
        }
    }

    function _usual() private view returns (Order memory) {
        return _order(address(usdc), AMOUNT, WETH, 1);
    }

    function _permit() private view returns (Permit memory) {
        return Permit(owner, 7, block.timestamp, address(0));
    }

    function _viaV3(address pool) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, pool));
    }

    /// Signs the order as the owner and sends it as a relayer.
    function _send(Order memory order, bytes memory program) private returns (uint256[] memory received) {
        bytes memory signature = _sign(order, program, _permit());
        vm.prank(relayer);
        received = proxy.executeWithPermit2(order, program, _permit(), signature);
        _assertNothingLeft();
    }

    function _refuse(Order memory order, bytes memory program, bytes memory reason) private {
        _refuse(order, program, _permit(), _sign(order, program, _permit()), reason);
    }

    function _refuse(
        Order memory order,
        bytes memory program,
        Permit memory permit,
        bytes memory signature,
        bytes memory reason
    ) private {
        uint256 before = usdc.balanceOf(owner);
        vm.prank(relayer);
        vm.expectRevert(reason);
        proxy.executeWithPermit2(order, program, permit, signature);
        assertEq(usdc.balanceOf(owner), before, "the owner paid");
    }

    function _poolFailed(address pool, bytes memory reason) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, pool, reason);
    }

    // — what works —

    function test_pool_that_calls_back_is_paid_by_the_owner_himself() public {
        Order memory order = _order(address(shy), 1e18, WETH, 1);
        order.outputs[0].minimum = _v3Out(shyV3, address(shy), 1e18);
        assertEq(_send(order, _viaV3(shyV3))[0], order.outputs[0].minimum);
        assertEq(shy.balanceOf(owner), 9e18);
    }

    function test_pair_is_paid_by_the_owner_himself() public {
        Order memory order = _order(address(shy), 1e18, WETH, 1);
        order.outputs[0].minimum = _v2Out(shyV2, address(shy), 1e18);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, shyV2));
        assertEq(_send(order, program)[0], order.outputs[0].minimum);
        assertEq(shy.balanceOf(owner), 9e18);
    }

    /// A split, and a fee on the input, need the input in pieces: it stops at the proxy, and this token refuses that.
    function test_input_in_pieces_goes_by_way_of_the_proxy() public {
        Order memory order = _order(address(shy), 1e18, WETH, 1);
        bytes memory split =
            bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 1 << 31, shyV3), Program.v2(1, 0, 1, 0, shyV2));
        bytes memory signature = _sign(order, split, _permit());
        vm.expectRevert("TRANSFER_FROM_FAILED");
        proxy.executeWithPermit2(order, split, _permit(), signature);
        (order.partner, order.partnerFeeBps) = (partner, 100);
        signature = _sign(order, _viaV3(shyV3), _permit());
        vm.expectRevert("TRANSFER_FROM_FAILED");
        proxy.executeWithPermit2(order, _viaV3(shyV3), _permit(), signature);
        // the same with a token that minds nothing
        order = _usual();
        (order.partner, order.partnerFeeBps) = (partner, 100);
        order.outputs[0].minimum = _v3Out(v3UsdcWeth, address(usdc), AMOUNT - AMOUNT / 100);
        assertEq(_send(order, _viaV3(v3UsdcWeth))[0], order.outputs[0].minimum);
        assertEq(usdc.balanceOf(partner), AMOUNT / 100);
    }

    function test_fee_on_the_output_leaves_the_way_in_straight() public {
        Order memory order = _order(address(shy), 1e18, WETH, 1);
        (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) = (partner, 100, true);
        uint256 whole = _v3Out(shyV3, address(shy), 1e18);
        order.outputs[0].minimum = whole - whole / 100;
        bytes memory program = bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, shyV3));
        assertEq(_send(order, program)[0], order.outputs[0].minimum);
        assertEq(IToken(WETH).balanceOf(partner), whole / 100);
    }

    /// The next pool is paid out of what the first paid: the signature is not asked twice.
    function test_two_pools_that_call_back() public {
        Order memory order = _order(address(usdc), AMOUNT, address(dai), 1);
        uint256 weth = _v3Out(v3UsdcWeth, address(usdc), AMOUNT);
        order.outputs[0].minimum = _v3Out(v3WethDai, WETH, weth);
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.v3(0, 0, 2, 0, v3UsdcWeth), Program.v3(1, 2, 1, 0, v3WethDai));
        assertEq(_send(order, program)[0], order.outputs[0].minimum);
    }

    function test_a_pair_paid_straight_pays_the_next_pair() public {
        Order memory order = _order(address(usdc), AMOUNT, address(dai), 1);
        order.outputs[0].minimum = _v2Out(v2WethDai, WETH, _v2Out(v2UsdcWeth, address(usdc), AMOUNT));
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.v2(2, 0, 2, 0, v2UsdcWeth), Program.v2(1, 2, 1, 0, v2WethDai));
        assertEq(_send(order, program)[0], order.outputs[0].minimum);
    }

    /// With ether beside it, the token may stand first or second.
    function test_ether_beside_a_token_that_goes_straight() public {
        Order memory order = _usual();
        order.inputs = new Input[](2);
        for (uint256 first; first < 2; ++first) {
            order.inputs[first] = Input(NATIVE, 1 ether);
            order.inputs[1 - first] = Input(address(usdc), AMOUNT);
            uint256 snapshot = vm.snapshotState();
            uint8 token = uint8(1 - first);
            bytes memory program =
                bytes.concat(Program.tokens(), Program.v3(1, token, 2, 0, v3UsdcWeth), Program.wrap(uint8(first), 2));
            order.outputs[0].minimum = 1 ether + _v3Out(v3UsdcWeth, address(usdc), AMOUNT);
            bytes memory signature = _sign(order, program, _permit());
            vm.deal(relayer, 1 ether);
            vm.prank(relayer);
            uint256[] memory received = proxy.executeWithPermit2{value: 1 ether}(order, program, _permit(), signature);
            assertEq(received[0], order.outputs[0].minimum);
            _assertNothingLeft();
            vm.revertToState(snapshot);
        }
    }

    // — Permit2's own errors come through a pool as they are —

    function test_errors_of_permit2_come_through_as_they_are() public {
        Order memory order = _usual();
        bytes memory program = _viaV3(v3UsdcWeth);
        bytes memory signature = _sign(order, program, _permit());
        bytes memory invalid = abi.encodeWithSelector(IPermit2.InvalidSigner.selector);
        order.outputs[0].minimum = 2;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.recipient = relayer;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.inputs[0].amount += 1;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        _refuse(order, bytes.concat(program, hex"00"), _permit(), signature, invalid);
        Permit memory permit = _permit();
        permit.owner = alice;
        _refuse(order, program, permit, signature, invalid);
        _refuse(order, program, _permit(), hex"0102", abi.encodeWithSelector(IPermit2.InvalidSignatureLength.selector));
        proxy.executeWithPermit2(order, program, _permit(), signature);
        _refuse(order, program, _permit(), signature, abi.encodeWithSelector(IPermit2.InvalidNonce.selector));
        order.deadline += 1_000;
        permit = _permit();
        permit.nonce = 8;
        signature = _sign(order, program, permit);
        vm.warp(block.timestamp + 1);
        bytes memory expired = abi.encodeWithSelector(IPermit2.SignatureExpired.selector, permit.deadline);
        _refuse(order, program, permit, signature, expired);
    }

    /// A pool can say that Permit2 failed. It gains nothing, and where no signature is asked for nobody takes it for that.
    function test_pool_that_fakes_an_error_of_permit2_gains_nothing() public {
        bytes memory fake = abi.encodePacked(bytes4(keccak256("PermitFailed()")), hex"abcdef");
        hostile.fail(fake);
        _refuse(_usual(), _viaV3(address(hostile)), hex"abcdef");
        Order memory order = _usual();
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(_poolFailed(address(hostile), fake));
        proxy.execute(order, _viaV3(address(hostile)));
    }

    // — the callback —

    /// Without the callback the signature would never have been read.
    function test_order_never_ends_without_the_signature() public {
        hostile.answer(int256(AMOUNT), -1);
        Order memory order = _usual();
        IToken(WETH).transfer(address(hostile), 1 ether);
        bytes memory missing = abi.encodeWithSelector(IExecutionProxy.CallbackMissing.selector, 0, address(hostile));
        _refuse(order, _viaV3(address(hostile)), _permit(), "no signature at all", missing);
        _refuse(order, _viaV3(address(hostile)), missing);
    }

    function test_second_callback_is_refused() public {
        hostile.callBack(int256(AMOUNT), 0);
        hostile.callBack(int256(AMOUNT), 0);
        Order memory order = _usual();
        bytes memory signature = _sign(order, _viaV3(address(hostile)), _permit());
        vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
        proxy.executeWithPermit2(order, _viaV3(address(hostile)), _permit(), signature);
        assertEq(usdc.balanceOf(owner), 2 * AMOUNT);
    }

    function test_callback_for_another_amount_is_refused() public {
        int256[3] memory asked = [int256(AMOUNT) - 1, int256(AMOUNT) + 1, int256(2 * AMOUNT)];
        for (uint256 i; i < asked.length; ++i) {
            hostile = new HostileV3Pool(address(proxy));
            hostile.callBack(asked[i], -1);
            bytes memory inner =
                abi.encodeWithSelector(IExecutionProxy.CallbackAmountMismatch.selector, uint256(asked[i]), AMOUNT);
            _refuse(_usual(), _viaV3(address(hostile)), _poolFailed(address(hostile), inner));
        }
    }

    function test_stranger_who_brings_the_pools_terms_is_refused() public {
        MessengerPool pool = new MessengerPool(address(proxy));
        bytes memory signature = _sign(_usual(), _viaV3(address(pool)), _permit());
        vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
        proxy.executeWithPermit2(_usual(), _viaV3(address(pool)), _permit(), signature);
        assertEq(usdc.balanceOf(owner), 2 * AMOUNT);
    }

    function test_pool_that_calls_the_session_callback_is_refused() public {
        address pool = address(new SessionPool());
        _refuse(_usual(), _viaV3(pool), _poolFailed(pool, ""));
    }

    /// The theft that the terms are kept for: a pool of the attacker's brings the signature of somebody else's order, which is good
    /// and not used yet, with itself as the receiver.
    function test_pool_that_brings_somebody_elses_signature_is_refused() public {
        Order memory victims = _usual();
        bytes memory victimsProgram = _viaV3(v3UsdcWeth);
        bytes memory call = _permit2Call(victims, victimsProgram, address(hostile));
        bytes memory terms = bytes.concat(abi.encode(address(usdc), AMOUNT, address(0)), call);
        hostile.callBack(int256(AMOUNT), 0);
        hostile.forge(terms);
        // the attacker's own order, by his own allowance
        Order memory order = _usual();
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
        proxy.execute(order, _viaV3(address(hostile)));
        assertEq(usdc.balanceOf(owner), 2 * AMOUNT);
        // the attacker's own order, by a signature of his own, in the owner's name: no signature of the owner is asked, but this one
        vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
        proxy.executeWithPermit2(order, _viaV3(address(hostile)), _permit(), "anything");
        assertEq(usdc.balanceOf(owner), 2 * AMOUNT);
        // the victim's order still runs
        assertEq(_send(victims, victimsProgram).length, 1);
        assertEq(usdc.balanceOf(owner), AMOUNT);
    }

    /// The words of a call to Permit2 that pays `to` by the owner's signature over this order.
    function _permit2Call(Order memory order, bytes memory program, address to) private view returns (bytes memory) {
        bytes memory typeString = bytes(
            "BraidOrder witness)BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,address sender,bytes32 programHash)Input(address token,uint256 amount)Output(address token,uint256 minimum)TokenPermissions(address token,uint256 amount)"
        );
        Permit memory permit = _permit();
        bytes memory head = abi.encode(order.inputs[0].token, order.inputs[0].amount, permit.nonce, permit.deadline);
        uint256 padded = (typeString.length + 31) / 32 * 32;
        bytes memory middle = abi.encode(
            to,
            order.inputs[0].amount,
            owner,
            _witness(order, program, address(0)),
            uint256(0x140),
            uint256(0x160 + padded)
        );
        bytes memory text =
            bytes.concat(abi.encode(typeString.length), typeString, new bytes(padded - typeString.length));
        bytes memory signature = _sign(order, program, permit);
        return
            bytes.concat(bytes4(0x137c29fe), head, middle, text, abi.encode(signature.length), signature, new bytes(31));
    }

    /// Those words are right: the proxy's own call, made by the proxy, is good for Permit2.
    function test_words_of_the_forged_call_are_those_that_permit2_takes() public {
        bytes memory call = _permit2Call(_usual(), _viaV3(v3UsdcWeth), bob);
        vm.prank(address(proxy));
        (bool ok,) = PERMIT2.call(call);
        assertTrue(ok);
        assertEq(usdc.balanceOf(bob), AMOUNT);
    }

    /// The pool knows the signature before it is used, and can do nothing with it: Permit2 takes it from the proxy only.
    function test_pool_cannot_use_the_signature_it_is_shown() public {
        CallingPool pool = new CallingPool();
        bytes memory program = _viaV3(address(pool));
        bytes memory signature = _sign(_usual(), program, _permit());
        pool.prepare(PERMIT2, _permit2Call(_usual(), program, address(pool)));
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 0, WETH, 0, 1));
        proxy.executeWithPermit2(_usual(), program, _permit(), signature);
        // nor by a second order with it while the first runs
        pool.prepare(
            address(proxy),
            abi.encodeCall(IExecutionProxy.executeWithPermit2, (_usual(), program, _permit(), signature))
        );
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 0, WETH, 0, 1));
        proxy.executeWithPermit2(_usual(), program, _permit(), signature);
        assertEq(usdc.balanceOf(owner), 2 * AMOUNT);
    }

    function test_pool_that_reenters_before_it_asks_is_refused() public {
        Reentrant pool = new Reentrant(address(proxy), _order(address(dai), 1, WETH, 1), hex"00");
        bytes memory inner = abi.encodeWithSelector(IExecutionProxy.Reentered.selector);
        _refuse(_usual(), _viaV3(address(pool)), _poolFailed(address(pool), inner));
    }

    function test_pool_that_is_paid_and_delivers_nothing_fails_the_payment() public {
        hostile.callBack(int256(AMOUNT), 0);
        hostile.answer(-1 ether, -1 ether);
        bytes memory below = abi.encodeWithSelector(
            IExecutionProxy.TransferFailed.selector,
            1,
            WETH,
            address(proxy),
            bob,
            1 ether,
            bytes.concat(abi.encodeWithSignature("Error(string)", ""), new bytes(32))
        );
        _refuse(_usual(), _viaV3(address(hostile)), below);
    }

    /// Nothing of the first order is left for the second, in the same transaction.
    function test_two_signed_orders_in_one_transaction() public {
        _send(_usual(), _viaV3(v3UsdcWeth));
        Permit memory permit = _permit();
        permit.nonce = 8;
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        proxy.executeWithPermit2(_usual(), program, permit, _sign(_usual(), program, permit));
        assertEq(usdc.balanceOf(owner), 0);
        vm.prank(v3UsdcWeth);
        vm.expectPartialRevert(IExecutionProxy.UnexpectedCallback.selector);
        (bool ok,) = address(proxy)
            .call(abi.encodeWithSignature("uniswapV3SwapCallback(int256,int256,bytes)", int256(1), int256(0), ""));
        assertTrue(ok);
    }

    // — programs and tokens out of place —

    /// Only whole and first: any other beginning takes the input to the proxy, where it is spent or goes back.
    function test_first_step_that_spends_something_else_takes_nothing_straight() public {
        Order memory order = _usual();
        order.inputs = new Input[](2);
        order.inputs[0] = Input(address(usdc), AMOUNT);
        order.inputs[1] = Input(WETH, 1 ether);
        order.outputs[0].token = address(dai);
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, v3UsdcWeth), Program.v3(1, 1, 2, 0, v3WethDai));
        uint256 weth = 1 ether + _v3Out(v3UsdcWeth, address(usdc), AMOUNT);
        order.outputs[0].minimum = _v3Out(v3WethDai, WETH, weth);
        assertEq(_send(order, program)[0], order.outputs[0].minimum);
    }

    function test_step_after_the_straight_one_finds_nothing_of_the_input() public {
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, v3UsdcWeth), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        bytes memory nothing = abi.encodeWithSelector(IExecutionProxy.NothingAtHand.selector, 1, address(usdc));
        _refuse(_usual(), program, nothing);
    }

    /// Cut short, or with no step at all: the input goes to the proxy and the order fails as any other does.
    function test_program_cut_short_at_every_byte() public {
        bytes memory program = _viaV3(v3UsdcWeth);
        for (uint256 length = 1; length < program.length; ++length) {
            bytes memory part = new bytes(length);
            for (uint256 i; i < length; ++i) {
                part[i] = program[i];
            }
            bytes memory signature = _sign(_usual(), part, _permit());
            vm.expectRevert();
            proxy.executeWithPermit2(_usual(), part, _permit(), signature);
        }
        assertEq(usdc.balanceOf(owner), 2 * AMOUNT);
    }

    /// A pool that wants another token than the one that is signed for does not count what it gets.
    function test_pool_of_another_token_is_refused() public {
        // the pool trades WETH and dai, and is paid in usdc
        Order memory order = _order(address(usdc), AMOUNT, address(dai), 1);
        bytes memory signature = _sign(order, _viaV3(v3WethDai), _permit());
        vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
        proxy.executeWithPermit2(order, _viaV3(v3WethDai), _permit(), signature);
        bytes memory viaV2 = bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, v2WethDai));
        signature = _sign(order, viaV2, _permit());
        vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
        proxy.executeWithPermit2(order, viaV2, _permit(), signature);
        assertEq(usdc.balanceOf(owner), 2 * AMOUNT);
    }

    function test_token_that_takes_a_fee_on_transfer_is_refused() public {
        TaxedToken taxed = new TaxedToken();
        taxed.mint(address(this), RICH);
        address pair = _pair(address(taxed), 1e24, WETH, 1_000 ether);
        taxed.transfer(owner, 10e18);
        vm.prank(owner);
        taxed.approve(PERMIT2, type(uint256).max);
        Order memory order = _order(address(taxed), 1e18, WETH, 1);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, pair));
        bytes memory signature = _sign(order, program, _permit());
        vm.expectRevert(_poolFailed(pair, abi.encodeWithSignature("Error(string)", "UniswapV2: K")));
        proxy.executeWithPermit2(order, program, _permit(), signature);
    }

    // — fuzzed —

    /// Whatever the program, who relays it and whether the signature is good: nobody but the owner pays, he pays at most the input,
    /// and only for the minimum.
    /// forge-config: default.fuzz.runs = 5000
    /// forge-config: long.fuzz.runs = 100000
    function testFuzz_signed_programs_never_take_more(uint256 seed, uint8 count, bool good) public {
        vm.prank(alice);
        usdc.approve(address(proxy), type(uint256).max);
        usdc.transfer(alice, AMOUNT);
        address[5] memory pools = [v2UsdcWeth, v2WethDai, v3UsdcWeth, v3WethDai, address(hostile)];
        hostile.callBack(int256(AMOUNT), 0);
        bytes memory program = Program.tokens(address(dai), NATIVE);
        for (uint256 i; i < count % 4 + 1; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            uint8 tokenIn = i == 0 && seed & 0xc0 != 0 ? 0 : uint8(seed >> 8) % 4;
            uint8 tokenOut = uint8(seed >> 16) % 4;
            uint32 share = seed & 0x30 == 0 ? uint32(seed >> 32) : 0;
            address pool = pools[uint8(seed >> 72) % 5];
            bytes memory step = uint8(seed >> 80) % 2 == 0
                ? Program.v2(uint8(seed >> 64) % 3, tokenIn, tokenOut, share, pool)
                : Program.v3(uint8(seed >> 64) % 3, tokenIn, tokenOut, share, pool);
            program = bytes.concat(program, step);
        }
        Order memory order = _usual();
        bytes memory signature = _sign(order, good ? program : bytes.concat(program, hex"00"), _permit());
        vm.prank(relayer);
        (bool ok,) = address(proxy)
            .call(abi.encodeCall(IExecutionProxy.executeWithPermit2, (order, program, _permit(), signature)));
        if (ok) {
            assertTrue(good, "an order ran without its signature");
            assertGe(IToken(WETH).balanceOf(bob), 1);
            assertGe(usdc.balanceOf(owner), AMOUNT);
        } else {
            assertEq(usdc.balanceOf(owner), 2 * AMOUNT);
        }
        assertEq(usdc.balanceOf(alice), AMOUNT, "someone else paid");
        _assertNothingLeft();
    }
}
