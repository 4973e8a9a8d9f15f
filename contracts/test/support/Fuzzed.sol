// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Debt} from "./Attackers.sol";
import {TestToken} from "./TestToken.sol";

/// A stranger's pool of V3's, V2's and Curve's shapes at once, that behaves as a number says: it pays or not, asks for too much, tells what it
/// likes, has a debt to the recipient settled, or calls the proxy.
contract FuzzedPool {
    TestToken private immutable input;
    TestToken private immutable output;
    Debt private immutable debt;
    uint256 private seed;
    bytes private order;

    constructor(TestToken input_, TestToken output_, Debt debt_) {
        (input, output, debt) = (input_, output_, debt_);
    }

    /// How it behaves from now on, and an order that it may try to run inside another.
    function behave(uint256 seed_, bytes calldata order_) external {
        (seed, order) = (seed_, order_);
    }

    function fee() external view returns (uint256) {
        return seed & 1 == 0 ? 500 : 3000;
    }

    function getReserves() external view returns (uint112, uint112, uint32) {
        return (uint112(1 + (seed >> 8) % 1e30), uint112(1 + (seed >> 16) % 1e30), 0);
    }

    function swap(address to, bool, int256 amount, uint160, bytes calldata terms) external returns (int256, int256) {
        _misbehave();
        int256 asked = seed % 7 == 0 ? amount + 1 : amount;
        if (seed % 11 != 0) {
            (bool ok,) = msg.sender
                .call(abi.encodeWithSignature("uniswapV3SwapCallback(int256,int256,bytes)", asked, asked, terms));
            if (!ok && seed % 3 == 0) revert("not paid");
        }
        uint256 paid = _pay(to);
        int256 told = seed % 5 == 0 ? int256((seed >> 32) % 1e24) : int256(paid);
        return (-told, -told);
    }

    function swap(uint256 amount0, uint256 amount1, address to, bytes calldata) external {
        _misbehave();
        uint256 amount = amount0 + amount1;
        if (seed % 4 != 0 && amount <= output.balanceOf(address(this))) output.transfer(to, amount);
    }

    function exchange(int128, int128, uint256 dx, uint256) external returns (uint256) {
        _misbehave();
        if (seed % 5 != 0) input.transferFrom(msg.sender, address(this), seed % 9 == 0 ? dx / 2 : dx);
        return _pay(msg.sender);
    }

    function _pay(address to) private returns (uint256 paid) {
        if (seed % 4 == 0) return 0;
        paid = (seed >> 24) % (1 + output.balanceOf(address(this)) / 4);
        output.transfer(to, paid);
    }

    function _misbehave() private {
        if (seed % 6 < 3) debt.settle();
        if (seed % 13 == 0) {
            (bool ok,) = msg.sender.call(order);
            ok;
        }
        if (seed % 17 == 0) {
            (bool ok,) = msg.sender.call{value: address(this).balance}("");
            ok;
        }
    }

    receive() external payable {}
}
