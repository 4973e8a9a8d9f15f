// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @title A rate per second, compounded
library Compounding {
    uint256 internal constant RAY = 1e27;

    /// @return what a rate has become at a factor a second
    function grown(uint256 rate, uint256 perSecond, uint256 secs) internal pure returns (uint256) {
        return secs == 0 ? rate : _power(perSecond, secs) * rate / RAY;
    }

    /// @dev By squaring; each product is rounded to the nearest.
    function _power(uint256 base, uint256 exponent) private pure returns (uint256 result) {
        result = exponent % 2 == 0 ? RAY : base;
        for (exponent /= 2; exponent != 0; exponent /= 2) {
            base = (base * base + RAY / 2) / RAY;
            if (exponent % 2 != 0) result = (result * base + RAY / 2) / RAY;
        }
    }
}
