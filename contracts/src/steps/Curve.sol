// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {NATIVE} from "../Constants.sol";
import {Guard} from "../Guard.sol";
import {Run, Runs} from "../Run.sol";

/// @title Step of Curve
/// @notice Swaps through Curve pools, by one of their three exchange functions. Operands: pool:address i:u8 j:u8.
/// @dev Counts the increase of the proxy's balance as the amount out, because pools of the first years return nothing.
abstract contract Curve is Guard {
    using Runs for Run;

    // exchange(int128,int128,uint256,uint256), exchange(uint256,uint256,uint256,uint256), exchange_underlying(int128,…)
    bytes4 internal constant EXCHANGE_INT128 = 0x3df02124;
    bytes4 internal constant EXCHANGE_UINT256 = 0x5b41b908;
    bytes4 internal constant EXCHANGE_UNDERLYING = 0xa6417ed6;

    function _exchangeCurve(Run memory run, bytes4 exchange) internal returns (uint256 amountOut) {
        uint256 operands = Runs.word(run.take(22));
        address pool = address(uint160(operands >> 96));
        run.requireToProxy();

        uint256 valueWei = run.offer(pool);
        uint256 before = run.balanceOut();
        if (run.tokenOut == NATIVE) _expectEtherFrom(pool);
        Calls.pool(
            run.step,
            pool,
            valueWei,
            abi.encodeWithSelector(exchange, uint8(operands >> 88), uint8(operands >> 80), run.amountIn, 0),
            0
        );
        if (run.tokenOut == NATIVE) _expectNoEther();
        run.endOffer(pool);
        return run.grownBy(before);
    }
}
