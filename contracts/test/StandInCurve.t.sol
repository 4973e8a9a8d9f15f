// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Erc20, StandInCurveToken} from "../devnet/curve/Coins.sol";
import {Habits, Terms} from "../devnet/curve/StablePool.sol";
import {Product} from "../devnet/curve/StableMath.sol";
import {StandInCurveFactoryMetaPool, StandInCurveMetaPool} from "../devnet/curve/StandInCurveMetaPool.sol";
import {
    StandInCurvePlainPool2,
    StandInCurveStableSwap2,
    StandInCurveStableSwap3
} from "../devnet/curve/StandInCurveStableSwap.sol";
import {
    RateSource,
    StandInCurveMetaPoolNG,
    StandInCurveStableSwapNG
} from "../devnet/curve/StandInCurveStableSwapNG.sol";
import {Vectors} from "./support/Vectors.sol";

contract Coin is Erc20("Coin", "COIN") {
    function mint(address to, uint256 value) external {
        _create(to, value);
    }
}

// Pools whose books are set to a recorded state.

contract Plain is StandInCurvePlainPool2 {
    constructor(Terms memory terms, uint256[] memory held) StandInCurvePlainPool2(terms, "", "") {
        _balances = held;
    }
}

contract Two is StandInCurveStableSwap2 {
    constructor(Terms memory terms, uint256[] memory held) StandInCurveStableSwap2(terms, address(0)) {
        _balances = held;
    }
}

contract Three is StandInCurveStableSwap3 {
    constructor(Terms memory terms, address shares, uint256[] memory held) StandInCurveStableSwap3(terms, shares) {
        _balances = held;
    }
}

contract Meta is StandInCurveMetaPool {
    constructor(Terms memory terms, address base, uint256[] memory held, uint256 cached, uint256 updated)
        StandInCurveMetaPool(terms, address(0), base, 3, false)
    {
        _balances = held;
        (base_virtual_price, base_cache_updated) = (cached, updated);
    }
}

contract Next is StandInCurveStableSwapNG {
    constructor(Terms memory terms, uint256[] memory held)
        StandInCurveStableSwapNG(terms, new RateSource[](terms.coins.length), "", "")
    {
        _balances = held;
    }
}

contract NextMeta is StandInCurveMetaPoolNG {
    constructor(Terms memory terms, address base, uint256 coins_, bool next, uint256[] memory held)
        StandInCurveMetaPoolNG(terms, base, coins_, next, "", "")
    {
        _balances = held;
    }
}

interface IStable {
    function get_dy(int128 i, int128 j, uint256 dx) external view returns (uint256);
    function get_dx(int128 i, int128 j, uint256 dy) external view returns (uint256);
    function get_dy_underlying(int128 i, int128 j, uint256 dx) external view returns (uint256);
    function exchange(int128 i, int128 j, uint256 dx, uint256 least) external;
}

