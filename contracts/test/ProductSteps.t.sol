// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StandInCurveToken} from "../devnet/curve/Coins.sol";
import {CryptoTerms} from "../devnet/curve/CryptoPool.sol";
import {Habits, Terms} from "../devnet/curve/StablePool.sol";
import {Product} from "../devnet/curve/StableMath.sol";
import {StandInCurveCryptoSwap, StandInCurveTricrypto} from "../devnet/curve/StandInCurveCrypto.sol";
import {StandInCurveFactoryMetaPool} from "../devnet/curve/StandInCurveMetaPool.sol";
import {StandInCurvePlainPool2, StandInCurveStableSwap3} from "../devnet/curve/StandInCurveStableSwap.sol";
import {
    RateSource,
    StandInCurveMetaPoolNG,
    StandInCurveStableSwapNG
} from "../devnet/curve/StandInCurveStableSwapNG.sol";
import {BALANCER_V3_VAULT, NATIVE, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Order} from "../src/IExecutionProxy.sol";
import {IVault, OpenZeppelinVault} from "./OtherProtocols.t.sol";
import {Coin} from "./StandInCurve.t.sol";
import {IToken, Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {StandInBalancerV3Vault} from "./support/StandIns.sol";

interface IViews {
    function get_dy(int128 i, int128 j, uint256 dx) external view returns (uint256);
    function get_dy(uint256 i, uint256 j, uint256 dx) external view returns (uint256);
    function get_dy_underlying(int128 i, int128 j, uint256 dx) external view returns (uint256);
}

/// The proxy's steps through every kind of pool that the local chain has of Curve, and through Balancer's boosted pools: each pays what
/// the pool shows, the pool has no allowance afterwards, and the proxy nothing.
contract ProductStepsTest is Market {
    uint256 private constant AMOUNT = 1_000e18 + 7;
    Habits private WHOLE = Habits(100, Product.Whole, true, true, false, false, false, false);
    Habits private THREE_POOL = Habits(1, Product.TimesN, true, true, true, true, false, true);

    address[] private coins;
    address private base;

    function setUp() public override {
        super.setUp();
        for (uint256 k; k < 3; ++k) {
            coins.push(address(_coin()));
        }
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1);
        StandInCurveToken shares = new StandInCurveToken("Base", "BASE", predicted);
        base = address(new StandInCurveStableSwap3(_terms(coins, THREE_POOL), address(shares)));
        _allow(coins, base);
        StandInCurveStableSwap3(base).add_liquidity([uint256(1e24), 1e24, 1e24], 0);
        coins.push(address(shares));
    }

    function _coin() private returns (Coin coin) {
        coin = new Coin();
        coin.mint(address(this), 1e27);
    }

    function _allow(address[] memory tokens, address spender) private {
        for (uint256 k; k < tokens.length; ++k) {
            if (tokens[k] != NATIVE) IToken(tokens[k]).approve(spender, type(uint256).max);
        }
    }

    function _terms(address[] memory coins_, Habits memory habits) private pure returns (Terms memory terms) {
        terms.coins = coins_;
        terms.rates = new uint256[](coins_.length);
        for (uint256 k; k < coins_.length; ++k) {
            terms.rates[k] = 1e18;
        }
        (terms.amp, terms.fee, terms.adminFee, terms.habits) = (200 * habits.precision, 1e6, 5e9, habits);
    }

    function _two(address a, address b) private pure returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (a, b);
    }

    function _program(uint8 opcode, address pool, uint8 i, uint8 j) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), Program.head(opcode, 0, 0, 1, 0), abi.encodePacked(pool, i, j));
    }

    /// Sells through the pool for exactly what it shows.
    function _trade(uint8 opcode, address pool, uint8 i, uint8 j, address from, address into, uint256 shown) private {
        assertGt(shown, 0);
        Order memory order = _order(from, AMOUNT, into, shown);
        assertEq(_run(order, _program(opcode, pool, i, j))[0], shown);
        if (from != NATIVE) assertEq(IToken(from).allowance(address(proxy), pool), 0, "an allowance is left");
        assertEq(IToken(into).balanceOf(address(proxy)), 0);
    }

    function test_curve_classic_pool_that_answers_nothing() public {
        // it shows after the fee what it pays before: one unit less, or the same
        uint256 shown = IViews(base).get_dy(int128(0), int128(1), AMOUNT);
        Order memory order = _order(coins[0], AMOUNT, coins[1], shown - 1);
        uint256 got = _run(order, _program(0x20, base, 0, 1))[0];
        assertApproxEqAbs(got, shown, 1);
        assertEq(IToken(coins[0]).allowance(address(proxy), base), 0);
    }

    function test_curve_pool_of_the_next_generation() public {
        address[] memory pair = _two(coins[0], coins[1]);
        address pool = address(new StandInCurveStableSwapNG(_terms(pair, WHOLE), new RateSource[](2), "Next", "NEXT"));
        _allow(pair, pool);
        uint256[] memory amounts = new uint256[](2);
        (amounts[0], amounts[1]) = (1e24, 1.1e24);
        StandInCurveStableSwapNG(pool).add_liquidity(amounts, 0);
        uint256 shown = IViews(pool).get_dy(int128(1), int128(0), AMOUNT);
        _trade(0x20, pool, 1, 0, coins[1], coins[0], shown);
    }

    function test_curve_metapool_by_its_own_coins_and_by_those_of_its_base() public {
        address own = address(_coin());
        address[] memory pair = _two(own, coins[3]);
        StandInCurveFactoryMetaPool meta = new StandInCurveFactoryMetaPool(_terms(pair, WHOLE), base, 3, false, "", "");
        _allow(pair, address(meta));
        meta.add_liquidity([uint256(1e24), 1e24], 0);
        IViews views = IViews(address(meta));
        uint256 snapshot = vm.snapshotState();
        _trade(0x20, address(meta), 0, 1, own, coins[3], views.get_dy(int128(0), int128(1), AMOUNT));
        vm.revertToState(snapshot);
        _trade(0x22, address(meta), 0, 2, own, coins[1], views.get_dy_underlying(0, 2, AMOUNT));
    }

    function test_curve_metapool_of_the_next_generation() public {
        address own = address(_coin());
        address[] memory pair = _two(own, coins[3]);
        StandInCurveMetaPoolNG meta = new StandInCurveMetaPoolNG(_terms(pair, WHOLE), base, 3, false, "", "");
        _allow(pair, address(meta));
        uint256[] memory amounts = new uint256[](2);
        (amounts[0], amounts[1]) = (1e24, 1e24);
        meta.add_liquidity(amounts, 0);
        IViews views = IViews(address(meta));
        _trade(0x22, address(meta), 0, 1, own, coins[0], views.get_dy_underlying(0, 1, AMOUNT));
    }

    function test_curve_pool_that_takes_and_pays_ether() public {
        address[] memory pair = _two(NATIVE, coins[0]);
        StandInCurvePlainPool2 pool = new StandInCurvePlainPool2(_terms(pair, WHOLE), "", "");
        _allow(pair, address(pool));
        pool.add_liquidity{value: 10_000 ether}([uint256(10_000 ether), 10_000e18], 0);
        IViews views = IViews(address(pool));
        uint256 snapshot = vm.snapshotState();
        _trade(0x20, address(pool), 0, 1, NATIVE, coins[0], views.get_dy(int128(0), int128(1), AMOUNT));
        vm.revertToState(snapshot);
        uint256 shown = views.get_dy(int128(1), int128(0), AMOUNT);
        Order memory order = _order(coins[0], AMOUNT, NATIVE, shown);
        assertEq(_run(order, _program(0x20, address(pool), 1, 0))[0], shown);
        assertEq(bob.balance, shown);
    }

    function _cryptoTerms(uint256 count) private view returns (CryptoTerms memory terms) {
        terms.coins = new address[](count);
        terms.precisions = new uint256[](count);
        terms.prices = new uint256[](count - 1);
        for (uint256 k; k < count; ++k) {
            (terms.coins[k], terms.precisions[k]) = (coins[k], 1);
            if (k != 0) terms.prices[k - 1] = 1e18;
        }
        // as the first pools of two and of three were made
        terms.amp = count == 2 ? 400_000 : 1_707_629;
        terms.gamma = count == 2 ? 145_000_000_000_000 : 11_809_167_828_997;
        (terms.midFee, terms.outFee, terms.feeGamma) = (3e6, 3e7, 5e14);
        (terms.allowedExtraProfit, terms.adjustmentStep, terms.maHalfTime) = (2e12, 49e13, 600);
    }

    function test_crypto_pools_of_two_and_of_three() public {
        for (uint256 count = 2; count < 4; ++count) {
            CryptoTerms memory terms = _cryptoTerms(count);
            address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1);
            address shares = address(new StandInCurveToken("Crypto", "CRV2", predicted));
            address pool = count == 2
                ? address(new StandInCurveCryptoSwap(terms, shares))
                : address(new StandInCurveTricrypto(terms, shares));
            _allow(coins, pool);
            if (count == 2) StandInCurveCryptoSwap(pool).add_liquidity([uint256(1e24), 1e24], 0);
            else StandInCurveTricrypto(pool).add_liquidity([uint256(1e24), 1e24, 1e24], 0);
            uint8 last = uint8(count - 1);
            uint256 shown = IViews(pool).get_dy(uint256(0), uint256(last), AMOUNT);
            _trade(0x21, pool, 0, last, coins[0], coins[last], shown);
        }
    }

    /// A boosted pool trades shares of vaults: from asset to asset is a deposit, a swap and a redemption.
    function test_boosted_pool_of_balancer_by_way_of_its_vaults() public {
        address first = address(new OpenZeppelinVault(address(dai)));
        address other = address(new OpenZeppelinVault(WETH));
        dai.approve(first, type(uint256).max);
        IToken(WETH).approve(other, type(uint256).max);
        IVault(first).deposit(1e24, address(this));
        IVault(other).deposit(1e22, address(this));
        dai.transfer(first, 3e20 + 1);
        vm.etch(BALANCER_V3_VAULT, address(new StandInBalancerV3Vault()).code);
        IToken(other).transfer(BALANCER_V3_VAULT, 5e21);
        StandInBalancerV3Vault(BALANCER_V3_VAULT).seed(other);

        uint256 shares = IVault(first).previewDeposit(AMOUNT);
        uint256 expected = IVault(other).previewRedeem(shares * 9_900 / 10_000);
        bytes memory program = bytes.concat(
            Program.tokens(first, other),
            Program.head(0x40, 0, 0, 2, 0),
            Program.head(0x31, 0, 2, 3, 0),
            abi.encodePacked(makeAddr("pool")),
            Program.head(0x41, 0, 3, 1, 0)
        );
        assertEq(_run(_order(address(dai), AMOUNT, WETH, expected), program)[0], expected);
        assertEq(IToken(first).balanceOf(address(proxy)), 0);
        assertEq(IToken(other).balanceOf(address(proxy)), 0);
    }

    /// The same through the vault's buffers, which are called by their share: the vault never leaves its sessions.
    function test_boosted_pool_of_balancer_by_way_of_its_buffers() public {
        (address first, address other) = _buffers();
        uint256 shares = IVault(first).previewDeposit(AMOUNT - 1) - 1;
        uint256 expected = IVault(other).previewRedeem(shares * 9_900 / 10_000 - 1) - 1;
        bytes memory program = Program.tokens(first, other);
        program = bytes.concat(program, Program.head(0x31, 0, 0, 2, 0), abi.encodePacked(first));
        program = bytes.concat(program, Program.head(0x31, 0, 2, 3, 0), abi.encodePacked(makeAddr("pool")));
        program = bytes.concat(program, Program.head(0x31, 1, 3, 1, 0), abi.encodePacked(other));
        assertEq(_run(_order(address(dai), AMOUNT, WETH, expected), program)[0], expected);
        assertEq(IToken(first).balanceOf(address(proxy)), 0);
        assertEq(IToken(other).balanceOf(address(proxy)), 0);
    }

    /// A buffer knows one asset: for another token out, the session does not come out even.
    function test_buffer_for_a_token_that_is_not_its_asset_is_refused() public {
        (address first,) = _buffers();
        Order memory order = _order(address(dai), AMOUNT, address(wbtc), 1);
        bytes memory program = bytes.concat(
            Program.tokens(first),
            Program.head(0x31, 0, 0, 2, 0),
            abi.encodePacked(first),
            Program.head(0x31, 1, 2, 1, 0),
            abi.encodePacked(first)
        );
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
        proxy.execute(order, program);
    }

    /// Vaults of dai and of wrapped ether, of each of which Balancer's vault holds shares and assets.
    function _buffers() private returns (address first, address other) {
        first = address(new OpenZeppelinVault(address(dai)));
        other = address(new OpenZeppelinVault(WETH));
        dai.approve(first, type(uint256).max);
        IToken(WETH).approve(other, type(uint256).max);
        IVault(first).deposit(1e24, address(this));
        IVault(other).deposit(1e22, address(this));
        dai.transfer(first, 3e20 + 1);
        vm.etch(BALANCER_V3_VAULT, address(new StandInBalancerV3Vault()).code);
        address[5] memory held = [first, other, WETH, address(dai), address(wbtc)];
        for (uint256 i; i < held.length; ++i) {
            IToken(held[i]).transfer(BALANCER_V3_VAULT, 1e21);
            StandInBalancerV3Vault(BALANCER_V3_VAULT).seed(held[i]);
        }
    }
}
