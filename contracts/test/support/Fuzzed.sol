// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Debt} from "./Attackers.sol";
import {TestToken} from "./TestToken.sol";

/// A stranger's contract that behaves as a number says: now and then it has a debt to the recipient settled, or calls the proxy.
abstract contract Fuzzed {
    Debt private immutable debt;
    uint256 internal seed;
    address private proxy;
    bytes private order;

    constructor(Debt debt_) {
        debt = debt_;
    }

    /// An order that it may try to run inside another.
    function attempt(address proxy_, bytes calldata order_) external {
        (proxy, order) = (proxy_, order_);
    }

    /// How it behaves from now on.
    function behave(uint256 seed_) external {
        seed = seed_;
    }

    function _misbehave() internal {
        if (seed % 6 < 3) debt.settle();
        if (seed % 13 == 0) {
            (bool ok,) = proxy.call(order);
            ok;
        }
        if (seed % 17 == 0) {
            (bool ok,) = proxy.call{value: address(this).balance}("");
            ok;
        }
    }

    receive() external payable {}
}

/// A pool of V3's, V2's and Curve's shapes at once: it pays or not, asks for too much, tells what it likes.
contract FuzzedPool is Fuzzed {
    TestToken private immutable input;
    TestToken private immutable output;

    constructor(TestToken input_, TestToken output_, Debt debt_) Fuzzed(debt_) {
        (input, output) = (input_, output_);
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
}

/// A token that taxes or answers false.
contract FuzzedToken is TestToken(18), Fuzzed {
    constructor(Debt debt_) Fuzzed(debt_) {}

    function transfer(address to, uint256 amount) external override returns (bool) {
        _move(msg.sender, to, amount);
        return seed % 11 != 0;
    }

    function _move(address from, address to, uint256 amount) internal override {
        if (seed % 4 == 0) _misbehave();
        super._move(from, to, seed % 3 == 0 ? amount - amount / 100 : amount);
    }
}

/// A vault that leaves shares with their owner, pays nothing or tells too much.
contract FuzzedVault is TestToken(18), Fuzzed {
    TestToken private immutable asset;

    constructor(TestToken asset_, Debt debt_) Fuzzed(debt_) {
        asset = asset_;
    }

    function redeem(uint256 shares, address to, address owner) external returns (uint256 assets) {
        _misbehave();
        assets = seed % 3 == 0 ? shares / 2 : shares;
        balanceOf[owner] -= assets;
        totalSupply -= assets;
        if (seed % 4 != 0) asset.transfer(to, assets);
        if (seed % 5 == 0) assets += (seed >> 32) % 1e18;
    }
}
