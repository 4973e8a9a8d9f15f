// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit} from "../src/IExecutionProxy.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {IPermit2, Signing} from "./support/Signing.sol";

/// A contract that owns tokens and signs by EIP-1271.
contract Wallet {
    bytes32 private approved;

    function approveHash(bytes32 hash) external {
        approved = hash;
    }

    function approve(address token, address spender, uint256 amount) external {
        IToken(token).approve(spender, amount);
    }

    function isValidSignature(bytes32 hash, bytes calldata) external view returns (bytes4) {
        return hash == approved ? bytes4(0x1626ba7e) : bytes4(0);
    }
}

/// Orders paid by a Permit2 signature, sent by anyone.
contract Permit2Test is Signing {
    uint256 private constant AMOUNT = 3_000e6;
    address private relayer = makeAddr("relayer");
    bytes private program;

    function setUp() public override {
        super.setUp();
        for (uint256 i; i < 2; ++i) {
            IToken token = IToken([address(usdc), WETH][i]);
            token.transfer(owner, [AMOUNT, 10 ether][i]);
            vm.prank(owner);
            token.approve(PERMIT2, type(uint256).max);
        }
        program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
    }

    function _usual() private view returns (Order memory) {
        return _order(address(usdc), AMOUNT, WETH, 1);
    }

    function _permit() private view returns (Permit memory) {
        return Permit(owner, 7, block.timestamp, address(0));
    }

    // — what works —

    function test_relayer_sends_an_order_that_the_owner_signed() public {
        Order memory order = _usual();
        order.outputs[0].minimum = _v2Out(v2UsdcWeth, address(usdc), AMOUNT);
        bytes memory signature = _sign(order, program, _permit());
        vm.prank(relayer);
        uint256[] memory received = proxy.executeWithPermit2(order, program, _permit(), signature);
        assertEq(received[0], order.outputs[0].minimum);
        assertEq(IToken(WETH).balanceOf(bob), received[0]);
        assertEq(usdc.balanceOf(owner), 0);
        _assertNothingLeft();
    }

    function test_several_inputs_by_one_batch_signature() public {
        Order memory order = _usual();
        order.inputs = new Input[](2);
        order.inputs[0] = Input(address(usdc), AMOUNT);
        order.inputs[1] = Input(WETH, 1 ether);
        order.outputs[0].token = address(dai);
        uint256 weth = 1 ether + _v3Out(v3UsdcWeth, address(usdc), AMOUNT);
        order.outputs[0].minimum = _v2Out(v2WethDai, WETH, weth);
        bytes memory batch =
            bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, v3UsdcWeth), Program.v2(1, 1, 2, 0, v2WethDai));
        uint256[] memory received = proxy.executeWithPermit2(order, batch, _permit(), _sign(order, batch, _permit()));
        assertEq(received[0], order.outputs[0].minimum);
        assertEq(IToken(WETH).balanceOf(owner), 9 ether);
        _assertNothingLeft();
    }

    function test_ether_beside_a_signed_token() public {
        Order memory order = _usual();
        order.inputs = new Input[](2);
        order.inputs[0] = Input(NATIVE, 1 ether);
        order.inputs[1] = Input(address(usdc), AMOUNT);
        bytes memory both = bytes.concat(Program.tokens(), Program.wrap(0, 2), Program.v2(1, 1, 2, 0, v2UsdcWeth));
        order.outputs[0].minimum = 1 ether + _v2Out(v2UsdcWeth, address(usdc), AMOUNT);
        bytes memory signature = _sign(order, both, _permit());
        vm.deal(owner, 1 ether);
        vm.prank(owner);
        assertEq(
            proxy.executeWithPermit2{value: 1 ether}(order, both, _permit(), signature)[0], order.outputs[0].minimum
        );
    }

    function test_ether_beside_several_signed_tokens() public {
        Order memory order = _usual();
        order.inputs = new Input[](3);
        order.inputs[0] = Input(NATIVE, 1 ether);
        order.inputs[1] = Input(address(usdc), AMOUNT);
        order.inputs[2] = Input(WETH, 1 ether);
        order.outputs[0].token = address(dai);
        uint256 weth = 2 ether + _v3Out(v3UsdcWeth, address(usdc), AMOUNT);
        order.outputs[0].minimum = _v2Out(v2WethDai, WETH, weth);
        bytes memory all = bytes.concat(
            Program.tokens(), Program.wrap(0, 2), Program.v3(0, 1, 2, 0, v3UsdcWeth), Program.v2(1, 2, 3, 0, v2WethDai)
        );
        bytes memory signature = _sign(order, all, _permit());
        vm.deal(owner, 1 ether);
        vm.prank(owner);
        assertEq(
            proxy.executeWithPermit2{value: 1 ether}(order, all, _permit(), signature)[0], order.outputs[0].minimum
        );
        _assertNothingLeft();
    }

    function test_unspent_input_goes_back_to_the_owner_and_not_to_the_relayer() public {
        Order memory order = _usual();
        bytes memory half = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 1 << 31, v2UsdcWeth));
        bytes memory signature = _sign(order, half, _permit());
        vm.prank(relayer);
        proxy.executeWithPermit2(order, half, _permit(), signature);
        assertEq(usdc.balanceOf(owner), AMOUNT / 2);
        assertEq(usdc.balanceOf(relayer), 0);
        _assertNothingLeft();
    }

    function test_partner_fee_on_a_signed_input() public {
        Order memory order = _usual();
        (order.partner, order.partnerFeeBps) = (partner, 100);
        order.outputs[0].minimum = _v2Out(v2UsdcWeth, address(usdc), AMOUNT - AMOUNT / 100);
        proxy.executeWithPermit2(order, program, _permit(), _sign(order, program, _permit()));
        assertEq(usdc.balanceOf(partner), AMOUNT / 100);
        _assertNothingLeft();
    }

    function test_wallet_contract_signs_by_eip1271() public {
        Wallet wallet = new Wallet();
        usdc.transfer(address(wallet), AMOUNT);
        wallet.approve(address(usdc), PERMIT2, AMOUNT);
        Order memory order = _usual();
        Permit memory permit = Permit(address(wallet), 0, block.timestamp, address(0));
        wallet.approveHash(_digest(order, program, permit, address(proxy)));
        proxy.executeWithPermit2(order, program, permit, hex"00");
        assertEq(usdc.balanceOf(address(wallet)), 0);
    }

    // — what does not —

    function _refuse(
        Order memory order,
        bytes memory program_,
        Permit memory permit,
        bytes memory signature,
        bytes memory reason
    ) private {
        vm.prank(relayer);
        vm.expectRevert(reason);
        proxy.executeWithPermit2(order, program_, permit, signature);
    }

    function test_signature_used_twice() public {
        Order memory order = _usual();
        bytes memory signature = _sign(order, program, _permit());
        usdc.transfer(owner, AMOUNT);
        proxy.executeWithPermit2(order, program, _permit(), signature);
        _refuse(order, program, _permit(), signature, abi.encodeWithSelector(IPermit2.InvalidNonce.selector));
    }

    function test_signature_for_another_order_or_program() public {
        bytes memory signature = _sign(_usual(), program, _permit());
        bytes memory invalid = abi.encodeWithSelector(IPermit2.InvalidSigner.selector);
        Order memory order = _usual();
        order.inputs[0].amount -= 1;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.inputs[0].token = WETH;
        order.outputs[0].token = address(usdc);
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.outputs[0].token = address(dai);
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.outputs[0].minimum += 1;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.recipient = relayer;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.deadline += 1;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.partner = relayer;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        (order.partner, order.partnerFeeBps) = (relayer, 1);
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.partnerFeeOnOutput = true;
        _refuse(order, program, _permit(), signature, invalid);
        order = _usual();
        order.inputs = new Input[](2);
        order.inputs[0] = Input(address(usdc), AMOUNT);
        order.inputs[1] = Input(NATIVE, 1);
        vm.deal(relayer, 1);
        vm.prank(relayer);
        vm.expectRevert(invalid);
        proxy.executeWithPermit2{value: 1}(order, program, _permit(), signature);
        _refuse(_usual(), bytes.concat(program, hex"00"), _permit(), signature, invalid);
    }

    function test_signature_for_another_nonce_deadline_or_owner() public {
        bytes memory signature = _sign(_usual(), program, _permit());
        bytes memory invalid = abi.encodeWithSelector(IPermit2.InvalidSigner.selector);
        Permit memory permit = _permit();
        permit.nonce = 8;
        _refuse(_usual(), program, permit, signature, invalid);
        permit = _permit();
        permit.deadline += 1;
        _refuse(_usual(), program, permit, signature, invalid);
        permit = _permit();
        permit.owner = alice;
        _refuse(_usual(), program, permit, signature, invalid);
    }

    function test_signature_expired() public {
        Order memory order = _usual();
        Permit memory permit = _permit();
        bytes memory signature = _sign(order, program, permit);
        order.deadline += 1_000;
        vm.warp(block.timestamp + 1);
        _refuse(
            order,
            program,
            permit,
            signature,
            abi.encodeWithSelector(IPermit2.SignatureExpired.selector, permit.deadline)
        );
    }

    function test_signature_for_another_chain() public {
        bytes memory signature = _sign(_usual(), program, _permit());
        vm.chainId(10);
        _refuse(
            _usual(), program, _permit(), signature, abi.encodeWithSelector(IExecutionProxy.WrongChain.selector, 10, 1)
        );
    }

    function test_signature_for_another_spender() public {
        bytes memory signature = _signDigest(_digest(_usual(), program, _permit(), relayer));
        _refuse(_usual(), program, _permit(), signature, abi.encodeWithSelector(IPermit2.InvalidSigner.selector));
    }

    function test_signature_cut_short() public {
        _refuse(
            _usual(), program, _permit(), hex"0102", abi.encodeWithSelector(IPermit2.InvalidSignatureLength.selector)
        );
    }

    function test_plain_allowance_is_out_of_reach_of_the_signed_way() public {
        // the owner also allows the proxy; a relayer without a signature still gets nothing of it
        vm.prank(owner);
        usdc.approve(address(proxy), type(uint256).max);
        bytes memory foreign = _sign(_usual(), hex"00", _permit());
        _refuse(_usual(), program, _permit(), foreign, abi.encodeWithSelector(IPermit2.InvalidSigner.selector));
        // with one, no more than the signed amount moves
        usdc.transfer(owner, AMOUNT);
        proxy.executeWithPermit2(_usual(), program, _permit(), _sign(_usual(), program, _permit()));
        assertEq(usdc.balanceOf(owner), AMOUNT);
    }

    function test_nothing_to_permit() public {
        Order memory order = _order(NATIVE, 1 ether, WETH, 1);
        vm.deal(relayer, 1 ether);
        vm.prank(relayer);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.NothingToPermit.selector));
        proxy.executeWithPermit2{value: 1 ether}(order, program, _permit(), "");
    }

    function test_program_that_fails_spends_no_nonce() public {
        Order memory order = _usual();
        order.outputs[0].minimum = 1_000 ether;
        bytes memory signature = _sign(order, program, _permit());
        vm.expectPartialRevert(IExecutionProxy.OutputBelowMinimum.selector);
        proxy.executeWithPermit2(order, program, _permit(), signature);
        assertEq(usdc.balanceOf(owner), AMOUNT);
        order = _usual();
        proxy.executeWithPermit2(order, program, _permit(), _sign(order, program, _permit()));
    }
}
