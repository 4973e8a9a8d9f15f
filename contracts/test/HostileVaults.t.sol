// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {BALANCER_V3_VAULT, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Order} from "../src/IExecutionProxy.sol";
import {Reentrant} from "./support/Hostile.sol";
import {Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {StandInBalancerV3Vault} from "./support/StandIns.sol";
import {TestToken} from "./support/TestToken.sol";

/// A vault that takes the asset, says more shares than it makes, and can re-enter the proxy.
contract LyingVault is TestToken(18) {
    address private immutable asset;
    Reentrant private hook;

    constructor(address asset_) {
        asset = asset_;
    }

    function setHook(Reentrant hook_) external {
        hook = hook_;
    }

    function deposit(uint256 assets, address to) external returns (uint256) {
        TestToken(asset).transferFrom(msg.sender, address(this), assets);
        balanceOf[to] += assets;
        if (address(hook) != address(0)) hook.reenter();
        return assets * 10;
    }
}

/// A Curve-shaped pool that says it paid and did not, and sends ether that nobody waits for.
contract LyingCurvePool {
    address private immutable coinIn;
    bool private immutable sendsEther;

    constructor(address coinIn_, bool sendsEther_) payable {
        (coinIn, sendsEther) = (coinIn_, sendsEther_);
    }

    function exchange(int128, int128, uint256 dx, uint256) external returns (uint256) {
        TestToken(coinIn).transferFrom(msg.sender, address(this), dx);
        if (sendsEther) {
            (bool ok, bytes memory reason) = msg.sender.call{value: 1}("");
            if (!ok) {
                assembly ("memory-safe") {
                    revert(add(reason, 0x20), mload(reason))
                }
            }
        }
        return type(uint128).max;
    }
}

/// A contract in Balancer's place that answers an order without calling back, or calls back with words of its own, or twice.
contract HostileSession {
    uint256 private calls;
    bytes private words;

    function prepare(uint256 calls_, bytes calldata words_) external {
        (calls, words) = (calls_, words_);
    }

    function unlock(bytes calldata data) external returns (bytes memory) {
        bytes memory call = words;
        if (call.length == 0) call = data;
        for (uint256 i; i < calls; ++i) {
            (bool ok, bytes memory reason) = msg.sender.call(call);
            if (!ok) {
                assembly ("memory-safe") {
                    revert(add(reason, 0x20), mload(reason))
                }
            }
        }
        return abi.encode(1);
    }

    function settle(address, uint256 hint) external pure returns (uint256) {
        return hint;
    }

    function swap(StandInBalancerV3Vault.VaultSwap calldata given) external pure returns (uint256, uint256, uint256) {
        return (given.amountGivenRaw, given.amountGivenRaw, given.amountGivenRaw);
    }

    function sendTo(address, address, uint256) external {}
}

/// Vaults, Curve-shaped pools and sessions that a program may name but nobody should trust.
contract HostileVaultsTest is Market {
    uint256 private constant AMOUNT = 1e18;

    function _one(uint8 opcode, uint8 to, bytes memory operands) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), Program.head(opcode, to, 0, 1, 0), operands);
    }

    function _refuse(Order memory order, bytes memory program, bytes memory reason) private {
        _fund(order);
        uint256 before = dai.balanceOf(alice);
        vm.prank(alice);
        vm.expectRevert(reason);
        proxy.execute(order, program);
        assertEq(dai.balanceOf(alice), before);
    }

    function test_vault_that_says_more_shares_than_it_made_fails() public {
        LyingVault vault = new LyingVault(address(dai));
        Order memory order = _order(address(dai), AMOUNT, address(vault), AMOUNT + 1);
        // straight to the recipient: what arrived is less than the minimum
        _refuse(
            order,
            _one(0x40, 1, ""),
            abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 0, address(vault), AMOUNT, AMOUNT + 1)
        );
        // by way of the proxy: there is not so much to pass on
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.TransferFailed.selector);
        proxy.execute(order, _one(0x40, 0, ""));
    }

    function test_vault_that_reenters_is_refused() public {
        LyingVault vault = new LyingVault(address(dai));
        Order memory order = _order(address(dai), AMOUNT, address(vault), 1);
        vault.setHook(new Reentrant(address(proxy), order, _one(0x40, 1, "")));
        bytes memory inner = abi.encodeWithSelector(IExecutionProxy.Reentered.selector);
        _refuse(
            order, _one(0x40, 1, ""), abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, vault, inner)
        );
    }

    /// Curve's answers are not believed: what the balance grew by is.
    function test_curve_pool_that_says_it_paid_and_did_not_fails_the_minimum() public {
        LyingCurvePool pool = new LyingCurvePool(address(dai), false);
        Order memory order = _order(address(dai), AMOUNT, address(wbtc), 1);
        _refuse(
            order,
            _one(0x20, 0, abi.encodePacked(pool, uint8(0), uint8(1))),
            abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 0, address(wbtc), 0, 1)
        );
    }

    function test_pool_that_sends_ether_nobody_waits_for_is_refused() public {
        LyingCurvePool pool = new LyingCurvePool{value: 1}(address(dai), true);
        Order memory order = _order(address(dai), AMOUNT, address(wbtc), 1);
        bytes memory inner = abi.encodeWithSelector(IExecutionProxy.UnexpectedEther.selector, address(pool), address(0));
        _refuse(
            order,
            _one(0x20, 0, abi.encodePacked(pool, uint8(0), uint8(1))),
            abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, pool, inner)
        );
    }

    // — the session of Balancer's third vault —

    /// The terms of the one session here, and what the proxy keeps of them.
    function _terms() private view returns (bytes memory) {
        return abi.encode(address(dai), AMOUNT, alice, address(7), address(wbtc), bob);
    }

    function _commitment(address caller) private view returns (bytes32) {
        return keccak256(bytes.concat(_terms(), abi.encode(caller)));
    }

    function _unexpected(address caller, bytes32 got, bytes32 expected) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IExecutionProxy.UnexpectedCallback.selector, caller, got, expected);
    }

    function _session(uint256 calls, bytes memory words, bytes memory reason) private {
        vm.etch(BALANCER_V3_VAULT, address(new HostileSession()).code);
        HostileSession(BALANCER_V3_VAULT).prepare(calls, words);
        _refuse(_order(address(dai), AMOUNT, address(wbtc), 1), _one(0x31, 1, abi.encodePacked(address(7))), reason);
    }

    function test_session_without_a_callback_is_refused() public {
        _session(0, "", abi.encodeWithSelector(IExecutionProxy.CallbackMissing.selector, 0, BALANCER_V3_VAULT));
    }

    function test_second_callback_of_one_session_is_refused() public {
        bytes memory inner = _unexpected(BALANCER_V3_VAULT, _commitment(BALANCER_V3_VAULT), 0);
        _session(2, "", abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, BALANCER_V3_VAULT, inner));
    }

    /// The other callback, from the contract that this step called: it is paid this step's amount, and nothing else.
    function test_session_that_calls_the_pairs_callback_gets_no_other_amount() public {
        bytes memory words = abi.encodeWithSignature(
            "uniswapV3SwapCallback(int256,int256,bytes)", int256(AMOUNT + 1), int256(0), _terms()
        );
        bytes memory inner = abi.encodeWithSelector(IExecutionProxy.CallbackAmountMismatch.selector, AMOUNT + 1, AMOUNT);
        _session(1, words, abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, BALANCER_V3_VAULT, inner));
    }

    function test_session_with_other_words_is_refused() public {
        bytes memory terms = abi.encode(address(dai), AMOUNT, alice, address(7), address(wbtc), address(this));
        bytes32 got = keccak256(bytes.concat(terms, abi.encode(BALANCER_V3_VAULT)));
        bytes memory inner = _unexpected(BALANCER_V3_VAULT, got, _commitment(BALANCER_V3_VAULT));
        _session(
            1,
            abi.encodeCall(IBalancerCallback.balancerV3UnlockCallback, (terms)),
            abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, BALANCER_V3_VAULT, inner)
        );
    }

    function test_stranger_calling_the_session_callback_during_and_after_an_order_is_refused() public {
        Messenger3 messenger = new Messenger3(address(proxy), _terms());
        Order memory order = _order(address(dai), AMOUNT, address(wbtc), 1);
        // during: the pool of the running step waits for nothing, and it is not the vault
        bytes memory inner = _unexpected(address(messenger), _commitment(address(messenger)), 0);
        _refuse(
            order,
            _one(0x20, 0, abi.encodePacked(messenger, uint8(0), uint8(1))),
            abi.encodeWithSelector(IExecutionProxy.PoolCallFailed.selector, 0, messenger, inner)
        );
        // after, in the same transaction
        _run(_order(address(usdc), 1e6, WETH, 1), bytes.concat(Program.tokens(), Program.v3(1, 0, 1, 0, v3UsdcWeth)));
        vm.prank(BALANCER_V3_VAULT);
        vm.expectRevert(_unexpected(BALANCER_V3_VAULT, _commitment(BALANCER_V3_VAULT), 0));
        IBalancerCallback(address(proxy)).balancerV3UnlockCallback(_terms());
    }

    // — every opcode, cut short —

    /// Each kind of step with its operands, cut at every byte: the decoder says what is missing before anything moves.
    function test_every_step_cut_short_at_every_byte_is_refused() public {
        uint8[15] memory opcodes =
            [0x01, 0x02, 0x10, 0x11, 0x20, 0x21, 0x22, 0x30, 0x31, 0x40, 0x41, 0x50, 0x51, 0x52, 0x60];
        uint8[15] memory operands = [0, 0, 22, 20, 22, 22, 22, 32, 20, 0, 0, 0, 0, 0, 21];
        for (uint256 k; k < opcodes.length; ++k) {
            bytes memory step = bytes.concat(Program.head(opcodes[k], 0, 0, 1, 0), new bytes(operands[k]));
            for (uint256 length = 1; length < step.length; ++length) {
                bytes memory part = new bytes(length);
                for (uint256 i; i < length; ++i) {
                    part[i] = step[i];
                }
                uint256 left = length < 8 ? length : length - 8;
                uint256 needed = length < 8 ? 8 : operands[k];
                _refuse(
                    _order(address(dai), AMOUNT, address(wbtc), 1),
                    bytes.concat(Program.tokens(), part),
                    abi.encodeWithSelector(IExecutionProxy.ProgramTruncated.selector, 0, left, needed)
                );
            }
        }
    }
}

interface IBalancerCallback {
    function balancerV3UnlockCallback(bytes calldata terms) external returns (uint256);
}

/// A Curve-shaped pool that calls the session's callback while its own step runs.
contract Messenger3 {
    IBalancerCallback private immutable proxy;
    bytes private terms;

    constructor(address proxy_, bytes memory terms_) {
        (proxy, terms) = (IBalancerCallback(proxy_), terms_);
    }

    function exchange(int128, int128, uint256, uint256) external {
        proxy.balancerV3UnlockCallback(terms);
    }
}
