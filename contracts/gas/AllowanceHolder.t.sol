// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IToken, Market} from "../test/support/Market.sol";
import {TestToken} from "../test/support/TestToken.sol";

/// The smallest contract that could hold allowances for every edition of the proxy: whoever calls it lets one target take one amount of one
/// token of the caller's, for the length of the call. It is here to be measured, not to be deployed.
contract SmallestHolder {
    address private transient owner;
    address private transient target;
    address private transient token;
    uint256 private transient left;

    function exec(address target_, address token_, uint256 amount, bytes calldata data) external payable {
        (owner, target, token, left) = (msg.sender, target_, token_, amount);
        (bool ok,) = target_.call{value: msg.value}(data);
        require(ok, "target");
        (target, left) = (address(0), 0);
    }

    function transferFrom(address token_, address from, address to, uint256 amount) external {
        require(msg.sender == target && from == owner && token_ == token, "terms");
        left -= amount;
        require(TestToken(token_).transferFrom(from, to, amount), "token");
    }
}

/// Takes a payment in the place of the proxy: by its own allowance, or by the holder's.
contract Taker {
    function take(TestToken token, address from, address to, uint256 amount) external {
        require(token.transferFrom(from, to, amount), "token");
    }

    function takeBy(SmallestHolder holder, address token, address from, address to, uint256 amount) external {
        holder.transferFrom(token, from, to, amount);
    }
}

/// What an allowance that no new edition of the proxy invalidates would cost each swap (`docs/internals/security.md`).
contract AllowanceHolderGasTest is Market {
    uint256 private constant SELL = 3_000e6;

    function test_allowance_by_way_of_a_holder() public {
        (SmallestHolder holder, Taker taker) = (new SmallestHolder(), new Taker());
        usdc.transfer(alice, 1e12);
        usdc.transfer(bob, 1);
        vm.startPrank(alice);
        usdc.approve(address(taker), type(uint256).max);
        usdc.approve(address(holder), type(uint256).max);
        taker.take(usdc, alice, bob, SELL);
        vm.snapshotGasLastCall("allowance", "a payment by the proxy's own allowance");
        bytes memory data = abi.encodeCall(Taker.takeBy, (holder, address(usdc), alice, bob, SELL));
        holder.exec(address(taker), address(usdc), SELL, data);
        vm.snapshotGasLastCall("allowance", "a payment by way of an allowance holder");
        vm.stopPrank();
        assertEq(usdc.balanceOf(bob), 2 * SELL + 1);
    }
}
