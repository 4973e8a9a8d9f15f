// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IExecutionProxy} from "./IExecutionProxy.sol";
import {Account, Accounts} from "./Ledger.sol";
import {Tokens} from "./Tokens.sol";
import {NATIVE, WETH} from "./Constants.sol";

/// @notice Holds an order while it runs: the ledger, the place in the program and the step at it.
/// @param payer account that gives the inputs
/// @param recipient account that gets the outputs
/// @param outputFeeBps the partner's fee on each output, in basis points
/// @param inputs number of the order's inputs, which are the first accounts
/// @param outputs number of the order's outputs, which are the accounts after the inputs
/// @param first first account of the ledger; the others follow by token index
/// @param accounts number of accounts
/// @param at calldata offset of the next byte of the program to read
/// @param end calldata offset of the end of the program
/// @param step index of the step, from 0
/// @param head first eight bytes of the step, in the upper bytes of the word
/// @param into account of the step's output token
/// @param tokenIn the step's input token
/// @param tokenOut the step's output token
/// @param amountIn the step's amount in, in atomic units
/// @param source place of the step's input: `Runs.AT_PROXY`, `Runs.WITH_PAYER` or `Runs.IN_POOL`
/// @param permitCall place in memory of the call to Permit2 that pays the first step's pool in its callback, or 0
/// @param orderHash hash that names the order in its event
/// @param paysFees whether the partner's fee on an ERC-20 input is still with the payer
struct Run {
    address payer;
    address recipient;
    uint256 outputFeeBps;
    uint256 inputs;
    uint256 outputs;
    Account first;
    uint256 accounts;
    uint256 at;
    uint256 end;
    uint256 step;
    uint256 head;
    Account into;
    address tokenIn;
    address tokenOut;
    uint256 amountIn;
    uint256 source;
    uint256 permitCall;
    bytes32 orderHash;
    bool paysFees;
}

