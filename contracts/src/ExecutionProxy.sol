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
    Wrapping,
    UniswapV2,
    UniswapV3,
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
    function execute(Order calldata order, bytes calldata program) external payable returns (uint256[] memory) {
        _lock();
        Run memory run = Runs.open()[0];
        uint256 inputFeeBps = _open(run, order, program, msg.sender);
        _execute(run, order, inputFeeBps);
    }

    /// @inheritdoc IExecutionProxy
    function executeWithPermit2(
        Order calldata order,
        bytes calldata program,
        Permit calldata permit,
        bytes calldata signature
    ) external payable returns (uint256[] memory) {
        _lock();
        Run memory run = Runs.open()[0];
        uint256 inputFeeBps = _open(run, order, program, permit.owner);
        _payWithPermit2(run, order, program, permit, signature, inputFeeBps == 0);
        _execute(run, order, inputFeeBps);
    }

    /// Fee on the inputs, steps, settlement, minimums. It ends the call itself, with the gains as its answer.
    function _execute(Run memory run, Order calldata order, uint256 inputFeeBps) private {
        if (inputFeeBps != 0) _takeInputFees(run, order.partner, inputFeeBps);
        _runProgram(run);
        _payOut(run, order);
        (uint256 answer, uint256 size) = _checkMinimums(run);
        _unlock();
        assembly ("memory-safe") {
            return(answer, size)
        }
    }

    /// Checks the order and the program's token list and opens the ledger. Gives the partner's fee on the inputs.
    function _open(Run memory run, Order calldata order, bytes calldata program, address payer)
        private
        view
        returns (uint256 inputFeeBps)
    {
        run.payer = payer;
        address recipient = run.recipient = order.recipient;
        inputFeeBps = _checkTerms(run, order, recipient);
        (uint256 inputsAt, uint256 inputs) = Entries.inputs(order);
        (uint256 outputsAt, uint256 outputs) = Entries.outputs(order);
        unchecked {
            // one less: a list of none is beyond every limit
            if (((inputs - 1) | (outputs - 1)) > TOKEN_LIMIT) _refuseCounts(inputs, outputs);
        }
        (uint256 list, uint256 listed) = Runs.tokenList(program);
        uint256 accounts;
        // three small numbers, and a place inside the program
        unchecked {
            accounts = inputs + outputs + listed;
            run.at = list + listed * 20;
        }
        if (accounts > TOKEN_LIMIT) revert TooManyTokens(accounts, TOKEN_LIMIT);
        run.inputs = inputs;
        run.outputs = outputs;
        run.accounts = accounts;
        run.end = Runs.end(program);
        Account at = run.first = Accounts.open(accounts);
        at = _openInputs(at, inputsAt, inputs);
        at = _openOutputs(run.first, at, outputsAt, outputs, recipient);
        _openListed(at, list, listed);
    }

    /// Moves the owner's ERC-20 inputs by his signature: to the proxy, or, where the first step spends the only one of them whole, straight
    /// to its pool. A pair is paid now; a pool that calls back is paid when it does, and a step whose pool does not call back reverts, so
    /// that no order ends without the signature.
    function _payWithPermit2(
        Run memory run,
        Order calldata order,
        bytes calldata program,
        Permit calldata permit,
        bytes calldata signature,
        bool straight
    ) private {
        (uint256 permitted, uint256 index) = _permittedInputs(order);
        address to = address(this);
        uint256 opcode;
        if (straight && permitted == 1) (opcode, to) = run.firstPool(index);
        bytes memory data = _permitCall(order, program, permit, signature, permitted, to);
        if (opcode == Runs.OPCODE_V3_POOL) {
            uint256 place;
            assembly ("memory-safe") {
                place := data
            }
            run.permitCall = place;
            return;
        }
        _callPermit2(data);
        _countInputsAsHeld(run);
        if (opcode == Runs.OPCODE_V2_PAIR) run.prepay(run.first.next(index));
    }

    function _countInputsAsHeld(Run memory run) private pure {
        for (uint256 i; i < run.inputs; ++i) {
            Account input = run.first.next(i);
            input.setHeld(input.due() + input.held());
            input.setDue(0);
        }
    }

    function _openInputs(Account first, uint256 entry, uint256 count) private view returns (Account at) {
        uint256 valueWei;
        at = first;
        for (uint256 i; i < count; ++i) {
            (address token, uint256 amount) = Entries.read(entry);
            unchecked {
                // one less: nothing is beyond the limit too
                if (amount - 1 >= AMOUNT_LIMIT) revert InvalidInputAmount(i, amount, AMOUNT_LIMIT);
            }
            _add(first, at, token);
            if (token == NATIVE) at.setHeld(valueWei = amount);
            else at.setDue(amount);
            at = at.next(1);
            entry = Entries.next(entry);
        }
        if (msg.value != valueWei) revert ValueMismatch(msg.value, valueWei);
    }

    /// Enters the outputs, with what the recipient has of each before anything moves; of ether only what is sent to him will count.
    function _openOutputs(Account first, Account at, uint256 entry, uint256 count, address recipient)
        private
        view
        returns (Account)
    {
        for (uint256 j; j < count; ++j) {
            (address token, uint256 minimum) = Entries.read(entry);
            if (minimum == 0) revert ZeroMinimum(j);
            _add(first, at, token);
            at.setMinimum(minimum);
            if (token != NATIVE) at.setBase(Tokens.balanceOf(token, recipient));
            at = at.next(1);
            entry = Entries.next(entry);
        }
        return at;
    }

    function _openListed(Account at, uint256 list, uint256 count) private pure {
        for (; count != 0; --count) {
            at.setToken(address(uint160(Runs.word(list) >> 96)));
            at = at.next(1);
            unchecked {
                list += 20;
            }
        }
    }

    function _refuseCounts(uint256 inputs, uint256 outputs) private pure {
        if (inputs == 0 || outputs == 0) revert EmptyOrder(inputs, outputs);
        revert TooManyTokens(inputs | outputs, TOKEN_LIMIT);
    }

    /// The order's own terms. Keeps the partner's fee if it is on the outputs, gives it if it is on the inputs.
    function _checkTerms(Run memory run, Order calldata order, address recipient)
        private
        view
        returns (uint256 inputFeeBps)
    {
        if (block.timestamp > order.deadline) revert DeadlinePassed(order.deadline, block.timestamp);
        if (recipient == address(0)) revert InvalidRecipient(recipient);
        if (recipient == address(this)) revert InvalidRecipient(recipient);
        uint256 feeBps = order.partnerFeeBps;
        if (feeBps == 0) return 0;
        if (feeBps > PARTNER_FEE_LIMIT_BPS) revert PartnerFeeTooHigh(feeBps, PARTNER_FEE_LIMIT_BPS);
        address partner = order.partner;
        if (partner == address(0) || partner == address(this)) revert InvalidPartner(partner);
        if (!order.partnerFeeOnOutput) return feeBps;
        run.outputFeeBps = feeBps;
    }

    /// Enters one token of the order, which may stand in it only once.
    function _add(Account first, Account at, address token) private pure {
        for (Account other = first; other.isBefore(at); other = other.next(1)) {
            if (other.token() == token) revert DuplicateToken(token);
        }
        at.setToken(token);
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
        uint256 end = run.end;
        for (uint256 at = run.at; at < end; at = run.at) {
            // the cursor never passes the end
            unchecked {
                if (end - at < Runs.HEAD) revert ProgramTruncated(run.step, end - at, Runs.HEAD);
                run.at = at + Runs.HEAD;
            }
            uint256 head = run.head = Runs.word(at);
            (Account from, Account into) = run.accountsOf(head);
            address tokenIn = from.token();
            if (run.source != Runs.IN_POOL) {
                run.spend(from, uint32(head >> 192));
            } else if (tokenIn != run.tokenOut) {
                // not what the step before sent to this step's pool
                revert WrongToken(run.step, tokenIn, run.tokenOut);
            }
            run.into = into;
            run.tokenIn = tokenIn;
            run.tokenOut = into.token();

            uint256 amountOut = _step(run, head >> 248);
            if (amountOut > AMOUNT_LIMIT) revert AmountTooLarge(run.step, amountOut, AMOUNT_LIMIT);
            uint256 to = run.destination();
            if (to == Runs.TO_PROXY) {
                // each is at most 2^128
                unchecked {
                    uint256 held = into.held() + amountOut;
                    into.setHeld(held);
                    held += into.due();
                    if (held > AMOUNT_LIMIT) revert AmountTooLarge(run.step, held, AMOUNT_LIMIT);
                }
            }
            // for a step that this one has paid
            run.amountIn = amountOut;
            run.source = to == Runs.TO_NEXT_POOL ? Runs.IN_POOL : Runs.AT_PROXY;
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
    /// a token on the way on to the recipient.
    function _payOut(Run memory run, Order calldata order) private {
        Account left = run.first;
        Account outputs = left.next(run.inputs);
        Account end = left.next(run.accounts);
        for (; left.isBefore(end); left = left.next(1)) {
            uint256 amount = left.held();
            address token = left.token();
            if (amount != 0) {
                if (left.isOutput()) {
                    if (run.outputFeeBps != 0) {
                        uint256 fee = amount * run.outputFeeBps / WHOLE_BPS;
                        amount -= fee;
                        _pay(run, token, order.partner, fee);
                    }
                    if (token == NATIVE) left.setBase(amount);
                }
                _pay(run, token, left.isBefore(outputs) ? run.payer : run.recipient, amount);
            }
            // nominal amounts of stETH leave a wei or two of it behind
            if (token == STETH) _payOutShares(run.step, left.isBefore(outputs) ? run.payer : run.recipient);
        }
    }

    /// Compares what the recipient gained of each output with its minimum. Gives the gains as the call's answer, an ABI-coded
    /// `uint256[]`: its place and size in memory.
    function _checkMinimums(Run memory run) private view returns (uint256 answer, uint256 size) {
        uint256 count = run.outputs;
        assembly ("memory-safe") {
            answer := mload(0x40)
            mstore(answer, 0x20)
            mstore(add(answer, 0x20), count)
            size := add(0x40, mul(count, 0x20))
            mstore(0x40, add(answer, size))
        }
        Account output = run.first.next(run.inputs);
        address recipient = run.recipient;
        uint256 at = answer;
        for (uint256 j; j < count; ++j) {
            address token = output.token();
            uint256 gain = output.base();
            if (token != NATIVE) {
                uint256 balance = Tokens.balanceOf(token, recipient);
                unchecked {
                    gain = balance > gain ? balance - gain : 0;
                }
            }
            uint256 minimum = output.minimum();
            if (gain < minimum) revert OutputBelowMinimum(j, token, gain, minimum);
            assembly ("memory-safe") {
                mstore(add(at, 0x40), gain)
                at := add(at, 0x20)
            }
            output = output.next(1);
        }
    }

    function _pay(Run memory run, address token, address to, uint256 amount) private {
        if (amount == 0) return;
        if (token == NATIVE) Tokens.sendEther(run.step, to, amount);
        else Tokens.transfer(run.step, token, to, amount);
    }
}
