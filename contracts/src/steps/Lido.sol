// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {NATIVE, STETH, WSTETH} from "../Constants.sol";
import {Run, Runs} from "../Run.sol";

/// Ether, stETH and wstETH. Operands: none.
/// stETH counts in shares: an amount of it is what its shares are worth, rounded down, at each turn.
abstract contract Lido {
    using Runs for Run;

    bytes4 private constant SUBMIT = 0xa1903eab;
    bytes4 private constant POOLED_ETHER_BY_SHARES = 0x7a28fb88;
    bytes4 private constant SHARES_OF = 0xf5eb42dc;
    bytes4 private constant TRANSFER_SHARES = 0x8fcb4e5b;
    bytes4 private constant WRAP = 0xea598cb0;
    bytes4 private constant UNWRAP = 0xde0e9a3e;

    /// Ether to stETH: what the new shares are worth.
    function _stakeLido(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(NATIVE, STETH);
        run.requireToProxy();
        (uint256 shares,) = Calls.pool(run.step, STETH, run.amountIn, abi.encodeWithSelector(SUBMIT, address(0)), 1);
        (amountOut,) = Calls.view_(run.step, STETH, POOLED_ETHER_BY_SHARES, shares, 1);
    }

    function _wrapLido(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(STETH, WSTETH);
        run.requireToProxy();
        run.offer(WSTETH);
        (amountOut,) = Calls.pool(run.step, WSTETH, 0, abi.encodeWithSelector(WRAP, run.amountIn), 1);
        run.endOffer(WSTETH);
    }

    function _unwrapLido(Run memory run) internal returns (uint256 amountOut) {
        run.requireTokens(WSTETH, STETH);
        run.requireToProxy();
        run.bring();
        (amountOut,) = Calls.pool(run.step, WSTETH, 0, abi.encodeWithSelector(UNWRAP, run.amountIn), 1);
    }

    /// Whatever shares of stETH are still here, to whoever gets the rest: every amount of stETH is rounded down to shares when it
    /// moves, so that a share may be left of what was staked, bought or split. A token in its place that counts no shares has none.
    /// Gives the most by which that raises a balance of stETH, nominal.
    function _payOutShares(uint256 step, address to) internal returns (uint256 most) {
        uint256 shares;
        assembly ("memory-safe") {
            mstore(0x00, SHARES_OF)
            mstore(0x04, address())
            let ok := staticcall(gas(), STETH, 0x00, 0x24, 0x00, 0x20)
            if and(ok, gt(returndatasize(), 0x1f)) { shares := mload(0x00) }
        }
        // an amount before was rounded down, and so are the two balances that tell what was gained
        if (shares == 0) return 2;
        Calls.pool(step, STETH, 0, abi.encodeWithSelector(TRANSFER_SHARES, to, shares), 1);
        (uint256 worth,) = Calls.view_(step, STETH, POOLED_ETHER_BY_SHARES, shares, 1);
        return worth + 2;
    }
}
