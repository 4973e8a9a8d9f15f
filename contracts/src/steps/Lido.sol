// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {NATIVE, STETH, WSTETH} from "../Constants.sol";
import {Run, Runs} from "../Run.sol";

/// @title Steps of Lido
/// @notice Stakes ether for stETH, and wraps and unwraps stETH as wstETH. Operands: none.
/// @dev stETH counts shares. An amount of stETH is the value of its shares, rounded down in each conversion.
abstract contract Lido {
    using Runs for Run;

    bytes4 private constant SUBMIT = 0xa1903eab;
    bytes4 private constant POOLED_ETHER_BY_SHARES = 0x7a28fb88;
    bytes4 private constant SHARES_BY_POOLED_ETHER = 0x19208451;
    bytes4 private constant SHARES_OF = 0xf5eb42dc;
    bytes4 private constant TRANSFER_SHARES = 0x8fcb4e5b;
    bytes4 private constant WRAP = 0xea598cb0;
    bytes4 private constant UNWRAP = 0xde0e9a3e;

    /// Stakes ether for stETH. Returns what the new shares are worth.
    function _stakeLido(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(NATIVE, STETH);
        run.requireToProxy();
        // no referral: the argument is zero
        uint256 shares = Calls.poolWord(run.step, STETH, run.amountIn, SUBMIT, 0, 0, 0x24);
        (amountOut,) = Calls.view_(run.step, STETH, POOLED_ETHER_BY_SHARES, shares, 1);
    }

    function _wrapLido(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(STETH, WSTETH);
        run.requireToProxy();
        run.offer(WSTETH);
        amountOut = Calls.poolWord(run.step, WSTETH, 0, WRAP, run.amountIn, 0, 0x24);
        run.endOffer(WSTETH);
    }

    function _unwrapLido(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(WSTETH, STETH);
        run.requireToProxy();
        run.bring();
        amountOut = Calls.poolWord(run.step, WSTETH, 0, UNWRAP, run.amountIn, 0, 0x24);
    }

    /// Sends the shares of stETH that are still at the proxy to the receiver of its rest, but for those of an amount that is kept for the
    /// partner. Every amount of stETH is rounded down to shares when it moves, so a share may be left of what was staked, bought or split.
    /// Returns the most by which this raises a balance of stETH, nominal. A plain token at stETH's address has no shares.
    function _payOutShares(uint256 step, address to, uint256 kept) internal returns (uint256 most) {
        uint256 shares;
        assembly ("memory-safe") {
            mstore(0x00, SHARES_OF)
            mstore(0x04, address())
            let ok := staticcall(gas(), STETH, 0x00, 0x24, 0x00, 0x20)
            if and(ok, gt(returndatasize(), 0x1f)) { shares := mload(0x00) }
        }
        if (kept != 0 && shares != 0) {
            (uint256 keptShares,) = Calls.view_(step, STETH, SHARES_BY_POOLED_ETHER, kept, 1);
            // with fewer than these, the payment to the partner reverts
            unchecked {
                shares = shares > keptShares ? shares - keptShares : 0;
            }
        }
        // an amount before was rounded down, and so are the two balances that tell what was gained
        if (shares == 0) return 2;
        Calls.poolWord(step, STETH, 0, TRANSFER_SHARES, uint160(to), shares, 0x44);
        (uint256 worth,) = Calls.view_(step, STETH, POOLED_ETHER_BY_SHARES, shares, 1);
        return worth + 2;
    }
}
