// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Charge, FluidDexMaths, Parts, Side} from "../devnet/fluid/StandInFluidDexT1.sol";
import {Vectors} from "./support/Vectors.sol";

/// The stand-in's arithmetic on reserves that are given, which a library's rows are of.
contract Maths is FluidDexMaths {
    function give(bool zeroForOne, uint256 amount, Side memory c, Side memory d, uint256 feePips, uint256 centre)
        external
        pure
        returns (uint256 collateral, uint256 debt)
    {
        Parts memory p = _give(zeroForOne, amount, c, d, Charge(feePips, 0), centre);
        return (p.withdrawal, p.loan);
    }
}

/// The stand-in against what another project's library pays on recorded mainnet reserves. That library takes the fee off the atomic
/// amount before anything else; the contract off each part, in twelve decimals. A row must be equal in one order or the other.
contract StandInFluidTest is Vectors {
    Maths private immutable maths = new Maths();

    function _side(uint256 entry, string memory name, bool zeroForOne) private view returns (Side memory) {
        string memory real = string.concat(name, zeroForOne ? ".token0_real" : ".token1_real");
        string memory realOut = string.concat(name, zeroForOne ? ".token1_real" : ".token0_real");
        string memory imaginary = string.concat(name, zeroForOne ? ".token0_imaginary" : ".token1_imaginary");
        string memory imaginaryOut = string.concat(name, zeroForOne ? ".token1_imaginary" : ".token0_imaginary");
        return
            Side(_number(entry, real), _number(entry, realOut), _number(entry, imaginary), _number(entry, imaginaryOut));
    }

    function _normal(uint256 amount, uint256 decimals) private pure returns (uint256) {
        return decimals > 12 ? amount / 10 ** (decimals - 12) : amount * 10 ** (12 - decimals);
    }

    function _atomic(uint256 amount, uint256 decimals) private pure returns (uint256) {
        return decimals > 12 ? amount * 10 ** (decimals - 12) : amount / 10 ** (12 - decimals);
    }

    /// A pool as a trade in one direction sees it.
    struct Pool {
        bool zeroForOne;
        Side collateral;
        Side debt;
        uint256 fee;
        uint256 centre;
        uint256 decimalsIn;
        uint256 decimalsOut;
    }

    function _pool(uint256 entry, bool zeroForOne) private view returns (Pool memory p) {
        p.zeroForOne = zeroForOne;
        p.collateral = _side(entry, "collateral_reserves", zeroForOne);
        p.debt = _side(entry, "debt_reserves", zeroForOne);
        p.fee = _number(entry, "fee_1e6");
        p.centre = _number(entry, "center_price_1e27");
        p.decimalsIn = _number(entry, zeroForOne ? "tokens[0].decimals" : "tokens[1].decimals");
        p.decimalsOut = _number(entry, zeroForOne ? "tokens[1].decimals" : "tokens[0].decimals");
    }

    /// As the contract computes.
    function _paid(Pool memory p, uint256 amount) private view returns (uint256) {
        (uint256 first, uint256 second) =
            maths.give(p.zeroForOne, _normal(amount, p.decimalsIn), p.collateral, p.debt, p.fee, p.centre);
        return _atomic(first, p.decimalsOut) + _atomic(second, p.decimalsOut);
    }

    /// As the library computes.
    function _paidFeeFirst(Pool memory p, uint256 amount) private view returns (uint256) {
        amount -= amount * p.fee / 1e6;
        (uint256 first, uint256 second) =
            maths.give(p.zeroForOne, _normal(amount, p.decimalsIn), p.collateral, p.debt, 0, p.centre);
        return _atomic(first + second, p.decimalsOut);
    }

    /// Whether the row is equal in the contract's order; fails where it is in neither.
    function _check(uint256 entry, uint256 row) private view returns (bool) {
        Pool memory pool = _pool(entry, _cell(entry, row, "i") == 0);
        uint256 amount = _cell(entry, row, "amount_in");
        uint256 expected = _cell(entry, row, "amount_out");
        if (_paid(pool, amount) == expected) return true;
        assertEq(_paidFeeFirst(pool, amount), expected, "neither order");
        return false;
    }

    function test_recorded_reserves_pay_what_the_library_pays() public {
        if (!_open("fluid")) return;
        // reading numbers out of a long text takes more than a test's gas
        vm.pauseGasMetering();
        uint256 equal;
        uint256 otherOrder;
        for (uint256 entry; entry < 31; ++entry) {
            for (uint256 row; _hasRow(entry, row); ++row) {
                if (!_isKind(entry, row, "exact_in")) continue;
                if (_check(entry, row)) ++equal;
                else ++otherOrder;
            }
        }
        emit log_named_uint("equal", equal);
        emit log_named_uint("equal in the library's order", otherOrder);
        assertGt(equal + otherOrder, 100);
    }
}
