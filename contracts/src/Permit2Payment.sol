// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {NATIVE, PERMIT2} from "./Constants.sol";
import {Entries} from "./Entries.sol";
import {IExecutionProxy, Order, Permit} from "./IExecutionProxy.sol";

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
        (uint256 inputsAt, uint256 inputs) = Entries.inputs(order);
        uint256 permitted;
        uint256 only;
        uint256 entry = inputsAt;
        for (uint256 i; i < inputs; ++i) {
            (address token,) = Entries.read(entry);
            if (token != NATIVE) {
                ++permitted;
                only = entry;
            }
            entry = Entries.next(entry);
        }
        if (permitted == 0) revert IExecutionProxy.NothingToPermit();
        bytes32 witness = _hash(order, program);
        if (permitted == 1) _transferOne(only, permit, witness, signature);
        else _transferSeveral(inputsAt, inputs, permitted, permit, witness, signature);
    }

    function _transferOne(uint256 entry, Permit calldata permit, bytes32 witness, bytes calldata signature) private {
        (address token, uint256 amount) = Entries.read(entry);
        ISignatureTransfer(PERMIT2)
            .permitWitnessTransferFrom(
                ISignatureTransfer.PermitTransferFrom(
                    ISignatureTransfer.TokenPermissions(token, amount), permit.nonce, permit.deadline
                ),
                ISignatureTransfer.SignatureTransferDetails(address(this), amount),
                permit.owner,
                witness,
                WITNESS_TYPE,
                signature
            );
    }

    /// The batch: the order's inputs but native ether, each in full to the proxy.
    function _transferSeveral(
        uint256 entry,
        uint256 inputs,
        uint256 permitted,
        Permit calldata permit,
        bytes32 witness,
        bytes calldata signature
    ) private {
        ISignatureTransfer.PermitBatchTransferFrom memory batch =
            ISignatureTransfer.PermitBatchTransferFrom(
                new ISignatureTransfer.TokenPermissions[](permitted), permit.nonce, permit.deadline
            );
        ISignatureTransfer.SignatureTransferDetails[] memory details =
            new ISignatureTransfer.SignatureTransferDetails[](permitted);
        uint256 next;
        for (uint256 i; i < inputs; ++i) {
            (address token, uint256 amount) = Entries.read(entry);
            if (token != NATIVE) {
                batch.permitted[next] = ISignatureTransfer.TokenPermissions(token, amount);
                details[next++] = ISignatureTransfer.SignatureTransferDetails(address(this), amount);
            }
            entry = Entries.next(entry);
        }
        ISignatureTransfer(PERMIT2)
            .permitWitnessTransferFrom(batch, details, permit.owner, witness, WITNESS_TYPE, signature);
    }

    /// The EIP-712 struct hash of BraidOrder: the hashes of the lists, the order's five plain fields as they stand in calldata,
    /// and the program's hash.
    function _hash(Order calldata order, bytes calldata program) private pure returns (bytes32 hash) {
        (uint256 inputsAt, uint256 inputs) = Entries.inputs(order);
        (uint256 outputsAt, uint256 outputs) = Entries.outputs(order);
        bytes32 inputsHash = _hashEntries(INPUT_TYPEHASH, inputsAt, inputs);
        bytes32 outputsHash = _hashEntries(OUTPUT_TYPEHASH, outputsAt, outputs);
        bytes32 orderType = ORDER_TYPEHASH;
        assembly ("memory-safe") {
            let words := mload(0x40)
            calldatacopy(words, program.offset, program.length)
            let programHash := keccak256(words, program.length)
            mstore(words, orderType)
            mstore(add(words, 0x20), inputsHash)
            mstore(add(words, 0x40), outputsHash)
            // recipient, deadline, partner, partnerFeeBps, partnerFeeOnOutput
            calldatacopy(add(words, 0x60), add(order, 0x40), 0xa0)
            mstore(add(words, 0x100), programHash)
            hash := keccak256(words, 0x120)
        }
    }

    /// The hash of a list of inputs or of outputs: of the hashes of its entries, each with its type before its two words.
    function _hashEntries(bytes32 entryType, uint256 at, uint256 count) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let words := mload(0x40)
            let hashes := add(words, 0x60)
            mstore(words, entryType)
            for { let i := 0 } lt(i, count) { i := add(i, 1) } {
                calldatacopy(add(words, 0x20), add(at, mul(i, 0x40)), 0x40)
                mstore(add(hashes, mul(i, 0x20)), keccak256(words, 0x60))
            }
            hash := keccak256(hashes, mul(count, 0x20))
        }
    }
}
