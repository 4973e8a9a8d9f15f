// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {NATIVE, PERMIT2} from "./Constants.sol";
import {Entries} from "./Entries.sol";
import {IExecutionProxy, Order, Permit} from "./IExecutionProxy.sol";

/// The words of Permit2's calls.
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
}

/// Takes an order's ERC-20 inputs by the owner's signature over the inputs, the whole order and the program's hash.
abstract contract Permit2Payment {
    // permitWitnessTransferFrom of a PermitTransferFrom and of a PermitBatchTransferFrom
    bytes4 private constant TRANSFER_ONE = 0x137c29fe;
    bytes4 private constant TRANSFER_SEVERAL = 0xfe8ec1a7;

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

    /// The call that moves every ERC-20 input by the owner's signature: where it stands in memory, its length first.
    /// One input goes to `to`; several go to the proxy.
    function _permitCall(
        Order calldata order,
        bytes calldata program,
        Permit calldata permit,
        bytes calldata signature,
        uint256 permitted,
        address to
    ) internal view returns (bytes memory data) {
        bytes32 witness = _hash(order, program);
        return permitted == 1
            ? _callForOne(order, permit, to, witness, signature)
            : _callForSeveral(order, permitted, permit, witness, signature);
    }

    /// How many inputs are ERC-20s, and the index of the last of them.
    function _permittedInputs(Order calldata order) internal pure returns (uint256 permitted, uint256 last) {
        (uint256 entry, uint256 inputs) = Entries.inputs(order);
        for (uint256 i; i < inputs; ++i) {
            (address token,) = Entries.read(entry);
            if (token != NATIVE) {
                ++permitted;
                last = i;
            }
            entry = Entries.next(entry);
        }
        if (permitted == 0) revert IExecutionProxy.NothingToPermit();
    }

    /// Makes the call. Reverts as Permit2 does.
    function _callPermit2(bytes memory data) internal {
        assembly ("memory-safe") {
            if iszero(call(gas(), PERMIT2, 0, add(data, 0x20), mload(data), 0, 0)) {
                let at := mload(0x40)
                returndatacopy(at, 0, returndatasize())
                revert(at, returndatasize())
            }
        }
    }

    function _callForOne(
        Order calldata order,
        Permit calldata permit,
        address to,
        bytes32 witness,
        bytes calldata signature
    ) private pure returns (bytes memory) {
        (uint256 entry, uint256 inputs) = Entries.inputs(order);
        (address token, uint256 amount) = Entries.read(entry);
        for (uint256 i = 1; token == NATIVE && i < inputs; ++i) {
            entry = Entries.next(entry);
            (token, amount) = Entries.read(entry);
        }
        return abi.encodeWithSelector(
            TRANSFER_ONE,
            ISignatureTransfer.PermitTransferFrom(
                ISignatureTransfer.TokenPermissions(token, amount), permit.nonce, permit.deadline
            ),
            ISignatureTransfer.SignatureTransferDetails(to, amount),
            permit.owner,
            witness,
            WITNESS_TYPE,
            signature
        );
    }

    /// The batch: the order's inputs but native ether, each in full to the proxy.
    function _callForSeveral(
        Order calldata order,
        uint256 permitted,
        Permit calldata permit,
        bytes32 witness,
        bytes calldata signature
    ) private view returns (bytes memory) {
        (uint256 entry, uint256 inputs) = Entries.inputs(order);
        ISignatureTransfer.PermitBatchTransferFrom memory batch = ISignatureTransfer.PermitBatchTransferFrom(
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
        return abi.encodeWithSelector(TRANSFER_SEVERAL, batch, details, permit.owner, witness, WITNESS_TYPE, signature);
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
