// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {CryptoTerms} from "../devnet/curve/CryptoPool.sol";
import {StandInCurveCryptoSwap, StandInCurveTricrypto} from "../devnet/curve/StandInCurveCrypto.sol";
import {Coin} from "./StandInCurve.t.sol";
import {Vectors} from "./support/Vectors.sol";

// Pools whose books are set to a recorded state.

contract CryptoOfTwo is StandInCurveCryptoSwap {
    constructor(CryptoTerms memory terms, address shares, uint256[] memory held, uint256 invariant)
        StandInCurveCryptoSwap(terms, shares)
    {
        (_balances, D) = (held, invariant);
    }

    function setPrices(uint256[] memory oracle, uint256[] memory last, uint256 stamp, bool moving) external {
        (_priceOracle, _lastPrices, last_prices_timestamp, _notAdjusted) = (oracle, last, stamp, moving);
    }

    function setProfit(uint256 profit, uint256 price) external {
        (xcp_profit, virtual_price) = (profit, price);
    }
}

contract CryptoOfThree is StandInCurveTricrypto {
    constructor(CryptoTerms memory terms, address shares, uint256[] memory held, uint256 invariant)
        StandInCurveTricrypto(terms, shares)
    {
        (_balances, D) = (held, invariant);
    }
}

interface ICrypto {
    function get_dy(uint256 i, uint256 j, uint256 dx) external view returns (uint256);
}

/// The stand-ins of CryptoSwap against recorded pools, to the wei.
contract StandInCurveCryptoTest is Vectors {
    function _terms(uint256 entry) private returns (CryptoTerms memory terms) {
        terms.precisions = _numbers(entry, "precisions");
        terms.prices = _numbers(entry, "price_scale");
        terms.coins = new address[](terms.precisions.length);
        for (uint256 k; k < terms.coins.length; ++k) {
            terms.coins[k] = address(new Coin());
        }
        (terms.amp, terms.gamma) = (_number(entry, "A"), _number(entry, "gamma"));
        (terms.midFee, terms.outFee) = (_number(entry, "mid_fee"), _number(entry, "out_fee"));
        terms.feeGamma = _number(entry, "fee_gamma");
        terms.allowedExtraProfit = _numberOr(entry, "allowed_extra_profit", 0);
        terms.adjustmentStep = _numberOr(entry, "adjustment_step", 0);
        terms.maHalfTime = _numberOr(entry, "averaging_seconds", 600);
    }

    function _shares(uint256 entry) private returns (address shares) {
        shares = address(new Coin());
        Coin(shares).mint(address(this), _numberOr(entry, "total_supply", 1e18));
    }

    function _checkViews(uint256 entry, address pool) private view {
        uint256 row;
        for (; _hasRow(entry, row); ++row) {
            uint256 got =
                ICrypto(pool).get_dy(_cell(entry, row, "i"), _cell(entry, row, "j"), _cell(entry, row, "amount_in"));
            assertEq(got, _cell(entry, row, "amount_out"), vm.toString(entry));
        }
        assertGt(row, 0, "no row");
    }

    function test_pools_of_three_show_what_mainnets_showed() public {
        if (!_open("curve_crypto")) return;
        uint8[4] memory entries = [2, 15, 22, 23];
        for (uint256 k; k < entries.length; ++k) {
            uint256 entry = entries[k];
            uint256[] memory held = _numbers(entry, "balances");
            CryptoTerms memory terms = _terms(entry);
            _checkViews(entry, address(new CryptoOfThree(terms, _shares(entry), held, _number(entry, "D"))));
        }
    }

    function test_pools_of_two_show_what_mainnets_showed() public {
        if (!_open("curve_crypto")) return;
        CryptoTerms memory terms = _terms(16);
        _checkViews(
            16, address(new CryptoOfTwo(terms, _shares(16), _numbers(16, "balances"), _number(16, "D_used_for_quotes")))
        );
    }

    /// Swaps on the published contract, recorded on a local chain: what was paid and what was left behind.
    function test_pools_of_two_are_left_as_their_contract_leaves_them() public {
        _openFile("../crates/lab/tests/vectors/curve_after.json");
        // the factory's; the rows after which it collects its administrator's fees are not among them
        for (uint256 entry = 9; entry < 20; ++entry) {
            vm.warp(_stamp(entry));
            CryptoOfTwo pool = _recorded(entry);
            (uint256 i, uint256 j, uint256 dx) =
                (_cell(entry, 0, "i"), _cell(entry, 0, "j"), _cell(entry, 0, "amount_in"));
            Coin(pool.coins(i)).mint(address(this), dx);
            Coin(pool.coins(i)).approve(address(pool), dx);
            Coin(pool.coins(j)).mint(address(pool), 1e30);
            assertEq(pool.exchange(i, j, dx, 0), _cell(entry, 0, "amount_out"), "paid");
            string memory which = vm.toString(entry);
            assertEq(pool.D(), _cell(entry, 0, "after.D"), which);
            assertEq(pool.price_scale(), _cell(entry, 0, "after.price_scale[0]"), which);
            assertEq(pool.virtual_price(), _cell(entry, 0, "after.virtual_price"), which);
            assertEq(pool.xcp_profit(), _cell(entry, 0, "after.xcp_profit"), which);
            assertEq(pool.last_prices(), _cell(entry, 0, "after.last_prices[0]"), which);
            assertEq(pool.price_oracle(), _cell(entry, 0, "after.price_oracle[0]"), which);
            assertEq(pool.balances(0), _cell(entry, 0, "after.balances[0]"), which);
            assertEq(pool.balances(1), _cell(entry, 0, "after.balances[1]"), which);
        }
    }

    function _recorded(uint256 entry) private returns (CryptoOfTwo pool) {
        CryptoTerms memory terms = _terms(entry);
        pool = new CryptoOfTwo(terms, _shares(entry), _numbers(entry, "balances"), _number(entry, "D"));
        bool moving = _flag(entry, "not_adjusted");
        pool.setPrices(
            _numbers(entry, "price_oracle"),
            _numbers(entry, "last_prices"),
            _number(entry, "last_prices_timestamp"),
            moving
        );
        pool.setProfit(_number(entry, "xcp_profit"), _number(entry, "virtual_price"));
    }
}
