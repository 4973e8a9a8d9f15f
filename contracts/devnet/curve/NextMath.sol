// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {A_MULTIPLIER, CryptoMath} from "./CryptoMath.sol";
import {WAD} from "./StableMath.sol";

/// What the next generation of CryptoSwap computes in another way: balances in closed form, roots and powers by series, prices by
/// the invariant's slope. Our own text of the same arithmetic as `crates/protocols`; both are held to the same recorded amounts.
library NextMath {
    int256 private constant ONE = 1e18;
    uint256 private constant E36 = 1e36;

    /// The coefficients of a cubic.
    struct Cubic {
        int256 a;
        int256 b;
        int256 c;
        int256 d;
    }

    /// The invariant; `root` is the product term that a swap found, or zero.
    function d(uint256 amp, uint256 gamma, uint256[] memory unsorted, uint256 root) internal pure returns (uint256) {
        uint256[] memory x = CryptoMath.sort(unsorted);
        uint256 sum;
        for (uint256 k; k < x.length; ++k) sum += x[k];
        if (x.length == 2) {
            _requireTwo(amp, gamma);
            require(x[0] >= 1e9 && x[0] <= 1e33 && x[1] * WAD / x[0] >= 1e14, "unsafe balances");
            uint256 guess = root == 0 ? 2 * isqrt(x[0] * x[1]) : isqrt(x[0] * x[1] * 4 / root * WAD);
            return CryptoMath.settleD(amp, gamma, x, sum, root != 0 && guess > sum ? sum : guess, 2);
        }
        require(x[0] > 0 && x[0] < type(uint256).max / WAD * 27, "unsafe balances");
        return CryptoMath.settleD(amp, gamma, x, sum, root == 0 ? 3 * geometricMean(x) : _guess(x, sum, root), 1);
    }

    function _guess(uint256[] memory x, uint256 sum, uint256 root) private pure returns (uint256) {
        (uint256 down, uint256 up) = sum > E36 ? (E36, 27e12) : sum > 1e24 ? (1e24, 27e6) : (WAD, uint256(27));
        return cbrt(x[0] * x[1] / down * x[2] / root * up);
    }

    /// Balance `i`, and the product term; zero where Newton's method had to do.
    function y(uint256 amp, uint256 gamma, uint256[] memory x, uint256 value, uint256 i)
        internal
        pure
        returns (uint256 found, uint256 root)
    {
        require(value >= 1e17 && value <= 1e33, "unsafe D");
        return x.length == 2 ? _yOfTwo(amp, gamma, x, value, i) : _yOfThree(amp, gamma, x, value, i);
    }

    function _requireTwo(uint256 amp, uint256 gamma) private pure {
        require(amp >= 4_000 && amp <= 4e7, "unsafe A");
        require(gamma >= 1e10 && gamma <= 199e15, "unsafe gamma");
    }

    function _requireThree(uint256 amp, uint256 gamma) private pure {
        require(amp >= 2_700 && amp <= 27e7, "unsafe A");
        require(gamma >= 1e10 && gamma <= 5e16, "unsafe gamma");
    }

    /// What a balance of three coins is found from.
    struct Known {
        int256 amp;
        int256 gamma;
        int256 one;
        int256 other;
        int256 value;
    }

    // — two coins —

    function _yOfTwo(uint256 amp, uint256 gamma, uint256[] memory x, uint256 value, uint256 i)
        private
        pure
        returns (uint256 found, uint256 root)
    {
        _requireTwo(amp, gamma);
        uint256 limit = gamma > 2e16 ? 1e20 * 2e16 / gamma : 1e20;
        uint256 other = x[1 - i];
        uint256 k0 = 2 * WAD * other / value;
        require(k0 >= E36 / limit && k0 <= limit, "unsafe balance");
        bool closed;
        (closed, found, root) = _closedOfTwo(int256(amp), int256(gamma), int256(other), int256(value));
        if (!closed) return (CryptoMath.searchY(amp, gamma, x, value, i), 0);
        uint256 fraction = found * WAD / value;
        require(fraction >= E36 / 2 / limit && fraction <= limit / 2, "unsafe balance");
    }

    function _closedOfTwo(int256 amp, int256 gamma, int256 other, int256 value)
        private
        pure
        returns (bool, uint256, uint256)
    {
        int256 root;
        {
            Cubic memory p = _cubicOfTwo(amp, gamma, other, value);
            (int256 delta0, int256 delta1) = _deltasOfTwo(p);
            (delta0, delta1) = (_abs(delta0), _abs(delta1));
            int256 size = delta0 < delta1 ? delta0 : delta1;
            _divide(p, _divider(size < p.a ? size : p.a, true));
            bool real;
            (real, root) = _rootOfTwo(p);
            if (!real) return (false, 0, 0);
        }
        return (true, _unsigned(value * value / other * root / 4 / ONE), _unsigned(root));
    }

    function _rootOfTwo(Cubic memory p) private pure returns (bool, int256) {
        unchecked {
            (int256 delta0, int256 delta1) = _deltasOfTwo(p);
            (bool real, int256 c1) = _root(p.b, delta0, delta1);
            if (!real) return (false, 0);
            return (true, (ONE * c1 - ONE * p.b - ONE * p.b / c1 * delta0) / (3 * p.a));
        }
    }

    function _cubicOfTwo(int256 amp, int256 gamma, int256 other, int256 value) private pure returns (Cubic memory p) {
        unchecked {
            int256 gamma2 = gamma * gamma;
            int256 four = 4 * (amp * gamma2) / 4e8;
            p.a = 1e32;
            p.b = value * (amp * gamma2) / 4e8 / other - 3e32 - 2 * gamma * 1e14;
            p.c = 3e32 + 4 * gamma * 1e14 + gamma2 / 1e4 + four * other / value - four;
            p.d = -((ONE + gamma) * (ONE + gamma) / 1e4);
        }
    }

    function _deltasOfTwo(Cubic memory p) private pure returns (int256 delta0, int256 delta1) {
        unchecked {
            delta0 = 3 * p.a * p.c / p.b - p.b;
            delta1 = 3 * delta0 + p.b - 27 * (p.a * p.a) / p.b * p.d / p.b;
        }
    }

    // — three coins —

    function _yOfThree(uint256 amp, uint256 gamma, uint256[] memory x, uint256 value, uint256 i)
        private
        pure
        returns (uint256 found, uint256 root)
    {
        _requireThree(amp, gamma);
        (uint256 one, uint256 other) = (x[i == 0 ? 1 : 0], x[i == 2 ? 1 : 2]);
        _requireNear(one, value);
        _requireNear(other, value);
        bool closed;
        (closed, found, root) =
            _closedOfThree(Known(int256(amp), int256(gamma), int256(one), int256(other), int256(value)));
        if (!closed) (found, root) = (CryptoMath.searchY(amp, gamma, x, value, i), 0);
        _requireNear(found, value);
    }

    function _closedOfThree(Known memory known) private pure returns (bool, uint256, uint256) {
        unchecked {
            Cubic memory p = _cubicOfThree(known);
            _balance(p);
            int256 threeAc = 3 * p.a * p.c;
            int256 delta0 = threeAc / p.b - p.b;
            int256 delta1 = 3 * threeAc / p.b - 2 * p.b - 27 * (p.a * p.a) / p.b * p.d / p.b;
            (bool real, int256 c1) = _root(p.b, delta0, delta1);
            if (!real) return (false, 0, 0);
            int256 root = (p.b + p.b * delta0 / c1 - c1) / 3;
            return (true, _unsigned(_volume(known) * root / p.a), _unsigned(ONE * root / p.a));
        }
    }

    function _volume(Known memory known) private pure returns (int256) {
        unchecked {
            return known.value * known.value / 27 / known.other * known.value / known.one;
        }
    }

    /// Brings the coefficients to one size, so that their products fit.
    function _balance(Cubic memory p) private pure {
        unchecked {
            int256 divider = _divider(_abs(3 * p.a * p.c / p.b - p.b), false);
            (int256 up, int256 down) =
                _abs(p.a) > _abs(p.b) ? (_abs(p.a / p.b), int256(1)) : (int256(1), _abs(p.b / p.a));
            p.a = p.a * up / down;
            p.b = p.b * up / down;
            p.c = p.c * up / down;
            p.d = p.d * up / down;
            _divide(p, divider);
        }
    }

    function _cubicOfThree(Known memory known) private pure returns (Cubic memory p) {
        unchecked {
            int256 gamma2 = known.gamma * known.gamma;
            int256 curvature =
                known.value * known.value / known.one * gamma2 * known.amp / 729 / 1e4 / known.other;
            int256 shift = known.one + known.other - known.value;
            p.a = 1e36 / int256(27);
            p.b = 1e36 / int256(9) + 2 * ONE * known.gamma / 27 - curvature;
            p.c = 1e36 / int256(9) + known.gamma * (known.gamma + 4 * ONE) / 27
                + gamma2 * shift / known.value * known.amp / 27 / 1e4;
            p.d = (ONE + known.gamma) * (ONE + known.gamma) / 27;
        }
    }

    // — cubics —

    /// The real root's part that both cubics share; none where there are three.
    function _root(int256 b, int256 delta0, int256 delta1) private pure returns (bool real, int256 c1) {
        unchecked {
            int256 inside = delta1 * delta1 + 4 * (delta0 * delta0) / b * delta0;
            if (inside <= 0) return (false, 0);
            int256 root = int256(isqrt(uint256(inside)));
            int256 bRoot = int256(cbrt(uint256(_abs(b))));
            if (b < 0) bRoot = -bRoot;
            int256 second = delta1 > 0
                ? int256(cbrt(_unsigned(delta1 + root) / 2))
                : -int256(cbrt(_unsigned(root - delta1) / 2));
            return (true, bRoot * bRoot / ONE * second / ONE);
        }
    }

    function _divide(Cubic memory p, int256 divider) private pure {
        unchecked {
            (p.a, p.b, p.c, p.d) = (p.a / divider, p.b / divider, p.c / divider, p.d / divider);
        }
    }

    /// What brings coefficients of this size to where their products fit; in finer steps for two coins.
    function _divider(int256 size, bool fine) private pure returns (int256) {
        for (uint256 limit = 48; limit >= 20; limit -= fine ? 2 : 4) {
            if (limit != 22 && size > int256(10 ** limit)) return int256(10 ** (limit - 18));
        }
        return 1;
    }

    // — prices, roots, powers —

    /// Prices of the other coins in coin 0, over their price scales.
    function prices(uint256 amp, uint256 gamma, uint256[] memory x, uint256 value)
        internal
        pure
        returns (uint256[] memory found)
    {
        unchecked {
            require(value >= 1e17 && value <= 1e33, "unsafe D");
            uint256 k0;
            if (x.length == 2) k0 = 4 * x[0] * x[1] / value * E36 / value;
            else k0 = 27 * x[0] * x[1] / value * x[2] / value * E36 / value;
            uint256 cubed = 2 * k0 * k0 / E36 * k0 / E36;
            uint256 squared = k0 * k0 / E36 * (2 * gamma + 3 * WAD) / WAD;
            uint256 gK0 = cubed + (gamma + WAD) * (gamma + WAD) - squared;
            uint256 nnag2 = amp * (gamma * gamma) / A_MULTIPLIER;
            uint256 denominator = gK0 + nnag2 * x[0] / value * k0 / E36;
            found = new uint256[](x.length - 1);
            for (uint256 k; k < found.length; ++k) {
                uint256 term = gK0 + nnag2 * x[k + 1] / value * k0 / E36;
                found[k] = x[0] * term / x[k + 1] * WAD / denominator;
            }
        }
    }

    function geometricMean(uint256[] memory x) internal pure returns (uint256) {
        if (x.length == 2) return isqrt(x[0] * x[1]);
        uint256 product = x[0] * x[1] / WAD * x[2] / WAD;
        return product == 0 ? 0 : cbrt(product);
    }

    function isqrt(uint256 x) internal pure returns (uint256 root) {
        unchecked {
            if (x == 0) return 0;
            uint256 bits;
            for (uint256 left = x; left != 0; left >>= 1) ++bits;
            root = 1 << ((bits + 1) / 2);
            while (true) {
                uint256 next = (root + x / root) >> 1;
                if (next >= root) return root;
                root = next;
            }
        }
    }

    /// The cube root of a number of 18 decimals, by seven rounds; wraps where the deployed contract does not check.
    function cbrt(uint256 x) internal pure returns (uint256 root) {
        unchecked {
            (uint256 scaled, uint256 back) = x >= 115792089237316195423570985008687907853269 * 1e18
                ? (x, uint256(1e12))
                : x >= 115792089237316195423570985008687907853269 ? (x * 1e18, uint256(1e6)) : (x * 1e36, uint256(1));
            uint256 log2;
            for (uint256 left = scaled >> 1; left != 0; left >>= 1) ++log2;
            uint256 rest = log2 % 3;
            root = 1 << (log2 / 3);
            if (rest == 1) root = root * 1_260 / 1_000;
            if (rest == 2) root = root * 1_587_600 / 1_000_000;
            for (uint256 round; round < 7; ++round) {
                uint256 square = root * root;
                root = (root * 2 + (square == 0 ? 0 : scaled / square)) / 3;
            }
            root *= back;
        }
    }

    /// `e^(-power)` in 18 decimals: a rational approximation after taking out powers of two.
    function expOfMinus(uint256 power) internal pure returns (uint256) {
        if (power >= 42139678854452767551) return 0;
        unchecked {
            int256 x = -int256(power) * (1 << 78) / 3814697265625;
            int256 k = (x * (1 << 96) / 54916777467707473351141471128 + (1 << 95)) >> 96;
            x -= k * 54916777467707473351141471128;
            int256 y_ = (x + 1346386616545796478920950773328) * x;
            y_ = (y_ >> 96) + 57155421227552351082224309758442;
            int256 p = (y_ + x - 94201549194550492254356042504812) * y_;
            p = ((p >> 96) + 28719021644029726153956944680412240) * x;
            p += 4385272521454847904659076985693276 * (1 << 96);
            int256 q = ((x - 2855989394907223263936484059900) * x >> 96) + 50020603652535783019961831881945;
            q = (q * x >> 96) - 533845033583426703283633433725380;
            q = (q * x >> 96) + 3604857256930695427073651918091429;
            q = (q * x >> 96) - 14423608567350463180887372962807573;
            q = (q * x >> 96) + 26449188498355588339934803723976023;
            return uint256(p / q) * 3822833074963236453042738258902158003155416615667 >> uint256(195 - k);
        }
    }

    function _abs(int256 value) private pure returns (int256) {
        return value < 0 ? -value : value;
    }

    function _unsigned(int256 value) private pure returns (uint256) {
        require(value >= 0, "a negative number");
        return uint256(value);
    }

    function _requireNear(uint256 x, uint256 value) private pure {
        uint256 fraction = x * WAD / value;
        require(fraction >= 1e16 && fraction <= 1e20, "unsafe balances");
    }
}
