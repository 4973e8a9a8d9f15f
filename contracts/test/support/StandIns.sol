// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, STETH} from "../../src/Constants.sol";
import {IToken} from "./Market.sol";
import {TestToken} from "./TestToken.sol";

// Stand-ins for contracts that no package holds: the deployed calls and manner of payment, with maths of our own.
// They say nothing of the real pools' prices.

/// Stand-in for a Curve pool of two coins at a fixed rate; `coins[i]` may be native ether.
/// `silent` answers nothing, as the first pools do.
contract StandInCurvePool {
    address[2] public coins;
    bool public silent;
    uint256 public immutable rateBps;

    constructor(address coin0, address coin1, bool silent_, uint256 rateBps_) payable {
        coins = [coin0, coin1];
        silent = silent_;
        rateBps = rateBps_;
    }

    function exchange(int128 i, int128 j, uint256 dx, uint256 minDy) external payable returns (uint256) {
        return _exchange(uint256(int256(i)), uint256(int256(j)), dx, minDy);
    }

    function exchange(uint256 i, uint256 j, uint256 dx, uint256 minDy) external payable returns (uint256) {
        return _exchange(i, j, dx, minDy);
    }

    function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 minDy) external payable returns (uint256) {
        return _exchange(uint256(int256(i)), uint256(int256(j)), dx, minDy);
    }

    function _exchange(uint256 i, uint256 j, uint256 dx, uint256 minDy) private returns (uint256 dy) {
        dy = dx * rateBps / 10_000;
        require(i != j && dy >= minDy);
        if (coins[i] == NATIVE) require(msg.value == dx);
        else require(msg.value == 0 && _pull(coins[i], address(this), dx));
        if (coins[j] == NATIVE) {
            (bool ok,) = msg.sender.call{value: dy}("");
            require(ok);
        } else {
            IToken(coins[j]).transfer(msg.sender, dy);
        }
        if (silent) {
            // answers nothing
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
    }
}

/// Some tokens answer nothing.
function _pull(address token, address to, uint256 amount) returns (bool ok) {
    (ok,) = token.call(abi.encodeCall(TestToken.transferFrom, (msg.sender, to, amount)));
}

/// Stand-in for a Curve pool that takes half of what it may, and so leaves an allowance.
contract StandInHalfTaker {
    address private immutable coinIn;
    address private immutable coinOut;

    constructor(address coinIn_, address coinOut_) {
        (coinIn, coinOut) = (coinIn_, coinOut_);
    }

    function exchange(int128, int128, uint256 dx, uint256) external {
        TestToken(coinIn).transferFrom(msg.sender, address(this), dx / 2);
        IToken(coinOut).transfer(msg.sender, dx / 2);
    }
}

/// Stand-in for Fluid's liquidity layer: it holds the money and pays it out.
contract StandInFluidLiquidity {
    function payOut(address token, address to, uint256 amount) external {
        if (token != NATIVE) {
            IToken(token).transfer(to, amount);
            return;
        }
        (bool ok,) = to.call{value: amount}("");
        require(ok);
    }

    receive() external payable {}
}

/// Stand-in for a Fluid pool at a fixed rate: it pulls into the liquidity layer and has that pay out.
contract StandInFluidPool {
    StandInFluidLiquidity private immutable liquidity;
    address private immutable token0;
    address private immutable token1;

    constructor(address liquidity_, address token0_, address token1_) {
        liquidity = StandInFluidLiquidity(payable(liquidity_));
        (token0, token1) = (token0_, token1_);
    }

    function swapIn(bool zeroForOne, uint256 amountIn, uint256 amountOutMin, address to)
        external
        payable
        returns (uint256 amountOut)
    {
        (address tokenIn, address tokenOut) = zeroForOne ? (token0, token1) : (token1, token0);
        amountOut = amountIn * 9_990 / 10_000;
        require(amountOut >= amountOutMin);
        if (tokenIn == NATIVE) {
            require(msg.value == amountIn);
            (bool ok,) = address(liquidity).call{value: amountIn}("");
            require(ok);
        } else {
            require(msg.value == 0);
            TestToken(tokenIn).transferFrom(msg.sender, address(liquidity), amountIn);
        }
        liquidity.payOut(tokenOut, to, amountOut);
    }
}

