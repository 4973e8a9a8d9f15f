// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StandInAToken, StandInAavePool} from "../devnet/curve/StandInAave.sol";
import {Erc20} from "../devnet/curve/Coins.sol";
import {
    StandInCurveAave,
    StandInCurveAaveTwo,
    StandInCurveCompound,
    StandInCurveCompoundTether
} from "../devnet/curve/StandInCurveLending.sol";
import {Product} from "../devnet/curve/StableMath.sol";
import {Habits, Terms} from "../devnet/curve/StablePool.sol";
import {Vectors} from "./support/Vectors.sol";

contract Lent is Erc20("Lent", "LENT") {
    uint256 public exchangeRateStored;
    uint256 public supplyRatePerBlock;
    uint256 public accrualBlockNumber;

    function mint(address to, uint256 value) external {
        _create(to, value);
    }

    function accrue(uint256 rate, uint256 perBlock, uint256 at) external {
        (exchangeRateStored, supplyRatePerBlock, accrualBlockNumber) = (rate, perBlock, at);
    }
}

contract CompoundTwo is StandInCurveCompound {
    constructor(Terms memory terms, address[] memory underlying, uint256[] memory held)
        StandInCurveCompound(terms, underlying, address(0))
    {
        _balances = held;
    }
}

contract CompoundThree is StandInCurveCompoundTether {
    constructor(Terms memory terms, address[] memory underlying, uint256[] memory held)
        StandInCurveCompoundTether(terms, underlying, address(0))
    {
        _balances = held;
    }
}

interface IView {
    function get_dy(int128 i, int128 j, uint256 dx) external view returns (uint256);
}

/// The stand-ins of lending pools against recorded mainnet pools, to the wei, and the stand-in of Aave against its own promise.
contract StandInCurveLendingTest is Vectors {
    function _terms(uint256 entry, Habits memory habits) private returns (Terms memory terms) {
        terms.rates = _numbers(entry, "rates");
        terms.coins = new address[](terms.rates.length);
        for (uint256 k; k < terms.coins.length; ++k) {
            terms.coins[k] = address(new Lent());
        }
        terms.amp = _number(entry, "A_precise");
        terms.fee = _number(entry, "fee");
        terms.adminFee = _number(entry, "admin_fee");
        terms.offpegFeeMultiplier = _numberOr(entry, "offpeg_fee_multiplier", 0);
        terms.habits = habits;
    }

    function _check(uint256 entry, address pool) private view {
        uint256 row;
        for (; _hasRow(entry, row); ++row) {
            int128 i = int128(int256(_cell(entry, row, "i")));
            int128 j = int128(int256(_cell(entry, row, "j")));
            uint256 got = IView(pool).get_dy(i, j, _cell(entry, row, "amount_in"));
            assertEq(got, _cell(entry, row, "amount_out"), vm.toString(entry));
        }
        assertGt(row, 0, "no row");
    }

    function test_pools_at_aave_show_what_mainnets_showed() public {
        if (!_open("curve_stableswap")) return;
        uint8[2] memory entries = [11, 27];
        for (uint256 k; k < entries.length; ++k) {
            Habits memory habits = Habits(100, Product.TimesNPlusOne, false, false, true, false, true, false);
            Terms memory terms = _terms(entries[k], habits);
            address pool = terms.coins.length == 3
                ? address(new StandInCurveAave(terms, terms.coins, address(0), address(0)))
                : address(new StandInCurveAaveTwo(terms, terms.coins, address(0), address(0)));
            uint256[] memory held = _numbers(entries[k], "balances");
            for (uint256 coin; coin < held.length; ++coin) {
                Lent(terms.coins[coin]).mint(pool, held[coin]);
            }
            _check(entries[k], pool);
        }
    }

    function test_pools_at_compound_show_what_mainnets_showed() public {
        if (!_open("curve_stableswap")) return;
        uint8[4] memory entries = [16, 17, 23, 24];
        uint32[4] memory blocks = [26132000, 26132000, 12500000, 12500000];
        for (uint256 k; k < entries.length; ++k) {
            vm.roll(blocks[k]);
            Habits memory habits = Habits(1, Product.TimesNPlusOne, false, false, true, true, false, true);
            Terms memory terms = _terms(entries[k], habits);
            uint256[] memory held = _numbers(entries[k], "balances");
            address[] memory underlying = new address[](held.length);
            uint256[] memory multipliers = _numbers(entries[k], "rate_source.underlying_mul");
            for (uint256 coin; coin < held.length; ++coin) {
                terms.rates[coin] = multipliers[coin] * 1e18;
                // the third is not lent
                underlying[coin] = coin < 2 ? address(new Lent()) : terms.coins[coin];
                if (coin < 2) _accrue(entries[k], coin, terms.coins[coin]);
            }
            address pool = held.length == 2
                ? address(new CompoundTwo(terms, underlying, held))
                : address(new CompoundThree(terms, underlying, held));
            _check(entries[k], pool);
        }
    }

    function _accrue(uint256 entry, uint256 coin, address market) private {
        string memory at = string.concat("rate_source.tokens[", vm.toString(coin), "].");
        Lent(market)
            .accrue(
                _number(entry, string.concat(at, "exchange_rate_stored")),
                _number(entry, string.concat(at, "supply_rate_per_block")),
                _number(entry, string.concat(at, "accrual_block"))
            );
    }

    /// A deposit grows by simple interest and comes back; nothing is taken while the reserve is frozen, and nothing moves in a pause.
    function test_a_deposit_at_the_stand_in_of_aave_grows_by_the_second() public {
        (Lent coin, StandInAavePool lender) = (new Lent(), new StandInAavePool());
        StandInAToken token = new StandInAToken("a", "a", 18, address(coin), address(lender));
        coin.mint(address(this), 200 ether);
        coin.approve(address(lender), 200 ether);
        lender.open(address(coin), address(token), 1.1e27, 100 ether);
        lender.deposit(address(coin), 100 ether, address(this), 0);
        assertApproxEqAbs(token.balanceOf(address(this)), 100 ether, 1, "what was put in");
        // half of all is lent, at eight per cent
        skip(365 days);
        assertApproxEqAbs(token.balanceOf(address(this)), 104 ether, 1, "a year of four per cent");
        lender.withdraw(address(coin), 40 ether, address(this));
        assertApproxEqAbs(token.balanceOf(address(this)), 64 ether, 2, "what is left");
        lender.freeze(address(coin), true);
        vm.expectRevert(bytes("3"));
        lender.deposit(address(coin), 1 ether, address(this), 0);
        lender.withdraw(address(coin), 1 ether, address(this));
        lender.setPause(true);
        vm.expectRevert(bytes("64"));
        lender.withdraw(address(coin), 1 ether, address(this));
    }
}
