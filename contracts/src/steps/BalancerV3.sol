// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {BALANCER_V3_VAULT, IN_CALLBACK} from "../Constants.sol";
import {Guard} from "../Guard.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Run, Runs} from "../Run.sol";
import {Terms} from "../Terms.sol";

/// @title Step of Balancer V3
/// @notice Swaps through pools of Balancer's third vault and its buffers of ERC-4626 vaults. Operands: pool:address.
/// @dev The vault settles a session at its end. A pool that is one of the step's own tokens stands for the buffer of that share: no pool of
/// the vault trades its own token.
abstract contract BalancerV3 is Guard {
    using Runs for Run;

    uint256 private constant EXACT_IN = 0;
    uint256 private constant WRAP = 0;
    uint256 private constant UNWRAP = 1;
    bytes4 private constant UNLOCK = 0x48c89491;
    bytes4 private constant SETTLE = 0x15afd409;
    bytes4 private constant SWAP = 0x2bfb780c;
    bytes4 private constant WRAP_OR_UNWRAP = 0x43583be5;
    bytes4 private constant SEND_TO = 0xae639329;

    function _swapBalancerV3(Run memory run) internal returns (uint256 amountOut) {
        address pool = address(uint160(Runs.word(run.take(20)) >> 96));
        address to = run.receiver(true);

        bytes memory terms = abi.encode(run.tokenIn, run.amountIn, run.payerOrProxy(), pool, run.tokenOut, to);
        uint256 at;
        assembly ("memory-safe") {
            at := add(terms, 0x20)
        }
        _expectCallback(BALANCER_V3_VAULT, at, terms.length);
        bytes memory back = abi.encodeCall(this.balancerV3UnlockCallback, (terms));
        Calls.pool(run.step, BALANCER_V3_VAULT, 0, abi.encodeWithSelector(UNLOCK, back), 2);
        // the answer is `bytes`: offset, length, and then what the callback returned
        amountOut = Calls.answerWord(run.step, BALANCER_V3_VAULT, 2);
        if (_isCallbackPending()) revert IExecutionProxy.CallbackMissing(run.step, BALANCER_V3_VAULT);
    }

    /// @notice Pays the input of the running step to Balancer's third vault, swaps it there, and takes the output out. Only that vault may
    /// call, once, inside the session that the step opened.
    /// @dev Reverts with `UnexpectedCallback` for any other caller or terms, without data if the terms are not six words, and with the
    /// errors of a payment or of a call to the vault.
    /// @param terms words that the step gave to the vault: input token, amount in atomic units, payer, pool, output token, receiver
    /// @return amountOut amount that the receiver was paid, in atomic units of the output token
    function balancerV3UnlockCallback(bytes calldata terms) external returns (uint256 amountOut) {
        uint256 at = _consumeCallback(terms);
        address tokenIn;
        uint256 amount;
        address pool;
        address tokenOut;
        address to;
        // the words that the step wrote: terms of a pool, which would come in as well, are never six
        assembly ("memory-safe") {
            if iszero(eq(terms.length, 0xc0)) { revert(0, 0) }
            tokenIn := mload(at)
            amount := mload(add(at, 0x20))
            pool := mload(add(at, 0x60))
            tokenOut := mload(add(at, 0x80))
            to := mload(add(at, 0xa0))
        }
        Terms.pay(at, terms.length);
        _call(abi.encodeWithSelector(SETTLE, tokenIn, amount), 1);
        if (pool == tokenIn || pool == tokenOut) {
            uint256 direction = pool == tokenIn ? UNWRAP : WRAP;
            _call(abi.encodeWithSelector(WRAP_OR_UNWRAP, EXACT_IN, direction, pool, amount, 0), 2);
        } else {
            _call(abi.encodeWithSelector(SWAP, 0x20, EXACT_IN, pool, tokenIn, tokenOut, amount, 0, 0xe0, 0), 2);
        }
        // both answer (amountCalculated, amountIn, amountOut)
        amountOut = Calls.answerWord(IN_CALLBACK, BALANCER_V3_VAULT, 2);
        _call(abi.encodeWithSelector(SEND_TO, tokenOut, to, amountOut), 0);
    }

    function _call(bytes memory data, uint256 words) private {
        Calls.pool(IN_CALLBACK, BALANCER_V3_VAULT, 0, data, words);
    }
}
