// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Test} from "forge-std/Test.sol";
import {StandInFluidDexT1} from "../devnet/fluid/StandInFluidDexT1.sol";
import {StandInFluidBorrower, StandInFluidFToken} from "../devnet/fluid/StandInFluidFToken.sol";
import {StandInFluidLiquidity} from "../devnet/fluid/StandInFluidLiquidity.sol";
import {ETHER} from "../devnet/fluid/Words.sol";
import {StandInMarketAdapter, StandInVaultV2} from "../devnet/vaults/StandInVaultV2.sol";
import {MarketParams, StandInMorpho} from "../devnet/vaults/StandInMorpho.sol";
import {TestToken} from "./support/TestToken.sol";

/// The stand-ins of Fluid's layer and of Vault V2 do what the local chain asks of them: fill, lend, trade, refuse.
contract StandInLayerTest is Test {
    StandInFluidLiquidity private layer;
    StandInFluidDexT1 private dex;
    StandInFluidFToken private share;
    StandInFluidBorrower private borrower;
    TestToken private coin;

    receive() external payable {}

    function setUp() public {
        vm.warp(1_700_000_000);
        vm.deal(address(this), 1e9 ether);
        layer = new StandInFluidLiquidity(address(this));
        coin = new TestToken(18);
        coin.mint(address(this), 1e30);
        layer.list(address(coin), 1_500, 10);
        layer.list(ETHER, 1_500, 10);
        share = new StandInFluidFToken(address(layer), address(coin), address(coin), "", "");
        borrower = new StandInFluidBorrower(address(layer), address(this));
        layer.allow(address(share), address(coin), _word(25, 1 << 70), 0);
        layer.allow(address(borrower), address(coin), 0, _word(20, 1 << 90) | _pack(1 << 92) << 218);
        coin.approve(address(share), type(uint256).max);
        share.deposit(4e24 / 4, address(this));
        borrower.borrow(address(coin), 2e23);
        // token 1 in token 0, both of 18 decimals: a three-thousandth
        uint256 centre = uint256(1e27) / 3_000;
        address[2] memory tokens = [address(coin), ETHER];
        uint256 second = 3 | (1_000 << 2) | (10 << 19) | (200_000 << 27) | (200_000 << 47) | (100 << 68) | (100 << 78)
            | (86_400 << 88) | (_bound(centre * 2) << 172) | (_bound(centre / 2) << 200) | (950 << 228) | (950 << 238);
        dex = new StandInFluidDexT1(address(layer), address(this), address(1), tokens, second, centre);
        coin.approve(address(dex), type(uint256).max);
        layer.allow(address(dex), address(coin), _word(35, 1 << 60), _word(50, 1 << 90) | _pack(1 << 92) << 218);
        layer.allow(address(dex), ETHER, _word(35, 1 << 60), _word(50, 1 << 80) | _pack(1 << 82) << 218);
        dex.fill{value: 50 ether}([uint256(150_000e18), 50 ether], [uint256(90_000e18), 30 ether]);
    }

    function _pack(uint256 value) private pure returns (uint256) {
        uint256 exponent;
        while (value >> exponent >= 1 << 10) ++exponent;
        return (value >> exponent << 8) + exponent;
    }

    function _bound(uint256 value) private pure returns (uint256) {
        uint256 exponent;
        while (value >> exponent >= 1 << 20) ++exponent;
        return (value >> exponent << 8) + exponent;
    }

    function _word(uint256 percent, uint256 base) private pure returns (uint256) {
        return 1 | (percent * 100 << 162) | (43_200 << 176) | (_pack(base) << 200);
    }

    function test_a_pool_trades_both_ways_at_its_centre() public {
        vm.warp(block.timestamp + 12);
        address to = address(0xbeef);
        uint256 out = dex.swapIn(true, 300e18, 0, to);
        assertEq(to.balance, out);
        assertApproxEqRel(out, 0.0999 ether, 0.001e18);
        uint256 back = dex.swapIn{value: 0.1 ether}(false, 0.1 ether, 0, to);
        assertEq(coin.balanceOf(to), back);
        assertApproxEqRel(back, 299.7e18, 0.001e18);
    }

    function test_a_pool_pays_no_more_than_the_layer_lets_it_withdraw() public {
        vm.expectRevert("WithdrawalLimitReached");
        dex.swapIn(true, 120_000e18, 0, address(this));
    }

    function test_a_share_earns_what_borrowers_pay_and_keeps_its_limit() public {
        uint256 before = share.previewRedeem(1e18);
        vm.warp(block.timestamp + 30 days);
        assertGt(share.previewRedeem(1e18), before);
        uint256 shares = share.balanceOf(address(this));
        assertGt(share.redeem(shares / 10, address(this), address(this)), shares / 10);
        vm.expectRevert("WithdrawalLimitReached");
        share.redeem(shares / 2, address(this), address(this));
    }

    function test_an_amount_is_compared_with_the_total_from_above_two_to_the_eightieth() public {
        TestToken fresh = new TestToken(18);
        fresh.mint(address(this), 1e30);
        layer.list(address(fresh), 1_500, 10);
        StandInFluidFToken first = new StandInFluidFToken(address(layer), address(fresh), address(fresh), "", "");
        layer.allow(address(first), address(fresh), _word(25, 1 << 90), 0);
        fresh.approve(address(first), type(uint256).max);
        vm.expectRevert("OperateAmountRatioExcess");
        first.deposit((1 << 80) + 1, address(this));
        assertGt(first.deposit(1 << 80, address(this)), 0);
    }

    function test_a_vault_lends_and_pays_back() public {
        StandInMorpho blue = new StandInMorpho();
        StandInVaultV2 vault = new StandInVaultV2(address(coin), address(this), "", "");
        StandInMarketAdapter adapter = new StandInMarketAdapter(address(vault), address(blue));
        MarketParams memory params = MarketParams(address(coin), address(2), address(3), address(0), 0);
        blue.createMarket(params);
        vault.addAdapter(address(adapter));
        vault.setCaps(abi.encode("this", address(adapter)), 1e26, 1e18);
        vault.setCaps(abi.encode("collateralToken", params.collateralToken), 1e26, 1e18);
        vault.setCaps(abi.encode("this/marketParams", address(adapter), params), 5e20, 1e18);
        vault.setLiquidityAdapterAndData(address(adapter), abi.encode(params));
        coin.approve(address(vault), type(uint256).max);
        uint256 shares = vault.deposit(4e20, address(this));
        assertEq(coin.balanceOf(address(blue)), 4e20);
        assertEq(vault.redeem(shares / 2, address(this), address(this)), 2e20);
        vm.expectRevert("AbsoluteCapExceeded");
        vault.deposit(4e20, address(this));
    }
}
