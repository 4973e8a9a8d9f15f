// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Order} from "../src/IExecutionProxy.sol";
import {Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";

/// Programs that are not programs.
contract ProgramsTest is Market {
    uint256 private constant AMOUNT = 3_000e6;

    function _refuse(bytes memory program, bytes memory reason) private {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        usdc.mint(alice, AMOUNT);
        vm.prank(alice);
        usdc.approve(address(proxy), AMOUNT);
        vm.prank(alice);
        vm.expectRevert(reason);
        proxy.execute(order, program);
    }

    function test_program_cut_short_at_every_byte_never_runs() public {
        bytes memory whole = bytes.concat(
            Program.tokens(WETH),
            Program.v2(0, 0, 2, 1 << 31, v2UsdcWeth),
            Program.v3(0, 0, 2, 0, v3UsdcWeth),
            Program.v3(1, 2, 1, 1 << 31, v3WethDai),
            Program.v2(1, 2, 1, 0, v2WethDai)
        );
        Order memory order = _order(address(usdc), AMOUNT, address(dai), 1);
        _fund(order);
        uint256 rolled = vm.snapshotState();
        vm.prank(alice);
        order.outputs[0].minimum = proxy.execute(order, whole)[0];
        vm.revertToState(rolled);
        for (uint256 length; length < whole.length; ++length) {
            bytes memory part = new bytes(length);
            for (uint256 i; i < length; ++i) {
                part[i] = whole[i];
            }
            vm.prank(alice);
            vm.expectRevert();
            proxy.execute(order, part);
            assertEq(usdc.balanceOf(alice), AMOUNT);
        }
    }

    function test_truncation_names_the_step_and_the_bytes() public {
        _refuse("", abi.encodeWithSelector(IExecutionProxy.ProgramTruncated.selector, 0, 0, 1));
        _refuse(hex"ff00", abi.encodeWithSelector(IExecutionProxy.ProgramTruncated.selector, 0, 1, 255 * 20));
        _refuse(hex"0010", abi.encodeWithSelector(IExecutionProxy.ProgramTruncated.selector, 0, 1, 8));
        bytes memory short = bytes.concat(Program.tokens(), Program.head(0x10, 1, 0, 1, 0), bytes21(0));
        _refuse(short, abi.encodeWithSelector(IExecutionProxy.ProgramTruncated.selector, 0, 21, 22));
        bytes memory noNext = bytes.concat(Program.tokens(), Program.v2(2, 0, 1, 0, v2UsdcWeth));
        _refuse(noNext, abi.encodeWithSelector(IExecutionProxy.ProgramTruncated.selector, 1, 0, 28));
    }

    function test_every_opcode_but_the_known_ones_is_refused() public {
        for (uint256 opcode; opcode < 256; ++opcode) {
            if (_known(opcode)) continue;
            bytes memory program =
                bytes.concat(Program.tokens(), Program.head(uint8(opcode), 1, 0, 1, 0), new bytes(64));
            _refuse(program, abi.encodeWithSelector(IExecutionProxy.UnknownOpcode.selector, 0, opcode));
        }
    }

    function _known(uint256 opcode) private pure returns (bool) {
        bytes memory all = hex"01021011202122303140415051" hex"526070";
        for (uint256 i; i < all.length; ++i) {
            if (uint8(all[i]) == opcode) return true;
        }
        return false;
    }

    function test_token_index_out_of_range() public {
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 2, 1, 0, v2UsdcWeth));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.UnknownToken.selector, 0, 2, 2));
        program = bytes.concat(Program.tokens(), Program.v2(1, 0, 255, 0, v2UsdcWeth));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.UnknownToken.selector, 0, 255, 2));
    }

    function test_destination_out_of_place() public {
        // unknown; to the recipient of a token that is no output; of a step that can only pay the proxy
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(3, 0, 1, 0, v2UsdcWeth));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 3));
        program = bytes.concat(Program.tokens(address(dai)), Program.v2(1, 0, 2, 0, v2UsdcWeth));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 1));
        // the same of a pair that is known
        Order memory order = _order(address(usdc), AMOUNT, address(dai), 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 1));
        proxy.execute(order, bytes.concat(Program.tokens(WETH), Program.v2(1, 0, 2, 0, v2UsdcWeth)));
        order = _order(NATIVE, 1 ether, WETH, 1);
        vm.deal(alice, 1 ether);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 1));
        proxy.execute{value: 1 ether}(order, bytes.concat(Program.tokens(), Program.head(0x01, 1, 0, 1, 0)));
    }

    function test_output_fee_cannot_be_walked_around() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) = (partner, 1, true);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 1));
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth)));
    }

    function test_only_a_pair_that_takes_all_is_prepaid() public {
        bytes memory first = bytes.concat(Program.tokens(address(dai)), Program.v2(2, 0, 1, 0, v2UsdcWeth));
        bytes memory program = bytes.concat(first, Program.v3(1, 1, 2, 0, v3WethDai));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.NotPrepayable.selector, 1, 0x11, 0));
        program = bytes.concat(first, Program.v2(1, 1, 2, 7, v2WethDai));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.NotPrepayable.selector, 1, 0x10, 7));
        program = bytes.concat(first, Program.v2(0, 2, 1, 0, v2WethDai));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.WrongToken.selector, 1, address(dai), WETH));
    }

    function test_wrapping_of_other_tokens() public {
        bytes memory program = bytes.concat(Program.tokens(), Program.wrap(0, 1));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.WrongToken.selector, 0, address(usdc), NATIVE));
        program = bytes.concat(Program.tokens(NATIVE), Program.unwrap(0, 2));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.WrongToken.selector, 0, address(usdc), WETH));
    }

    function test_step_with_nothing_at_hand() public {
        bytes memory program =
            bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth), Program.v3(1, 0, 1, 0, v3UsdcWeth));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.NothingAtHand.selector, 1, address(usdc)));
        // a share so small that it rounds to nothing
        Order memory order = _order(address(usdc), 5, WETH, 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.NothingAtHand.selector, 0, address(usdc)));
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 1, v2UsdcWeth)));
    }

    function test_fee_of_everything() public {
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth, 10_000));
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.InvalidFee.selector, 0, 10_000, 10_000));
    }

    function test_fee_below_the_pairs_own_is_refused_by_the_pair() public {
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth, 29));
        bytes memory inner = abi.encodeWithSignature("Error(string)", "UniswapV2: K");
        _refuse(program, abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, v2UsdcWeth, inner));
    }

    function test_hand_built_lengths_that_overflow_are_refused() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        _fund(order);
        bytes memory call = abi.encodeCall(
            IExecutionProxy.execute, (order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth)))
        );
        // every word of the calldata in turn becomes a huge number: an offset, a length, an address, an amount
        uint256[4] memory huge = [type(uint256).max, uint256(1) << 255, type(uint64).max, type(uint256).max - 31];
        for (uint256 at = 4; at + 32 <= call.length; at += 32) {
            for (uint256 k; k < huge.length; ++k) {
                bytes memory bent = bytes.concat(call);
                uint256 value = huge[k];
                assembly ("memory-safe") {
                    mstore(add(add(bent, 0x20), at), value)
                }
                uint256 rolled = vm.snapshotState();
                vm.prank(alice);
                (bool ok,) = address(proxy).call(bent);
                // the recipient and the deadline are data: another value is another order; what is said of a partner and of what a
                // fee is taken from goes unread without a fee
                bool unread = at == 4 + 32 * 6 || at == 4 + 32 * 8;
                if (ok) assertTrue(unread || at == 4 + 32 * 4 || at == 4 + 32 * 5, "a bent word was taken");
                vm.revertToState(rolled);
            }
        }
    }

    /// Whatever the bytes, nobody but the payer pays, and the proxy keeps nothing.
    /// forge-config: default.fuzz.runs = 20000
    /// forge-config: long.fuzz.runs = 250000
    function testFuzz_random_bytes_never_take_from_others(bytes calldata program) public {
        _runRandom(program);
    }

    /// The same with bytes that look like steps.
    /// forge-config: default.fuzz.runs = 10000
    /// forge-config: long.fuzz.runs = 250000
    function testFuzz_random_steps_never_take_from_others(uint256 seed, uint8 count) public {
        bytes memory program = Program.tokens(address(dai), NATIVE);
        address[4] memory pools = [v2UsdcWeth, v2WethDai, v3UsdcWeth, v3WethDai];
        for (uint256 i; i < count % 6; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            uint8 tokenIn = uint8(seed >> 8) % 4;
            uint8 tokenOut = uint8(seed >> 16) % 4;
            uint32 share = seed & 0x30 == 0 ? 0 : uint32(seed >> 32);
            uint8 to = uint8(seed >> 64) % 3;
            address pool = pools[uint8(seed >> 72) % 4];
            uint256 kind = uint8(seed >> 80) % 8;
            if (kind == 0) program = bytes.concat(program, Program.head(0x01, 0, tokenIn, tokenOut, share));
            else if (kind == 1) program = bytes.concat(program, Program.head(0x02, 0, tokenIn, tokenOut, share));
            else if (kind < 5) program = bytes.concat(program, Program.v2(to, tokenIn, tokenOut, share, pool));
            else program = bytes.concat(program, Program.v3(to, tokenIn, tokenOut, share, pool));
        }
        _runRandom(program);
    }

    function _runRandom(bytes memory program) private {
        address victim = makeAddr("victim");
        usdc.transfer(victim, 1e12);
        vm.prank(victim);
        usdc.approve(address(proxy), type(uint256).max);
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        usdc.transfer(alice, 2 * AMOUNT);
        vm.prank(alice);
        usdc.approve(address(proxy), type(uint256).max);
        vm.prank(alice);
        (bool ok,) = address(proxy).call(abi.encodeCall(IExecutionProxy.execute, (order, program)));
        if (ok) assertGe(_balance(WETH, bob), 1);
        else assertEq(usdc.balanceOf(alice), 2 * AMOUNT);
        assertGe(usdc.balanceOf(alice), AMOUNT, "more than the inputs was taken");
        assertEq(usdc.balanceOf(victim), 1e12, "someone else paid");
        _assertNothingLeft();
        address[4] memory pools = [v2UsdcWeth, v2WethDai, v3UsdcWeth, v3WethDai];
        for (uint256 i; i < pools.length; ++i) {
            assertEq(usdc.allowance(address(proxy), pools[i]), 0);
            assertEq(dai.allowance(address(proxy), pools[i]), 0);
        }
    }

    function _balance(address token, address account) private view returns (uint256 balance) {
        (, bytes memory answer) = token.staticcall(abi.encodeWithSignature("balanceOf(address)", account));
        balance = abi.decode(answer, (uint256));
    }
}
