// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {WAD} from "./StableMath.sol";

// What a CryptoSwap pool's amplification is multiplied by.
uint256 constant A_MULTIPLIER = 10_000;

/// The CryptoSwap invariant `K·Dⁿ⁻¹·Σx + Πx = K·Dⁿ + (D/n)ⁿ` with `K = A·K₀·γ²/(γ + 1 - K₀)²` and `K₀ = Πx·nⁿ/Dⁿ`, for two and
/// for three coins, by Newton's method and in the rounding of the pools of 2021 and of the factory after them.
/// Our own text of the same arithmetic as `crates/protocols`; both are held to the same recorded amounts.
library CryptoMath {
    uint256 private constant ROUNDS = 255;

    /// The invariant of scaled balances.
    function d(uint256 amp, uint256 gamma, uint256[] memory unsorted) internal pure returns (uint256 value) {
        uint256 n = unsorted.length;
        _requireShape(amp, gamma, n);
        uint256[] memory x = sort(unsorted);
        require(x[0] >= 1e9 && x[0] <= 1e33, "unsafe balance");
        uint256 sum;
        for (uint256 k; k < n; ++k) {
            require(x[k] * WAD / x[0] >= (n == 2 ? 1e14 : 1e11), "unsafe balances");
            sum += x[k];
        }
        return settleD(amp, gamma, x, sum, geometricMean(x) * n, 1);
    }

    /// The invariant of sorted balances from a first guess; `part` is 2 where balances may be twice as far from it.
    function settleD(uint256 amp, uint256 gamma, uint256[] memory x, uint256 sum, uint256 value, uint256 part)
        internal
        pure
        returns (uint256)
    {
        for (uint256 round; round < ROUNDS; ++round) {
            uint256 previous = value;
            value = _nextD(amp, gamma, x, sum, previous);
            uint256 change = _distance(value, previous);
            if (change * 1e14 < (value > 1e16 ? value : 1e16)) {
                for (uint256 k; k < x.length; ++k) {
                    uint256 fraction = x[k] * WAD / value;
                    require(fraction >= 1e16 / part && fraction <= 1e20 / part, "unsafe balances");
                }
                return value;
            }
        }
        revert("D does not settle");
    }

    function _nextD(uint256 amp, uint256 gamma, uint256[] memory x, uint256 sum, uint256 value)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 n = x.length;
            uint256 k0 = _k0(x, value);
            uint256 g = _distance(gamma + WAD, k0) + 1;
            uint256 mul1 = WAD * value / gamma * g / gamma * g * A_MULTIPLIER / amp;
            uint256 mul2 = 2 * WAD * n * k0 / g;
            uint256 slope = sum + sum * mul2 / WAD + mul1 * n / k0 - mul2 * value / WAD;
            uint256 plus = value * (slope + sum) / slope;
            uint256 minus = value * value / slope;
            uint256 shift = value * (mul1 / slope) / WAD;
            if (WAD > k0) minus += shift * (WAD - k0) / k0;
            else minus -= shift * (k0 - WAD) / k0;
            return plus > minus ? plus - minus : (minus - plus) / 2;
        }
    }

    /// `nⁿ·Πx/Dⁿ`, rounded as the pools of two and of three do.
    function _k0(uint256[] memory x, uint256 value) private pure returns (uint256 k0) {
        unchecked {
            if (x.length == 2) return WAD * 4 * x[0] / value * x[1] / value;
            k0 = WAD;
            for (uint256 k; k < 3; ++k) k0 = k0 * x[k] * 3 / value;
        }
    }

    struct Search {
        uint256 d;
        uint256 n;
        uint256 k0Others;
        uint256 sumOthers;
        uint256 limit;
    }

    /// Balance `i` at an invariant.
    function y(uint256 amp, uint256 gamma, uint256[] memory x, uint256 value, uint256 i) internal pure returns (uint256 found) {
        _requireShape(amp, gamma, x.length);
        require(value >= 1e17 && value <= 1e33, "unsafe D");
        if (x.length == 2) {
            uint256 k0 = 2 * WAD * x[1 - i] / value;
            require(k0 >= 2e16 && k0 <= 2e20, "unsafe balance");
        }
        found = searchY(amp, gamma, x, value, i);
        _requireNear(found, value);
    }

    /// The same by Newton's method alone, whose answer is not judged.
    function searchY(uint256 amp, uint256 gamma, uint256[] memory x, uint256 value, uint256 i)
        internal
        pure
        returns (uint256 found)
    {
        Search memory search;
        (search, found) = x.length == 2 ? _searchOfTwo(x[1 - i], value) : _searchOfThree(x, value, i);
        for (uint256 round; round < ROUNDS; ++round) {
            uint256 previous = found;
            bool tested;
            (found, tested) = _nextY(amp, gamma, search, previous);
            uint256 limit = search.limit > found / 1e14 ? search.limit : found / 1e14;
            if (tested && _distance(found, previous) < limit) return found;
        }
        revert("y does not settle");
    }

    function _searchOfTwo(uint256 other, uint256 value) private pure returns (Search memory search, uint256 first) {
        search = Search(value, 2, 2 * WAD * other / value, other, _limit(other, value));
        first = value * value / (other * 4);
    }

    function _searchOfThree(uint256[] memory x, uint256 value, uint256 i)
        private
        pure
        returns (Search memory search, uint256 first)
    {
        (uint256 large, uint256 small) = (x[i == 0 ? 1 : 0], x[i == 2 ? 1 : 2]);
        _requireNear(large, value);
        _requireNear(small, value);
        if (large < small) (large, small) = (small, large);
        first = value / 3 * value / (small * 3);
        first = first * value / (large * 3);
        uint256 k0 = WAD * large * 3 / value;
        search = Search(value, 3, k0 * small * 3 / value, small + large, _limit(large, value));
    }

    function _limit(uint256 largest, uint256 value) private pure returns (uint256 limit) {
        limit = largest > value ? largest / 1e14 : value / 1e14;
        if (limit < 100) limit = 100;
    }

    function _nextY(uint256 amp, uint256 gamma, Search memory search, uint256 value) private pure returns (uint256, bool) {
        unchecked {
            uint256 k0 = search.k0Others * value * search.n / search.d;
            uint256 g = _distance(gamma + WAD, k0) + 1;
            uint256 mul1 = WAD * search.d / gamma * g / gamma * g * A_MULTIPLIER / amp;
            uint256 mul2 = WAD + 2 * WAD * k0 / g;
            uint256 sum = search.sumOthers + value;
            uint256 total = WAD * value + sum * mul2 + mul1;
            if (total < search.d * mul2) return (value / 2, false);
            total -= search.d * mul2;
            uint256 slope = total / value;
            uint256 minus = mul1 / slope;
            uint256 plus = (total + WAD * search.d) / slope + minus * WAD / k0;
            minus += WAD * sum / slope;
            return (plus < minus ? value / 2 : plus - minus, true);
        }
    }

    /// The geometric mean by the pools' loop, which ends one unit or 1e-18 short of rest.
    function geometricMean(uint256[] memory unsorted) internal pure returns (uint256 mean) {
        unchecked {
            uint256 n = unsorted.length;
            uint256[] memory x = sort(unsorted);
            mean = x[0];
            for (uint256 round; round < ROUNDS; ++round) {
                uint256 previous = mean;
                if (n == 2) {
                    mean = (mean + x[0] * x[1] / mean) / 2;
                } else {
                    uint256 ratio = WAD;
                    for (uint256 k; k < n; ++k) ratio = ratio * x[k] / mean;
                    mean = mean * ((n - 1) * WAD + ratio) / (n * WAD);
                }
                uint256 change = _distance(mean, previous);
                if (change <= 1 || change * WAD < mean) return mean;
            }
            revert("the mean does not settle");
        }
    }

    /// The part of the fee that is the middle one, 18 decimals.
    function feeWeight(uint256[] memory x, uint256 feeGamma) internal pure returns (uint256 k) {
        unchecked {
            uint256 n = x.length;
            uint256 sum;
            for (uint256 i; i < n; ++i) sum += x[i];
            if (n == 2) {
                k = WAD * 4 * x[0] / sum * x[1] / sum;
            } else {
                k = WAD;
                for (uint256 i; i < n; ++i) k = k * n * x[i] / sum;
            }
            if (feeGamma != 0 || n == 2) k = feeGamma * WAD / (feeGamma + WAD - k);
        }
    }

    /// The square root of a number of 18 decimals, by the loop of the pools of three.
    function sqrt(uint256 x) internal pure returns (uint256 root) {
        if (x == 0) return 0;
        uint256 next = (x + WAD) / 2;
        root = x;
        for (uint256 round; round < 256; ++round) {
            if (next == root) return root;
            root = next;
            next = (x * WAD / next + next) / 2;
        }
        revert("the root does not settle");
    }

    /// `½^power`, 18 decimals.
    function halfPower(uint256 power) internal pure returns (uint256) {
        uint256 whole = power / WAD;
        if (whole > 59) return 0;
        uint256 rest = power - whole * WAD;
        uint256 result = WAD / 2 ** whole;
        if (rest == 0) return result;
        (uint256 term, uint256 sum, bool negative) = (WAD, WAD, false);
        for (uint256 round = 1; round < 256; ++round) {
            uint256 k = round * WAD;
            uint256 before = k - WAD;
            if (rest > before) negative = !negative;
            term = term * (_distance(rest, before) / 2) / k;
            sum = negative ? sum - term : sum + term;
            if (term < 1e10) return result * sum / WAD;
        }
        revert("the power does not settle");
    }

    function _requireShape(uint256 amp, uint256 gamma, uint256 n) private pure {
        uint256 unit = A_MULTIPLIER * n ** n;
        require(n == 2 ? amp >= unit / 10 && amp <= unit * 100_000 : amp >= unit / 100 && amp <= unit * 1_000, "unsafe A");
        require(gamma >= 1e10 && gamma <= (n == 2 ? 2e16 : 5e16), "unsafe gamma");
    }

    function _requireNear(uint256 x, uint256 value) private pure {
        uint256 fraction = x * WAD / value;
        require(fraction >= 1e16 && fraction <= 1e20, "unsafe balances");
    }

    function _distance(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a - b : b - a;
    }

    /// Largest first.
    function sort(uint256[] memory x) internal pure returns (uint256[] memory sorted) {
        unchecked {
            sorted = new uint256[](x.length);
            for (uint256 k; k < x.length; ++k) {
                uint256 at = k;
                for (; at > 0 && sorted[at - 1] < x[k]; --at) sorted[at] = sorted[at - 1];
                sorted[at] = x[k];
            }
        }
    }
}
