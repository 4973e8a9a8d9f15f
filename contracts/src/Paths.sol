// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {AMOUNT_LIMIT, NATIVE} from "./Constants.sol";
import {Hop, Hops} from "./Hops.sol";
import {IExecutionProxy, Permit, Swap} from "./IExecutionProxy.sol";
import {Permit2Payment} from "./Permit2Payment.sol";
import {Terms} from "./Terms.sol";
import {Tokens} from "./Tokens.sol";
import {UniswapV2} from "./steps/UniswapV2.sol";
import {UniswapV3} from "./steps/UniswapV3.sol";

/// @title Swaps along paths
/// @notice Swaps one token for another along a path of known pools. Each hop spends all that the hop before paid.
/// @dev A known pool is at the CREATE2 address of its factory (`Pools`).
abstract contract Paths is IExecutionProxy, Permit2Payment, UniswapV2, UniswapV3 {
    /// Is the fee of every pair that a path may name, in basis points.
    uint256 private constant PAIR_FEE_BPS = 30;

    /// @inheritdoc IExecutionProxy
    function swap(Swap calldata order, bytes calldata path) external payable returns (uint256) {
        _open(order);
        bool native = order.tokenIn == NATIVE;
        uint256 valueWei = native ? order.amountIn : 0;
        if (msg.value != valueWei) revert ValueMismatch(msg.value, valueWei);
        return _goAlong(order, path, msg.sender, native ? address(this) : msg.sender, 0, 0);
    }

    /// @inheritdoc IExecutionProxy
    function swapWithPermit2(Swap calldata order, bytes calldata path, Permit calldata permit, bytes calldata signature)
        external
        returns (uint256)
    {
        _open(order);
        _checkSender(permit);
        if (order.tokenIn == NATIVE) revert NothingToPermit();
        bytes32 witness = _witnessOfSwap(order, path, permit.sender);
        // who is paid is written where it is known
        bytes memory data = _callForOne(order.tokenIn, order.amountIn, permit, address(0), witness, signature);
        uint256 permitCall;
        assembly ("memory-safe") {
            permitCall := data
        }
        return _goAlong(order, path, permit.owner, Terms.SIGNATURE, permitCall, witness);
    }

    function _goAlong(
        Swap calldata order,
        bytes calldata path,
        address payer,
        address source,
        uint256 permitCall,
        bytes32 witness
    ) private returns (uint256 amount) {
        (bool buys, Hop hop, Hop end) = Hops.read(path, order.tokenIn, order.tokenOut);
        (uint256 sold, uint256 received) = (order.amountIn, order.amountOut);
        if (buys) amount = sold = _buyAlong(order, hop, end, source, permitCall);
        else amount = received = _sellAlong(order, hop, end, source, permitCall);
        if (order.tokenOut == NATIVE) {
            _withdraw(0, received);
            Tokens.sendEther(0, order.recipient, received);
        }
        emit Swapped(witness, payer, order.recipient, sold, received);
        _unlock();
    }

    // — what surrounds a path —

    /// Locks, and checks the swap's own terms.
    function _open(Swap calldata order) private {
        _lock();
        if (block.timestamp > order.deadline) revert DeadlinePassed(order.deadline, block.timestamp);
        _checkRecipient(order.recipient);
        unchecked {
            // one less: nothing is beyond the limit too
            if (order.amountIn - 1 >= AMOUNT_LIMIT) revert InvalidInputAmount(0, order.amountIn, AMOUNT_LIMIT);
        }
        if (order.amountOut == 0) revert ZeroMinimum(0);
    }

    function _checkRecipient(address recipient) internal view {
        if (recipient == address(0)) revert InvalidRecipient(recipient);
        if (recipient == address(this)) revert InvalidRecipient(recipient);
    }

    // — exactly this much in —

    function _sellAlong(Swap calldata order, Hop hop, Hop end, address source, uint256 permitCall)
        private
        returns (uint256 amount)
    {
        amount = order.amountIn;
        if (source == address(this)) _deposit(0, amount);
        if (permitCall != 0) _writeReceiver(permitCall, hop.pool());
        if (hop.isPair()) _payPair(hop, amount, source, permitCall);
        uint256 step;
        while (true) {
            Hop next = hop.next();
            bool last = next == end;
            address to = last ? _receiver(order) : next.isPair() ? next.pool() : address(this);
            amount = hop.isPair()
                ? _swapPair(step, hop.pool(), hop.zeroForOne(), amount, PAIR_FEE_BPS, to)
                : _swapPool(step, hop.pool(), hop.tokenIn(), next.tokenIn(), amount, source, permitCall, to);
            if (last) break;
            // from here on the proxy pays what the hop before paid it
            (source, permitCall, hop) = (address(this), 0, next);
            unchecked {
                ++step;
            }
        }
        if (amount < order.amountOut) revert OutputBelowMinimum(0, order.tokenOut, amount, order.amountOut);
    }

    /// Returns the account that the last pool pays: the proxy for ether, which it unwraps, otherwise the recipient.
    function _receiver(Swap calldata order) private view returns (address) {
        return order.tokenOut == NATIVE ? address(this) : order.recipient;
    }

    /// Pays the first pair, before it swaps.
    function _payPair(Hop hop, uint256 amount, address source, uint256 permitCall) private {
        if (permitCall != 0) _callPermit2(permitCall);
        else if (source == address(this)) Tokens.transfer(0, hop.tokenIn(), hop.pool(), amount);
        else Tokens.transferFrom(0, hop.tokenIn(), source, hop.pool(), amount);
    }

    // — exactly this much out —

    /// Buys the last hop's output first: each pool is paid by the hop before it, and the first by whoever pays. Ether that was not
    /// needed goes back; of a token no more than that is ever taken.
    function _buyAlong(Swap calldata order, Hop hop, Hop end, address source, uint256 permitCall)
        private
        returns (uint256 sold)
    {
        uint256 amount = order.amountOut;
        if (amount > AMOUNT_LIMIT) revert AmountTooLarge(0, amount, AMOUNT_LIMIT);
        (uint256 terms, uint256 size) = Terms.writePurchase(hop, end, order.amountIn, source, permitCall);
        _obtain(terms, size, amount, _receiver(order));
        sold = _takeSold();
        // what is sold is at most the amount
        unchecked {
            if (source == address(this) && sold != order.amountIn) {
                Tokens.sendEther(0, msg.sender, order.amountIn - sold);
            }
        }
    }

    /// Buys exactly an amount from the last hop that the terms still have, for somebody; with no hop left it is paid by who pays for
    /// all of it. A pair is paid first and then gives; a pool gives first and is paid in its callback.
    function _obtain(uint256 terms, uint256 size, uint256 amount, address to) internal override {
        (bool found, uint256 step, Hop hop) = Terms.takeHop(terms);
        if (!found) return _paySold(terms, amount, to);
        address pool = hop.pool();
        bool zeroForOne = hop.zeroForOne();
        if (hop.isPair()) {
            uint256 owed = _amountIn(step, pool, zeroForOne, amount, PAIR_FEE_BPS);
            _obtain(terms, size, owed, pool);
            return _takeOut(step, pool, zeroForOne, amount, to);
        }
        uint256 data = _freePlace();
        unchecked {
            // behind the call's own words, and hashing them uses one word more
            _copy(data + TERMS, terms, size);
            uint256 got = _callPool(step, pool, data, size, zeroForOne, 0 - amount, to);
            if (got != amount) revert OutputMissed(step, got, amount);
        }
    }

    /// Pays the first hop's pool what the whole path costs.
    function _paySold(uint256 terms, uint256 amount, address to) private {
        (address token, uint256 maximum, address source, uint256 permitCall) = Terms.payment(terms);
        if (amount > maximum) revert InputAboveMaximum(amount, maximum);
        _setSold(amount);
        if (source == Terms.SIGNATURE) {
            _permitTo(permitCall, to, amount);
        } else if (source == address(this)) {
            // it has the ether
            _deposit(0, amount);
            Tokens.transfer(0, token, to, amount);
        } else {
            Tokens.transferFrom(0, token, source, to, amount);
        }
    }
}
