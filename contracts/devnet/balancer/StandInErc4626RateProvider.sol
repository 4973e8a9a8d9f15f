// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface IDecimals {
    function decimals() external view returns (uint8);
}

interface IShare is IDecimals {
    function asset() external view returns (IDecimals);
    function convertToAssets(uint256 shares) external view returns (uint256);
}

/// @title Stand-in for Balancer's providers of the rates of vaults' shares on the local chain
/// @notice Our own code with the deployed view: what a whole share is worth, with 18 decimals.
contract StandInErc4626RateProvider {
    IShare private immutable share;
    uint256 private immutable amount;

    constructor(address share_) {
        share = IShare(share_);
        amount = 10 ** (18 + share.decimals() - share.asset().decimals());
    }

    function getRate() external view returns (uint256) {
        return share.convertToAssets(amount);
    }
}
