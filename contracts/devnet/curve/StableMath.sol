// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

// What every amount of a Curve pool is scaled to, and one whole of a fee.
uint256 constant WAD = 1e18;
uint256 constant FEE_WHOLE = 1e10;

/// How a generation of pools rounds `Dⁿ⁺¹ / (nⁿ·Πx)`: `P·D/(n·x)` for each coin, `P·D/(n·x + 1)` for each coin, or `P·D/x` for each
/// coin and `nⁿ` at the end.
enum Product {
    TimesN,
    TimesNPlusOne,
    Whole
}

/// The constants of one invariant.
/// @param amp the amplification, times `precision`
/// @param precision 1 for the first pools, 100 for the later
/// @param givesUnsettled a loop that has not settled gives its last value instead of reverting
struct Shape {
    uint256 amp;
    uint256 precision;
    Product product;
    bool givesUnsettled;
}

/// The StableSwap invariant `A·nⁿ·Σx + D = A·D·nⁿ + Dⁿ⁺¹ / (nⁿ·Πx)`, in the deployed pools' rounding.
/// Our own text of the same arithmetic as `crates/protocols`; both are held to the same recorded amounts.
library StableMath {
    uint256 private constant ROUNDS = 255;

    /// The invariant of scaled balances; zero for an empty pool.
    function d(Shape memory shape, uint256[] memory xp) internal pure returns (uint256 value) {
        uint256 n = xp.length;
        uint256 sum;
        for (uint256 k; k < n; ++k) {
            sum += xp[k];
        }
        if (sum == 0) return 0;
        uint256 ann = shape.amp * n;
        value = sum;
        for (uint256 round; round < ROUNDS; ++round) {
            uint256 product = _product(shape.product, xp, value);
            uint256 previous = value;
            value = (ann * sum / shape.precision + product * n) * value
                / ((ann - shape.precision) * value / shape.precision + (n + 1) * product);
            if (settled(value, previous)) return value;
        }
        require(shape.givesUnsettled, "D does not settle");
    }

    /// Balance `j` when balance `i` becomes `x` and the invariant stays that of `xp`.
    function y(Shape memory shape, uint256 i, uint256 j, uint256 x, uint256[] memory xp)
        internal
        pure
        returns (uint256)
    {
        uint256 invariant = d(shape, xp);
        uint256[] memory moved = new uint256[](xp.length);
        for (uint256 k; k < xp.length; ++k) {
            moved[k] = k == i ? x : xp[k];
        }
        return yOfD(shape, j, moved, invariant);
    }

    /// Balance `j` at an invariant, when the other balances are those of `xp`.
    function yOfD(Shape memory shape, uint256 j, uint256[] memory xp, uint256 invariant)
        internal
        pure
        returns (uint256 value)
    {
        uint256 n = xp.length;
        uint256 ann = shape.amp * n;
        uint256 sum;
        uint256 c = invariant;
        for (uint256 k; k < n; ++k) {
            if (k == j) continue;
            sum += xp[k];
            c = c * invariant / (xp[k] * n);
        }
        c = c * invariant * shape.precision / (ann * n);
        uint256 b = sum + invariant * shape.precision / ann;
        value = invariant;
        for (uint256 round; round < ROUNDS; ++round) {
            uint256 previous = value;
            value = (value * value + c) / (2 * value + b - invariant);
            if (settled(value, previous)) return value;
        }
        require(shape.givesUnsettled, "y does not settle");
    }

    function settled(uint256 a, uint256 b) internal pure returns (bool) {
        return a > b ? a - b <= 1 : b - a <= 1;
    }

    function _product(Product rule, uint256[] memory xp, uint256 invariant) private pure returns (uint256 product) {
        uint256 n = xp.length;
        product = invariant;
        for (uint256 k; k < n; ++k) {
            if (rule == Product.TimesN) product = product * invariant / (xp[k] * n);
            else if (rule == Product.TimesNPlusOne) product = product * invariant / (xp[k] * n + 1);
            else product = product * invariant / xp[k];
        }
        if (rule == Product.Whole) product /= n ** n;
    }
}
