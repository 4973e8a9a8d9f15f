// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {CHAIN_ID} from "./Constants.sol";
import {IExecutionProxy} from "./IExecutionProxy.sol";

/// @title Callback guard
/// @notice Lets one pool call the proxy back, once, with the terms of the running step.
/// @dev Keeps each fact in a transient slot of its own; zero means that nothing is expected. Slots are words, so that writing one never
/// reads another.
abstract contract Guard {
    /// Is not zero while an order runs.
    uint256 private transient _running;
    /// Holds the callback that the running step waits for: the hash of its terms (which token, how much, out of whose balance) and of the
    /// pool that is to bring them back. The pool is given the terms themselves; changed by one bit, or from anyone else, they are refused.
    bytes32 private transient _callback;
    /// Holds the contract that the running step called and that may send ether.
    uint256 private transient _etherSender;
    /// Holds what the running purchase has paid for its first hop, in atomic units.
    uint256 private transient _sold;

    /// @notice Accepts ether from the contract that the running step called. Nobody else may send ether.
    /// @dev Reverts with `UnexpectedEther` if no step waits for ether, or if it comes from another account.
    receive() external payable {
        if (msg.sender != _address(_etherSender)) {
            revert IExecutionProxy.UnexpectedEther(msg.sender, _address(_etherSender));
        }
    }

    /// Begins every order and swap: one at a time, and only on the chain where the addresses of the code are those of known contracts.
    function _lock() internal {
        if (block.chainid != CHAIN_ID) revert IExecutionProxy.WrongChain(block.chainid, CHAIN_ID);
        if (_running != 0) revert IExecutionProxy.Reentered();
        _running = 1;
    }

    function _unlock() internal {
        _running = 0;
    }

    /// Expects a callback of the pool that a step calls next. The terms are `size` bytes of memory; a word behind them
    /// is used for the moment.
    function _expectCallback(address pool, uint256 terms, uint256 size) internal {
        _callback = _hash(pool, terms, size);
    }

    /// Returns after that call whether the pool has not called back.
    function _isCallbackPending() internal view returns (bool) {
        return _callback != 0;
    }

    /// Lets the pool that the running step called in, once and with that step's own terms, and returns their place in memory.
    function _consumeCallback(bytes calldata terms) internal returns (uint256 at) {
        assembly ("memory-safe") {
            at := mload(0x40)
            calldatacopy(at, terms.offset, terms.length)
            mstore(0x40, add(at, and(add(terms.length, 0x3f), not(0x1f))))
        }
        bytes32 got = _hash(msg.sender, at, terms.length);
        bytes32 expected = _callback;
        if (got != expected) revert IExecutionProxy.UnexpectedCallback(msg.sender, got, expected);
        _callback = 0;
    }

    function _hash(address pool, uint256 terms, uint256 size) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            mstore(add(terms, size), pool)
            hash := keccak256(terms, add(size, 0x20))
        }
    }

    function _expectEtherFrom(address sender) internal {
        _etherSender = uint160(sender);
    }

    function _expectNoEther() internal {
        _etherSender = 0;
    }

    function _setSold(uint256 amount) internal {
        _sold = amount;
    }

    function _takeSold() internal returns (uint256 amount) {
        amount = _sold;
        _sold = 0;
    }

    function _address(uint256 value) private pure returns (address) {
        return address(uint160(value));
    }
}
