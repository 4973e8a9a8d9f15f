// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Calls} from "../Calls.sol";
import {IExecutionProxy} from "../IExecutionProxy.sol";
import {Run, Runs} from "../Run.sol";
import {Tokens} from "../Tokens.sol";

/// @title Steps of ERC-4626 vaults
/// @notice Deposits to and redeems from ERC-4626 vaults, Morpho's among them. Operands: none, since the vault is one of the step's tokens.
abstract contract Erc4626 {
    using Runs for Run;

    bytes4 private constant DEPOSIT = 0x6e553f65;
    bytes4 private constant REDEEM = 0xba087652;

    /// Deposits assets for shares: the vault is the token out.
    function _deposit4626(Run memory run) internal returns (uint256 shares) {
        address vault = run.tokenOut;
        address to = run.receiver(true);
        run.requireErc20();
        run.offer(vault);
        shares = Calls.poolWord(run.step, vault, 0, DEPOSIT, run.amountIn, uint160(to), 0x44);
        run.endOffer(vault);
    }

    /// Redeems shares for assets: the vault is the token in.
    function _redeem4626(Run memory run) internal returns (uint256 assets) {
        address vault = run.tokenIn;
        address to = run.receiver(false);
        run.bring();
        uint256 before = Tokens.balanceOf(vault, address(this));
        (assets,) = Calls.pool(run.step, vault, 0, abi.encodeWithSelector(REDEEM, run.amountIn, to, address(this)), 1);
        // shares that the vault has not taken would be anybody's
        uint256 left = Tokens.balanceOf(vault, address(this));
        if (left != before - run.amountIn) revert IExecutionProxy.InputNotTaken(run.step, vault, left);
    }
}
