// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

interface IShare {
    function convertToAssets(uint256 shares) external view returns (uint256);
}

/// @title Stand-in for Balancer's providers of the rates of vaults' shares on the local chain
/// @notice Our own code with the deployed view: what a whole share, of 18 decimals, is worth.
contract StandInErc4626RateProvider {
    IShare private immutable share;

    constructor(address share_) {
        share = IShare(share_);
    }

    function getRate() external view returns (uint256) {
        return share.convertToAssets(1e18);
    }
}
