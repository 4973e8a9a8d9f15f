// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2} from "../../src/Constants.sol";
import {Input, Order, Permit, Swap} from "../../src/IExecutionProxy.sol";
import {Market} from "./Market.sol";

interface IPermit2 {
    function DOMAIN_SEPARATOR() external view returns (bytes32);
    error SignatureExpired(uint256 signatureDeadline);
    error InvalidNonce();
    error InvalidSigner();
    error InvalidSignatureLength();
}

/// Signs orders for Permit2. The hash is worked out here from the specification's own words, not by the contract's code.
abstract contract Signing is Market {
    string private constant TYPES =
        "BraidOrder witness)BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,address sender,bytes32 programHash)Input(address token,uint256 amount)Output(address token,uint256 minimum)TokenPermissions(address token,uint256 amount)";
    string private constant BRAID_ORDER =
        "BraidOrder(Input[] inputs,Output[] outputs,address recipient,uint256 deadline,address partner,uint16 partnerFeeBps,bool partnerFeeOnOutput,address sender,bytes32 programHash)Input(address token,uint256 amount)Output(address token,uint256 minimum)";

    address internal owner;
    uint256 internal key;

    function setUp() public virtual override {
        super.setUp();
        (owner, key) = makeAddrAndKey("owner");
    }

    function _witness(Order memory order, bytes memory program_, address sender) internal pure returns (bytes32) {
        bytes memory inputs;
        for (uint256 i; i < order.inputs.length; ++i) {
            inputs = bytes.concat(
                inputs,
                keccak256(
                    abi.encode(
                        keccak256("Input(address token,uint256 amount)"), _word(order.inputs[i]), order.inputs[i].amount
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
                sender,
                keccak256(program_)
            )
        );
    }

    /// The word of an input's token, with whatever a test has put above the address.
    function _word(Input memory input) private pure returns (bytes32 word) {
        assembly ("memory-safe") {
            word := mload(input)
        }
    }

    function _digest(Order memory order, bytes memory program_, Permit memory permit, address spender)
        internal
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
        message =
            bytes.concat(message, abi.encode(permit.nonce, permit.deadline, _witness(order, program_, permit.sender)));
        return keccak256(abi.encodePacked(hex"1901", IPermit2(PERMIT2).DOMAIN_SEPARATOR(), keccak256(message)));
    }

    /// The struct hashes of what is permitted: every input but native ether.
    function _permissions(Order memory order) internal pure returns (uint256 count, bytes memory hashes) {
        bytes32 typeHash = keccak256("TokenPermissions(address token,uint256 amount)");
        for (uint256 i; i < order.inputs.length; ++i) {
            Input memory input = order.inputs[i];
            if (input.token == NATIVE) continue;
            ++count;
            hashes = bytes.concat(hashes, keccak256(abi.encode(typeHash, input.token, input.amount)));
        }
    }

    function _sign(Order memory order, bytes memory program_, Permit memory permit)
        internal
        view
        returns (bytes memory)
    {
        return _signDigest(_digest(order, program_, permit, address(proxy)));
    }

    function _signDigest(bytes32 digest) internal view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    /// An order of one input and one output as a swap along a path.
    function _flat(Order memory order) internal pure returns (Swap memory) {
        return Swap(
            order.inputs[0].token,
            order.inputs[0].amount,
            order.outputs[0].token,
            order.outputs[0].minimum,
            order.recipient,
            order.deadline
        );
    }
}
