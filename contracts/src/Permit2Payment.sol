// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2} from "./Constants.sol";
import {Entries} from "./Entries.sol";
import {IExecutionProxy, Order, Permit, Swap} from "./IExecutionProxy.sol";

/// @title Payment by Permit2
/// @notice Takes an order's ERC-20 inputs by the owner's signature over the inputs, the whole order and the program's hash.
abstract contract Permit2Payment {
    // permitWitnessTransferFrom of a PermitTransferFrom and of a PermitBatchTransferFrom
    bytes4 private constant TRANSFER_ONE = 0x137c29fe;
    bytes4 private constant TRANSFER_SEVERAL = 0xfe8ec1a7;
    // where a call for one input has its receiver and the amount that is asked for, behind its length: after the selector come the token,
    // the amount, the nonce and the deadline, a word each
    uint256 private constant RECEIVER = 0x20 + 0x84;
    uint256 private constant REQUESTED = 0x20 + 0xa4;

    bytes32 private constant INPUT_TYPEHASH = keccak256("Input(address token,uint256 amount)");
    bytes32 private constant OUTPUT_TYPEHASH = keccak256("Output(address token,uint256 minimum)");
    bytes32 private constant ORDER_TYPEHASH = keccak256(
        "BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,address sender,bytes32 programHash)"
        "Input(address token,uint256 amount)" "Output(address token,uint256 minimum)"
    );

    /// Is what Permit2 appends to its own type: the witness's name, then every type in alphabetical order.
    string private constant WITNESS_TYPE = "BraidOrder witness)"
        "BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,address sender,bytes32 programHash)"
        "Input(address token,uint256 amount)" "Output(address token,uint256 minimum)"
        "TokenPermissions(address token,uint256 amount)";

    /// Checks that the caller is the sender that the signed message names; if it names none, anyone may call.
    function _checkSender(Permit calldata permit) internal view {
        address sender = permit.sender;
        if (sender != address(0) && sender != msg.sender) revert IExecutionProxy.WrongSender(msg.sender, sender);
    }

    /// Returns how many inputs are ERC-20s, and of the last of them the index and where its entry stands.
    function _permittedInputs(Order calldata order)
        internal
        pure
        returns (uint256 permitted, uint256 index, uint256 last)
    {
        (uint256 entry, uint256 inputs) = Entries.inputs(order);
        for (uint256 i; i < inputs; ++i) {
            (address token,) = Entries.read(entry);
            if (token != NATIVE) {
                ++permitted;
                (index, last) = (i, entry);
            }
            entry = Entries.next(entry);
        }
        if (permitted == 0) revert IExecutionProxy.NothingToPermit();
    }

    /// Writes into a call for one input who is paid.
    function _writeReceiver(uint256 permitCall, address to) internal pure {
        assembly ("memory-safe") {
            mstore(add(permitCall, RECEIVER), to)
        }
    }

    /// Makes a call for one input, for this much of what it permits, to this receiver.
    function _permitTo(uint256 permitCall, address to, uint256 amount) internal {
        _writeReceiver(permitCall, to);
        assembly ("memory-safe") {
            mstore(add(permitCall, REQUESTED), amount)
        }
        _callPermit2(permitCall);
    }

    /// Makes a call whose length stands in memory before it. Reverts as Permit2 does.
    function _callPermit2(uint256 permitCall) internal {
        assembly ("memory-safe") {
            if iszero(call(gas(), PERMIT2, 0, add(permitCall, 0x20), mload(permitCall), 0, 0)) {
                let place := mload(0x40)
                returndatacopy(place, 0, returndatasize())
                revert(place, returndatasize())
            }
        }
    }

    /// Encodes the call that moves one token to a receiver by the owner's signature: its length first, then the call.
    function _callForOne(
        address token,
        uint256 amount,
        Permit calldata permit,
        address to,
        bytes32 witness,
        bytes calldata signature
    ) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(
            TRANSFER_ONE,
            token,
            amount,
            permit.nonce,
            permit.deadline,
            to,
            amount,
            permit.owner,
            witness,
            WITNESS_TYPE,
            signature
        );
    }

    /// Encodes the batch: the order's inputs but native ether, each in full to the proxy.
    function _callForSeveral(
        Order calldata order,
        uint256 permitted,
        Permit calldata permit,
        bytes32 witness,
        bytes calldata signature
    ) internal view returns (bytes memory data) {
        data = abi.encodeWithSelector(TRANSFER_SEVERAL, 0, 0, permit.owner, witness, WITNESS_TYPE, signature);
        (uint256 nonce, uint256 deadline) = (permit.nonce, permit.deadline);
        (uint256 entry, uint256 inputs) = Entries.inputs(order);
        uint256 token;
        uint256 detail;
        // what is permitted and what is asked for stand behind all else, and the two words after the selector say where
        assembly ("memory-safe") {
            let length := mload(data)
            let size := mul(permitted, 0x40)
            let place := add(add(data, 0x20), length)
            token := add(place, 0x80)
            detail := add(add(token, size), 0x20)
            mstore(add(data, 0x24), sub(length, 0x04))
            mstore(add(data, 0x44), add(sub(length, 0x04), add(0x80, size)))
            mstore(place, 0x60)
            mstore(add(place, 0x20), nonce)
            mstore(add(place, 0x40), deadline)
            mstore(add(place, 0x60), permitted)
            mstore(sub(detail, 0x20), permitted)
            mstore(0x40, add(detail, size))
            mstore(data, add(length, add(0xa0, add(size, size))))
        }
        for (; inputs != 0; --inputs) {
            (address input, uint256 amount) = Entries.read(entry);
            entry = Entries.next(entry);
            if (input == NATIVE) continue;
            assembly ("memory-safe") {
                mstore(token, input)
                mstore(add(token, 0x20), amount)
                mstore(detail, address())
                mstore(add(detail, 0x20), amount)
                token := add(token, 0x40)
                detail := add(detail, 0x40)
            }
        }
    }

    /// Computes the witness of an order.
    function _witness(Order calldata order, bytes calldata program, address sender) internal pure returns (bytes32) {
        (uint256 inputsAt, uint256 inputs) = Entries.inputs(order);
        (uint256 outputsAt, uint256 outputs) = Entries.outputs(order);
        bytes32 inputsHash = _hashEntries(INPUT_TYPEHASH, inputsAt, inputs);
        bytes32 outputsHash = _hashEntries(OUTPUT_TYPEHASH, outputsAt, outputs);
        uint256 terms;
        assembly ("memory-safe") {
            terms := add(order, 0x40)
        }
        return _hash(inputsHash, outputsHash, terms, 0xa0, sender, program);
    }

    /// Computes the witness of a swap along a path: that of an order of one input, one output and no partner. Its two entries and the
    /// recipient and deadline behind them stand in calldata as an order's do.
    function _witnessOfSwap(Swap calldata order, bytes calldata path, address sender) internal pure returns (bytes32) {
        uint256 place;
        assembly ("memory-safe") {
            place := order
        }
        unchecked {
            bytes32 inputsHash = _hashEntries(INPUT_TYPEHASH, place, 1);
            bytes32 outputsHash = _hashEntries(OUTPUT_TYPEHASH, place + 0x40, 1);
            return _hash(inputsHash, outputsHash, place + 0x80, 0x40, sender, path);
        }
    }

    /// Computes the EIP-712 struct hash of BraidOrder: the hashes of the lists, the plain fields recipient, deadline, partner,
    /// partnerFeeBps and partnerFeeOnOutput, of which `size` bytes stand in calldata and the rest is zero, the sender, and the program's
    /// hash.
    function _hash(
        bytes32 inputsHash,
        bytes32 outputsHash,
        uint256 fields,
        uint256 size,
        address sender,
        bytes calldata program
    ) private pure returns (bytes32 hash) {
        bytes32 orderType = ORDER_TYPEHASH;
        assembly ("memory-safe") {
            let words := mload(0x40)
            calldatacopy(words, program.offset, program.length)
            let programHash := keccak256(words, program.length)
            mstore(words, orderType)
            mstore(add(words, 0x20), inputsHash)
            mstore(add(words, 0x40), outputsHash)
            calldatacopy(add(words, 0x60), calldatasize(), 0xa0)
            calldatacopy(add(words, 0x60), fields, size)
            mstore(add(words, 0x100), sender)
            mstore(add(words, 0x120), programHash)
            hash := keccak256(words, 0x140)
        }
    }

    /// Computes the hash of a list of inputs or of outputs: of the hashes of its entries, each with its type before its two words.
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