/// The stand-ins against recorded mainnet pools, to the wei: what they pay is what the deployed contracts paid.
contract StandInCurveTest is Vectors {
    uint256 private constant RICH = 1e36;

    Habits private THREE_POOL = Habits(1, Product.TimesN, true, true, true, true, false, true);
    Habits private TIMES_N = Habits(100, Product.TimesN, true, true, false, false, false, false);
    Habits private WHOLE = Habits(100, Product.Whole, true, true, false, false, false, false);

    function _coins(uint256 count) private returns (address[] memory coins) {
        coins = new address[](count);
        for (uint256 k; k < count; ++k) {
            coins[k] = address(new Coin());
        }
    }

    function _terms(uint256 entry, string memory at, Habits memory habits) private returns (Terms memory terms) {
        terms.rates = _numbers(entry, string.concat(at, "rates"));
        terms.coins = _coins(terms.rates.length);
        terms.amp = _number(entry, string.concat(at, "A_precise"));
        terms.fee = _number(entry, string.concat(at, "fee"));
        terms.adminFee = _numberOr(entry, string.concat(at, "admin_fee"), 5e9);
        terms.offpegFeeMultiplier = _numberOr(entry, string.concat(at, "offpeg_fee_multiplier"), 0);
        terms.habits = habits;
        terms.habits.precision = _number(entry, string.concat(at, "A_precision"));
    }

    function _held(uint256 entry, string memory at) private view returns (uint256[] memory) {
        return _numbers(entry, string.concat(at, "balances"));
    }

    /// Every row of the entry, views as views and swaps as swaps.
    function _check(uint256 entry, address pool, uint256 rows) private {
        uint256 checked;
        for (uint256 row; _hasRow(entry, row) && checked < rows; ++row) {
            (uint256 i, uint256 j) = (_cell(entry, row, "i"), _cell(entry, row, "j"));
            uint256 got;
            if (_isOf(entry, row, "get_dx")) {
                got = IStable(pool).get_dx(_int(i), _int(j), _cell(entry, row, "amount_out"));
                assertEq(got, _cell(entry, row, "amount_in"), "get_dx");
                ++checked;
                continue;
            }
            uint256 dx = _cell(entry, row, "amount_in");
            if (_isOf(entry, row, "get_dy")) got = IStable(pool).get_dy(_int(i), _int(j), dx);
            else if (_isOf(entry, row, "get_dy_underlying")) got = IStable(pool).get_dy_underlying(_int(i), _int(j), dx);
            else got = _swap(pool, i, j, dx);
            assertEq(got, _cell(entry, row, "amount_out"), vm.toString(entry));
            ++checked;
        }
        assertGt(checked, 0, "no row");
    }

    function _int(uint256 k) private pure returns (int128) {
        return int128(int256(k));
    }

    /// A swap of its own, undone afterwards.
    function _swap(address pool, uint256 i, uint256 j, uint256 dx) private returns (uint256 got) {
        uint256 before = vm.snapshotState();
        Coin coinIn = Coin(StandInCurvePlainPool2(pool).coins(i));
        Coin coinOut = Coin(StandInCurvePlainPool2(pool).coins(j));
        coinIn.mint(address(this), dx);
        coinIn.approve(pool, dx);
        coinOut.mint(pool, RICH);
        IStable(pool).exchange(_int(i), _int(j), dx, 0);
        got = coinOut.balanceOf(address(this));
        vm.revertToState(before);
    }

    function test_three_pool_pays_what_mainnets_paid() public {
        if (!_open("curve_stableswap")) return;
        uint8[5] memory entries = [0, 1, 2, 28, 30];
        for (uint256 k; k < entries.length; ++k) {
            address pool = address(new Three(_terms(entries[k], "", THREE_POOL), address(0), _held(entries[k], "")));
            _check(entries[k], pool, 100);
        }
    }

    function test_pools_of_two_pay_what_mainnets_paid() public {
        if (!_open("curve_stableswap")) return;
        uint8[4] memory whole = [3, 4, 5, 29];
        for (uint256 k; k < whole.length; ++k) {
            _check(whole[k], address(new Plain(_terms(whole[k], "", WHOLE), _held(whole[k], ""))), 100);
        }
        // sETH's and LINK's, the first of their 120 rows each
        for (uint256 entry = 37; entry < 39; ++entry) {
            _check(entry, address(new Two(_terms(entry, "", TIMES_N), _held(entry, ""))), 20);
        }
    }

    function test_metapools_show_what_mainnets_showed() public {
        if (!_open("curve_meta")) return;
        // the source says nothing of the classic pools' product: RAI's metapool and mUSD's are of the first kind
        uint8[4] memory entries = [0, 3, 4, 5];
        for (uint256 k; k < entries.length; ++k) {
            uint256 entry = entries[k];
            vm.warp(_number(entry, "timestamp"));
            _check(entry, _meta(entry), 100);
        }
    }

    function _base(uint256 entry) private returns (address base, address shares) {
        uint256 supply = _number(entry, "base_pool.total_supply");
        Coin token = new Coin();
        token.mint(address(this), supply);
        shares = address(token);
        base = address(new Three(_terms(entry, "base_pool.", THREE_POOL), shares, _held(entry, "base_pool.")));
    }

    function _meta(uint256 entry) private returns (address) {
        (address base, address shares) = _base(entry);
        Terms memory terms;
        terms.coins = _coins(2);
        terms.coins[1] = shares;
        terms.rates = new uint256[](2);
        terms.rates[0] = _number(entry, "rate_coin0");
        terms.amp = _number(entry, "A_precise");
        terms.fee = _number(entry, "fee");
        terms.adminFee = _number(entry, "admin_fee");
        terms.habits = TIMES_N;
        terms.habits.precision = _number(entry, "A_precision");
        uint256 cached = _number(entry, "base_virtual_price_cached");
        return address(new Meta(terms, base, _held(entry, ""), cached, _number(entry, "base_cache_updated")));
    }

    function test_next_generation_pays_what_was_recorded() public {
        if (!_open("curve_stableswap_ng")) return;
        for (uint256 entry; entry < 5; ++entry) {
            _check(entry, address(new Next(_terms(entry, "", WHOLE), _held(entry, ""))), 100);
        }
    }

    /// A deposit, a swap through the base pool and a withdrawal, coins moved and all: the path of `exchange_underlying`.
    function test_a_metapool_swaps_through_its_base_pool() public {
        (Coin own, address[] memory coins, address base, address shares) = _world();
        Terms memory terms = _plainTerms(_two(address(own), shares), WHOLE);
        StandInCurveFactoryMetaPool meta = new StandInCurveFactoryMetaPool(terms, base, 3, false, "", "");
        own.mint(address(this), 1e24);
        own.approve(address(meta), type(uint256).max);
        StandInCurveToken(shares).approve(address(meta), type(uint256).max);
        meta.add_liquidity([uint256(1e24), 1e24], 0);

        uint256 before = Coin(coins[1]).balanceOf(address(this));
        uint256 shown = meta.get_dy_underlying(0, 2, 1e20);
        own.mint(address(this), 1e20);
        uint256 got = meta.exchange_underlying(0, 2, 1e20, 0);
        assertEq(got, shown, "the view follows the swap out of the base pool");
        assertEq(Coin(coins[1]).balanceOf(address(this)) - before, got);
        Coin(coins[0]).approve(address(meta), type(uint256).max);
        uint256 back = meta.exchange_underlying(1, 0, 1e20, 0);
        assertEq(own.balanceOf(address(this)), back);
        assertApproxEqRel(back, 1e20, 0.002e18, "coins of one worth");
    }

    function test_ether_goes_in_and_out_as_ether() public {
        Coin staked = new Coin();
        StandInCurvePlainPool2 pool = new StandInCurvePlainPool2(
            _plainTerms(_two(0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE, address(staked)), WHOLE), "", ""
        );
        vm.deal(address(this), 2_000 ether);
        staked.mint(address(this), 2_000 ether);
        staked.approve(address(pool), type(uint256).max);
        pool.add_liquidity{value: 1_000 ether}([uint256(1_000 ether), 1_000 ether], 0);
        uint256 got = pool.exchange{value: 1 ether}(0, 1, 1 ether, 0);
        assertEq(staked.balanceOf(address(this)), 1_000 ether + got);
        vm.expectRevert("ether without need");
        pool.exchange{value: 1}(1, 0, 1 ether, 0);
        uint256 before = address(this).balance;
        uint256 back = pool.exchange(1, 0, 1 ether, 0);
        assertEq(address(this).balance, before + back);
    }

    receive() external payable {}

    function _two(address a, address b) private pure returns (address[] memory coins) {
        coins = new address[](2);
        (coins[0], coins[1]) = (a, b);
    }

    function _plainTerms(address[] memory coins, Habits memory habits) private pure returns (Terms memory terms) {
        terms.coins = coins;
        terms.rates = new uint256[](coins.length);
        for (uint256 k; k < coins.length; ++k) {
            terms.rates[k] = 1e18;
        }
        (terms.amp, terms.fee, terms.adminFee, terms.habits) = (200 * habits.precision, 1e6, 5e9, habits);
    }

    /// A base pool of three coins of 18 decimals with a deposit of ours.
    function _world() private returns (Coin own, address[] memory coins, address base, address shares) {
        own = new Coin();
        coins = _coins(3);
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1);
        shares = address(new StandInCurveToken("Base", "BASE", predicted));
        base = address(new StandInCurveStableSwap3(_plainTerms(coins, THREE_POOL), shares));
        assertEq(base, predicted);
        for (uint256 k; k < 3; ++k) {
            Coin(coins[k]).mint(address(this), 2e24);
            Coin(coins[k]).approve(base, type(uint256).max);
        }
        StandInCurveStableSwap3(base).add_liquidity([uint256(1e24), 1e24, 1e24], 0);
    }
}
