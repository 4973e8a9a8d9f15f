// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626 as OzVault, IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {ERC4626 as SolmateVault} from "@solmate/mixins/ERC4626.sol";
import {ERC20 as SolmateErc20} from "@solmate/tokens/ERC20.sol";
import {BALANCER_V2_VAULT, BALANCER_V3_VAULT, FLUID_LIQUIDITY, NATIVE, STETH, WETH, WSTETH} from "../src/Constants.sol";
import {IExecutionProxy, Order, Output} from "../src/IExecutionProxy.sol";
import {SilentToken} from "./support/Hostile.sol";
import {IToken, Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {
    StandInBalancerV3Vault,
    StandInCurvePool,
    StandInFluidLiquidity,
    StandInFluidPool,
    StandInHalfTaker,
    StandInStEth,
    StandInWstEth
} from "./support/StandIns.sol";
import {TestToken} from "./support/TestToken.sol";

contract OpenZeppelinVault is OzVault {
    constructor(address asset_) OzErc20("", "") OzVault(IERC20(asset_)) {}
}

contract RariVault is SolmateVault {
    constructor(address asset_) SolmateVault(SolmateErc20(asset_), "", "") {}

    function totalAssets() public view override returns (uint256) {
        return asset.balanceOf(address(this));
    }
}

interface IVault {
    function deposit(uint256, address) external returns (uint256);
    function previewDeposit(uint256) external view returns (uint256);
    function previewRedeem(uint256) external view returns (uint256);
}

interface IBalancerV2 {
    struct JoinPoolRequest {
        address[] assets;
        uint256[] maxAmountsIn;
        bytes userData;
        bool fromInternalBalance;
    }

    struct SingleSwap {
        bytes32 poolId;
        uint8 kind;
        address assetIn;
        address assetOut;
        uint256 amount;
        bytes userData;
    }

    struct FundManagement {
        address sender;
        bool fromInternalBalance;
        address recipient;
        bool toInternalBalance;
    }

    struct UserBalanceOp {
        uint8 kind;
        address asset;
        uint256 amount;
        address sender;
        address recipient;
    }

    function manageUserBalance(UserBalanceOp[] calldata) external;
    function getInternalBalance(address, address[] calldata) external view returns (uint256[] memory);
    function joinPool(bytes32, address, address, JoinPoolRequest calldata) external;
    function swap(SingleSwap calldata, FundManagement calldata, uint256, uint256) external returns (uint256);
    function create(
        string calldata,
        string calldata,
        address[] calldata,
        uint256[] calldata,
        address[] calldata,
        uint256,
        address
    ) external returns (address);
    function getPoolId() external view returns (bytes32);
}

/// The steps beyond V2 and V3: real bytecode for Balancer V2 and ERC-4626, stand-ins for the rest.
contract OtherProtocolsTest is Market {
    uint256 private constant AMOUNT = 1_234e18 + 7;

    function _step(uint8 opcode, uint8 to, uint8 tokenIn, uint8 tokenOut, bytes memory operands)
        private
        pure
        returns (bytes memory)
    {
        return bytes.concat(Program.head(opcode, to, tokenIn, tokenOut, 0), operands);
    }

    function _one(uint8 opcode, uint8 to, bytes memory operands) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), _step(opcode, to, 0, 1, operands));
    }

    // — Curve —

    function test_curve_by_each_of_its_calls() public {
        for (uint8 opcode = 0x20; opcode <= 0x22; ++opcode) {
            for (uint256 silent; silent < 2; ++silent) {
                StandInCurvePool pool = new StandInCurvePool(address(dai), address(wbtc), silent == 1, 9_996);
                wbtc.transfer(address(pool), 1e24);
                uint256 expected = AMOUNT * 9_996 / 10_000;
                bytes memory operands = abi.encodePacked(pool, uint8(0), uint8(1));
                Order memory order = _order(address(dai), AMOUNT, address(wbtc), expected);
                assertEq(_run(order, _one(opcode, 0, operands))[0], expected);
                assertEq(dai.allowance(address(proxy), address(pool)), 0);
            }
        }
    }

    function test_curve_with_native_ether_both_ways() public {
        StandInCurvePool pool = new StandInCurvePool{value: 1_000 ether}(NATIVE, address(dai), false, 9_900);
        dai.transfer(address(pool), 1e24);
        Order memory order = _order(NATIVE, 10 ether, address(dai), 9.9 ether);
        _run(order, _one(0x20, 0, abi.encodePacked(pool, uint8(0), uint8(1))));
        order = _order(address(dai), 10 ether, NATIVE, 9.9 ether);
        _run(order, _one(0x20, 0, abi.encodePacked(pool, uint8(1), uint8(0))));
        assertEq(bob.balance, 9.9 ether);
    }

    function test_curve_of_a_token_that_wants_a_zero_allowance_first() public {
        SilentToken token = new SilentToken();
        token.mint(address(this), 1e30);
        StandInCurvePool pool = new StandInCurvePool(address(token), address(dai), true, 10_000);
        dai.transfer(address(pool), 1e24);
        bytes memory program = _one(0x20, 0, abi.encodePacked(pool, uint8(0), uint8(1)));
        for (uint256 i; i < 2; ++i) {
            _run(_order(address(token), 1e20, address(dai), 1e20), program);
        }
        assertEq(token.allowance(address(proxy), address(pool)), 0);
    }

    function test_pool_that_takes_less_than_its_allowance_is_refused() public {
        StandInHalfTaker pool = new StandInHalfTaker(address(wbtc), address(dai));
        dai.transfer(address(pool), 1e24);
        Order memory order = _order(address(wbtc), 1e20, address(dai), 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InputNotTaken.selector, 0, address(pool), 5e19));
        proxy.execute(order, _one(0x20, 0, abi.encodePacked(pool, uint8(0), uint8(1))));
    }

    function test_curve_pays_only_the_proxy() public {
        Order memory order = _order(address(dai), AMOUNT, address(wbtc), 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 1));
        proxy.execute(order, _one(0x20, 1, abi.encodePacked(v2UsdcWeth, uint8(0), uint8(1))));
    }

    // — ERC-4626 —

    function test_vaults_deposit_and_redeem() public {
        address[2] memory vaults = [address(new OpenZeppelinVault(address(dai))), address(new RariVault(address(dai)))];
        for (uint256 i; i < 2; ++i) {
            // a vault that has earned: a share is worth more than an asset, and not a round number of them
            dai.approve(vaults[i], type(uint256).max);
            IVault(vaults[i]).deposit(1e21, address(this));
            dai.transfer(vaults[i], 3e17 + 1);
            uint256 shares = IVault(vaults[i]).previewDeposit(AMOUNT);
            assertEq(_run(_order(address(dai), AMOUNT, vaults[i], shares), _one(0x40, 1, ""))[0], shares);
            assertEq(dai.allowance(address(proxy), vaults[i]), 0);

            uint256 assets = IVault(vaults[i]).previewRedeem(1e20);
            assertEq(_run(_order(vaults[i], 1e20, address(dai), assets), _one(0x41, 0, ""))[0], assets);
        }
    }

    function test_vault_redeems_straight_into_a_pair() public {
        address vault = address(new RariVault(address(dai)));
        dai.approve(vault, type(uint256).max);
        IVault(vault).deposit(1e21, address(this));
        uint256 expected = _v2Out(v2WethDai, address(dai), 1e20);
        bytes memory program =
            bytes.concat(Program.tokens(address(dai)), _step(0x41, 2, 0, 2, ""), Program.v2(1, 2, 1, 0, v2WethDai));
        assertEq(_run(_order(vault, 1e20, WETH, expected), program)[0], expected);
    }

    // — Lido —

    function _lido() private {
        vm.etch(STETH, address(new StandInStEth()).code);
        vm.etch(WSTETH, address(new StandInWstEth()).code);
        vm.deal(STETH, 13_000 ether);
        StandInStEth(STETH).seed(10_000 ether, 12_345 ether + 6_789);
    }

    function test_lido_stake_wrap_and_unwrap() public {
        _lido();
        StandInStEth steth = StandInStEth(STETH);
        uint256 shares = steth.getSharesByPooledEth(1 ether);
        bytes memory program = bytes.concat(Program.tokens(STETH), _step(0x50, 0, 0, 2, ""), _step(0x51, 0, 2, 1, ""));
        uint256 rolled = vm.snapshotState();
        uint256 got = _run(_order(NATIVE, 1 ether, WSTETH, 1), program)[0];
        // staked, then wrapped: each turn rounds down
        assertLe(shares - got, 1);
        assertEq(steth.allowance(address(proxy), WSTETH), 0);
        vm.revertToState(rolled);

        steth.approve(WSTETH, type(uint256).max);
        StandInWstEth(WSTETH).wrap(100 ether);
        uint256 whole = steth.getPooledEthByShares(10 ether);
        got = _run(_order(WSTETH, 10 ether, STETH, whole - 2), _one(0x52, 0, ""))[0];
        assertLe(whole - got, 2);
        assertEq(steth.sharesOf(address(proxy)), 0);
    }

    /// Every amount of stETH is rounded down to shares when it moves: whatever the amounts and the rate, no step fails for a wei
    /// that did not arrive, and not a share stays with the proxy.
    /// forge-config: default.fuzz.runs = 500
    function testFuzz_steth_leaves_no_dust(uint96 etherIn, uint96 pooled, uint32 share, bool out) public {
        _lido();
        StandInStEth steth = StandInStEth(STETH);
        steth.seed(0, bound(pooled, 0, 1e27));
        uint256 amount = bound(etherIn, 1e12, 1e25);
        vm.deal(alice, amount);
        steth.approve(WSTETH, type(uint256).max);
        // staked, split over two wraps; or one part wrapped and the rest paid out as it is
        uint32 part = uint32(bound(share, 1 << 20, type(uint32).max - (1 << 20)));
        Order memory order = _order(NATIVE, amount, WSTETH, 1);
        bytes memory program = bytes.concat(
            Program.tokens(STETH), _step(0x50, 0, 0, 2, ""), _share(0x51, 0, 2, 1, part), _step(0x51, 0, 2, 1, "")
        );
        if (out) {
            order.outputs = new Output[](2);
            (order.outputs[0], order.outputs[1]) = (Output(WSTETH, 1), Output(STETH, 1));
            program = bytes.concat(Program.tokens(), _step(0x50, 0, 0, 2, ""), _share(0x51, 0, 2, 1, part));
        }
        vm.prank(alice);
        proxy.execute{value: amount}(order, program);
        assertEq(steth.sharesOf(address(proxy)), 0, "dust");
        assertEq(steth.allowance(address(proxy), WSTETH), 0);
    }

    /// Where another token stands in stETH's place, as on some local chains, there are no shares to pay out.
    function test_a_plain_token_in_the_place_of_steth_is_swapped() public {
        vm.etch(STETH, address(new TestToken(18)).code);
        TestToken(STETH).mint(address(this), 1e24);
        StandInCurvePool pool = new StandInCurvePool(address(dai), STETH, false, 10_000);
        TestToken(STETH).transfer(address(pool), 1e24);
        bytes memory step = _one(0x20, 0, abi.encodePacked(pool, uint8(0), uint8(1)));
        assertEq(_run(_order(address(dai), AMOUNT, STETH, 1), step)[0], AMOUNT);
    }

    /// stETH as an input, half of it spent: the payer has back all but what was wrapped, and the proxy has no share of it.
    function test_unspent_steth_goes_back_to_the_payer() public {
        _lido();
        StandInStEth steth = StandInStEth(STETH);
        steth.transfer(alice, 10 ether);
        uint256 before = steth.sharesOf(alice);
        Order memory order = _order(STETH, 7 ether + 1, WSTETH, 1);
        vm.startPrank(alice);
        steth.approve(address(proxy), type(uint256).max);
        uint256 got = proxy.execute(order, bytes.concat(Program.tokens(), _share(0x51, 0, 0, 1, 1 << 31)))[0];
        vm.stopPrank();
        assertApproxEqAbs(before - steth.sharesOf(alice), got, 2, "what was wrapped, and the rounding of its way");
        assertEq(steth.sharesOf(address(proxy)), 0);
    }

    function _share(uint8 opcode, uint8 to, uint8 i, uint8 j, uint32 share) private pure returns (bytes memory) {
        return abi.encodePacked(opcode, to, i, j, share);
    }

    function test_lido_steps_take_no_other_tokens() public {
        Order memory order = _order(address(usdc), 1, WETH, 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.WrongToken.selector, 0, address(usdc), NATIVE));
        proxy.execute(order, _one(0x50, 0, ""));
    }

    // — Fluid —

    function test_fluid_with_tokens_and_with_ether() public {
        vm.etch(FLUID_LIQUIDITY, address(new StandInFluidLiquidity()).code);
        vm.deal(FLUID_LIQUIDITY, 1_000 ether);
        dai.transfer(FLUID_LIQUIDITY, 1e24);
        wbtc.transfer(FLUID_LIQUIDITY, 1e24);
        StandInFluidPool plain = new StandInFluidPool(FLUID_LIQUIDITY, address(dai), address(wbtc));
        StandInFluidPool ether_ = new StandInFluidPool(FLUID_LIQUIDITY, address(dai), NATIVE);

        uint256 expected = AMOUNT * 9_990 / 10_000;
        Order memory order = _order(address(dai), AMOUNT, address(wbtc), expected);
        assertEq(_run(order, _one(0x60, 0, abi.encodePacked(plain, uint8(1))))[0], expected);
        assertEq(dai.allowance(address(proxy), address(plain)), 0);

        order = _order(NATIVE, 1 ether, address(dai), 0.999 ether);
        _run(order, _one(0x60, 0, abi.encodePacked(ether_, uint8(0))));
        order = _order(address(dai), 1 ether, NATIVE, 0.999 ether);
        _run(order, _one(0x60, 0, abi.encodePacked(ether_, uint8(1))));
        assertEq(bob.balance, 0.999 ether);
    }

    function test_ether_never_goes_past_the_proxy() public {
        StandInFluidPool pool = new StandInFluidPool(FLUID_LIQUIDITY, address(dai), NATIVE);
        Order memory order = _order(address(dai), 1 ether, NATIVE, 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 1));
        proxy.execute(order, _one(0x60, 1, abi.encodePacked(pool, uint8(1))));
    }

    // — Balancer —

    function _balancerFile(string memory task, string memory name) private pure returns (string memory) {
        return
            string.concat("node_modules/@balancer-labs/v2-deployments/dist/tasks/", task, "/artifact/", name, ".json");
    }

    function _balancerV2Pool() private returns (bytes32 poolId) {
        bytes memory vault = bytes.concat(
            _hexField(_balancerFile("20210418-vault", "Vault")), abi.encode(address(this), WETH, 7776000, 2592000)
        );
        _deployAt(BALANCER_V2_VAULT, vault);
        address fees = _deploy(
            _hexField(_balancerFile("20220725-protocol-fee-percentages-provider", "ProtocolFeePercentagesProvider")),
            abi.encode(BALANCER_V2_VAULT, 1e18, 1e18)
        );
        IBalancerV2 factory = IBalancerV2(
            _deploy(
                _hexField(_balancerFile("20230206-weighted-pool-v3", "WeightedPoolFactory")),
                abi.encode(BALANCER_V2_VAULT, fees, "", "")
            )
        );
        IBalancerV2.JoinPoolRequest memory join;
        join.assets = new address[](2);
        join.maxAmountsIn = new uint256[](2);
        uint256[] memory weights = new uint256[](2);
        bool daiFirst = address(dai) < WETH;
        (join.assets[0], join.assets[1]) = daiFirst ? (address(dai), WETH) : (WETH, address(dai));
        (weights[0], weights[1]) = daiFirst ? (uint256(0.2e18), uint256(0.8e18)) : (uint256(0.8e18), uint256(0.2e18));
        (join.maxAmountsIn[0], join.maxAmountsIn[1]) =
            daiFirst ? (uint256(1e24), uint256(1_000e18)) : (uint256(1_000e18), uint256(1e24));
        poolId = IBalancerV2(factory.create("", "", join.assets, weights, new address[](2), 3e15, address(this)))
            .getPoolId();
        dai.approve(BALANCER_V2_VAULT, type(uint256).max);
        IToken(WETH).approve(BALANCER_V2_VAULT, type(uint256).max);
        join.userData = abi.encode(0, join.maxAmountsIn);
        IBalancerV2(BALANCER_V2_VAULT).joinPool(poolId, address(this), address(this), join);
    }

    function test_balancer_v2_pays_what_the_real_vault_pays() public {
        bytes32 poolId = _balancerV2Pool();
        uint256 rolled = vm.snapshotState();
        uint256 expected = IBalancerV2(BALANCER_V2_VAULT)
            .swap(
                IBalancerV2.SingleSwap(poolId, 0, address(dai), WETH, AMOUNT, ""),
                IBalancerV2.FundManagement(address(this), false, payable(this), false),
                0,
                block.timestamp
            );
        vm.revertToState(rolled);
        Order memory order = _order(address(dai), AMOUNT, WETH, expected);
        assertEq(_run(order, _one(0x30, 1, abi.encodePacked(poolId)))[0], expected);
        assertEq(dai.allowance(address(proxy), BALANCER_V2_VAULT), 0);
    }

    /// Anyone may give the proxy a balance inside the vault. An order is paid by its payer all the same, in full.
    function test_balance_of_the_proxy_inside_balancers_vault_pays_no_order() public {
        bytes32 poolId = _balancerV2Pool();
        IBalancerV2.UserBalanceOp[] memory gift = new IBalancerV2.UserBalanceOp[](1);
        gift[0] = IBalancerV2.UserBalanceOp(0, address(dai), AMOUNT / 2, address(this), address(proxy));
        IBalancerV2(BALANCER_V2_VAULT).manageUserBalance(gift);
        address[] memory tokens = new address[](1);
        tokens[0] = address(dai);
        Order memory order = _order(address(dai), AMOUNT, WETH, 1);
        _run(order, _one(0x30, 1, abi.encodePacked(poolId)));
        assertEq(IBalancerV2(BALANCER_V2_VAULT).getInternalBalance(address(proxy), tokens)[0], AMOUNT / 2);
        assertEq(dai.balanceOf(address(proxy)), 0);
    }

    function test_balancer_v2_names_its_own_errors() public {
        bytes32 poolId = _balancerV2Pool();
        Order memory order = _order(address(usdc), 1e6, WETH, 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(
                IExecutionProxy.PoolCallFailed.selector,
                0,
                BALANCER_V2_VAULT,
                abi.encodeWithSignature("Error(string)", "BAL#521")
            )
        );
        proxy.execute(order, _one(0x30, 1, abi.encodePacked(poolId)));
    }

    function test_balancer_v3_settles_its_session() public {
        vm.etch(BALANCER_V3_VAULT, address(new StandInBalancerV3Vault()).code);
        wbtc.transfer(BALANCER_V3_VAULT, 1e24);
        StandInBalancerV3Vault(BALANCER_V3_VAULT).seed(address(wbtc));
        uint256 expected = AMOUNT * 9_900 / 10_000;
        Order memory order = _order(address(dai), AMOUNT, address(wbtc), expected);
        assertEq(_run(order, _one(0x31, 1, abi.encodePacked(makeAddr("pool"))))[0], expected);
        // and from what the proxy holds, on the way
        StandInBalancerV3Vault(BALANCER_V3_VAULT).seed(address(dai));
        uint256 middle = _v2Out(v2WethDai, WETH, 1 ether);
        bytes memory program = bytes.concat(
            Program.tokens(address(dai)),
            Program.v2(0, 0, 2, 0, v2WethDai),
            _step(0x31, 1, 2, 1, abi.encodePacked(makeAddr("pool")))
        );
        expected = middle * 9_900 / 10_000;
        assertEq(_run(_order(WETH, 1 ether, address(wbtc), expected), program)[0], expected);
    }

    function test_stranger_calling_the_balancer_callback_is_refused() public {
        bytes memory terms = abi.encode(address(dai), 1, alice, address(dai), address(dai), address(this));
        bytes memory call = abi.encodeWithSignature("balancerV3UnlockCallback(bytes)", terms);
        (bool ok, bytes memory reason) = address(proxy).call(call);
        assertFalse(ok);
        bytes32 got = keccak256(bytes.concat(terms, abi.encode(address(this))));
        assertEq(
            reason, abi.encodeWithSelector(IExecutionProxy.UnexpectedCallback.selector, address(this), got, bytes32(0))
        );
        vm.prank(BALANCER_V3_VAULT);
        (ok,) = address(proxy).call(call);
        assertFalse(ok, "even the vault, when no step waits for it");
    }
}
