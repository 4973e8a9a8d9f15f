// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output} from "../src/IExecutionProxy.sol";
import {IToken, Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";

/// Orders that break a rule, each told which one.
contract OrdersTest is Market {
    bytes private good;

    function setUp() public override {
        super.setUp();
        good = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
    }

    function _usual() private view returns (Order memory) {
        return _order(address(usdc), 3_000e6, WETH, 1);
    }

    function _refuse(Order memory order, bytes memory reason) private {
        vm.prank(alice);
        vm.expectRevert(reason);
        proxy.execute(order, good);
    }

    function test_deadline_passed() public {
        Order memory order = _usual();
        vm.warp(1_000_000);
        order.deadline = 999_999;
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.DeadlinePassed.selector, 999_999, 1_000_000));
        order.deadline = 1_000_000;
        _run(order, good);
    }

    function test_no_inputs_or_no_outputs() public {
        Order memory order = _usual();
        order.inputs = new Input[](0);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.EmptyOrder.selector, 0, 1));
        order = _usual();
        order.outputs = new Output[](0);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.EmptyOrder.selector, 1, 0));
    }

    function test_zero_minimum() public {
        Order memory order = _usual();
        order.outputs[0].minimum = 0;
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.ZeroMinimum.selector, 0));
    }

    function test_zero_or_oversized_input() public {
        Order memory order = _usual();
        uint256 most = type(uint128).max;
        order.inputs[0].amount = 0;
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.InvalidInputAmount.selector, 0, 0, most));
        order.inputs[0].amount = most + 1;
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.InvalidInputAmount.selector, 0, most + 1, most));
    }

    function test_output_equal_to_an_input() public {
        Order memory order = _usual();
        order.outputs[0].token = address(usdc);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.DuplicateToken.selector, address(usdc)));
    }

    function test_same_input_or_output_twice() public {
        Order memory order = _usual();
        order.inputs = new Input[](2);
        order.inputs[0] = order.inputs[1] = Input(address(usdc), 1e6);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.DuplicateToken.selector, address(usdc)));
        order = _usual();
        order.outputs = new Output[](2);
        order.outputs[0] = order.outputs[1] = Output(WETH, 1);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.DuplicateToken.selector, WETH));
    }

    function test_recipient_zero_or_the_proxy() public {
        Order memory order = _usual();
        order.recipient = address(0);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.InvalidRecipient.selector, address(0)));
        order.recipient = address(proxy);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.InvalidRecipient.selector, address(proxy)));
    }

    function test_partner_fee_above_the_limit() public {
        Order memory order = _usual();
        (order.partner, order.partnerFeeBps) = (partner, 301);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.PartnerFeeTooHigh.selector, 301, 300));
    }

    function test_partner_zero_or_the_proxy() public {
        Order memory order = _usual();
        order.partnerFeeBps = 1;
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.InvalidPartner.selector, address(0)));
        order.partner = address(proxy);
        _refuse(order, abi.encodeWithSelector(IExecutionProxy.InvalidPartner.selector, address(proxy)));
    }

    function test_ether_without_need_and_ether_not_equal_to_the_input() public {
        vm.deal(alice, 10 ether);
        Order memory order = _usual();
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.ValueMismatch.selector, 1, 0));
        proxy.execute{value: 1}(order, good);

        order = _order(NATIVE, 2 ether, address(usdc), 1);
        for (uint256 i; i < 3; ++i) {
            uint256 sent = [uint256(0), 2 ether - 1, 2 ether + 1][i];
            vm.prank(alice);
            vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.ValueMismatch.selector, sent, 2 ether));
            proxy.execute{value: sent}(order, good);
        }
    }

    function test_ether_sent_to_the_proxy_comes_back() public {
        vm.deal(alice, 1 ether);
        vm.prank(alice);
        (bool ok, bytes memory reason) = address(proxy).call{value: 1 ether}("");
        assertFalse(ok);
        assertEq(reason, abi.encodeWithSelector(IExecutionProxy.UnexpectedEther.selector, alice, address(0)));
        vm.deal(WETH, 1 ether);
        vm.prank(WETH);
        (ok,) = address(proxy).call{value: 1 ether}("");
        assertFalse(ok, "even from WETH, when no step waits for it");
    }

    function test_unknown_call_is_refused() public {
        (bool ok,) = address(proxy).call(hex"12345678");
        assertFalse(ok);
    }

    function test_output_below_the_minimum_undoes_everything() public {
        uint256 expected = _v2Out(v2UsdcWeth, address(usdc), 3_000e6);
        Order memory order = _order(address(usdc), 3_000e6, WETH, expected + 1);
        _fund(order);
        _refuse(
            order, abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 0, WETH, expected, expected + 1)
        );
        assertEq(usdc.balanceOf(alice), 3_000e6);
    }

    function test_each_of_several_minimums_counts() public {
        Order memory order = _order(NATIVE, 2 ether, address(dai), 1);
        order.outputs = new Output[](2);
        order.outputs[0] = Output(address(dai), 1);
        order.outputs[1] = Output(WETH, 1 ether + 1);
        bytes memory program =
            bytes.concat(Program.tokens(), Program.wrap(0, 2), Program.v2(1, 2, 1, 1 << 31, v2WethDai));
        uint256 valueWei = _fund(order);
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 1, WETH, 1 ether, 1 ether + 1)
        );
        proxy.execute{value: valueWei}(order, program);
    }

    function test_what_the_recipient_had_before_does_not_count() public {
        IToken(WETH).transfer(bob, 100 ether);
        Order memory order = _order(address(usdc), 3_000e6, WETH, 50 ether);
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.OutputBelowMinimum.selector);
        proxy.execute(order, good);
    }

    function test_more_tokens_than_an_index_can_name() public {
        bytes memory list = new bytes(20 * 254);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.TooManyTokens.selector, 256, 255));
        proxy.execute(_usual(), bytes.concat(bytes1(0xfe), list));
    }
}
