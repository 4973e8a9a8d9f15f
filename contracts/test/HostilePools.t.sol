// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {WETH} from "../src/Constants.sol";
import {IExecutionProxy, Order} from "../src/IExecutionProxy.sol";
import {
    GasEater,
    HostileV2Pair,
    HostileV3Pool,
    HugeAnswer,
    ICallback,
    MessengerPool,
    Reentrant,
    SessionPool,
    TwoNamesPool
} from "./support/Hostile.sol";
import {IToken, Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";

/// Pools that a program may name but nobody should trust.
contract HostilePoolsTest is Market {
    uint256 private constant AMOUNT = 3_000e6;
    HostileV3Pool private hostile;

    function setUp() public override {
        super.setUp();
        hostile = new HostileV3Pool(address(proxy));
    }

    function _viaV3(address pool) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, pool));
    }

    function _viaV2(address pool) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, pool));
    }

    /// Runs the order as alice and expects this revert.
    function _refuse(bytes memory program, bytes memory reason) private {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        _fund(order);
        uint256 before = usdc.balanceOf(alice);
        vm.prank(alice);
        vm.expectRevert(reason);
        proxy.execute(order, program);
        assertEq(usdc.balanceOf(alice), before);
    }

    function _poolFailed(address pool, bytes memory reason) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, pool, reason);
    }

    /// What the proxy keeps of the callback that it waits for: the hash of the terms and of who brings them.
    function _commitment(address caller) private view returns (bytes32) {
        return keccak256(abi.encode(address(usdc), AMOUNT, alice, caller));
    }

    function _unexpected(address caller, bytes32 got, bytes32 expected) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IExecutionProxy.UnexpectedCallback.selector, caller, got, expected);
    }

    // — the callback —

    function test_stranger_calling_the_callback_before_any_order_is_refused() public {
        vm.expectRevert(_unexpected(address(this), keccak256(abi.encode(address(this))), 0));
        ICallback(address(proxy)).uniswapV3SwapCallback(1, 1, "");
        vm.expectRevert(_unexpected(address(this), keccak256(abi.encode(address(this))), 0));
        ICallback(address(proxy)).pancakeV3SwapCallback(1, 1, "");
    }

    /// One guard stands behind both names: a payment that one has made cannot be asked for by the other.
    function test_pool_that_calls_back_by_both_names_is_refused() public {
        TwoNamesPool pool = new TwoNamesPool(address(proxy));
        bytes memory inner = _unexpected(address(pool), _commitment(address(pool)), 0);
        _refuse(_viaV3(address(pool)), _poolFailed(address(pool), inner));
    }

    function test_stranger_calling_the_callback_after_an_order_in_the_same_transaction_is_refused() public {
        _run(_order(address(usdc), AMOUNT, WETH, 1), _viaV3(v3UsdcWeth));
        vm.prank(v3UsdcWeth);
        vm.expectRevert(_unexpected(v3UsdcWeth, _commitment(v3UsdcWeth), 0));
        ICallback(address(proxy)).uniswapV3SwapCallback(int256(AMOUNT), -1, abi.encode(address(usdc), AMOUNT, alice));
    }

    function test_stranger_calling_the_callback_while_a_pool_is_expected_is_refused() public {
        MessengerPool pool = new MessengerPool(address(proxy));
        address messenger = vm.computeCreateAddress(address(pool), 1);
        bytes memory inner = _unexpected(messenger, _commitment(messenger), _commitment(address(pool)));
        _refuse(_viaV3(address(pool)), _poolFailed(address(pool), inner));
    }

    function test_second_callback_of_one_swap_is_refused() public {
        hostile.callBack(int256(AMOUNT), 0);
        hostile.callBack(int256(AMOUNT), 0);
        bytes memory inner = _unexpected(address(hostile), _commitment(address(hostile)), 0);
        _refuse(_viaV3(address(hostile)), _poolFailed(address(hostile), inner));
    }

    /// Another token, another amount, another payer, an extra byte, a byte too few, nothing.
    function test_callback_with_other_terms_is_refused() public {
        address victim = makeAddr("victim");
        usdc.transfer(victim, AMOUNT);
        vm.prank(victim);
        usdc.approve(address(proxy), type(uint256).max);
        bytes[6] memory terms = [
            abi.encode(address(dai), AMOUNT, alice),
            abi.encode(address(usdc), AMOUNT + 1, alice),
            abi.encode(address(usdc), AMOUNT, victim),
            bytes.concat(abi.encode(address(usdc), AMOUNT, alice), hex"00"),
            abi.encodePacked(abi.encode(address(usdc), AMOUNT), bytes31(bytes32(uint256(uint160(alice))))),
            abi.encode(address(usdc))
        ];
        for (uint256 i; i < terms.length; ++i) {
            hostile = new HostileV3Pool(address(proxy));
            hostile.callBack(int256(AMOUNT), 0);
            hostile.forge(terms[i]);
            bytes32 got = keccak256(bytes.concat(terms[i], abi.encode(address(hostile))));
            bytes memory inner = _unexpected(address(hostile), got, _commitment(address(hostile)));
            _refuse(_viaV3(address(hostile)), _poolFailed(address(hostile), inner));
        }
        assertEq(usdc.balanceOf(victim), AMOUNT);
    }

    /// The pool of a step brings its terms to the other callback, which is for sessions of Balancer's vault.
    function test_pool_that_calls_the_session_callback_is_refused() public {
        address pool = address(new SessionPool());
        // its terms are too few words for a session
        _refuse(_viaV3(pool), _poolFailed(pool, ""));
    }

    function test_callback_for_more_or_less_than_the_step_spends_is_refused() public {
        int256[4] memory asked = [int256(AMOUNT) + 1, int256(AMOUNT) - 1, type(int256).max, int256(1)];
        for (uint256 i; i < asked.length; ++i) {
            hostile = new HostileV3Pool(address(proxy));
            hostile.callBack(asked[i], -1);
            bytes memory inner =
                abi.encodeWithSelector(IExecutionProxy.CallbackAmountMismatch.selector, uint256(asked[i]), AMOUNT);
            _refuse(_viaV3(address(hostile)), _poolFailed(address(hostile), inner));
        }
    }

    function test_callback_that_asks_for_nothing_is_refused() public {
        hostile.callBack(-1, -2);
        bytes memory inner =
            abi.encodeWithSelector(IExecutionProxy.CallbackAmountMismatch.selector, uint256(int256(-2)), AMOUNT);
        _refuse(_viaV3(address(hostile)), _poolFailed(address(hostile), inner));
    }

    function test_pool_that_never_calls_back_is_refused() public {
        hostile.answer(int256(AMOUNT), -1 ether);
        _refuse(
            _viaV3(address(hostile)),
            abi.encodeWithSelector(IExecutionProxy.CallbackMissing.selector, 0, address(hostile))
        );
    }

    function test_callback_missed_in_one_step_cannot_be_made_up_in_the_next() public {
        // the first pool stays silent; the second would call back for both
        HostileV3Pool silent = new HostileV3Pool(address(proxy));
        hostile.callBack(int256(AMOUNT / 2), 0);
        hostile.callBack(int256(AMOUNT / 2), 0);
        bytes memory program = bytes.concat(
            Program.tokens(), Program.v3(0, 0, 1, 1 << 31, address(silent)), Program.v3(0, 0, 1, 0, address(hostile))
        );
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.CallbackMissing.selector, 0, address(silent)));
    }

    /// What the proxy has not got it cannot pay out.
    function _unpaid(uint256 amount) private view returns (bytes memory) {
        bytes memory reason = bytes.concat(abi.encodeWithSignature("Error(string)", ""), new bytes(32));
        return
            abi.encodeWithSelector(
                IExecutionProxy.TransferFailed.selector, 1, WETH, address(proxy), bob, amount, reason
            );
    }

    function test_paid_pool_that_delivers_nothing_fails_the_payment_and_all_is_undone() public {
        hostile.callBack(int256(AMOUNT), 0);
        hostile.answer(-1000 ether, -1000 ether);
        _refuse(_viaV3(address(hostile)), _unpaid(1000 ether));
    }

    // — lies —

    function test_pool_that_claims_more_than_it_paid_cannot_reach_other_money() public {
        hostile.callBack(int256(AMOUNT), 0);
        hostile.answer(-1 ether, -1 ether);
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.TransferFailed.selector);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, address(hostile))));
    }

    function test_pool_answer_of_an_impossible_sign_is_refused() public {
        hostile.callBack(int256(AMOUNT), 0);
        hostile.answer(1, 1);
        _refuse(
            _viaV3(address(hostile)),
            abi.encodeWithSelector(IExecutionProxy.InvalidPoolAnswer.selector, 0, address(hostile))
        );
    }

    function test_pool_answer_beyond_the_ledger_is_refused() public {
        hostile.callBack(int256(AMOUNT), 0);
        hostile.answer(type(int256).min, type(int256).min);
        _refuse(
            _viaV3(address(hostile)),
            abi.encodeWithSelector(
                IExecutionProxy.AmountTooLarge.selector, 0, uint256(1) << 255, uint256(type(uint128).max)
            )
        );
    }

    /// What the next pair is paid never overflows the formula of the pair.
    function test_pool_answer_beyond_the_ledger_is_refused_on_the_way_to_a_pair() public {
        hostile.callBack(int256(AMOUNT), 0);
        hostile.answer(type(int256).min, type(int256).min);
        bytes memory program = bytes.concat(
            Program.tokens(address(dai)), Program.v3(2, 0, 1, 0, address(hostile)), Program.v2(0, 1, 2, 0, v2WethDai)
        );
        bytes memory reason = abi.encodeWithSelector(
            IExecutionProxy.AmountTooLarge.selector, 0, uint256(1) << 255, uint256(type(uint128).max)
        );
        _refuse(program, reason);
    }

    /// Nothing that the proxy calls as a pool can be a call of its own.
    function test_the_proxy_is_no_pool_of_its_own() public {
        bytes memory asked = abi.encodeWithSelector(IExecutionProxy.UnknownCall.selector, bytes4(0x0902f1ac));
        _refuse(_viaV2(address(proxy)), _poolFailed(address(proxy), asked));
        asked = abi.encodeWithSelector(IExecutionProxy.UnknownCall.selector, bytes4(0x128acb08));
        _refuse(_viaV3(address(proxy)), _poolFailed(address(proxy), asked));
        asked = abi.encodeWithSelector(IExecutionProxy.UnknownCall.selector, bytes4(0x3df02124));
        bytes memory curve = bytes.concat(Program.head(0x20, 0, 0, 1, 0), abi.encodePacked(proxy, uint8(0), uint8(1)));
        _refuse(bytes.concat(Program.tokens(), curve), _poolFailed(address(proxy), asked));
    }

    function test_pair_with_impossible_reserves_is_refused() public {
        address pair = address(new HostileV2Pair(1, uint256(1) << 112));
        _refuse(_viaV2(pair), abi.encodeWithSelector(IExecutionProxy.InvalidPoolAnswer.selector, 0, pair));
        pair = address(new HostileV2Pair(type(uint256).max, 1));
        _refuse(_viaV2(pair), abi.encodeWithSelector(IExecutionProxy.InvalidPoolAnswer.selector, 0, pair));
    }

    function test_pair_that_takes_and_gives_nothing_fails_the_payment() public {
        address pair = address(new HostileV2Pair(1e20, 1e20));
        _refuse(_viaV2(pair), _unpaid(2_990_999_999));
    }

    function test_pool_without_code_is_refused() public {
        address nobody = makeAddr("nobody");
        _refuse(_viaV3(nobody), _poolFailed(nobody, ""));
        _refuse(_viaV2(nobody), abi.encodeWithSelector(IExecutionProxy.InvalidPoolAnswer.selector, 0, nobody));
    }

    // — answers that cost —

    function test_huge_revert_of_a_pool_is_cut_short() public {
        address pool = address(new HugeAnswer(true));
        _refuse(_viaV3(pool), _poolFailed(pool, new bytes(512)));
        _refuse(_viaV2(pool), _poolFailed(pool, new bytes(512)));
    }

    function test_huge_answer_of_a_pool_is_not_copied() public {
        address pool = address(new HugeAnswer(false));
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        _fund(order);
        vm.prank(alice);
        uint256 before = gasleft();
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.CallbackMissing.selector, 0, pool));
        proxy.execute(order, _viaV3(pool));
        // the pool pays 2.2 million gas for a million bytes of memory once; a copy would double it
        assertLt(before - gasleft(), 3_000_000);
    }

    function test_pool_that_eats_all_gas_fails_the_order() public {
        address pool = address(new GasEater());
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert();
        proxy.execute{gas: 2_000_000}(order, _viaV3(pool));
        assertEq(usdc.balanceOf(alice), AMOUNT);
    }

    // — re-entrancy —

    function test_pool_that_reenters_is_refused() public {
        Reentrant pool = new Reentrant(address(proxy), _order(address(dai), 1, WETH, 1), hex"00");
        bytes memory inner = abi.encodeWithSelector(IExecutionProxy.Reentered.selector);
        _refuse(_viaV3(address(pool)), _poolFailed(address(pool), inner));
        _refuse(_viaV2(address(pool)), _poolFailed(address(pool), inner));
    }

    // — other people's approvals —

    function test_no_program_reaches_the_approvals_of_others() public {
        address victim = makeAddr("victim");
        usdc.transfer(victim, 1e12);
        vm.prank(victim);
        usdc.approve(address(proxy), type(uint256).max);

        // the token as a pool of either kind, the proxy as a pool, Permit2 as a pool, a pool that asks for all
        address permit2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;
        hostile.callBack(1e12, 1e12);
        address[4] memory targets = [address(usdc), address(proxy), permit2, address(hostile)];
        for (uint256 i; i < targets.length; ++i) {
            _attempt(_viaV3(targets[i]));
            _attempt(_viaV2(targets[i]));
        }
        assertEq(usdc.balanceOf(victim), 1e12);
    }

    function _attempt(bytes memory program) private {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert();
        proxy.execute(order, program);
    }
}
