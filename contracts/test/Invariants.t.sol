// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output} from "../src/IExecutionProxy.sol";
import {Campaign} from "./support/Campaign.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";

/// Random baskets through random programs over real pools, most of them sound. Whatever happens: the payer loses at
/// most the inputs, the recipient gains at least the minimums or nothing moves, nobody else's balance falls, and the
/// proxy ends with no token, no ether and no allowance.
contract InvariantsTest is Campaign {
    // token indices of every program here: the inputs 0 and 1, the outputs 2 and 3, and one listed
    uint8 private constant USDC = 0;
    uint8 private constant ETHER = 1;
    uint8 private constant DAI = 2;
    uint8 private constant WRAPPED = 3;
    uint8 private constant WBTC = 4;

    address private victim = makeAddr("victim");
    address[5] private tokens;

    // what an order can be
    uint256 private constant ETHER_STRAIGHT_IN = 0;
    uint256 private constant FEE_ON_INPUT = 1;
    uint256 private constant FEE_ON_OUTPUT = 2;
    uint256 private constant RANDOM_STEP = 3;

    function setUp() public override {
        super.setUp();
        tokens = [address(usdc), NATIVE, address(dai), WETH, address(wbtc)];
        for (uint256 i; i < 5; ++i) {
            if (tokens[i] == NATIVE) continue;
            _send(tokens[i], victim, 1 ether);
            vm.startPrank(victim);
            IToken(tokens[i]).approve(address(proxy), type(uint256).max);
            IToken(tokens[i]).approve(PERMIT2, type(uint256).max);
            vm.stopPrank();
            // the payer too allows more than the order says
            vm.prank(alice);
            IToken(tokens[i]).approve(address(proxy), type(uint256).max);
        }
        vm.deal(victim, 1 ether);
    }

    function _randomOrder() private returns (Order memory order) {
        order = _order(address(usdc), 1 + _random(1e10), address(dai), 1 + _random(1e17));
        uint256 usdcAmount = order.inputs[0].amount;
        order.inputs = new Input[](2);
        order.inputs[0] = Input(address(usdc), usdcAmount);
        order.inputs[1] = Input(NATIVE, 1 + _random(1 ether));
        uint256 least = order.outputs[0].minimum;
        order.outputs = new Output[](2);
        order.outputs[0] = Output(address(dai), least);
        order.outputs[1] = Output(WETH, 1 + _random(1e15));
        if (_random(3) == 0) {
            (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) =
            (partner, uint16(_random(302)), _random(2) == 0);
            _is(order.partnerFeeOnOutput ? FEE_ON_OUTPUT : FEE_ON_INPUT);
        }
    }

    function _to(bool output) private returns (uint8) {
        return output && _random(2) == 0 ? Program.TO_RECIPIENT : Program.TO_PROXY;
    }

    /// One to six steps that lead somewhere, and sometimes one that does not.
    function _randomProgram() private returns (bytes memory program) {
        program = Program.tokens(address(wbtc));
        // a pool that takes some of the ether itself
        if (_random(3) == 0) {
            uint32 share = uint32(1 + _random(type(uint32).max));
            _is(ETHER_STRAIGHT_IN);
            program = _random(2) == 0
                ? bytes.concat(program, Program.v2(_to(true), ETHER, DAI, share, v2WethDai))
                : bytes.concat(program, Program.v3(_to(true), ETHER, DAI, share, v3WethDai));
        }
        program = bytes.concat(program, Program.wrap(ETHER, WRAPPED));
        for (uint256 n = _random(6); n != 0; --n) {
            uint256 kind = _random(9);
            bytes memory step;
            if (kind == 0) {
                step = Program.v2(_to(true), USDC, WRAPPED, _share(), v2UsdcWeth);
            } else if (kind == 1) {
                step = Program.v3(_to(true), USDC, WRAPPED, _share(), v3UsdcWeth);
            } else if (kind == 2) {
                step = Program.v2(_to(true), WRAPPED, DAI, _share(), v2WethDai);
            } else if (kind == 3) {
                step = Program.v3(_to(true), WRAPPED, DAI, _share(), v3WethDai);
            } else if (kind == 4) {
                step = Program.v2(0, WRAPPED, WBTC, _share(), v2WethWbtc);
            } else if (kind == 5) {
                step = Program.v2(_to(true), WBTC, WRAPPED, _share(), v2WethWbtc);
            } else if (kind == 6) {
                step = Program.v2(0, WRAPPED, USDC, _share(), v2UsdcWeth);
            } else if (kind == 7) {
                step = bytes.concat(
                    Program.v3(2, USDC, WRAPPED, _share(), v3UsdcWeth), Program.v2(1, WRAPPED, DAI, 0, v2WethDai)
                );
            } else {
                _is(RANDOM_STEP);
                step = Program.v3(
                    uint8(_random(3)),
                    uint8(2 + _random(2)),
                    uint8(2 + _random(3)),
                    _share(),
                    _random(4) == 0 ? victim : v3WethDai
                );
            }
            program = bytes.concat(program, step);
        }
        // what ether and USDC are left end as the outputs
        program = bytes.concat(program, Program.v2(0, WRAPPED, DAI, 1 << 31, v2WethDai));
    }

    function basket(uint256 roll) external {
        seed = roll;
        Order memory order = _randomOrder();
        bytes memory program = _randomProgram();
        _send(address(usdc), alice, 1e18);
        _give(alice, order.inputs[1].amount);

        vm.prank(alice);
        (bool ok,) = address(proxy).call{value: order.inputs[1].amount}(
            abi.encodeCall(IExecutionProxy.execute, (order, program))
        );
        if (ok) {
            assertGe(usdc.balanceOf(alice), 1e18 - order.inputs[0].amount, "more than the inputs was taken");
            assertGe(dai.balanceOf(bob), order.outputs[0].minimum);
            assertGe(IToken(WETH).balanceOf(bob), order.outputs[1].minimum);
        } else {
            assertEq(usdc.balanceOf(alice), 1e18);
            assertEq(alice.balance, order.inputs[1].amount);
        }
        _assertBystanders();
        _assertNothingLeft();
        revert Undone(kinds, ok);
    }

    function test_baskets() public {
        string[] memory names = new string[](4);
        names[ETHER_STRAIGHT_IN] = "ether straight into a pool";
        names[FEE_ON_INPUT] = "a fee on the inputs";
        names[FEE_ON_OUTPUT] = "a fee on the outputs";
        names[RANDOM_STEP] = "with a random step";
        _campaign("baskets", this.basket.selector, names, 25_000);
    }

    function _assertBystanders() private view {
        assertEq(victim.balance, 1 ether);
        address[5] memory spenders = [v2UsdcWeth, v2WethDai, v2WethWbtc, v3UsdcWeth, v3WethDai];
        for (uint256 i; i < 5; ++i) {
            if (tokens[i] == NATIVE) continue;
            assertEq(IToken(tokens[i]).balanceOf(victim), 1 ether, "someone else paid");
            for (uint256 j; j < 5; ++j) {
                assertEq(IToken(tokens[i]).allowance(address(proxy), spenders[j]), 0, "an allowance is left");
            }
        }
    }
}
