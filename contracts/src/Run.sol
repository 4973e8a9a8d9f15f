// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {IExecutionProxy} from "./IExecutionProxy.sol";
import {Account, Accounts} from "./Ledger.sol";
import {Tokens} from "./Tokens.sol";
import {AMOUNT_LIMIT, NATIVE, WETH} from "./Constants.sol";

/// One order while it runs: the ledger, the place in the program and the step at it.
struct Run {
    address payer;
    address recipient;
    // how many of the accounts are the order's inputs, and where its outputs end
    uint256 inputs;
    uint256 orderTokens;
    // the partner's fee, basis points, and what it is taken from
    uint256 feeBps;
    bool feeOnOutput;
    // the ledger, by token index
    Account first;
    uint256 accounts;
    // calldata offsets of the next byte to read and of the program's end; the step's index
    uint256 at;
    uint256 end;
    uint256 step;
    // the step
    uint256 to;
    uint256 indexOut;
    address tokenIn;
    address tokenOut;
    uint256 amountIn;
    bool fromPayer;
    bool prepaid;
}

/// The arithmetic and the bounds that all steps share.
library Runs {
    uint256 internal constant TO_PROXY = 0;
    uint256 internal constant TO_RECIPIENT = 1;
    uint256 internal constant TO_NEXT_POOL = 2;

    /// Bytes of a step before its operands.
    uint256 internal constant HEAD = 8;
    uint256 internal constant OPCODE_V2_PAIR = 0x10;

    using Runs for Run;

    /// The calldata offsets of a program's first byte and of the byte after its last.
    function bounds(bytes calldata program) internal pure returns (uint256 at, uint256 end) {
        assembly ("memory-safe") {
            at := program.offset
            end := add(at, program.length)
        }
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

    /// The word that begins at a calldata offset; whoever calls has taken the bytes it uses.
    function word(uint256 at) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := calldataload(at)
        }
    }

    /// The account behind a token index of the program.
    function account(Run memory run, uint256 index) internal pure returns (Account) {
        if (index >= run.accounts) revert IExecutionProxy.UnknownToken(run.step, index, run.accounts);
        return run.first.next(index);
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
            run.fromPayer = held == 0;
            if (held == 0) {
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

    /// Where the step's output goes; the step's operands are taken already, so that the next step is at the cursor.
    function receiver(Run memory run) internal view returns (address) {
        if (run.to == TO_PROXY) return address(this);
        // ether is counted where it leaves the proxy, so it has to come by
        if (run.tokenOut == NATIVE) revert IExecutionProxy.InvalidDestination(run.step, run.to);
        if (run.to == TO_RECIPIENT) {
            bool isOutput = run.indexOut >= run.inputs && run.indexOut < run.orderTokens;
            if (!isOutput || run.feeOnOutput) revert IExecutionProxy.InvalidDestination(run.step, run.to);
            return run.recipient;
        }
        if (run.to == TO_NEXT_POOL) return run.nextPool();
        revert IExecutionProxy.InvalidDestination(run.step, run.to);
    }

    /// The pool of the next step, if it can be paid in advance.
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

    /// For steps whose output can only come to the proxy.
    function requireToProxy(Run memory run) internal pure {
        if (run.to != TO_PROXY) revert IExecutionProxy.InvalidDestination(run.step, run.to);
    }

    /// For steps of fixed tokens.
    function requireTokens(Run memory run, address tokenIn, address tokenOut) internal pure {
        if (run.tokenIn != tokenIn) revert IExecutionProxy.WrongToken(run.step, run.tokenIn, tokenIn);
        if (run.tokenOut != tokenOut) revert IExecutionProxy.WrongToken(run.step, run.tokenOut, tokenOut);
    }

    /// Pays the step's amount to the pool, straight from whoever has it.
    function pay(Run memory run, address pool) internal {
        if (run.fromPayer) Tokens.transferFrom(run.step, run.tokenIn, run.payer, pool, run.amountIn);
        else Tokens.transfer(run.step, run.tokenIn, pool, run.amountIn);
    }

    /// Brings the step's amount to the proxy, if it is not there.
    function bring(Run memory run) internal {
        if (run.fromPayer) Tokens.transferFrom(run.step, run.tokenIn, run.payer, address(this), run.amountIn);
    }

    /// Makes the step's amount takeable by a pool that pulls it; returns the ether to send along.
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

    /// What the proxy has of the step's output token.
    function balanceOut(Run memory run) internal view returns (uint256) {
        return run.tokenOut == NATIVE ? address(this).balance : Tokens.balanceOf(run.tokenOut, address(this));
    }

    /// By how much that has grown.
    function grownBy(Run memory run, uint256 before) internal view returns (uint256) {
        uint256 balance = run.balanceOut();
        return balance > before ? balance - before : 0;
    }

    /// For steps that know nothing of ether.
    function requireErc20(Run memory run) internal pure {
        if (run.tokenIn == NATIVE) revert IExecutionProxy.WrongToken(run.step, NATIVE, WETH);
    }

    /// Who pays in a callback.
    function source(Run memory run) internal view returns (address) {
        return run.fromPayer ? run.payer : address(this);
    }

    /// Amounts beyond the limit could overflow a product: they are refused where they come up.
    function requireBounded(Run memory run, uint256 amount) internal pure {
        if (amount > AMOUNT_LIMIT) revert IExecutionProxy.AmountTooLarge(run.step, amount, AMOUNT_LIMIT);
    }
}