/// Stand-in for stETH: balances in shares, every amount rounded down, one share worth more than one wei.
contract StandInStEth {
    mapping(address => uint256) public sharesOf;
    mapping(address => mapping(address => uint256)) public allowance;
    uint256 public totalShares;
    uint256 public totalPooledEther;

    function seed(uint256 shares, uint256 pooled) external {
        sharesOf[msg.sender] += shares;
        (totalShares, totalPooledEther) = (totalShares + shares, totalPooledEther + pooled);
    }

    function submit(address) external payable returns (uint256 shares) {
        shares = getSharesByPooledEth(msg.value);
        sharesOf[msg.sender] += shares;
        (totalShares, totalPooledEther) = (totalShares + shares, totalPooledEther + msg.value);
    }

    function balanceOf(address account) external view returns (uint256) {
        return getPooledEthByShares(sharesOf[account]);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
        return true;
    }

    function transferShares(address to, uint256 shares) external returns (uint256 amount) {
        sharesOf[msg.sender] -= shares;
        sharesOf[to] += shares;
        return getPooledEthByShares(shares);
    }

    function getSharesByPooledEth(uint256 amount) public view returns (uint256) {
        return amount * totalShares / totalPooledEther;
    }

    function getPooledEthByShares(uint256 shares) public view returns (uint256) {
        return shares * totalPooledEther / totalShares;
    }

    function _move(address from, address to, uint256 amount) private {
        uint256 shares = getSharesByPooledEth(amount);
        sharesOf[from] -= shares;
        sharesOf[to] += shares;
    }
}

/// Stand-in for wstETH: one for each share of stETH.
contract StandInWstEth is TestToken(18) {
    function wrap(uint256 amount) external returns (uint256 shares) {
        shares = StandInStEth(STETH).getSharesByPooledEth(amount);
        balanceOf[msg.sender] += shares;
        StandInStEth(STETH).transferFrom(msg.sender, address(this), amount);
    }

    function unwrap(uint256 shares) external returns (uint256 amount) {
        amount = StandInStEth(STETH).getPooledEthByShares(shares);
        balanceOf[msg.sender] -= shares;
        StandInStEth(STETH).transfer(msg.sender, amount);
    }
}

interface IShare {
    function asset() external view returns (address);
    function previewDeposit(uint256) external view returns (uint256);
    function previewRedeem(uint256) external view returns (uint256);
}

/// Stand-in for Balancer's third vault: a session in which credits and debts must come out even.
contract StandInBalancerV3Vault {
    struct VaultSwap {
        uint8 kind;
        address pool;
        address tokenIn;
        address tokenOut;
        uint256 amountGivenRaw;
        uint256 limitRaw;
        bytes userData;
    }

    struct BufferWrapOrUnwrap {
        uint8 kind;
        uint8 direction;
        address wrappedToken;
        uint256 amountGivenRaw;
        uint256 limitRaw;
    }

    bool private open;
    address[2] private touched;
    mapping(address => int256) private owed;
    mapping(address => uint256) public reservesOf;

    function seed(address token) external {
        reservesOf[token] = IToken(token).balanceOf(address(this));
    }

    function unlock(bytes calldata data) external returns (bytes memory result) {
        require(!open);
        open = true;
        bool ok;
        (ok, result) = msg.sender.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(result, 0x20), mload(result))
            }
        }
        require(owed[touched[0]] == 0 && owed[touched[1]] == 0, "not settled");
        open = false;
    }

    function settle(address token, uint256 hint) external returns (uint256 credit) {
        uint256 balance = IToken(token).balanceOf(address(this));
        credit = balance - reservesOf[token];
        if (credit > hint) credit = hint;
        reservesOf[token] = balance;
        owed[token] -= int256(credit);
    }

    function swap(VaultSwap calldata given) external returns (uint256 calculated, uint256 amountIn, uint256 amountOut) {
        require(open && given.kind == 0);
        amountIn = given.amountGivenRaw;
        calculated = amountOut = amountIn * 9_900 / 10_000;
        require(amountOut >= given.limitRaw);
        _owe(given.tokenIn, amountIn, given.tokenOut, amountOut);
    }

    /// A buffer that always has enough, and converts as the share's own previews say, a little less each time.
    function erc4626BufferWrapOrUnwrap(BufferWrapOrUnwrap calldata given)
        external
        returns (uint256 calculated, uint256 amountIn, uint256 amountOut)
    {
        require(open && given.kind == 0 && given.limitRaw == 0);
        amountIn = given.amountGivenRaw;
        IShare share = IShare(given.wrappedToken);
        bool wraps = given.direction == 0;
        calculated = amountOut = (wraps ? share.previewDeposit(amountIn - 1) : share.previewRedeem(amountIn - 1)) - 1;
        address asset = share.asset();
        if (wraps) _owe(asset, amountIn, given.wrappedToken, amountOut);
        else _owe(given.wrappedToken, amountIn, asset, amountOut);
    }

    function _owe(address tokenIn, uint256 amountIn, address tokenOut, uint256 amountOut) private {
        touched = [tokenIn, tokenOut];
        owed[tokenIn] += int256(amountIn);
        owed[tokenOut] -= int256(amountOut);
    }

    function sendTo(address token, address to, uint256 amount) external {
        require(open);
        owed[token] += int256(amount);
        reservesOf[token] -= amount;
        IToken(token).transfer(to, amount);
    }
}