/// @title Steps of a running order
/// @notice Has the arithmetic and the bounds that all steps share.
library Runs {
    uint256 internal constant TO_PROXY = 0;
    uint256 internal constant TO_RECIPIENT = 1;
    uint256 internal constant TO_NEXT_POOL = 2;

    /// Name the place of a step's input: at the proxy, still with the payer, or, paid in advance, in the step's own pool.
    uint256 internal constant AT_PROXY = 0;
    uint256 internal constant WITH_PAYER = 1;
    uint256 internal constant IN_POOL = 2;

    /// Counts the bytes of a Run.
    uint256 private constant SIZE = 19 * 0x20;

    /// Counts the bytes of a step before its operands.
    uint256 internal constant HEAD = 8;
    uint256 internal constant OPCODE_V2_PAIR = 0x10;
    uint256 internal constant OPCODE_V3_POOL = 0x11;
    uint256 internal constant OPCODE_PERMIT = 0x70;

    using Runs for Run;

    /// Makes one empty order, in a list because a list is not zeroed word by word when it is declared.
    function open() internal pure returns (Run[] memory only) {
        assembly ("memory-safe") {
            only := mload(0x40)
            let run := add(only, 0x40)
            mstore(only, 1)
            mstore(add(only, 0x20), run)
            calldatacopy(run, calldatasize(), SIZE)
            mstore(0x40, add(run, SIZE))
        }
    }

    /// Returns the calldata offset of the byte after a program's last.
    function end(bytes calldata program) internal pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := add(program.offset, program.length)
        }
    }

    /// Returns the program's list of tokens: the calldata offset of the first, and how many.
    function tokenList(bytes calldata program) internal pure returns (uint256 list, uint256 listed) {
        if (program.length == 0) revert IExecutionProxy.ProgramTruncated(0, 0, 1);
        assembly ("memory-safe") {
            list := add(program.offset, 1)
            listed := byte(0, calldataload(program.offset))
        }
        unchecked {
            if (program.length - 1 < listed * 20) {
                revert IExecutionProxy.ProgramTruncated(0, program.length - 1, listed * 20);
            }
        }
    }

    /// Returns the opcode and the pool of the first step, if that pool can be paid straight by the owner's signature: a pool of either kind
    /// of Uniswap's that spends all of the input with this index. Otherwise no opcode and the proxy.
    function firstPool(Run memory run, uint256 index) internal view returns (uint256 opcode, address to) {
        to = address(this);
        unchecked {
            if (run.end - run.at < HEAD + 20) return (opcode, to);
        }
        uint256 head = word(run.at);
        opcode = head >> 248;
        bool whole = uint8(head >> 232) == index && uint32(head >> 192) == 0;
        if (!whole || (opcode != OPCODE_V2_PAIR && opcode != OPCODE_V3_POOL)) return (0, to);
        to = address(uint160(word(run.at + HEAD) >> 96));
    }

    /// Counts an input as paid to the first step's pool, whole.
    function prepay(Run memory run, Account input) internal pure {
        run.source = IN_POOL;
        run.tokenOut = input.token();
        run.amountIn = input.held();
        input.setHeld(0);
    }

    /// Passes over `size` bytes of the program and returns where they begin in calldata.
    function take(Run memory run, uint256 size) internal pure returns (uint256 at) {
        at = run.at;
        // the cursor never passes the end
        unchecked {
            uint256 left = run.end - at;
            if (left < size) revert IExecutionProxy.ProgramTruncated(run.step, left, size);
            run.at = at + size;
        }
    }

    /// Returns the word that begins at a calldata offset. The caller must have taken the bytes that it uses.
    function word(uint256 at) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := calldataload(at)
        }
    }

    /// Returns the accounts of the two token indices in a step's first bytes.
    function accountsOf(Run memory run, uint256 head) internal pure returns (Account from, Account into) {
        uint256 indexIn = uint8(head >> 232);
        uint256 indexOut = uint8(head >> 224);
        uint256 count = run.accounts;
        if (indexIn >= count) revert IExecutionProxy.UnknownToken(run.step, indexIn, count);
        if (indexOut >= count) revert IExecutionProxy.UnknownToken(run.step, indexOut, count);
        Account first = run.first;
        return (first.next(indexIn), first.next(indexOut));
    }

    /// Takes a share (of 2^32; 0 is everything) of what is at hand for the step.
    function spend(Run memory run, Account from, uint256 share) internal {
        uint256 due = from.due();
        uint256 held = from.held();
        // both are at most 2^128, so neither the sum nor the product overflows
        unchecked {
            uint256 atHand = due + held;
            uint256 amount = share == 0 ? atHand : (atHand * share) >> 32;
            if (amount == 0) revert IExecutionProxy.NothingAtHand(run.step, from.token());
            run.amountIn = amount;
            if (held == 0) {
                run.source = WITH_PAYER;
                from.setDue(due - amount);
                return;
            }
            if (due != 0) {
                from.setDue(0);
                Tokens.transferFrom(run.step, from.token(), run.payer, address(this), due);
            }
            from.setHeld(atHand - amount);
        }
    }

    /// Returns where the step's output goes; the step's operands are taken already, so that the next step is at the cursor.
    /// `counts` says whether what the step's contract pays is known without looking at the recipient's balance, which others can raise.
    function receiver(Run memory run, bool counts) internal view returns (address) {
        uint256 to = run.destination();
        if (to == TO_PROXY) return address(this);
        // ether is counted where it leaves the proxy, so it has to come by
        if (run.tokenOut != NATIVE) {
            if (to == TO_NEXT_POOL) return run.nextPool();
            if (to == TO_RECIPIENT && counts) {
                if (run.outputFeeBps == 0) {
                    if (run.into.isOutput()) return run.recipient;
                }
            }
        }
        revert IExecutionProxy.InvalidDestination(run.step, to);
    }

    /// Returns the pool of the next step, if it can be paid in advance.
    function nextPool(Run memory run) internal pure returns (address) {
        uint256 left = run.end - run.at;
        if (left < HEAD + 20) revert IExecutionProxy.ProgramTruncated(run.step + 1, left, HEAD + 20);
        uint256 head = word(run.at);
        uint256 opcode = head >> 248;
        uint256 share = uint32(head >> 192);
        if (opcode != OPCODE_V2_PAIR || share != 0) {
            revert IExecutionProxy.NotPrepayable(run.step + 1, opcode, share);
        }
        return address(uint160(word(run.at + HEAD) >> 96));
    }

    function goesToRecipient(Run memory run) internal pure returns (bool) {
        return run.destination() == TO_RECIPIENT;
    }

    function destination(Run memory run) internal pure returns (uint256) {
        return uint8(run.head >> 240);
    }

    /// Checks the destination of steps whose output can only go to the proxy.
    function requireToProxy(Run memory run) internal pure {
        uint256 to = run.destination();
        if (to != TO_PROXY) revert IExecutionProxy.InvalidDestination(run.step, to);
    }

    /// Checks the tokens of steps of fixed tokens.
    function requireTokens(Run memory run, address tokenIn, address tokenOut) internal pure {
        if (run.tokenIn != tokenIn) revert IExecutionProxy.WrongToken(run.step, run.tokenIn, tokenIn);
        if (run.tokenOut != tokenOut) revert IExecutionProxy.WrongToken(run.step, run.tokenOut, tokenOut);
    }

    /// Pays the step's amount to the pool, straight from whoever has it.
    function pay(Run memory run, address pool) internal {
        if (run.source == WITH_PAYER) Tokens.transferFrom(run.step, run.tokenIn, run.payer, pool, run.amountIn);
        else Tokens.transfer(run.step, run.tokenIn, pool, run.amountIn);
    }

    /// Brings the step's amount to the proxy, if it is not there.
    function bring(Run memory run) internal {
        if (run.source == WITH_PAYER) {
            Tokens.transferFrom(run.step, run.tokenIn, run.payer, address(this), run.amountIn);
        }
    }

    /// Approves the step's amount for a pool that pulls it; returns the ether to send along.
    function offer(Run memory run, address pool) internal returns (uint256 valueWei) {
        if (run.tokenIn == NATIVE) return run.amountIn;
        run.bring();
        Tokens.allow(run.step, run.tokenIn, pool, run.amountIn);
    }

    /// Ends the offer: the pool has taken all of it, so that no allowance and no input outlives the step.
    function endOffer(Run memory run, address pool) internal view {
        if (run.tokenIn == NATIVE) return;
        uint256 left = Tokens.allowanceLeft(run.tokenIn, pool);
        // more than was offered is no offer: some tokens always let their own vault
        if (left != 0 && left <= run.amountIn) revert IExecutionProxy.InputNotTaken(run.step, pool, left);
    }

    /// Returns the proxy's balance of the step's output token.
    function balanceOut(Run memory run) internal view returns (uint256) {
        return run.tokenOut == NATIVE ? address(this).balance : Tokens.balanceOf(run.tokenOut, address(this));
    }

    /// Returns by how much that has grown.
    function grownBy(Run memory run, uint256 before) internal view returns (uint256) {
        uint256 balance = run.balanceOut();
        return balance > before ? balance - before : 0;
    }

    /// Checks the input of steps that cannot trade native ether.
    function requireErc20(Run memory run) internal pure {
        if (run.tokenIn == NATIVE) revert IExecutionProxy.WrongToken(run.step, NATIVE, WETH);
    }

    /// Returns the account that pays in a callback.
    function payerOrProxy(Run memory run) internal view returns (address) {
        return run.source == WITH_PAYER ? run.payer : address(this);
    }

    /// Returns a gain: the lower of what was counted and of what a balance grew by.
    function lower(uint256 counted, uint256 base, uint256 balance) internal pure returns (uint256 gain) {
        unchecked {
            gain = balance > base ? balance - base : 0;
        }
        if (counted < gain) gain = counted;
    }
}
