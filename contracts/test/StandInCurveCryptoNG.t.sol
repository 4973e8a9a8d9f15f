// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {CryptoTerms} from "../devnet/curve/CryptoPool.sol";
import {StandInCurveTricryptoNG, StandInCurveTwocryptoNG} from "../devnet/curve/StandInCurveCryptoNG.sol";
import {Coin} from "./StandInCurve.t.sol";
import {ICrypto} from "./StandInCurveCrypto.t.sol";
import {Vectors} from "./support/Vectors.sol";

// Pools whose books are set to a recorded state.

contract NextOfThree is StandInCurveTricryptoNG {
    constructor(CryptoTerms memory terms, uint256[] memory held, uint256 invariant)
        StandInCurveTricryptoNG(terms, "", "")
    {
        (_balances, D) = (held, invariant);
    }

    function setPrices(uint256[] memory oracle, uint256[] memory last, uint256 stamp) external {
        (_priceOracle, _lastPrices, _pricesTime) = (_pack(oracle), _pack(last), stamp);
    }

    function setProfit(uint256 profit, uint256 price, uint256 supply) external {
        (xcp_profit, virtual_price, totalSupply) = (profit, price, supply);
    }

    function stored() external view returns (uint256[] memory oracle) {
        return _unpack(_priceOracle);
    }
}

contract NextOfTwo is StandInCurveTwocryptoNG {
    constructor(CryptoTerms memory terms, uint256[] memory held, uint256 invariant)
        StandInCurveTwocryptoNG(terms, "", "")
    {
        (_balances, D) = (held, invariant);
    }
}

/// The stand-ins of the next generation of CryptoSwap against recorded pools, to the wei.
contract StandInCurveCryptoNGTest is Vectors {
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
        terms.maHalfTime = _numberOr(entry, "averaging_seconds", 866);
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

    function test_next_pools_of_three_show_what_mainnets_showed() public {
        if (!_open("curve_crypto")) return;
        uint8[4] memory entries = [0, 1, 18, 19];
        for (uint256 k; k < entries.length; ++k) {
            uint256 entry = entries[k];
            uint256[] memory held = _numbers(entry, "balances");
            CryptoTerms memory terms = _terms(entry);
            _checkViews(entry, address(new NextOfThree(terms, held, _number(entry, "D"))));
        }
    }

    function test_next_pools_of_two_show_what_mainnets_showed() public {
        if (!_open("curve_crypto")) return;
        for (uint256 entry = 3; entry < 7; ++entry) {
            uint256[] memory held = _numbers(entry, "balances");
            CryptoTerms memory terms = _terms(entry);
            _checkViews(entry, address(new NextOfTwo(terms, held, _number(entry, "D"))));
        }
    }

    /// What swaps leave behind, recorded with the published maths contract on a local chain.
    function test_next_pools_of_three_are_left_as_their_contract_leaves_them() public {
        _openFile("../crates/lab/tests/vectors/curve_after.json");
        for (uint256 entry = 31; entry < 42; ++entry) {
            vm.warp(_stamp(entry));
            NextOfThree pool = _recorded(entry);
            (uint256 i, uint256 j, uint256 dx) =
                (_cell(entry, 0, "i"), _cell(entry, 0, "j"), _cell(entry, 0, "amount_in"));
            Coin(pool.coins(i)).mint(address(this), dx);
            Coin(pool.coins(i)).approve(address(pool), dx);
            Coin(pool.coins(j)).mint(address(pool), 1e30);
            assertEq(pool.exchange(i, j, dx, 0), _cell(entry, 0, "amount_out"), "paid");
            string memory which = vm.toString(entry);
            assertEq(pool.D(), _cell(entry, 0, "after.D"), which);
            assertEq(pool.virtual_price(), _cell(entry, 0, "after.virtual_price"), which);
            assertEq(pool.xcp_profit(), _cell(entry, 0, "after.xcp_profit"), which);
            assertEq(pool.price_scale(0), _cell(entry, 0, "after.price_scale[0]"), which);
            assertEq(pool.price_scale(1), _cell(entry, 0, "after.price_scale[1]"), which);
            assertEq(pool.last_prices(0), _cell(entry, 0, "after.last_prices[0]"), which);
            assertEq(pool.last_prices(1), _cell(entry, 0, "after.last_prices[1]"), which);
            assertEq(pool.stored()[0], _cell(entry, 0, "after.price_oracle[0]"), which);
            assertEq(pool.stored()[1], _cell(entry, 0, "after.price_oracle[1]"), which);
            for (uint256 k; k < 3; ++k) {
                string memory cell = string.concat("after.balances[", vm.toString(k), "]");
                assertEq(pool.balances(k), _cell(entry, 0, cell), which);
            }
        }
    }

    function _recorded(uint256 entry) private returns (NextOfThree pool) {
        CryptoTerms memory terms = _terms(entry);
        pool = new NextOfThree(terms, _numbers(entry, "balances"), _number(entry, "D"));
        pool.setPrices(
            _numbers(entry, "price_oracle"), _numbers(entry, "last_prices"), _number(entry, "last_prices_timestamp")
        );
        pool.setProfit(_number(entry, "xcp_profit"), _number(entry, "virtual_price"), _number(entry, "total_supply"));
    }
}
