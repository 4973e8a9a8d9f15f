// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {IExecutionProxy} from "./IExecutionProxy.sol";
import {Tokens} from "./Tokens.sol";
import {IN_CALLBACK} from "./Constants.sol";

/// Who may call the proxy back, for what, and once. Each fact has a transient slot of its own;
/// zero means that nothing is expected. Slots are words, so that writing one never reads another.
abstract contract Guard {
    /// Not zero while an order runs.
    uint256 private transient _running;
    /// The pool that the running step called and that has not called back yet.
    uint256 private transient _callbackCaller;
    /// What that pool is to be paid.
    uint256 private transient _callbackToken;
    /// Exactly how much, atomic units.
    uint256 private transient _callbackAmount;
    /// Out of whose balance: the payer's or the proxy's.
    uint256 private transient _callbackSource;
    /// The contract that the running step called and that may send ether.
    uint256 private transient _etherSender;

    /// Ether comes in only while a step waits for it, from the contract that the step called.
    receive() external payable {
        if (msg.sender != _address(_etherSender)) {
            revert IExecutionProxy.UnexpectedEther(msg.sender, _address(_etherSender));
        }
    }

    function _lock() internal {
        if (_running != 0) revert IExecutionProxy.Reentered();
        _running = 1;
    }

    function _unlock() internal {
        _running = 0;
    }

    /// Before a step calls a pool that will ask for its payment in a callback.
    function _expectCallback(address pool, address token, uint256 amount, address source) internal {
        _callbackCaller = _word(pool);
        _callbackToken = _word(token);
        _callbackAmount = amount;
        _callbackSource = _word(source);
    }

    /// After that call: the pool must have asked.
    function _requireCallbackDone(uint256 step, address pool) internal view {
        if (_callbackCaller != 0) revert IExecutionProxy.CallbackMissing(step, pool);
    }

    /// Lets the pool that the running step called in, once, and says what it is to be paid and by whom.
    function _consumeCallback() internal returns (address token, uint256 amount, address source) {
        if (msg.sender != _address(_callbackCaller)) {
            revert IExecutionProxy.UnexpectedCallback(msg.sender, _address(_callbackCaller));
        }
        token = _address(_callbackToken);
        amount = _callbackAmount;
        source = _address(_callbackSource);
        _callbackCaller = 0;
        _callbackToken = 0;
        _callbackAmount = 0;
        _callbackSource = 0;
    }

    /// Pays the contract that calls back.
    function _payCaller(address token, uint256 amount, address source) internal {
        if (source == address(this)) Tokens.transfer(IN_CALLBACK, token, msg.sender, amount);
        else Tokens.transferFrom(IN_CALLBACK, token, source, msg.sender, amount);
    }

    function _expectEtherFrom(address sender) internal {
        _etherSender = _word(sender);
    }

    function _expectNoEther() internal {
        _etherSender = 0;
    }

    function _word(address value) private pure returns (uint256) {
        return uint160(value);
    }

    function _address(uint256 value) private pure returns (address) {
        return address(uint160(value));
    }
}
