// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {AMOUNT_LIMIT, NATIVE, PARTNER_FEE_LIMIT_BPS, STETH, TOKEN_LIMIT} from "./Constants.sol";
import {Entries} from "./Entries.sol";
import {IExecutionProxy, Order, Permit} from "./IExecutionProxy.sol";
import {Account, Accounts} from "./Ledger.sol";
import {Paths} from "./Paths.sol";
import {Run, Runs} from "./Run.sol";
import {Tokens} from "./Tokens.sol";
import {BalancerV2} from "./steps/BalancerV2.sol";
import {BalancerV3} from "./steps/BalancerV3.sol";
import {Curve} from "./steps/Curve.sol";
import {Erc4626} from "./steps/Erc4626.sol";
import {Fluid} from "./steps/Fluid.sol";
import {Lido} from "./steps/Lido.sol";
import {TokenPermits} from "./steps/TokenPermits.sol";

/// @title Execution proxy
/// @notice Swaps the inputs of an order along a program of pools and pays the outputs, or reverts. What a program does not spend returns to
/// the payer. Along a path, sells an exact amount, or buys an exact amount for at most a maximum.
/// @dev Has no owner, no storage and no upgrade, and calls no function of the caller's choice. Holds no token and leaves no allowance
/// between calls. `docs/internals/program.md` is the specification.
contract ExecutionProxy is Paths, Curve, BalancerV2, BalancerV3, Erc4626, Lido, Fluid, TokenPermits {
    using Runs for Run;

    uint256 private constant WHOLE_BPS = 10_000;

    /// @inheritdoc IExecutionProxy
    function execute(Order calldata order, bytes calldata program) external payable returns (uint256[] memory) {
        _lock();
        Run memory run = Runs.open()[0];
        uint256 inputFeeBps = _open(run, order, program, msg.sender);
        if (inputFeeBps != 0) _setInputFees(run, inputFeeBps);
        run.paysFees = true;
        _execute(run, order);
    }

    /// @inheritdoc IExecutionProxy
    function executeWithPermit2(
        Order calldata order,
        bytes calldata program,
        Permit calldata permit,
        bytes calldata signature
    ) external payable returns (uint256[] memory) {
        _lock();
        _checkSender(permit);
        Run memory run = Runs.open()[0];
        uint256 inputFeeBps = _open(run, order, program, permit.owner);
        run.orderHash = _witness(order, program, permit.sender);
        _payWithPermit2(run, order, permit, signature, inputFeeBps == 0);
        if (inputFeeBps != 0) _setInputFees(run, inputFeeBps);
        _execute(run, order);
    }

    /// Runs the steps, pays, checks the minimums, and only then pays the partner. Ends the call, with the gains as its return data.
    function _execute(Run memory run, Order calldata order) private {
        _runProgram(run);
        _payOut(run);
        uint256 lists = _checkMinimums(run, order);
        if (order.partnerFeeBps != 0) _payPartner(run, order.partner);
        _unlock();
        assembly ("memory-safe") {
            // the second list of the event is the call's answer
            let size := add(mul(mload(lists), 0x20), 0x20)
            mstore(sub(lists, 0x20), 0x20)
            return(sub(lists, 0x20), add(size, 0x20))
        }
    }

    /// Checks the order and the program's token list and opens the ledger. Returns the partner's fee on the inputs.
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
        // three small numbers, and a place inside the program
        unchecked {
            run.accounts = inputs + outputs + listed;
            run.at = list + listed * 20;
        }
        if (run.accounts > TOKEN_LIMIT) revert TooManyTokens(run.accounts, TOKEN_LIMIT);
        run.inputs = inputs;
        run.outputs = outputs;
        run.end = Runs.end(program);
        Account at = run.first = Accounts.open(run.accounts);
        at = _openInputs(at, inputsAt, inputs);
        at = _openOutputs(run.first, at, outputsAt, outputs, recipient);
        _openListed(run.first, at, list, listed);
    }

    /// Moves the owner's ERC-20 inputs by the signature: to the proxy, or, where the first step spends the only one of them whole, straight
    /// to its pool. A pair is paid now; a pool that calls back is paid when it does, and a step whose pool does not call back reverts, so
    /// that no order ends without the signature.
    function _payWithPermit2(
        Run memory run,
        Order calldata order,
        Permit calldata permit,
        bytes calldata signature,
        bool straight
    ) private {
        (uint256 permitted, uint256 index, uint256 entry) = _permittedInputs(order);
        address to = address(this);
        uint256 opcode;
        bytes memory data;
        if (permitted == 1) {
            if (straight) (opcode, to) = run.firstPool(index);
            (address token, uint256 amount) = Entries.read(entry);
            data = _callForOne(token, amount, permit, to, run.orderHash, signature);
        } else {
            data = _callForSeveral(order, permitted, permit, run.orderHash, signature);
        }
        uint256 place;
        assembly ("memory-safe") {
            place := data
        }
        if (opcode == Runs.OPCODE_V3_POOL) {
            run.permitCall = place;
            return;
        }
        _callPermit2(place);
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

    /// Enters the outputs, with what the recipient has of each before anything moves; of ether only what is sent to it will count.
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

    function _openListed(Account first, Account at, uint256 list, uint256 count) private pure {
        for (; count != 0; --count) {
            _add(first, at, address(uint160(Runs.word(list) >> 96)));
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

    /// Checks the order's own terms. Keeps the partner's fee if it is on the outputs, and returns it if it is on the inputs.
    function _checkTerms(Run memory run, Order calldata order, address recipient)
        private
        view
        returns (uint256 inputFeeBps)
    {
        if (block.timestamp > order.deadline) revert DeadlinePassed(order.deadline, block.timestamp);
        _checkRecipient(recipient);
        uint256 feeBps = order.partnerFeeBps;
        if (feeBps == 0) return 0;
        if (feeBps > PARTNER_FEE_LIMIT_BPS) revert PartnerFeeTooHigh(feeBps, PARTNER_FEE_LIMIT_BPS);
        address partner = order.partner;
        if (partner == address(0) || partner == address(this)) revert InvalidPartner(partner);
        if (!order.partnerFeeOnOutput) return feeBps;
        run.outputFeeBps = feeBps;
    }

    /// Enters one token of the order or of the program, which may stand in them only once.
    function _add(Account first, Account at, address token) private pure {
        for (Account other = first; other.isBefore(at); other = other.next(1)) {
            if (other.token() == token) revert DuplicateToken(token);
        }
        at.setToken(token);
    }

    /// Takes the partner's fee on each input out of what the program can spend. It is paid at the end, from where the input is.
    function _setInputFees(Run memory run, uint256 feeBps) private pure {
        for (uint256 i; i < run.inputs; ++i) {
            Account input = run.first.next(i);
            uint256 due = input.due();
            uint256 held = input.held();
            uint256 fee = (due + held) * feeBps / WHOLE_BPS;
            input.setFee(fee);
            // one of the two is zero, and a fee is at most 3% of the other
            unchecked {
                if (due != 0) input.setDue(due - fee);
                else input.setHeld(held - fee);
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
            if (head >> 248 == Runs.OPCODE_PERMIT) {
                _permit(run);
                continue;
            }
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
            if (to == Runs.TO_RECIPIENT) {
                // each is at most 2^128, and there are fewer than 2^64 steps
                unchecked {
                    into.setPaid(into.paid() + amountOut);
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

    /// Runs the step with an opcode: one line each.
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

    /// Pays out what is held: an output to the recipient but for the partner's fee, an input that no step spent back to the payer,
    /// a token on the way on to the recipient.
    function _payOut(Run memory run) private {
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
                        left.setFee(fee);
                        amount -= fee;
                    }
                    left.setPaid(left.paid() + amount);
                }
                _pay(run, token, left.isBefore(outputs) ? run.payer : run.recipient, amount);
            }
            // nominal amounts of stETH leave a wei or two of it behind
            if (token == STETH) {
                // the partner is paid last; the fee on an input of `execute` comes from the payer
                uint256 kept = run.paysFees && left.isBefore(outputs) ? 0 : left.fee();
                uint256 most = _payOutShares(run.step, left.isBefore(outputs) ? run.payer : run.recipient, kept);
                if (amount != 0) left.setPaid(left.paid() + most);
            }
        }
    }

    /// Compares what the recipient gained of each output with its minimum: what was paid to it, and no more than what its balance
    /// grew by. Emits the event, and returns where the list of gains, its length first, stands in memory, with a word before it to spare.
    function _checkMinimums(Run memory run, Order calldata order) private returns (uint256 list) {
        uint256 inputs = run.inputs;
        uint256 outputs = run.outputs;
        uint256 place;
        assembly ("memory-safe") {
            place := mload(0x40)
            // recipient, partner, where the two lists begin, how long each is, and the lists
            mstore(0x40, add(place, add(0xc0, mul(add(inputs, outputs), 0x20))))
            mstore(add(place, 0x40), 0x80)
            mstore(add(place, 0x80), inputs)
            list := add(place, add(0xa0, mul(inputs, 0x20)))
            mstore(add(place, 0x60), sub(list, place))
            mstore(list, outputs)
        }
        Account account = run.first;
        (uint256 entry,) = Entries.inputs(order);
        for (uint256 i; i < inputs; ++i) {
            (, uint256 amount) = Entries.read(entry);
            entry = Entries.next(entry);
            // what was not taken of an input is still due, what came back was held, and may be more than was given
            uint256 kept = account.due() + account.held();
            unchecked {
                amount = amount > kept ? amount - kept : 0;
            }
            assembly ("memory-safe") {
                mstore(add(place, add(0xa0, mul(i, 0x20))), amount)
            }
            account = account.next(1);
        }
        address recipient = run.recipient;
        for (uint256 j; j < outputs; ++j) {
            address token = account.token();
            uint256 gain = account.paid();
            if (token != NATIVE) gain = Runs.lower(gain, account.base(), Tokens.balanceOf(token, recipient));
            uint256 minimum = account.minimum();
            if (gain < minimum) revert OutputBelowMinimum(j, token, gain, minimum);
            assembly ("memory-safe") {
                mstore(add(list, add(0x20, mul(j, 0x20))), gain)
            }
            account = account.next(1);
        }
        address payer = run.payer;
        address partner = order.partnerFeeBps == 0 ? address(0) : order.partner;
        bytes32 hash = run.orderHash;
        bytes32 topic = Executed.selector;
        assembly ("memory-safe") {
            mstore(place, recipient)
            mstore(add(place, 0x20), partner)
            log3(place, add(sub(list, place), add(0x20, mul(outputs, 0x20))), topic, hash, payer)
        }
    }

    /// Pays the partner its fees, when everything that the order promises is kept: nothing that it does then can change that. One that
    /// refuses its ether, or wants more gas for it than there is, loses it to the recipient.
    function _payPartner(Run memory run, address partner) private {
        Account account = run.first;
        Account outputs = account.next(run.inputs);
        Account end = account.next(run.accounts);
        bool pays = run.paysFees;
        for (; account.isBefore(end); account = account.next(1)) {
            uint256 fee = account.fee();
            if (fee == 0) continue;
            address token = account.token();
            if (token == NATIVE) {
                if (!Tokens.offerEther(partner, fee)) Tokens.sendEther(run.step, run.recipient, fee);
            } else if (pays && account.isBefore(outputs)) {
                Tokens.transferFrom(run.step, token, run.payer, partner, fee);
            } else {
                Tokens.transfer(run.step, token, partner, fee);
            }
        }
    }

    function _pay(Run memory run, address token, address to, uint256 amount) private {
        if (amount == 0) return;
        if (token == NATIVE) Tokens.sendEther(run.step, to, amount);
        else Tokens.transfer(run.step, token, to, amount);
    }
}
