// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Gas that a stand-in uses for nothing, where the contract that it stands in for does what ours leaves out: so that a transaction which has
/// enough here has enough on mainnet.
library Work {
    function use(uint256 gasUnits) internal view {
        uint256 stop = gasleft() - gasUnits;
        while (gasleft() > stop) {}
    }
}
