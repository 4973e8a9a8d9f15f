// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IExecutionProxy, Order} from "../../src/IExecutionProxy.sol";
import {TestToken} from "./TestToken.sol";

interface ICallback {
    function uniswapV3SwapCallback(int256, int256, bytes calldata) external;
    function pancakeV3SwapCallback(int256, int256, bytes calldata) external;
}

/// A V3-shaped pool whose answer and callbacks the test chooses. It brings back the terms that it was given, or others.
contract HostileV3Pool {
    ICallback private immutable proxy;
    int256[2][] private callbacks;
    int256 private answer0;
    int256 private answer1;
    bytes private forged;
    bytes private reason;

    constructor(address proxy_) {
        proxy = ICallback(proxy_);
    }

    function callBack(int256 delta0, int256 delta1) external {
        callbacks.push([delta0, delta1]);
    }

    function answer(int256 delta0, int256 delta1) external {
        (answer0, answer1) = (delta0, delta1);
    }

    /// Brings back these terms and not its own.
    function forge(bytes calldata terms) external {
        forged = terms;
    }

    /// Reverts with this.
    function fail(bytes calldata reason_) external {
        reason = reason_;
    }

    function swap(address, bool, int256, uint160, bytes calldata given) external virtual returns (int256, int256) {
        bytes memory terms = forged;
        if (terms.length == 0) terms = given;
        for (uint256 i; i < callbacks.length; ++i) {
            proxy.uniswapV3SwapCallback(callbacks[i][0], callbacks[i][1], terms);
        }
        bytes memory data = reason;
        if (data.length != 0) {
            assembly ("memory-safe") {
                revert(add(data, 0x20), mload(data))
            }
        }
        return (answer0, answer1);
    }
}

/// A V3-shaped pool that asks for its input by Uniswap's callback, then again by PancakeSwap's.
contract TwoNamesPool {
    ICallback private immutable proxy;

    constructor(address proxy_) {
        proxy = ICallback(proxy_);
    }

    function swap(address, bool, int256 amount, uint160, bytes calldata terms) external returns (int256, int256) {
        proxy.uniswapV3SwapCallback(amount, amount, terms);
        proxy.pancakeV3SwapCallback(amount, amount, terms);
        return (0, 0);
    }
}

/// Sends someone else to the callback while the proxy waits for this pool.
contract MessengerPool {
    ICallback private immutable proxy;

    constructor(address proxy_) {
        proxy = ICallback(proxy_);
    }

    function swap(address, bool, int256 amount, uint160, bytes calldata terms) external returns (int256, int256) {
        new Messenger().carry(proxy, amount, terms);
        return (0, 0);
    }
}

contract Messenger {
    function carry(ICallback proxy, int256 amount, bytes calldata terms) external {
        proxy.uniswapV3SwapCallback(amount, amount, terms);
    }
}

/// A V3-shaped pool that takes its terms to the callback of Balancer's third vault.
contract SessionPool {
    function swap(address, bool, int256, uint160, bytes calldata terms) external returns (int256, int256) {
        (bool ok, bytes memory reason) =
            msg.sender.call(abi.encodeWithSignature("balancerV3UnlockCallback(bytes)", terms));
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(reason, 0x20), mload(reason))
            }
        }
        return (0, 0);
    }
}

/// Runs an order of its own while another runs; as a pool of both shapes, or as the hook of a token.
contract Reentrant {
    address private immutable proxy;
    bytes private call;

    constructor(address proxy_, Order memory order, bytes memory program) {
        proxy = proxy_;
        call = abi.encodeCall(IExecutionProxy.execute, (order, program));
    }

    function reenter() public {
        (bool ok, bytes memory reason) = proxy.call(call);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(reason, 0x20), mload(reason))
            }
        }
    }

    function swap(address, bool, int256, uint160, bytes calldata) external returns (int256, int256) {
        reenter();
        return (0, 0);
    }

    function getReserves() external pure returns (uint112, uint112, uint32) {
        return (1e30, 1e30, 0);
    }

    function swap(uint256, uint256, address, bytes calldata) external {
        reenter();
    }

    receive() external payable {
        reenter();
    }
}

/// A V2-shaped pair whose reserves the test chooses and that pays nothing.
contract HostileV2Pair {
    uint256 private reserve0;
    uint256 private reserve1;

    constructor(uint256 reserve0_, uint256 reserve1_) {
        (reserve0, reserve1) = (reserve0_, reserve1_);
    }

    function getReserves() external view returns (uint256, uint256, uint256) {
        return (reserve0, reserve1, 0);
    }

    function swap(uint256, uint256, address, bytes calldata) external {}
}

/// Answers every call with a million bytes, as a success or as a revert.
contract HugeAnswer {
    bool private immutable fails;

    constructor(bool fails_) {
        fails = fails_;
    }

    fallback() external {
        bool reverting = fails;
        assembly {
            mstore(0x40, 0)
            if reverting { revert(0, 1000000) }
            return(0, 1000000)
        }
    }
}

/// Burns all the gas that it is given.
contract GasEater {
    fallback() external {
        while (true) {}
    }
}

/// USDT's manners: no answer, and no approval over another.
contract SilentToken is TestToken(6) {
    function approve(address spender, uint256 amount) external override returns (bool) {
        require(amount == 0 || allowance[msg.sender][spender] == 0, "reset first");
        allowance[msg.sender][spender] = amount;
        _silence();
    }

    function transfer(address to, uint256 amount) external override returns (bool) {
        _move(msg.sender, to, amount);
        _silence();
    }

    function transferFrom(address from, address to, uint256 amount) external override returns (bool) {
        allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
        _silence();
    }

    function _silence() private pure {
        assembly {
            return(0, 0)
        }
    }
}

/// Says false and moves nothing, once told to.
contract FalseToken is TestToken(18) {
    bool public refusing;

    function refuse() external {
        refusing = true;
    }

    function transferFrom(address from, address to, uint256 amount) external override returns (bool) {
        if (refusing) return false;
        _move(from, to, amount);
        return true;
    }
}

/// Keeps one percent of every transfer.
contract TaxedToken is TestToken(18) {
    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        balanceOf[to] -= amount / 100;
        totalSupply -= amount / 100;
    }
}

/// Refuses every transfer from or to one account.
contract BlockingToken is TestToken(18) {
    address public blocked;

    function block_(address account) external {
        blocked = account;
    }

    function _move(address from, address to, uint256 amount) internal override {
        require(from != blocked && to != blocked, "blocked");
        super._move(from, to, amount);
    }
}

/// Balances shrink by one percent at each transfer, of everyone who has any among the watched.
contract RebasingToken is TestToken(18) {
    address public watched;

    function watch(address account) external {
        watched = account;
    }

    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        balanceOf[watched] -= balanceOf[watched] / 100;
    }
}

/// Calls a hook at every transfer, as ERC-777 did.
contract HookedToken is TestToken(18) {
    Reentrant public hook;

    function setHook(Reentrant hook_) external {
        hook = hook_;
    }

    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        if (address(hook) != address(0)) hook.reenter();
    }
}

/// Refuses ether.
contract NoEther {}
