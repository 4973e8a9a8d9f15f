// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {WETH} from "../../src/Constants.sol";
import {IToken, IV2Pair} from "./Market.sol";
import {TestToken} from "./TestToken.sol";

interface IPairSwap is IV2Pair {
    function swap(uint256, uint256, address, bytes calldata) external;
}

/// Owes somebody tokens, and pays them when anyone asks: a vesting, a claim, a withdrawal.
contract Debt {
    address private immutable creditor;
    IToken private immutable token;

    constructor(address creditor_, IToken token_) {
        (creditor, token) = (creditor_, token_);
    }

    function settle() external {
        token.transfer(creditor, token.balanceOf(address(this)));
    }
}

/// A pool of V3's shape that keeps its input, and has somebody else's money sent to the recipient in place of a payment.
contract ImpostorPool {
    address private immutable target;
    bytes private order;
    int256 private answer;

    constructor(address target_, bytes memory order_, int256 answer_) {
        (target, order, answer) = (target_, order_, answer_);
    }

    function swap(address, bool, int256 amount, uint160, bytes calldata terms) external returns (int256, int256) {
        _call(target, order);
        _call(msg.sender, abi.encodeWithSignature("uniswapV3SwapCallback(int256,int256,bytes)", amount, amount, terms));
        return (answer, answer);
    }

    function _call(address to, bytes memory data) private {
        (bool ok, bytes memory reason) = to.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(reason, 0x20), mload(reason))
            }
        }
    }
}

/// Trades on a pair as anyone can.
abstract contract Trader {
    IPairSwap internal immutable PAIR;

    constructor(address pair) {
        PAIR = IPairSwap(pair);
    }

    function _sell(address token, uint256 amount) internal returns (uint256 out) {
        (uint256 reserveIn, uint256 reserveOut,) = PAIR.getReserves();
        bool zero = PAIR.token0() == token;
        if (!zero) (reserveIn, reserveOut) = (reserveOut, reserveIn);
        IToken(token).transfer(address(PAIR), amount);
        uint256 afterFee = amount * 997;
        out = afterFee * reserveOut / (reserveIn * 1000 + afterFee);
        PAIR.swap(zero ? 0 : out, zero ? out : 0, address(this), "");
    }
}

/// A partner that trades ahead of the order when it is paid in ether.
contract FrontRunningPartner is Trader {
    constructor(address pair) Trader(pair) {}

    receive() external payable {
        _sell(WETH, IToken(WETH).balanceOf(address(this)));
    }
}

/// Somebody who got hold of a signed order: trades before it and after it, in one transaction.
contract Sandwich is Trader {
    constructor(address pair) Trader(pair) {}

    function run(address proxy, bytes calldata order, address token, uint256 amount, address other) external {
        uint256 got = _sell(token, amount);
        (bool ok, bytes memory reason) = proxy.call(order);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(reason, 0x20), mload(reason))
            }
        }
        _sell(other, got);
    }
}

/// A partner that may take the recipient's tokens, and does so when it is paid: an automated account of his.
contract CollectingPartner {
    TestToken private immutable token;
    address private immutable from;

    constructor(TestToken token_, address from_) {
        (token, from) = (token_, from_);
    }

    receive() external payable {
        token.transferFrom(from, address(this), token.balanceOf(from));
    }
}

/// A partner that burns all gas it is given.
contract GreedyPartner {
    uint256 private burnt;

    receive() external payable {
        while (true) ++burnt;
    }
}

/// A partner with code that takes ether in some thousand units of gas, as a wallet does.
contract WalletPartner {
    uint256 public taken;

    receive() external payable {
        taken += msg.value;
    }
}

/// A partner that gives up at once where it sees too little gas, and leaves what is left to its caller.
contract CarefulPartner {
    receive() external payable {
        require(gasleft() > 25_000, "too little gas");
    }
}

/// Redeems half of the shares that it is shown, and leaves the rest with their owner.
contract HalfVault is TestToken(18) {
    TestToken private immutable asset;

    constructor(TestToken asset_) {
        asset = asset_;
    }

    function redeem(uint256 shares, address to, address owner) external returns (uint256 assets) {
        assets = shares / 2;
        balanceOf[owner] -= assets;
        totalSupply -= assets;
        asset.transfer(to, assets);
    }
}
