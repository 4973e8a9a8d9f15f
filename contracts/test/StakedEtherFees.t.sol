// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, STETH, WSTETH} from "../src/Constants.sol";
import {IExecutionProxy, Order, Output, Permit} from "../src/IExecutionProxy.sol";
import {HostileV3Pool} from "./support/Hostile.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {Signing} from "./support/Signing.sol";
import {StandInStEth, StandInWstEth} from "./support/StandIns.sol";

/// Tests partner fees in stETH. The settlement pays out the proxy's shares of stETH before it pays the partner, so it must leave the shares of
/// the fee.
contract StakedEtherFeesTest is Signing {
    StandInStEth private constant STAKED = StandInStEth(STETH);
    uint16 private constant FEE_BPS = 137;
    uint256 private constant AMOUNT = 7 ether + 12_345;

    function setUp() public override {
        super.setUp();
        vm.etch(STETH, address(new StandInStEth()).code);
        vm.etch(WSTETH, address(new StandInWstEth()).code);
        vm.deal(STETH, 13_000 ether);
        STAKED.seed(10_000 ether, 12_345 ether + 6_789);
    }

    /// Adds a partner fee to an order.
    function _with(Order memory order, uint16 feeBps, bool onOutput) private view returns (Order memory) {
        (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) = (partner, feeBps, onOutput);
        return order;
    }

    /// Encodes a program of one step without operands, from token 0 to token 1.
    function _step(uint8 opcode, uint32 share) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), Program.head(opcode, 0, 0, 1, share));
    }

    /// Gives an account an amount of stETH and nothing more, and lets a spender take exactly that. Returns its shares.
    function _supply(address account, uint256 amount, address spender) private returns (uint256 shares) {
        // a share more where the amount is not a whole number of them
        shares = STAKED.getSharesByPooledEth(amount);
        if (STAKED.getPooledEthByShares(shares) < amount) ++shares;
        STAKED.transferShares(account, shares);
        vm.prank(account);
        STAKED.approve(spender, amount);
    }

    function _byAllowance(Order memory order, bytes memory program) private {
        vm.prank(alice);
        proxy.execute(order, program);
    }

    function _bySignature(Order memory order, bytes memory program) private {
        Permit memory permit = Permit(owner, 7, block.timestamp, address(0));
        bytes memory signature = _sign(order, program, permit);
        proxy.executeWithPermit2(order, program, permit, signature);
    }

    /// Checks that the partner has the shares of its fee, and the proxy none.
    function _assertPaid(uint256 fee) private view {
        assertEq(STAKED.sharesOf(partner), STAKED.getSharesByPooledEth(fee), "the partner's shares");
        assertEq(STAKED.sharesOf(address(proxy)), 0, "shares stay behind");
    }

    /// Stakes ether with a fee on the stETH. The recipient must gain all shares but those of the fee.
    function _stake(uint256 amount, uint16 feeBps) private {
        uint256 shares = STAKED.getSharesByPooledEth(amount);
        uint256 made = shares * (STAKED.totalPooledEther() + amount) / (STAKED.totalShares() + shares);
        uint256 fee = made * feeBps / 10_000;
        uint256 kept = fee * (STAKED.totalShares() + shares) / (STAKED.totalPooledEther() + amount);
        // `arrives` in crates/routing computes the same amount
        uint256 gain = (shares - kept) * (STAKED.totalPooledEther() + amount) / (STAKED.totalShares() + shares);
        Order memory order = _with(_order(NATIVE, amount, STETH, gain), feeBps, true);
        vm.deal(alice, amount);
        order.outputs[0].minimum = gain + 1;
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.OutputBelowMinimum.selector);
        proxy.execute{value: amount}(order, _step(0x50, 0));
        order.outputs[0].minimum = gain;
        vm.prank(alice);
        uint256[] memory received = proxy.execute{value: amount}(order, _step(0x50, 0));
        assertEq(received[0], gain);
        assertEq(STAKED.sharesOf(bob), shares - kept, "the recipient's shares");
        _assertPaid(fee);
    }

    /// Wraps a part of an input of stETH with a fee on the input. The rest must return to the payer.
    function _wrap(uint256 amount, uint16 feeBps, uint32 share, bool signed) private {
        address payer = signed ? owner : alice;
        uint256 before = STAKED.sharesOf(address(proxy)) + _supply(payer, amount, signed ? PERMIT2 : address(proxy));
        Order memory order = _with(_order(STETH, amount, WSTETH, 1), feeBps, false);
        if (signed) _bySignature(order, _step(0x51, share));
        else _byAllowance(order, _step(0x51, share));
        uint256 fee = amount * feeBps / 10_000;
        _assertPaid(fee);
        uint256 moved = STAKED.sharesOf(WSTETH) + STAKED.sharesOf(partner) + STAKED.sharesOf(payer);
        assertEq(moved, before, "the wrapper, the partner and the payer have all of it");
        uint256 spent = share == 0 ? amount - fee : (amount - fee) * share >> 32;
        assertEq(IToken(WSTETH).balanceOf(bob), STAKED.getSharesByPooledEth(spent));
        assertEq(STAKED.sharesOf(bob), 0);
    }

    function test_partner_fee_on_an_output_of_steth_is_paid() public {
        _stake(AMOUNT, FEE_BPS);
    }

    function test_partner_fee_on_an_input_of_steth_is_paid_by_allowance() public {
        _wrap(AMOUNT, FEE_BPS, 0, false);
    }

    function test_partner_fee_on_an_input_of_steth_is_paid_by_signature() public {
        _wrap(AMOUNT, FEE_BPS, 0, true);
    }

    /// Returns all shares at the proxy, because the fee on an input of `execute` is still with the payer.
    function test_unspent_steth_returns_beside_a_partner_fee() public {
        STAKED.transferShares(address(proxy), 3);
        _wrap(AMOUNT, FEE_BPS, 1 << 31, false);
    }

    function test_unspent_signed_steth_returns_beside_a_partner_fee() public {
        _wrap(AMOUNT, FEE_BPS, 1 << 31, true);
    }

    /// Pays one fee in shares and one in an ordinary token.
    function test_partner_fee_on_two_outputs_one_of_them_steth_is_paid() public {
        Order memory order = _with(_order(NATIVE, AMOUNT, STETH, 1), FEE_BPS, true);
        order.outputs = new Output[](2);
        (order.outputs[0], order.outputs[1]) = (Output(STETH, 1), Output(WSTETH, 1));
        bytes memory program =
            bytes.concat(Program.tokens(), Program.head(0x50, 0, 0, 1, 0), Program.head(0x51, 0, 1, 2, 1 << 31));
        uint256 minted = STAKED.getSharesByPooledEth(AMOUNT);
        vm.deal(alice, AMOUNT);
        vm.prank(alice);
        uint256[] memory received = proxy.execute{value: AMOUNT}(order, program);
        uint256 made = STAKED.getPooledEthByShares(minted);
        uint256 wrapped = STAKED.getSharesByPooledEth(made >> 1);
        uint256 fee = wrapped * FEE_BPS / 10_000;
        assertEq(IToken(WSTETH).balanceOf(partner), fee);
        assertEq(received[1], wrapped - fee);
        assertEq(IToken(WSTETH).balanceOf(bob), wrapped - fee);
        _assertPaid((made - (made >> 1)) * FEE_BPS / 10_000);
        assertEq(received[0], IToken(STETH).balanceOf(bob));
        assertEq(STAKED.sharesOf(bob) + STAKED.sharesOf(partner) + wrapped, minted);
    }

    /// Pays shares that somebody sent to the proxy to the recipient, not to the partner.
    function test_partner_fee_in_steth_takes_no_other_shares() public {
        STAKED.transferShares(address(proxy), 1 ether);
        Order memory order = _with(_order(NATIVE, AMOUNT, STETH, 1), FEE_BPS, true);
        vm.deal(alice, AMOUNT);
        vm.prank(alice);
        proxy.execute{value: AMOUNT}(order, _step(0x50, 0));
        _assertPaid((AMOUNT - 1) * FEE_BPS / 10_000);
    }

    /// Reverts if a pool delivers the recipient's part and half of the fee, because the payment to the partner fails.
    function test_pool_that_delivers_less_than_the_fee_in_steth_is_refused() public {
        HostileV3Pool pool = new HostileV3Pool(address(proxy));
        (int256 sold, int256 bought) = (1e6, -1 ether);
        bool zeroForOne = address(usdc) < STETH;
        if (zeroForOne) pool.callBack(sold, bought);
        else pool.callBack(bought, sold);
        if (zeroForOne) pool.answer(sold, bought);
        else pool.answer(bought, sold);
        STAKED.transfer(address(proxy), 0.995 ether);
        Order memory order = _with(_order(address(usdc), 1e6, STETH, 1), 100, true);
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.TransferFailed.selector);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v3(0, 0, 1, 0, address(pool))));
    }

    /// Checks for every rate, amount and fee that the rounding of amounts to shares makes no order fail.
    /// forge-config: default.fuzz.runs = 500
    function testFuzz_partner_fee_in_steth_is_paid(uint96 amount, uint96 pooled, uint32 share, uint16 bps, uint8 kind)
        public
    {
        STAKED.seed(0, bound(pooled, 0, 1e27));
        uint256 sold = bound(amount, 1e12, 1_000 ether);
        uint16 feeBps = uint16(bound(bps, 1, 300));
        uint32 part = uint32(bound(share, 1 << 20, type(uint32).max));
        if (kind % 3 == 0) _stake(sold, feeBps);
        else _wrap(sold, feeBps, kind & 4 == 0 ? 0 : part, kind % 3 == 1);
    }
}
