// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {BALANCER_V2_VAULT} from "../Constants.sol";
import {Run, Runs} from "../Run.sol";

/// Pools of Balancer's second vault. Operands: pool_id:bytes32.
abstract contract BalancerV2 {
    using Runs for Run;

    struct SingleSwap {
        bytes32 poolId;
        uint8 kind;
        address assetIn;
        address assetOut;
        uint256 amount;
        bytes userData;
    }

    struct FundManagement {
        address sender;
        bool fromInternalBalance;
        address recipient;
        bool toInternalBalance;
    }

    uint8 private constant GIVEN_IN = 0;
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
            abi.encodeWithSelector(
                SWAP,
                SingleSwap(poolId, GIVEN_IN, run.tokenIn, run.tokenOut, run.amountIn, ""),
                FundManagement(address(this), false, to, false),
                0,
                block.timestamp
            ),
            1
        );
        run.endOffer(BALANCER_V2_VAULT);
    }
}
