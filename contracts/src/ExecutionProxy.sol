// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {AMOUNT_LIMIT, NATIVE, PARTNER_FEE_LIMIT_BPS, STETH, TOKEN_LIMIT} from "./Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit} from "./IExecutionProxy.sol";
import {Permit2Payment} from "./Permit2Payment.sol";
import {Entries} from "./Entries.sol";
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
        uint256 feeBps = _checkTerms(order);
        (uint256 inputsAt, uint256 inputs) = Entries.inputs(order);
        (uint256 outputsAt, uint256 outputs) = Entries.outputs(order);
        if (inputs == 0 || outputs == 0) revert EmptyOrder(inputs, outputs);

        (run.at, run.end) = Runs.bounds(program);
        uint256 listed = Runs.word(run.take(1)) >> 248;
        uint256 list = run.take(listed * 20);
        if (inputs > TOKEN_LIMIT || outputs > TOKEN_LIMIT) revert TooManyTokens(inputs | outputs, TOKEN_LIMIT);
        uint256 accounts;
        // three numbers of at most 255
        unchecked {
            run.orderTokens = inputs + outputs;
            accounts = run.orderTokens + listed;
        }
        if (accounts > TOKEN_LIMIT) revert TooManyTokens(accounts, TOKEN_LIMIT);
        run.payer = payer;
        run.recipient = order.recipient;
        run.inputs = inputs;
        if (feeBps != 0) (run.feeBps, run.feeOnOutput) = (feeBps, order.partnerFeeOnOutput);
        run.accounts = accounts;
        Account at = run.first = Accounts.open(accounts);

        at = _openInputs(run.first, inputsAt, inputs);
        at = _openOutputs(run.first, at, outputsAt, outputs);
        for (; listed != 0; --listed) {
            at.setToken(address(uint160(Runs.word(list) >> 96)));
            at = at.next(1);
            unchecked {
                list += 20;
            }
        }
    }

    function _openInputs(Account first, uint256 entry, uint256 count) private view returns (Account at) {
        uint256 valueWei;
        at = first;
        for (uint256 i; i < count; ++i) {
            (address token, uint256 amount) = Entries.read(entry);
            if (amount == 0 || amount > AMOUNT_LIMIT) revert InvalidInputAmount(i, amount, AMOUNT_LIMIT);
            _add(first, at, token);
            if (token == NATIVE) at.setHeld(valueWei = amount);
            else at.setDue(amount);
            at = at.next(1);
            entry = Entries.next(entry);
        }
        if (msg.value != valueWei) revert ValueMismatch(msg.value, valueWei);
    }

    function _openOutputs(Account first, Account at, uint256 entry, uint256 count) private pure returns (Account) {
        for (uint256 i; i < count; ++i) {
            (address token, uint256 minimum) = Entries.read(entry);
            if (minimum == 0) revert ZeroMinimum(i);
            _add(first, at, token);
            at = at.next(1);
            entry = Entries.next(entry);
        }
        return at;
    }

    /// The order's own terms; gives the partner's fee.
    function _checkTerms(Order calldata order) private view returns (uint256 feeBps) {
        if (block.timestamp > order.deadline) revert DeadlinePassed(order.deadline, block.timestamp);
        address recipient = order.recipient;
        if (recipient == address(0) || recipient == address(this)) revert InvalidRecipient(recipient);
        feeBps = order.partnerFeeBps;
        if (feeBps != 0) {
            if (feeBps > PARTNER_FEE_LIMIT_BPS) revert PartnerFeeTooHigh(feeBps, PARTNER_FEE_LIMIT_BPS);
            address partner = order.partner;
            if (partner == address(0) || partner == address(this)) revert InvalidPartner(partner);
        }
    }

    /// Enters one token of the order, which may stand in it only once.
    function _add(Account first, Account at, address token) private pure {
        for (Account other = first; other.isBefore(at); other = other.next(1)) {
            if (other.token() == token) revert DuplicateToken(token);
        }
        at.setToken(token);
    }

    /// Fee on the inputs, steps, settlement, minimums.
    function _execute(Order calldata order, Run memory run) private returns (uint256[] memory received) {
        uint256 outputs = run.orderTokens - run.inputs;
        received = new uint256[](outputs);
        Account output = run.first.next(run.inputs);
        for (uint256 j; j < outputs; ++j) {
            address token = output.token();
            if (token != NATIVE) received[j] = Tokens.balanceOf(token, run.recipient);
            output = output.next(1);
        }
        if (run.feeBps != 0 && !run.feeOnOutput) _takeInputFees(run, order.partner, run.feeBps);
        _runProgram(run);
        _payOut(run, order, received);
        _checkMinimums(order, run.recipient, received);
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
    function _payOut(Run memory run, Order calldata order, uint256[] memory received) private {
        uint256 count = run.accounts;
        Account left = run.first;
        for (uint256 i; i < count; ++i) {
            uint256 amount = left.held();
            address token = left.token();
            if (amount != 0) {
                bool output = i >= run.inputs && i < run.orderTokens;
                if (output && run.feeOnOutput) {
                    uint256 fee = amount * run.feeBps / WHOLE_BPS;
                    amount -= fee;
                    _pay(run, token, order.partner, fee);
                }
                _pay(run, token, i < run.inputs ? run.payer : run.recipient, amount);
                if (output && token == NATIVE) received[i - run.inputs] = amount;
            }
            // nominal amounts of stETH leave a wei or two of it behind
            if (token == STETH) _payOutShares(run.step, i < run.inputs ? run.payer : run.recipient);
            left = left.next(1);
        }
    }

    /// Turns balances before into gains, and compares them with the minimums.
    function _checkMinimums(Order calldata order, address recipient, uint256[] memory received) private view {
        (uint256 entry, uint256 count) = Entries.outputs(order);
        for (uint256 j; j < count; ++j) {
            (address token, uint256 minimum) = Entries.read(entry);
            uint256 gain = received[j];
            if (token != NATIVE) {
                uint256 balance = Tokens.balanceOf(token, recipient);
                unchecked {
                    gain = balance > gain ? balance - gain : 0;
                }
                received[j] = gain;
            }
            if (gain < minimum) revert OutputBelowMinimum(j, token, gain, minimum);
            entry = Entries.next(entry);
        }
    }

    function _pay(Run memory run, address token, address to, uint256 amount) private {
        if (amount == 0) return;
        if (token == NATIVE) Tokens.sendEther(run.step, to, amount);
        else Tokens.transfer(run.step, token, to, amount);
    }
}
