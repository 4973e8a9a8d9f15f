// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Account} from "../Ledger.sol";
import {Run, Runs} from "../Run.sol";

/// @title Step of a token's permit
/// @notice Submits a permit of the payer to a token, ERC-2612's or DAI's, so that no approval is needed before. Moves no token. Operands:
/// dai:u8 nonce:u64 deadline:u64 v:u8 r:bytes32 s:bytes32.
/// @dev The token is the step's input. The allowance of ERC-2612's is the amount that the payer still owes of it.
abstract contract TokenPermits {
    using Runs for Run;

    // permit(owner, spender, value, deadline, v, r, s), and DAI's permit(holder, spender, nonce, expiry, allowed, v, r, s)
    bytes4 private constant PERMIT = 0xd505accf;
    bytes4 private constant PERMIT_DAI = 0x8fcbaf0c;

    /// Submits the permit and ignores the result: somebody else may have submitted it before, and where the allowance
    /// is missing, the payment fails.
    function _permit(Run memory run) internal {
        (Account from,) = run.accountsOf(run.head);
        uint256 place = run.take(82);
        address token = from.token();
        address payer = run.payer;
        uint256 amount = from.due() + from.fee();
        assembly ("memory-safe") {
            let head := calldataload(place)
            let dai := shr(248, head)
            let nonce := and(shr(184, head), 0xffffffffffffffff)
            let deadline := and(shr(120, head), 0xffffffffffffffff)
            let v := byte(17, head)
            let data := mload(0x40)
            mstore(data, PERMIT)
            mstore(add(data, 0x04), payer)
            mstore(add(data, 0x24), address())
            mstore(add(data, 0x44), amount)
            mstore(add(data, 0x64), deadline)
            let next := add(data, 0x84)
            if dai {
                mstore(data, PERMIT_DAI)
                // the selector's word reaches into the next
                mstore(add(data, 0x04), payer)
                mstore(add(data, 0x44), nonce)
                mstore(next, 1)
                next := add(next, 0x20)
            }
            mstore(next, v)
            calldatacopy(add(next, 0x20), add(place, 18), 0x40)
            pop(call(gas(), token, 0, data, sub(add(next, 0x60), data), 0, 0))
        }
        unchecked {
            ++run.step;
        }
    }
}
