// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {BALANCER_V2_VAULT} from "../Constants.sol";
import {Run, Runs} from "../Run.sol";

/// @title Step of Balancer V2
/// @notice Swaps through pools of Balancer's second vault. Operands: pool_id:bytes32.
abstract contract BalancerV2 {
    using Runs for Run;

    uint256 private constant GIVEN_IN = 0;
    bytes4 private constant SWAP = 0x52bbbe29;

    function _swapBalancerV2(Run memory run) internal returns (uint256 amountOut) {
        bytes32 poolId = bytes32(Runs.word(run.take(32)));
        address to = run.receiver(true);

        run.requireErc20();
        run.offer(BALANCER_V2_VAULT);
        (amountOut,) = Calls.pool(
            run.step,
            BALANCER_V2_VAULT,
            0,
            // swap(SingleSwap, FundManagement, limit, deadline), word by word: where the single swap begins, the funds (of whom, from an
            // account inside the vault, to whom, to such an account), a limit of nothing, the deadline; then the single swap: pool, kind,
            // tokens, amount, where its data begins, which is none
            abi.encodeWithSelector(
                SWAP,
                0xe0,
                address(this),
                0,
                to,
                0,
                0,
                block.timestamp,
                poolId,
                GIVEN_IN,
                run.tokenIn,
                run.tokenOut,
                run.amountIn,
                0xc0,
                0
            ),
            1
        );
        run.endOffer(BALANCER_V2_VAULT);
    }
}
