// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output} from "../src/IExecutionProxy.sol";
import {IToken, Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";

/// What the proxy is for: each shape of route pays to the wei what the pools pay.
contract SwapsTest is Market {
    uint32 private constant THIRD = 0x55555555;

    function test_one_v2_hop_goes_from_payer_to_pair_to_recipient() public {
        uint256 expected = _v2Out(v2UsdcWeth, address(usdc), 3_000e6);
        uint256[] memory received = _run(
            _order(address(usdc), 3_000e6, WETH, expected),
            bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth))
        );
        assertEq(received[0], expected);
        assertEq(IToken(WETH).balanceOf(bob), expected);
        assertEq(usdc.balanceOf(alice), 0);
    }

    function test_one_v3_hop_is_paid_in_the_callback() public {
        uint256 expected = _v3Out(v3UsdcWeth, address(usdc), 3_000e6);
        uint256[] memory received = _run(
            _order(address(usdc), 3_000e6, WETH, expected),
            bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, v3UsdcWeth))
        );
        assertEq(received[0], expected);
        assertEq(IToken(WETH).balanceOf(bob), expected);
    }

    function test_two_v3_hops_stop_at_the_proxy_between() public {
        uint256 middle = _v3Out(v3UsdcWeth, address(usdc), 3_000e6);
        uint256 expected = _v3Out(v3WethDai, WETH, middle);
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.v3(0, 0, 2, 0, v3UsdcWeth), Program.v3(1, 2, 1, 0, v3WethDai));
        assertEq(_run(_order(address(usdc), 3_000e6, address(dai), expected), program)[0], expected);
    }

    function test_v2_to_v2_goes_pool_to_pool() public {
        uint256 middle = _v2Out(v2UsdcWeth, address(usdc), 3_000e6);
        uint256 expected = _v2Out(v2WethDai, WETH, middle);
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.v2(2, 0, 2, 0, v2UsdcWeth), Program.v2(1, 2, 1, 0, v2WethDai));
        assertEq(_run(_order(address(usdc), 3_000e6, address(dai), expected), program)[0], expected);
    }

    function test_v3_to_v2_goes_pool_to_pool() public {
        uint256 middle = _v3Out(v3UsdcWeth, address(usdc), 3_000e6);
        uint256 expected = _v2Out(v2WethDai, WETH, middle);
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.v3(2, 0, 2, 0, v3UsdcWeth), Program.v2(1, 2, 1, 0, v2WethDai));
        assertEq(_run(_order(address(usdc), 3_000e6, address(dai), expected), program)[0], expected);
    }

    function test_split_shares_round_down_and_the_last_takes_the_rest() public {
        uint256 amount = 3_000e6 + 1;
        uint256 first = amount * THIRD >> 32;
        uint256 expected = _v2Out(v2UsdcWeth, address(usdc), first) + _v3Out(v3UsdcWeth, address(usdc), amount - first);
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v2(1, 0, 1, THIRD, v2UsdcWeth), Program.v3(1, 0, 1, 0, v3UsdcWeth));
        assertEq(_run(_order(address(usdc), amount, WETH, expected), program)[0], expected);
    }

    function test_split_then_merge_then_split_again() public {
        uint256 first = 3_000e6 * uint256(THIRD) >> 32;
        uint256 weth = _v2Out(v2UsdcWeth, address(usdc), first) + _v3Out(v3UsdcWeth, address(usdc), 3_000e6 - first);
        uint256 second = weth * THIRD >> 32;
        uint256 expected = _v2Out(v2WethDai, WETH, second) + _v3Out(v3WethDai, WETH, weth - second);
        bytes memory program = bytes.concat(
            Program.tokens(WETH),
            Program.v2(0, 0, 2, THIRD, v2UsdcWeth),
            Program.v3(0, 0, 2, 0, v3UsdcWeth),
            Program.v2(1, 2, 1, THIRD, v2WethDai),
            Program.v3(1, 2, 1, 0, v3WethDai)
        );
        assertEq(_run(_order(address(usdc), 3_000e6, address(dai), expected), program)[0], expected);
    }

    function test_ether_in() public {
        uint256 expected = _v2Out(v2UsdcWeth, WETH, 2 ether);
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.wrap(0, 2), Program.v2(1, 2, 1, 0, v2UsdcWeth));
        assertEq(_run(_order(NATIVE, 2 ether, address(usdc), expected), program)[0], expected);
        assertEq(alice.balance, 0);
    }

    function test_ether_out() public {
        uint256 expected = _v3Out(v3UsdcWeth, address(usdc), 3_000e6);
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.v3(0, 0, 2, 0, v3UsdcWeth), Program.unwrap(2, 1));
        assertEq(_run(_order(address(usdc), 3_000e6, NATIVE, expected), program)[0], expected);
        assertEq(bob.balance, expected);
    }

    function test_ether_straight_into_a_pool() public {
        uint256 expected = _v2Out(v2UsdcWeth, WETH, 2 ether);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        assertEq(_run(_order(NATIVE, 2 ether, address(usdc), expected), program)[0], expected);
        expected = _v3Out(v3UsdcWeth, WETH, 2 ether);
        program = bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, v3UsdcWeth));
        assertEq(_run(_order(NATIVE, 2 ether, address(usdc), expected), program)[0], expected);
    }

    /// Shares of the ether go to two pools, then on together.
    function test_ether_straight_into_two_pools() public {
        uint256 half = _v2Out(v2UsdcWeth, WETH, 1 ether);
        uint256 expected = half + _v3Out(v3UsdcWeth, WETH, 1 ether);
        bytes memory program = bytes.concat(
            Program.tokens(), Program.v2(0, 0, 1, 1 << 31, v2UsdcWeth), Program.v3(1, 0, 1, 0, v3UsdcWeth)
        );
        assertEq(_run(_order(NATIVE, 2 ether, address(usdc), expected), program)[0], expected);
    }

    /// Ether left over goes back as ether, not as WETH.
    function test_ether_that_no_pool_takes_goes_back() public {
        bytes memory program = bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 1 << 31, v3UsdcWeth));
        _run(_order(NATIVE, 2 ether, address(usdc), 1), program);
        assertEq(alice.balance, 1 ether);
    }

    /// A pair that is paid ahead gets WETH, so that a step before it cannot have made ether.
    function test_ether_is_never_paid_ahead() public {
        Order memory order = _order(address(usdc), 3_000e6, address(dai), 1);
        _fund(order);
        bytes memory program =
            bytes.concat(Program.tokens(NATIVE), Program.v2(2, 0, 2, 0, v2UsdcWeth), Program.v2(1, 2, 1, 0, v2WethDai));
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 2));
        proxy.execute(order, program);
    }

    function test_wrap_and_unwrap_alone() public {
        assertEq(
            _run(_order(NATIVE, 1 ether, WETH, 1 ether), bytes.concat(Program.tokens(), Program.wrap(0, 1)))[0], 1 ether
        );
        assertEq(
            _run(_order(WETH, 1 ether, NATIVE, 1 ether), bytes.concat(Program.tokens(), Program.unwrap(0, 1)))[0],
            1 ether
        );
    }

    function test_basket_keeps_what_no_step_spends_of_an_output() public {
        // ether and USDC in; DAI and WETH out, WETH being both an output and on the way to DAI
        Order memory order = _order(NATIVE, 2 ether, address(dai), 1);
        order.inputs = new Input[](2);
        order.inputs[0] = Input(NATIVE, 2 ether);
        order.inputs[1] = Input(address(usdc), 3_000e6);
        order.outputs = new Output[](2);
        uint256 weth = 2 ether + _v3Out(v3UsdcWeth, address(usdc), 3_000e6);
        uint256 spent = weth * THIRD >> 32;
        order.outputs[0] = Output(address(dai), _v2Out(v2WethDai, WETH, spent));
        order.outputs[1] = Output(WETH, weth - spent);
        bytes memory program = bytes.concat(
            Program.tokens(),
            Program.wrap(0, 3),
            Program.v3(0, 1, 3, 0, v3UsdcWeth),
            Program.v2(1, 3, 2, THIRD, v2WethDai)
        );
        uint256[] memory received = _run(order, program);
        assertEq(received[0], order.outputs[0].minimum);
        assertEq(received[1], order.outputs[1].minimum);
    }

    function test_input_that_is_also_produced_is_merged() public {
        Order memory order = _order(address(usdc), 3_000e6, address(dai), 1);
        order.inputs = new Input[](2);
        order.inputs[0] = Input(address(usdc), 3_000e6);
        order.inputs[1] = Input(WETH, 1 ether);
        uint256 weth = 1 ether + _v3Out(v3UsdcWeth, address(usdc), 3_000e6);
        order.outputs[0].minimum = _v2Out(v2WethDai, WETH, weth);
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, v3UsdcWeth), Program.v2(1, 1, 2, 0, v2WethDai));
        assertEq(_run(order, program)[0], order.outputs[0].minimum);
        assertEq(IToken(WETH).balanceOf(alice), 0);
    }

    function test_partner_fee_on_input() public {
        Order memory order = _order(address(usdc), 3_000e6 + 39, WETH, 1);
        (order.partner, order.partnerFeeBps) = (partner, 25);
        uint256 fee = (3_000e6 + 39) * uint256(25) / 10_000;
        order.outputs[0].minimum = _v2Out(v2UsdcWeth, address(usdc), 3_000e6 + 39 - fee);
        uint256[] memory received = _run(order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth)));
        assertEq(received[0], order.outputs[0].minimum);
        assertEq(usdc.balanceOf(partner), fee);
        assertEq(usdc.balanceOf(alice), 0);
    }

    function test_partner_fee_on_ether_input() public {
        Order memory order = _order(NATIVE, 2 ether, address(usdc), 1);
        (order.partner, order.partnerFeeBps) = (partner, 300);
        order.outputs[0].minimum = _v2Out(v2UsdcWeth, WETH, 1.94 ether);
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.wrap(0, 2), Program.v2(1, 2, 1, 0, v2UsdcWeth));
        assertEq(_run(order, program)[0], order.outputs[0].minimum);
        assertEq(partner.balance, 0.06 ether);
    }

    function test_partner_fee_on_output() public {
        Order memory order = _order(address(usdc), 3_000e6, WETH, 1);
        (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) = (partner, 25, true);
        uint256 gross = _v2Out(v2UsdcWeth, address(usdc), 3_000e6);
        uint256 fee = gross * 25 / 10_000;
        order.outputs[0].minimum = gross - fee;
        uint256[] memory received = _run(order, bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, v2UsdcWeth)));
        assertEq(received[0], gross - fee);
        assertEq(IToken(WETH).balanceOf(partner), fee);
    }

    function test_unspent_inputs_stay_with_or_return_to_the_payer() public {
        uint256 half = 1_500e6;
        uint256 expected = _v2Out(v2UsdcWeth, address(usdc), half);
        _run(
            _order(address(usdc), 2 * half, WETH, expected),
            bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 1 << 31, v2UsdcWeth))
        );
        assertEq(usdc.balanceOf(alice), half);

        bytes memory program = bytes.concat(
            Program.tokens(WETH), Program.head(0x01, 0, 0, 2, 1 << 31), Program.v2(1, 2, 1, 0, v2UsdcWeth)
        );
        _run(_order(NATIVE, 2 ether, address(usdc), 1), program);
        assertEq(alice.balance, 1 ether);
    }

    function test_intermediate_left_over_goes_to_the_recipient() public {
        uint256 weth = _v2Out(v2UsdcWeth, address(usdc), 3_000e6);
        bytes memory program = bytes.concat(
            Program.tokens(WETH), Program.v2(0, 0, 2, 0, v2UsdcWeth), Program.v2(1, 2, 1, 1 << 31, v2WethDai)
        );
        _run(_order(address(usdc), 3_000e6, address(dai), 1), program);
        assertEq(IToken(WETH).balanceOf(bob), weth - weth / 2);
    }

    function test_two_orders_in_one_transaction() public {
        test_one_v3_hop_is_paid_in_the_callback();
        test_ether_in();
        test_two_v3_hops_stop_at_the_proxy_between();
    }

    function testFuzz_v2_amounts_match_the_pair(uint256 amountIn, bool sell) public {
        (address from, address into) = sell ? (address(usdc), WETH) : (WETH, address(usdc));
        amountIn = bound(amountIn, sell ? 1e4 : 1e12, 1e4 ether);
        uint256 expected = _v2Out(v2UsdcWeth, from, amountIn);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        assertEq(_run(_order(from, amountIn, into, expected), program)[0], expected);
    }

    function testFuzz_v3_amounts_match_the_pool(uint256 amountIn, bool sell) public {
        (address from, address into) = sell ? (address(usdc), WETH) : (WETH, address(usdc));
        amountIn = bound(amountIn, sell ? 1e4 : 1e12, 1e3 ether);
        uint256 expected = _v3Out(v3UsdcWeth, from, amountIn);
        bytes memory program = bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, v3UsdcWeth));
        assertEq(_run(_order(from, amountIn, into, expected), program)[0], expected);
    }
}
