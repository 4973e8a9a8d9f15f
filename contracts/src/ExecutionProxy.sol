// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {AMOUNT_LIMIT, NATIVE, PARTNER_FEE_LIMIT_BPS, TOKEN_LIMIT} from "./Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit} from "./IExecutionProxy.sol";
import {Permit2Payment} from "./Permit2Payment.sol";
import {Account, Run, Runs} from "./Run.sol";
import {Tokens} from "./Tokens.sol";
import {UniswapV2} from "./steps/UniswapV2.sol";
import {UniswapV3} from "./steps/UniswapV3.sol";
import {Wrapping} from "./steps/Wrapping.sol";

/// Swaps exactly the order's inputs along a program of pools and pays the outputs, or reverts.
/// No owner, no storage, no upgrade, no free call; nothing is held and no allowance is left between calls.
/// `docs/program.md` is the specification.
contract ExecutionProxy is IExecutionProxy, Permit2Payment, Wrapping, UniswapV2, UniswapV3 {
    using Runs for Run;

    uint256 private constant WHOLE_BPS = 10_000;

    /// @inheritdoc IExecutionProxy
    function execute(Order calldata order, bytes calldata program)
        external
        payable
        returns (uint256[] memory received)
    {
        _lock();
        Run memory run = _open(order, program, msg.sender);
        received = _execute(order, run);
        _unlock();
    }

    /// @inheritdoc IExecutionProxy
    function executeWithPermit2(
        Order calldata order,
        bytes calldata program,
        Permit calldata permit,
        bytes calldata signature
    ) external payable returns (uint256[] memory received) {
        _lock();
        Run memory run = _open(order, program, permit.owner);
        _payWithPermit2(order, program, permit, signature);
        for (uint256 i; i < run.inputs; ++i) {
            Account memory input = run.accounts[i];
            (input.due, input.held) = (0, input.due + input.held);
        }
        received = _execute(order, run);
        _unlock();
    }

    /// Checks the order and the program's token list and sets up the ledger, before anything moves.
    function _open(Order calldata order, bytes calldata program, address payer)
        private
        view
        returns (Run memory run)
    {
        _checkTerms(order);
        uint256 inputs = order.inputs.length;
        uint256 orderTokens = inputs + order.outputs.length;
        run.payer = payer;
        run.recipient = order.recipient;
        run.inputs = inputs;
        run.orderTokens = orderTokens;
        run.feeOnOutput = order.partnerFeeOnOutput && order.partnerFeeBps != 0;
        (run.at, run.end) = Runs.bounds(program);
        uint256 listed = Runs.word(run.take(1)) >> 248;
        if (orderTokens + listed > TOKEN_LIMIT) revert TooManyTokens(orderTokens + listed, TOKEN_LIMIT);
        uint256 list = run.take(listed * 20);

        run.accounts = new Account[](orderTokens + listed);
        uint256 valueWei;
        for (uint256 i; i < inputs; ++i) {
            Input calldata input = order.inputs[i];
            if (input.amount == 0 || input.amount > AMOUNT_LIMIT) {
                revert InvalidInputAmount(i, input.amount, AMOUNT_LIMIT);
            }
            Account memory opened = _add(run, i, input.token);
            if (input.token == NATIVE) opened.held = valueWei = input.amount;
            else opened.due = input.amount;
        }
        if (msg.value != valueWei) revert ValueMismatch(msg.value, valueWei);
        for (uint256 i = inputs; i < orderTokens; ++i) {
            Output calldata output = order.outputs[i - inputs];
            if (output.minimum == 0) revert ZeroMinimum(i - inputs);
            _add(run, i, output.token);
        }
        for (uint256 i; i < listed; ++i) {
            run.accounts[orderTokens + i].token = address(uint160(Runs.word(list + i * 20) >> 96));
        }
    }

    function _checkTerms(Order calldata order) private view {
        if (block.timestamp > order.deadline) revert DeadlinePassed(order.deadline, block.timestamp);
        if (order.inputs.length == 0 || order.outputs.length == 0) {
            revert EmptyOrder(order.inputs.length, order.outputs.length);
        }
        if (order.inputs.length + order.outputs.length > TOKEN_LIMIT) {
            revert TooManyTokens(order.inputs.length + order.outputs.length, TOKEN_LIMIT);
        }
        if (order.recipient == address(0) || order.recipient == address(this)) {
            revert InvalidRecipient(order.recipient);
        }
        if (order.partnerFeeBps != 0) {
            if (order.partnerFeeBps > PARTNER_FEE_LIMIT_BPS) {
                revert PartnerFeeTooHigh(order.partnerFeeBps, PARTNER_FEE_LIMIT_BPS);
            }
            if (order.partner == address(0) || order.partner == address(this)) revert InvalidPartner(order.partner);
        }
    }

    /// Enters one token of the order, which may stand in it only once.
    function _add(Run memory run, uint256 index, address token) private pure returns (Account memory added) {
        for (uint256 i; i < index; ++i) {
            if (run.accounts[i].token == token) revert DuplicateToken(token);
        }
        added = run.accounts[index];
        added.token = token;
    }

    /// Fee on the inputs, steps, settlement, minimums.
    function _execute(Order calldata order, Run memory run) private returns (uint256[] memory received) {
        uint256[] memory before = _recipientBalances(run);
        if (order.partnerFeeBps != 0 && !order.partnerFeeOnOutput) _takeInputFees(order, run);
        _runProgram(run);
        received = _settle(order, run, before);
    }

    function _takeInputFees(Order calldata order, Run memory run) private {
        for (uint256 i; i < run.inputs; ++i) {
            Account memory input = run.accounts[i];
            bool atProxy = input.held != 0;
            uint256 fee = (input.due + input.held) * order.partnerFeeBps / WHOLE_BPS;
            if (fee == 0) continue;
            if (atProxy) {
                input.held -= fee;
                _pay(run, input.token, order.partner, fee);
            } else {
                input.due -= fee;
                Tokens.transferFrom(run.step, input.token, run.payer, order.partner, fee);
            }
        }
    }

    function _runProgram(Run memory run) private {
        uint256 prepaidAmount;
        while (run.at < run.end) {
            uint256 head = Runs.word(run.take(Runs.HEAD));
            Account memory from = run.account(uint8(head >> 232));
            Account memory into = run.account(uint8(head >> 224));
            if (run.prepaid) {
                // what the step before sent to this step's pool
                if (from.token != run.tokenOut) revert WrongToken(run.step, from.token, run.tokenOut);
                run.amountIn = prepaidAmount;
            } else {
                run.spend(from, uint32(head >> 192));
            }
            run.to = uint8(head >> 240);
            run.indexOut = uint8(head >> 224);
            run.tokenIn = from.token;
            run.tokenOut = into.token;

            uint256 amountOut = _step(run, head >> 248);
            run.requireBounded(amountOut);
            run.prepaid = run.to == Runs.TO_NEXT_POOL;
            if (run.prepaid) {
                prepaidAmount = amountOut;
            } else if (run.to == Runs.TO_PROXY) {
                into.held += amountOut;
                run.requireBounded(into.due + into.held);
            }
            ++run.step;
        }
    }

    /// The list of steps: one line each.
    function _step(Run memory run, uint256 opcode) private returns (uint256 amountOut) {
        if (opcode == Runs.OPCODE_V2_PAIR) return _swapV2(run);
        if (opcode == 0x11) return _swapV3(run);
        if (opcode == 0x01) return _wrap(run);
        if (opcode == 0x02) return _unwrap(run);
        revert UnknownOpcode(run.step, opcode);
    }

    /// Pays everything out and compares what the recipient gained with the minimums.
    function _settle(Order calldata order, Run memory run, uint256[] memory before)
        private
        returns (uint256[] memory received)
    {
        received = before;
        uint256 feeBps = run.feeOnOutput ? order.partnerFeeBps : 0;
        for (uint256 i = run.inputs; i < run.orderTokens; ++i) {
            Account memory output = run.accounts[i];
            uint256 fee = output.held * feeBps / WHOLE_BPS;
            _pay(run, output.token, order.partner, fee);
            _pay(run, output.token, run.recipient, output.held - fee);
            // ether is counted as it is sent: a recipient may pass it on at once
            if (output.token == NATIVE) received[i - run.inputs] = output.held - fee;
        }
        for (uint256 i; i < run.inputs; ++i) {
            _pay(run, run.accounts[i].token, run.payer, run.accounts[i].held);
        }
        for (uint256 i = run.orderTokens; i < run.accounts.length; ++i) {
            _pay(run, run.accounts[i].token, run.recipient, run.accounts[i].held);
        }
        _checkMinimums(order, run, received);
    }

    /// Turns balances before into gains, and compares them with the minimums.
    function _checkMinimums(Order calldata order, Run memory run, uint256[] memory received) private view {
        for (uint256 j; j < received.length; ++j) {
            Output calldata output = order.outputs[j];
            uint256 gain = received[j];
            if (output.token != NATIVE) {
                uint256 balance = Tokens.balanceOf(output.token, run.recipient);
                gain = balance > gain ? balance - gain : 0;
                received[j] = gain;
            }
            if (gain < output.minimum) revert OutputBelowMinimum(j, output.token, gain, output.minimum);
        }
    }

    function _recipientBalances(Run memory run) private view returns (uint256[] memory balances) {
        balances = new uint256[](run.orderTokens - run.inputs);
        for (uint256 j; j < balances.length; ++j) {
            address token = run.accounts[run.inputs + j].token;
            if (token != NATIVE) balances[j] = Tokens.balanceOf(token, run.recipient);
        }
    }

    function _pay(Run memory run, address token, address to, uint256 amount) private {
        if (amount == 0) return;
        if (token == NATIVE) Tokens.sendEther(run.step, to, amount);
        else Tokens.transfer(run.step, token, to, amount);
    }
}
