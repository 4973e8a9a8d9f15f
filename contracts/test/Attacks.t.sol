// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Order, Permit} from "../src/IExecutionProxy.sol";
import {
    CarefulPartner,
    CollectingPartner,
    Debt,
    FrontRunningPartner,
    GreedyPartner,
    HalfVault,
    ImpostorPool,
    Sandwich,
    WalletPartner
} from "./support/Attackers.sol";
import {FuzzedPool} from "./support/Fuzzed.sol";
import {HostileV2Pair, NoEther} from "./support/Hostile.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {Signing} from "./support/Signing.sol";

/// What an outside reading of the first edition found, each as the attack that it was.
contract AttacksTest is Signing {
    uint256 private constant AMOUNT = 3_000e6;

    function setUp() public override {
        super.setUp();
        usdc.transfer(owner, 1e13);
        vm.prank(owner);
        usdc.approve(PERMIT2, type(uint256).max);
    }

    function _permit() private view returns (Permit memory) {
        return Permit(owner, 7, block.timestamp, address(0));
    }

    // — the minimum is met by what the order paid, not by what the recipient was owed anyway —

    function _refuseImpostor(ImpostorPool pool, uint8 to, bytes4 error) private {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 0.9 ether);
        bytes memory program = bytes.concat(Program.tokens(), Program.v3(to, 0, 1, 0, address(pool)));
        bytes memory signature = _sign(order, program, _permit());
        uint256 before = usdc.balanceOf(owner);
        vm.expectPartialRevert(error);
        proxy.executeWithPermit2(order, program, _permit(), signature);
        assertEq(usdc.balanceOf(owner), before);
    }

    function test_money_that_was_due_to_the_recipient_meets_no_minimum() public {
        Debt debt = new Debt(bob, IToken(WETH));
        IToken(WETH).transfer(address(debt), 1 ether);
        bytes memory settle = abi.encodeCall(Debt.settle, ());
        // it says that it paid nothing, that it paid, or that it pays the recipient itself
        ImpostorPool silent = new ImpostorPool(address(debt), settle, 0);
        ImpostorPool liar = new ImpostorPool(address(debt), settle, -1 ether);
        _refuseImpostor(silent, 0, IExecutionProxy.OutputBelowMinimum.selector);
        _refuseImpostor(liar, 0, IExecutionProxy.TransferFailed.selector);
        // a pool that is asked for its fee and has none, or that no factory made
        _refuseImpostor(liar, 1, IExecutionProxy.PoolCallFailed.selector);
    }

    /// A pair that no factory of the table made, an honest pool of a fork among them, pays the proxy and nobody else.
    function test_only_a_pool_whose_address_proves_it_pays_the_recipient() public {
        address[2] memory pairs =
            [address(new HostileV2Pair(1e20, 1e20)), address(new FuzzedPool(usdc, dai, Debt(bob)))];
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        _fund(order);
        vm.startPrank(alice);
        bytes memory refused = abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 1);
        for (uint256 i; i < 2; ++i) {
            vm.expectRevert(refused);
            proxy.execute(order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, pairs[i])));
        }
        // a pool that tells a fee, by which no factory has it; and a real one of other tokens
        vm.expectRevert(refused);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, pairs[1])));
        vm.expectRevert(refused);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, v3WethDai)));
        vm.expectRevert(refused);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2WethDai)));
        vm.stopPrank();
    }

    /// A vault and a pool of Fluid are whatever a program names: their word for what they pay is not taken.
    function test_redemption_and_fluid_never_pay_the_recipient_themselves() public {
        HalfVault vault = new HalfVault(dai);
        vault.mint(address(this), 1e18);
        Order memory order = _order(address(vault), 1e18, address(dai), 1);
        _fund(order);
        bytes memory refused = abi.encodeWithSelector(IExecutionProxy.InvalidDestination.selector, 0, 1);
        vm.startPrank(alice);
        vm.expectRevert(refused);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.head(0x41, 1, 0, 1, 0)));
        vm.expectRevert(refused);
        proxy.execute(
            order, bytes.concat(Program.tokens(), Program.head(0x60, 1, 0, 1, 0), abi.encodePacked(vault, uint8(1)))
        );
        vm.stopPrank();
    }

    function test_order_on_another_deployment_is_not_counted_twice() public {
        address second = _deploy(_hexField("artifacts/ExecutionProxy.json"), "");
        Order memory other = _order(address(usdc), AMOUNT, WETH, 0.9 ether);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        Permit memory permit = Permit(owner, 8, block.timestamp, address(0));
        bytes memory signature = _signDigest(_digest(other, program, permit, second));
        bytes memory nested = abi.encodeCall(IExecutionProxy.executeWithPermit2, (other, program, permit, signature));
        _refuseImpostor(new ImpostorPool(second, nested, 0), 0, IExecutionProxy.OutputBelowMinimum.selector);
        _refuseImpostor(new ImpostorPool(second, nested, -1 ether), 0, IExecutionProxy.TransferFailed.selector);
    }

    /// The honest pool behind the impostor pays, but less than the minimum: the debt does not fill the gap.
    function test_debt_does_not_fill_what_an_honest_step_lacks() public {
        Debt debt = new Debt(bob, IToken(WETH));
        IToken(WETH).transfer(address(debt), 1 ether);
        ImpostorPool pool = new ImpostorPool(address(debt), abi.encodeCall(Debt.settle, ()), 0);
        Order memory order = _order(address(usdc), AMOUNT, WETH, 0.9 ether);
        bytes memory program = bytes.concat(
            Program.tokens(), Program.v3(0, 0, 1, 1 << 31, address(pool)), Program.v2(1, 0, 1, 0, v2UsdcWeth)
        );
        _fund(order);
        uint256 half = _v2Out(v2UsdcWeth, address(usdc), AMOUNT / 2);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 0, WETH, half, 0.9 ether));
        vm.prank(alice);
        proxy.execute(order, program);
    }

    // — a partner runs no code before the minimums, and stops nothing —

    function _sellEther(address to) private returns (uint256 received) {
        Order memory order = _order(NATIVE, 1_000 ether, address(usdc), 1);
        (order.partner, order.partnerFeeBps) = (to, 100);
        vm.deal(alice, 1_000 ether);
        vm.prank(alice);
        received = proxy.execute{value: 1_000 ether}(
            order, bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth))
        )[0];
        _assertNothingLeft();
    }

    function test_partner_that_is_paid_in_ether_cannot_trade_ahead_of_the_order() public {
        uint256 fair = _v2Out(v2UsdcWeth, WETH, 990 ether);
        FrontRunningPartner evil = new FrontRunningPartner(v2UsdcWeth);
        IToken(WETH).transfer(address(evil), 3_000 ether);
        assertEq(_sellEther(address(evil)), fair, "it traded first");
    }

    /// What it does with the recipient's tokens is between the two of them: the order is over by then.
    function test_partner_comes_after_the_minimums() public {
        CollectingPartner collector = new CollectingPartner(usdc, bob);
        vm.prank(bob);
        usdc.approve(address(collector), type(uint256).max);
        uint256 received = _sellEther(address(collector));
        assertGt(received, 0);
        assertEq(usdc.balanceOf(address(collector)), received);
    }

    function test_partner_that_refuses_ether_loses_it_to_the_recipient() public {
        address no = address(new NoEther());
        _sellEther(no);
        assertEq(bob.balance, 10 ether);
        assertEq(no.balance, 0);
    }

    function test_partner_that_burns_gas_loses_its_fee_and_little_gas() public {
        address greedy = address(new GreedyPartner());
        uint256 before = gasleft();
        _sellEther(greedy);
        assertLt(before - gasleft(), 400_000);
        assertEq(bob.balance, 10 ether);
    }

    function test_partner_with_a_wallet_is_paid() public {
        WalletPartner wallet = new WalletPartner();
        _sellEther(address(wallet));
        assertEq(wallet.taken(), 10 ether);
    }

    /// Too little gas for the partner reverts the order: it is not a way to keep the fee, not even from one that gives up early.
    function test_partner_cannot_be_starved() public {
        address payable careful = payable(new CarefulPartner());
        Order memory order = _order(NATIVE, 1_000 ether, address(usdc), 1);
        (order.partner, order.partnerFeeBps) = (careful, 100);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        bytes memory data = abi.encodeCall(IExecutionProxy.execute, (order, program));
        // the recipient has an account already, so that little gas is enough to pay him
        vm.deal(bob, 1);
        uint256 refused;
        for (uint256 gas = 100_000; gas < 400_000; gas += 2_500) {
            uint256 rolled = vm.snapshotState();
            vm.deal(alice, 1_000 ether);
            vm.prank(alice);
            (bool ok,) = address(proxy).call{value: 1_000 ether, gas: gas}(data);
            if (ok) assertEq(careful.balance, 10 ether, "run without its fee");
            else ++refused;
            vm.revertToState(rolled);
        }
        assertGt(refused, 5);
        assertLt(refused, 110);
    }

    function test_output_fee_in_ether_is_paid_after_the_minimum() public {
        Order memory order = _order(address(usdc), AMOUNT, NATIVE, 1);
        (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) = (address(new NoEther()), 300, true);
        uint256 gross = _v2Out(v2UsdcWeth, address(usdc), AMOUNT);
        order.outputs[0].minimum = gross - gross * 300 / 10_000;
        bytes memory program =
            bytes.concat(Program.tokens(WETH), Program.v2(0, 0, 2, 0, v2UsdcWeth), Program.unwrap(2, 1));
        assertEq(_run(order, program)[0], order.outputs[0].minimum, "the fee is not counted as an output");
        assertEq(bob.balance, gross, "what the partner refused is the recipient's");
        // and a minimum that only the fee would fill is not met
        order.outputs[0].minimum = _v2Out(v2UsdcWeth, address(usdc), AMOUNT);
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.OutputBelowMinimum.selector);
        proxy.execute(order, program);
    }

    // — a signature names who may send it —

    function test_signed_order_cannot_be_sandwiched_by_whoever_gets_hold_of_it() public {
        uint256 amount = 1_500_000e6;
        Order memory order = _order(address(usdc), amount, WETH, _v2Out(v2UsdcWeth, address(usdc), amount) * 95 / 100);
        bytes memory program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        Permit memory permit = Permit(owner, 7, block.timestamp, owner);
        bytes memory signature = _sign(order, program, permit);
        Sandwich bot = new Sandwich(v2UsdcWeth);
        usdc.transfer(address(bot), 700_000e6);
        bytes memory call = abi.encodeCall(IExecutionProxy.executeWithPermit2, (order, program, permit, signature));
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.WrongSender.selector, address(bot), owner));
        bot.run(address(proxy), call, address(usdc), 700_000e6, WETH);
        // nor with the sender changed: the signature binds it
        permit.sender = address(bot);
        call = abi.encodeCall(IExecutionProxy.executeWithPermit2, (order, program, permit, signature));
        vm.expectRevert(abi.encodeWithSignature("InvalidSigner()"));
        bot.run(address(proxy), call, address(usdc), 700_000e6, WETH);
        // the one that is named can
        permit.sender = owner;
        vm.prank(owner);
        proxy.executeWithPermit2(order, program, permit, signature);
    }

    // — one account for one token —

    function test_output_listed_once_more_is_refused() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) = (partner, 300, true);
        bytes memory program = bytes.concat(Program.tokens(WETH), Program.v2(0, 0, 2, 0, v2UsdcWeth));
        _fund(order);
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.DuplicateToken.selector, WETH));
        proxy.execute(order, program);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.DuplicateToken.selector, address(usdc)));
        proxy.execute(order, bytes.concat(Program.tokens(address(usdc)), Program.v2(0, 0, 1, 0, v2UsdcWeth)));
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.DuplicateToken.selector, address(dai)));
        proxy.execute(order, bytes.concat(Program.tokens(address(dai), address(dai))));
        vm.stopPrank();
    }

    function test_fee_on_the_output_is_paid_however_the_output_came() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) = (partner, 300, true);
        uint256 gross = _v2Out(v2UsdcWeth, address(usdc), AMOUNT);
        _run(order, bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, v2UsdcWeth)));
        assertEq(IToken(WETH).balanceOf(partner), gross * 300 / 10_000);
    }

    // — shares that a vault did not take —

    function test_redemption_that_leaves_shares_is_refused() public {
        HalfVault vault = new HalfVault(dai);
        vault.mint(address(this), 100e18);
        dai.transfer(address(vault), 100e18);
        Order memory order = _order(address(vault), 10e18, address(dai), 5e18);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(IExecutionProxy.InputNotTaken.selector, 0, address(vault), uint256(5e18))
        );
        proxy.execute(order, bytes.concat(Program.tokens(), Program.head(0x41, 0, 0, 1, 0)));
    }

    // — elsewhere —

    function test_other_chains_are_refused() public {
        Order memory order = _order(address(usdc), AMOUNT, WETH, 1);
        bytes memory refused = abi.encodeWithSelector(IExecutionProxy.WrongChain.selector, 10, 1);
        vm.chainId(10);
        vm.expectRevert(refused);
        proxy.execute(order, "");
        vm.expectRevert(refused);
        proxy.executeWithPermit2(order, "", _permit(), "");
        vm.expectRevert(refused);
        proxy.swap(_flat(order), "");
        vm.expectRevert(refused);
        proxy.swapWithPermit2(_flat(order), "", _permit(), "");
    }
}
