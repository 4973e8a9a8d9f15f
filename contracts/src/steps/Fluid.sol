// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {FLUID_LIQUIDITY, NATIVE} from "../Constants.sol";
import {Guard} from "../Guard.sol";
import {Run, Runs} from "../Run.sol";

/// @title Step of Fluid
/// @notice Swaps through Fluid's pools. Operands: pool:address zero_for_one:u8.
/// @dev Ether goes in with the call and comes from the liquidity layer.
abstract contract Fluid is Guard {
    using Runs for Run;

    bytes4 private constant SWAP_IN = 0x2668dfaa;

    function _swapFluid(Run memory run) internal returns (uint256 amountOut) {
        uint256 operands = Runs.word(run.take(21));
        address pool = address(uint160(operands >> 96));
        bool zeroForOne = uint8(operands >> 88) != 0;
        address to = run.receiver(false);

        uint256 valueWei = run.offer(pool);
        if (run.tokenOut == NATIVE) _expectEtherFrom(FLUID_LIQUIDITY);
        (amountOut,) =
            Calls.pool(run.step, pool, valueWei, abi.encodeWithSelector(SWAP_IN, zeroForOne, run.amountIn, 0, to), 1);
        if (run.tokenOut == NATIVE) _expectNoEther();
        run.endOffer(pool);
    }
}
