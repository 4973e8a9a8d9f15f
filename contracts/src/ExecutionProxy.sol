// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {AMOUNT_LIMIT, NATIVE, PARTNER_FEE_LIMIT_BPS, TOKEN_LIMIT} from "./Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit} from "./IExecutionProxy.sol";
import {Permit2Payment} from "./Permit2Payment.sol";
import {Account, Accounts} from "./Ledger.sol";
import {Run, Runs} from "./Run.sol";
import {Tokens} from "./Tokens.sol";
import {BalancerV2} from "./steps/BalancerV2.sol";
import {BalancerV3} from "./steps/BalancerV3.sol";
import {Curve} from "./steps/Curve.sol";
import {Erc4626} from "./steps/Erc4626.sol";
import {Fluid} from "./steps/Fluid.sol";
import {Lido} from "./steps/Lido.sol";
import {UniswapV2} from "./steps/UniswapV2.sol";
import {UniswapV3} from "./steps/UniswapV3.sol";
import {Wrapping} from "./steps/Wrapping.sol";

/// Swaps exactly the order's inputs along a program of pools and pays the outputs, or reverts.
/// No owner, no storage, no upgrade, no free call; nothing is held and no allowance is left between calls.
/// `docs/program.md` is the specification.
contract ExecutionProxy is
    IExecutionProxy,
    Permit2Payment,
    UniswapV2,
    UniswapV3,
    Wrapping,
    Curve,
    BalancerV2,
    BalancerV3,
    Erc4626,
    Lido,
    Fluid
{
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
            Account input = run.first.next(i);
            input.setHeld(input.due() + input.held());
            input.setDue(0);
        }
        received = _execute(order, run);
        _unlock();
    }

    /// Checks the order and the program's token list and opens the ledger, before anything moves.
    function _open(Order calldata order, bytes calldata program, address payer) private view returns (Run memory run) {
        Input[] calldata inputs = order.inputs;
        Output[] calldata outputs = order.outputs;
        _checkTerms(order);
        if (inputs.length == 0 || outputs.length == 0) revert EmptyOrder(inputs.length, outputs.length);

        (run.at, run.end) = Runs.bounds(program);
        uint256 listed = Runs.word(run.take(1)) >> 248;
        uint256 list = run.take(listed * 20);
        uint256 orderTokens;
        uint256 accounts;
        // calldata cannot hold so many entries that their sum overflows
        unchecked {
            orderTokens = inputs.length + outputs.length;
            accounts = orderTokens + listed;
        }
        if (accounts > TOKEN_LIMIT) revert TooManyTokens(accounts, TOKEN_LIMIT);
        run.payer = payer;
        run.recipient = order.recipient;
        run.inputs = inputs.length;
        run.orderTokens = orderTokens;
        run.feeOnOutput = order.partnerFeeOnOutput && order.partnerFeeBps != 0;
        run.accounts = accounts;
        run.first = Accounts.open(accounts);

        _openInputs(run, inputs);
        for (uint256 i = inputs.length; i < orderTokens; ++i) {
            uint256 j = i - inputs.length;
            if (outputs[j].minimum == 0) revert ZeroMinimum(j);
            _add(run, i, outputs[j].token);
        }
        for (uint256 i = orderTokens; i < accounts; ++i) {
            run.first.next(i).setToken(address(uint160(Runs.word(list) >> 96)));
            unchecked {
                list += 20;
            }
        }
    }

    function _openInputs(Run memory run, Input[] calldata inputs) private view {
        uint256 valueWei;
        for (uint256 i; i < inputs.length; ++i) {
            uint256 amount = inputs[i].amount;
            if (amount == 0 || amount > AMOUNT_LIMIT) revert InvalidInputAmount(i, amount, AMOUNT_LIMIT);
            Account opened = _add(run, i, inputs[i].token);
            if (opened.token() == NATIVE) opened.setHeld(valueWei = amount);
            else opened.setDue(amount);
        }
        if (msg.value != valueWei) revert ValueMismatch(msg.value, valueWei);
    }

    function _checkTerms(Order calldata order) private view {
        if (block.timestamp > order.deadline) revert DeadlinePassed(order.deadline, block.timestamp);
        address recipient = order.recipient;
        if (recipient == address(0) || recipient == address(this)) revert InvalidRecipient(recipient);
        uint256 feeBps = order.partnerFeeBps;
        if (feeBps != 0) {
            if (feeBps > PARTNER_FEE_LIMIT_BPS) revert PartnerFeeTooHigh(feeBps, PARTNER_FEE_LIMIT_BPS);
            address partner = order.partner;
            if (partner == address(0) || partner == address(this)) revert InvalidPartner(partner);
        }
    }

    /// Enters one token of the order, which may stand in it only once.
    function _add(Run memory run, uint256 index, address token) private pure returns (Account added) {
        for (uint256 i; i < index; ++i) {
            if (run.first.next(i).token() == token) revert DuplicateToken(token);
        }
        added = run.first.next(index);
        added.setToken(token);
    }

    /// Fee on the inputs, steps, settlement, minimums.
    function _execute(Order calldata order, Run memory run) private returns (uint256[] memory received) {
        received = new uint256[](run.orderTokens - run.inputs);
        for (uint256 j; j < received.length; ++j) {
            address token = run.first.next(run.inputs + j).token();
            if (token != NATIVE) received[j] = Tokens.balanceOf(token, run.recipient);
        }
        uint256 feeBps = order.partnerFeeBps;
        if (feeBps != 0 && !run.feeOnOutput) _takeInputFees(run, order.partner, feeBps);
        _runProgram(run);
        _payOut(run, order.partner, feeBps, received);
        _checkMinimums(order.outputs, run.recipient, received);
    }

    function _takeInputFees(Run memory run, address partner, uint256 feeBps) private {
        for (uint256 i; i < run.inputs; ++i) {
            Account input = run.first.next(i);
            uint256 due = input.due();
            uint256 held = input.held();
            uint256 fee = (due + held) * feeBps / WHOLE_BPS;
            if (fee == 0) continue;
            if (due != 0) {
                input.setDue(due - fee);
                Tokens.transferFrom(run.step, input.token(), run.payer, partner, fee);
            } else {
                input.setHeld(held - fee);
                _pay(run, input.token(), partner, fee);
            }
        }
    }

    function _runProgram(Run memory run) private {
        uint256 prepaidAmount;
        while (run.at < run.end) {
            uint256 head = Runs.word(run.take(Runs.HEAD));
            Account from = run.account(uint8(head >> 232));
            Account into = run.account(uint8(head >> 224));
            if (run.prepaid) {
                // what the step before sent to this step's pool
                if (from.token() != run.tokenOut) revert WrongToken(run.step, from.token(), run.tokenOut);
                run.amountIn = prepaidAmount;
            } else {
                run.spend(from, uint32(head >> 192));
            }
            run.to = uint8(head >> 240);
            run.indexOut = uint8(head >> 224);
            run.tokenIn = from.token();
            run.tokenOut = into.token();

            uint256 amountOut = _step(run, head >> 248);
            run.requireBounded(amountOut);
            run.prepaid = run.to == Runs.TO_NEXT_POOL;
            if (run.prepaid) {
                prepaidAmount = amountOut;
            } else if (run.to == Runs.TO_PROXY) {
                // each is at most 2^128
                unchecked {
                    uint256 held = into.held() + amountOut;
                    into.setHeld(held);
                    run.requireBounded(into.due() + held);
                }
            }
            unchecked {
                ++run.step;
            }
        }
    }

    /// The list of steps: one line each.
    function _step(Run memory run, uint256 opcode) private returns (uint256 amountOut) {
        if (opcode == Runs.OPCODE_V2_PAIR) return _swapV2(run);
        if (opcode == 0x11) return _swapV3(run);
        if (opcode == 0x01) return _wrap(run);
        if (opcode == 0x02) return _unwrap(run);
        if (opcode == 0x20) return _exchangeCurve(run, EXCHANGE_INT128);
        if (opcode == 0x21) return _exchangeCurve(run, EXCHANGE_UINT256);
        if (opcode == 0x22) return _exchangeCurve(run, EXCHANGE_UNDERLYING);
        if (opcode == 0x30) return _swapBalancerV2(run);
        if (opcode == 0x31) return _swapBalancerV3(run);
        if (opcode == 0x40) return _deposit4626(run);
        if (opcode == 0x41) return _redeem4626(run);
        if (opcode == 0x50) return _stakeLido(run);
        if (opcode == 0x51) return _wrapLido(run);
        if (opcode == 0x52) return _unwrapLido(run);
        if (opcode == 0x60) return _swapFluid(run);
        revert UnknownOpcode(run.step, opcode);
    }

    /// Pays out what is held: an output to the partner and the recipient, an input that no step spent back to the payer,
    /// a token on the way on to the recipient. `received` holds balances from before; for ether it becomes what is sent,
    /// since a recipient may pass ether on at once.
    function _payOut(Run memory run, address partner, uint256 feeBps, uint256[] memory received) private {
        uint256 count = run.accounts;
        for (uint256 i; i < count; ++i) {
            Account left = run.first.next(i);
            uint256 amount = left.held();
            if (amount == 0) continue;
            address token = left.token();
            if (i < run.inputs) {
                _pay(run, token, run.payer, amount);
                continue;
            }
            bool output = i < run.orderTokens;
            if (output && run.feeOnOutput) {
                uint256 fee = amount * feeBps / WHOLE_BPS;
                amount -= fee;
                _pay(run, token, partner, fee);
            }
            _pay(run, token, run.recipient, amount);
            if (output && token == NATIVE) received[i - run.inputs] = amount;
        }
    }

    /// Turns balances before into gains, and compares them with the minimums.
    function _checkMinimums(Output[] calldata outputs, address recipient, uint256[] memory received) private view {
        for (uint256 j; j < received.length; ++j) {
            address token = outputs[j].token;
            uint256 gain = received[j];
            if (token != NATIVE) {
                uint256 balance = Tokens.balanceOf(token, recipient);
                gain = balance > gain ? balance - gain : 0;
                received[j] = gain;
            }
            if (gain < outputs[j].minimum) revert OutputBelowMinimum(j, token, gain, outputs[j].minimum);
        }
    }

    function _pay(Run memory run, address token, address to, uint256 amount) private {
        if (amount == 0) return;
        if (token == NATIVE) Tokens.sendEther(run.step, to, amount);
        else Tokens.transfer(run.step, token, to, amount);
    }
}
