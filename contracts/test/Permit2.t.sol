// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit} from "../src/IExecutionProxy.sol";
import {IToken, Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";

interface IPermit2 {
    function DOMAIN_SEPARATOR() external view returns (bytes32);
    error SignatureExpired(uint256 signatureDeadline);
    error InvalidNonce();
    error InvalidSigner();
    error InvalidSignatureLength();
}

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

/// Orders paid by a Permit2 signature, sent by anyone. The signed hash is worked out here from the specification's
/// own words, not by the contract's code.
contract Permit2Test is Market {
    uint256 private constant AMOUNT = 3_000e6;
    string private constant TYPES =
        "BraidOrder witness)BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,bytes32 programHash)Input(address token,uint256 amount)Output(address token,uint256 minimum)TokenPermissions(address token,uint256 amount)";
    string private constant BRAID_ORDER =
        "BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,bytes32 programHash)Input(address token,uint256 amount)Output(address token,uint256 minimum)";

    address private owner;
    uint256 private key;
    address private relayer = makeAddr("relayer");
    bytes private program;

    function setUp() public override {
        super.setUp();
        (owner, key) = makeAddrAndKey("owner");
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
        return Permit(owner, 7, block.timestamp);
    }

    // — the signed message —

    function _witness(Order memory order, bytes memory program_) private pure returns (bytes32) {
        bytes memory inputs;
        for (uint256 i; i < order.inputs.length; ++i) {
            inputs = bytes.concat(
                inputs,
                keccak256(
                    abi.encode(
                        keccak256("Input(address token,uint256 amount)"), order.inputs[i].token, order.inputs[i].amount
                    )
                )
            );
        }
        bytes memory outputs;
        for (uint256 i; i < order.outputs.length; ++i) {
            outputs = bytes.concat(
                outputs,
                keccak256(
                    abi.encode(
                        keccak256("Output(address token,uint256 minimum)"),
                        order.outputs[i].token,
                        order.outputs[i].minimum
                    )
                )
            );
        }
        return keccak256(
            abi.encode(
                keccak256(bytes(BRAID_ORDER)),
                keccak256(inputs),
                keccak256(outputs),
                order.recipient,
                order.deadline,
                order.partner,
                order.partnerFeeBps,
                order.partnerFeeOnOutput,
                keccak256(program_)
            )
        );
    }

    function _digest(Order memory order, bytes memory program_, Permit memory permit, address spender)
        private
        view
        returns (bytes32)
    {
        (uint256 count, bytes memory permissions) = _permissions(order);
        string memory head = count == 1
            ? "PermitWitnessTransferFrom(TokenPermissions permitted,"
            : "PermitBatchWitnessTransferFrom(TokenPermissions[] permitted,";
        bytes memory message = abi.encode(
            keccak256(bytes(string.concat(head, "address spender,uint256 nonce,uint256 deadline,", TYPES))),
            count == 1 ? abi.decode(permissions, (bytes32)) : keccak256(permissions),
            spender
        );
        message = bytes.concat(message, abi.encode(permit.nonce, permit.deadline, _witness(order, program_)));
        return keccak256(abi.encodePacked(hex"1901", IPermit2(PERMIT2).DOMAIN_SEPARATOR(), keccak256(message)));
    }

    /// The struct hashes of what is permitted: every input but native ether.
    function _permissions(Order memory order) private pure returns (uint256 count, bytes memory hashes) {
        bytes32 typeHash = keccak256("TokenPermissions(address token,uint256 amount)");
        for (uint256 i; i < order.inputs.length; ++i) {
            Input memory input = order.inputs[i];
            if (input.token == NATIVE) continue;
            ++count;
            hashes = bytes.concat(hashes, keccak256(abi.encode(typeHash, input.token, input.amount)));
        }
    }

    function _sign(Order memory order, bytes memory program_, Permit memory permit)
        private
        view
        returns (bytes memory)
    {
        return _signDigest(_digest(order, program_, permit, address(proxy)));
    }

    function _signDigest(bytes32 digest) private view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
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
        Permit memory permit = Permit(address(wallet), 0, block.timestamp);
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
        _refuse(_usual(), program, _permit(), signature, abi.encodeWithSelector(IPermit2.InvalidSigner.selector));
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
