// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit, Swap} from "../src/IExecutionProxy.sol";
import {Debt, GreedyPartner, HalfVault} from "./support/Attackers.sol";
import {FuzzedPool} from "./support/Fuzzed.sol";
import {NoEther} from "./support/Hostile.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {Signing} from "./support/Signing.sol";
import {TestToken} from "./support/TestToken.sol";

/// Random orders, programs and paths among strangers: pools that lie, a vault that leaves shares behind, partners that refuse or burn gas, relayers.
/// The owner has approved the proxy and Permit2 alike, and somebody owes the recipient money that anyone can have paid out. Whatever happens:
/// the owner loses at most the inputs, and nobody else anything; the recipient gains the minimums beside what he was owed; the proxy ends with
/// nothing, and lets nobody take anything.
contract HostileInvariantsTest is Signing {
    // the tokens of every program here: inputs 0 and 1, outputs 2 and 3, one listed
    uint8 private constant USDC = 0;
    uint8 private constant ETHER = 1;
    uint8 private constant DAI = 2;
    uint8 private constant NATIVE_OUT = 3;

    address private victim = makeAddr("victim");
    address private relayer = makeAddr("relayer");
    Debt private debt;
    HalfVault private vault;
    FuzzedPool private pool;
    address[3] private partners;
    TestToken[3] private plain;
    uint256 private seed;
    uint256 private before;

    function setUp() public override {
        super.setUp();
        debt = new Debt(bob, IToken(address(dai)));
        vault = new HalfVault(dai);
        pool = new FuzzedPool(usdc, dai, debt);
        partners = [address(new NoEther()), address(new GreedyPartner()), partner];
        plain = [usdc, dai, TestToken(address(vault))];
        vault.mint(address(this), 1e24);
        dai.transfer(address(vault), 1e24);
        address[2] memory both = [owner, victim];
        for (uint256 i; i < 2; ++i) {
            for (uint256 j; j < 3; ++j) {
                plain[j].transfer(both[i], 1e22);
                vm.startPrank(both[i]);
                plain[j].approve(address(proxy), type(uint256).max);
                plain[j].approve(PERMIT2, type(uint256).max);
                vm.stopPrank();
            }
        }
        IToken(WETH).transfer(victim, 1 ether);
        vm.prank(victim);
        IToken(WETH).approve(address(proxy), type(uint256).max);
    }

    function _random(uint256 below) private returns (uint256) {
        seed = uint256(keccak256(abi.encode(seed)));
        return seed % below;
    }

    function _share() private returns (uint32) {
        return _random(3) == 0 ? 0 : uint32(1 + _random(type(uint32).max));
    }

    // — orders of all kinds —

    /// Tokens 0 and 1 are sold, 2 and 3 bought: usdc with dai's vault or with ether, for dai with ether or WETH.
    function _randomOrder() private returns (Order memory order) {
        bool ether_ = _random(2) == 0;
        order = _order(address(usdc), 1 + _random(1e10), address(dai), 1 + _random(1e16));
        order.recipient = bob;
        uint256 amount = order.inputs[0].amount;
        order.inputs = new Input[](2);
        order.inputs[0] = Input(address(usdc), amount);
        order.inputs[1] = ether_ ? Input(NATIVE, 1 + _random(1 ether)) : Input(address(vault), 1 + _random(1e18));
        uint256 least = order.outputs[0].minimum;
        order.outputs = new Output[](2);
        order.outputs[0] = Output(address(dai), least);
        order.outputs[1] = Output(ether_ || _random(2) == 0 ? WETH : NATIVE, 1 + _random(1e12));
        if (_random(3) == 0) {
            (order.partner, order.partnerFeeBps, order.partnerFeeOnOutput) =
            (partners[_random(3)], uint16(_random(301)), _random(2) == 0);
        }
    }

    /// One to five steps, honest or not, and one that makes the second output.
    function _randomProgram(Order memory order) private returns (bytes memory program) {
        bool ether_ = order.inputs[1].token == NATIVE;
        bool wrapped = order.outputs[1].token == WETH;
        // WETH is listed where it is not bought
        program = wrapped ? Program.tokens() : Program.tokens(WETH);
        uint8 weth = wrapped ? NATIVE_OUT : 4;
        if (ether_) program = bytes.concat(program, Program.v2(_to(), ETHER, DAI, _share(), v2WethDai));
        for (uint256 n = _random(5); n != 0; --n) {
            uint256 kind = _random(6);
            bytes memory step;
            if (kind == 0) {
                step = Program.v3(_to(), USDC, DAI, _share(), address(pool));
            } else if (kind == 1) {
                step = Program.v2(_to(), USDC, DAI, _share(), address(pool));
            } else if (kind == 2) {
                step = bytes.concat(
                    Program.head(0x20, 0, USDC, DAI, _share()), abi.encodePacked(pool, uint8(0), uint8(1))
                );
            } else if (kind == 3 && !ether_) {
                step = Program.head(0x41, 0, ETHER, DAI, _share());
            } else if (kind == 4) {
                step = bytes.concat(
                    Program.v3(2, USDC, weth, _share(), v3UsdcWeth), Program.v2(1, weth, DAI, 0, v2WethDai)
                );
            } else {
                step = Program.v2(wrapped ? _to() : 0, USDC, weth, _share(), v2UsdcWeth);
            }
            program = bytes.concat(program, step);
        }
        program = bytes.concat(program, Program.v2(0, USDC, weth, 1 << 31, v2UsdcWeth));
        if (!wrapped) program = bytes.concat(program, Program.unwrap(weth, NATIVE_OUT));
        program = bytes.concat(program, Program.v2(0, USDC, weth, 1 << 31, v2UsdcWeth));
        if (wrapped) program = bytes.concat(program, Program.v2(1, NATIVE_OUT, DAI, 1 << 30, v2WethDai));
        else program = bytes.concat(program, Program.v2(1, weth, DAI, 0, v2WethDai));
    }

    function _to() private returns (uint8) {
        return uint8(_random(2));
    }

    function _balances(address who) private view returns (uint256[5] memory balances) {
        balances =
            [usdc.balanceOf(who), dai.balanceOf(who), IToken(WETH).balanceOf(who), vault.balanceOf(who), who.balance];
    }

    /// Runs it as the owner himself, or signed by him and sent by a relayer.
    function _send(Order memory order, bytes memory program) private returns (bool ok) {
        uint256 valueWei = order.inputs[1].token == NATIVE ? order.inputs[1].amount : 0;
        if (_random(2) == 0) {
            vm.deal(owner, valueWei);
            vm.prank(owner);
            (ok,) = address(proxy).call{value: valueWei}(abi.encodeCall(IExecutionProxy.execute, (order, program)));
            return ok;
        }
        Permit memory permit = Permit(owner, 7, block.timestamp, _random(2) == 0 ? relayer : address(0));
        bytes memory signature = _sign(order, program, permit);
        vm.deal(relayer, valueWei);
        vm.prank(relayer);
        (ok,) = address(proxy).call{value: valueWei}(
            abi.encodeCall(IExecutionProxy.executeWithPermit2, (order, program, permit, signature))
        );
    }

    function _prepare() private {
        dai.transfer(address(debt), 1e18);
        dai.transfer(address(pool), 1e20);
        usdc.transfer(address(pool), 1e10);
        vm.prank(address(pool));
        usdc.approve(address(proxy), type(uint256).max);
        Swap memory own = Swap(address(usdc), 1e6, WETH, 1, address(pool), block.timestamp);
        pool.behave(
            uint256(keccak256(abi.encode(seed, "behaviour"))),
            abi.encodeCall(IExecutionProxy.swap, (own, bytes.concat(Program.SWAP, Program.hop(0))))
        );
    }

    function _check(uint256[5] memory owners, uint256[5] memory bobs, Order memory order, bool ok) private view {
        uint256[5] memory now_ = _balances(owner);
        assertGe(now_[0] + (ok ? order.inputs[0].amount : 0), owners[0], "more usdc than the order says");
        assertGe(now_[1], owners[1], "dai, which is not sold");
        uint256 shares = ok && order.inputs[1].token == address(vault) ? order.inputs[1].amount : 0;
        assertGe(now_[3] + shares, owners[3], "more shares than the order says");
        uint256[5] memory bob_ = _balances(bob);
        // what he was owed is his besides
        uint256 owed = 1e18 - dai.balanceOf(address(debt));
        if (ok) {
            assertGe(bob_[1], bobs[1] + owed + order.outputs[0].minimum, "the minimum was met by his own money");
            uint256 second = order.outputs[1].token == NATIVE ? 4 : 2;
            assertGe(bob_[second], bobs[second] + order.outputs[1].minimum);
        }
        _checkOthers();
    }

    function _checkOthers() private view {
        uint256[5] memory victims = _balances(victim);
        for (uint256 i; i < 5; ++i) {
            if (i != 2) assertEq(victims[i], i == 4 ? 0 : 1e22, "a bystander paid");
        }
        assertEq(victims[2], 1 ether, "a bystander paid");
        uint256[5] memory left = _balances(address(proxy));
        for (uint256 i; i < 5; ++i) {
            assertEq(left[i], 0, "the proxy holds something");
        }
        address[4] memory spenders = [address(pool), address(vault), v2UsdcWeth, v2WethDai];
        for (uint256 i; i < 4; ++i) {
            for (uint256 j; j < 3; ++j) {
                assertEq(plain[j].allowance(address(proxy), spenders[i]), 0, "an allowance is left");
            }
        }
    }

    /// forge-config: default.fuzz.runs = 6000
    /// forge-config: long.fuzz.runs = 900000
    function testFuzz_owner_recipient_and_bystanders_among_strangers(uint256 seed_) public {
        _one(seed_);
    }

    function _one(uint256 seed_) private returns (bool ok) {
        seed = seed_;
        Order memory order = _randomOrder();
        bytes memory program = _randomProgram(order);
        _prepare();
        (uint256[5] memory owners, uint256[5] memory bobs) = (_balances(owner), _balances(bob));
        ok = _send(order, program);
        _check(owners, bobs, order, ok);
    }

    /// The same along paths, sold and bought, where the owner pays or signs.
    /// forge-config: default.fuzz.runs = 3000
    /// forge-config: long.fuzz.runs = 250000
    function testFuzz_owner_recipient_and_bystanders_along_paths(uint256 seed_) public {
        seed = seed_;
        bytes memory hops = _random(2) == 0 ? Program.hop(uint8(_random(6))) : Program.hop(uint8(_random(6)), 500);
        if (_random(2) == 0) {
            hops = bytes.concat(hops, abi.encodePacked(_random(5) == 0 ? address(dai) : WETH));
            hops = bytes.concat(hops, _random(2) == 0 ? Program.hop(0) : Program.hop(2, 3000));
        }
        bool buys = _random(2) == 0;
        bytes memory path = bytes.concat(buys ? Program.BUY : Program.SWAP, hops);
        address out = [address(dai), WETH, NATIVE][_random(3)];
        Swap memory order = Swap(address(usdc), 1 + _random(1e11), out, 1 + _random(1e19), bob, block.timestamp);
        (uint256[5] memory owners, uint256[5] memory bobs) = (_balances(owner), _balances(bob));
        bool ok;
        if (_random(2) == 0) {
            vm.prank(owner);
            (ok,) = address(proxy).call(abi.encodeCall(IExecutionProxy.swap, (order, path)));
        } else {
            Order memory as_ = _order(order.tokenIn, order.amountIn, order.tokenOut, order.amountOut);
            Permit memory permit = Permit(owner, 7, block.timestamp, relayer);
            bytes memory call_ =
                abi.encodeCall(IExecutionProxy.swapWithPermit2, (order, path, permit, _sign(as_, path, permit)));
            vm.prank(relayer);
            (ok,) = address(proxy).call(call_);
        }
        uint256 spent = owners[0] - usdc.balanceOf(owner);
        uint256 place = out == NATIVE ? 4 : out == WETH ? 2 : 1;
        uint256 gained = _balances(bob)[place] - bobs[place];
        if (ok) {
            assertLe(spent, order.amountIn);
            if (buys) assertEq(gained, order.amountOut);
            else assertEq(spent, order.amountIn);
            assertGe(gained, order.amountOut);
        } else {
            assertEq(spent + gained, 0);
        }
        _checkOthers();
    }

    /// The property says little if nothing ever succeeds.
    function test_some_orders_among_strangers_succeed() public {
        uint256 succeeded;
        for (uint256 i; i < 200; ++i) {
            uint256 rolled = vm.snapshotState();
            if (_one(i)) ++before;
            succeeded = before;
            vm.revertToState(rolled);
            before = succeeded;
        }
        assertGt(succeeded, 30);
    }
}
