// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {NATIVE, PERMIT2} from "./Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit} from "./IExecutionProxy.sol";

/// The part of Permit2 that the proxy calls.
interface ISignatureTransfer {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct PermitBatchTransferFrom {
        TokenPermissions[] permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external;

    function permitWitnessTransferFrom(
        PermitBatchTransferFrom calldata permit,
        SignatureTransferDetails[] calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external;
}

/// Takes an order's ERC-20 inputs by the owner's signature over the inputs, the whole order and the program's hash.
abstract contract Permit2Payment {
    bytes32 private constant INPUT_TYPEHASH = keccak256("Input(address token,uint256 amount)");
    bytes32 private constant OUTPUT_TYPEHASH = keccak256("Output(address token,uint256 minimum)");
    bytes32 private constant ORDER_TYPEHASH = keccak256(
        "BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,bytes32 programHash)"
        "Input(address token,uint256 amount)" "Output(address token,uint256 minimum)"
    );

    /// What Permit2 appends to its own type: the witness's name, then every type in alphabetical order.
    string private constant WITNESS_TYPE = "BraidOrder witness)"
        "BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,bytes32 programHash)"
        "Input(address token,uint256 amount)" "Output(address token,uint256 minimum)"
        "TokenPermissions(address token,uint256 amount)";

    /// Moves every ERC-20 input to the proxy. Reverts as Permit2 does.
    function _payWithPermit2(
        Order calldata order,
        bytes calldata program,
        Permit calldata permit,
        bytes calldata signature
    ) internal {
        (
            ISignatureTransfer.TokenPermissions[] memory permitted,
            ISignatureTransfer.SignatureTransferDetails[] memory details
        ) = _permitted(order.inputs);
        if (permitted.length == 0) revert IExecutionProxy.NothingToPermit();
        bytes32 witness = _hash(order, keccak256(program));
        if (permitted.length == 1) {
            ISignatureTransfer(PERMIT2)
                .permitWitnessTransferFrom(
                    ISignatureTransfer.PermitTransferFrom(permitted[0], permit.nonce, permit.deadline),
                    details[0],
                    permit.owner,
                    witness,
                    WITNESS_TYPE,
                    signature
                );
        } else {
            ISignatureTransfer(PERMIT2)
                .permitWitnessTransferFrom(
                    ISignatureTransfer.PermitBatchTransferFrom(permitted, permit.nonce, permit.deadline),
                    details,
                    permit.owner,
                    witness,
                    WITNESS_TYPE,
                    signature
                );
        }
    }

    /// The order's inputs but native ether, each in full to the proxy.
    function _permitted(Input[] calldata inputs)
        private
        view
        returns (
            ISignatureTransfer.TokenPermissions[] memory permitted,
            ISignatureTransfer.SignatureTransferDetails[] memory details
        )
    {
        uint256 count = inputs.length;
        for (uint256 i; i < inputs.length; ++i) {
            if (inputs[i].token == NATIVE) --count;
        }
        permitted = new ISignatureTransfer.TokenPermissions[](count);
        details = new ISignatureTransfer.SignatureTransferDetails[](count);
        uint256 next;
        for (uint256 i; i < inputs.length; ++i) {
            if (inputs[i].token == NATIVE) continue;
            permitted[next] = ISignatureTransfer.TokenPermissions(inputs[i].token, inputs[i].amount);
            details[next++] = ISignatureTransfer.SignatureTransferDetails(address(this), inputs[i].amount);
        }
    }

    /// The EIP-712 struct hash of BraidOrder.
    function _hash(Order calldata order, bytes32 programHash) private pure returns (bytes32) {
        return keccak256(
            abi.encode(
                ORDER_TYPEHASH,
                _hashInputs(order.inputs),
                _hashOutputs(order.outputs),
                order.recipient,
                order.deadline,
                order.partner,
                order.partnerFeeBps,
                order.partnerFeeOnOutput,
                programHash
            )
        );
    }

    function _hashInputs(Input[] calldata inputs) private pure returns (bytes32) {
        bytes32[] memory hashes = new bytes32[](inputs.length);
        for (uint256 i; i < inputs.length; ++i) {
            hashes[i] = keccak256(abi.encode(INPUT_TYPEHASH, inputs[i].token, inputs[i].amount));
        }
        return keccak256(abi.encodePacked(hashes));
    }

    function _hashOutputs(Output[] calldata outputs) private pure returns (bytes32) {
        bytes32[] memory hashes = new bytes32[](outputs.length);
        for (uint256 i; i < outputs.length; ++i) {
            hashes[i] = keccak256(abi.encode(OUTPUT_TYPEHASH, outputs[i].token, outputs[i].minimum));
        }
        return keccak256(abi.encodePacked(hashes));
    }
}
