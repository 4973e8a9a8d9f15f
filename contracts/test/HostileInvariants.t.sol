// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Input, Order, Output, Permit, Swap} from "../src/IExecutionProxy.sol";
import {Debt, GreedyPartner} from "./support/Attackers.sol";
import {Campaign} from "./support/Campaign.sol";
import {Fuzzed, FuzzedPool, FuzzedToken, FuzzedVault} from "./support/Fuzzed.sol";
import {NoEther, Reentrant} from "./support/Hostile.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {TestToken} from "./support/TestToken.sol";

/// Random orders, programs and paths among strangers: pools and a token that lie, a vault that leaves shares behind, partners that refuse, burn gas
/// or call back, relayers. The owner has approved the proxy and Permit2 alike, and somebody owes the recipient money that anyone can have paid out.
/// Whatever happens: the owner loses at most the inputs, and nobody else anything; the recipient gains the minimums beside what he was owed; the
/// proxy ends with nothing, and lets nobody take anything.
contract HostileInvariantsTest is Campaign {
    // the tokens of every program here: inputs 0 and 1, outputs 2 and 3, the strange token, and WETH where it is not bought
    uint8 private constant USDC = 0;
    uint8 private constant SECOND = 1;
    uint8 private constant DAI = 2;
    uint8 private constant SECOND_OUT = 3;
    uint8 private constant STRANGE = 4;

    // what an order can be
    uint256 private constant BY_ALLOWANCE = 0;
    uint256 private constant BY_NAMED_RELAYER = 1;
    uint256 private constant BY_ANY_RELAYER = 2;
    uint256 private constant ETHER_IN = 3;
    uint256 private constant SHARES_IN = 4;
    uint256 private constant STRANGE_IN = 5;
    uint256 private constant SEVERAL_SIGNED = 6;
    uint256 private constant ETHER_OUT = 7;
    uint256 private constant PARTNER_REFUSES = 8;
    uint256 private constant PARTNER_BURNS = 9;
    uint256 private constant PARTNER_CALLS_BACK = 10;
    uint256 private constant HOSTILE_POOL = 11;
    uint256 private constant HOSTILE_VAULT = 12;
    uint256 private constant HOSTILE_TOKEN = 13;
    // what a path can be
    uint256 private constant SOLD = 0;
    uint256 private constant BOUGHT = 1;
    uint256 private constant SIGNED = 2;
    uint256 private constant PATH_ETHER_IN = 3;
    uint256 private constant PATH_ETHER_OUT = 4;
    uint256 private constant ETHER_RETURNED = 5;
    uint256 private constant TWO_HOPS = 6;

    address private victim = makeAddr("victim");
    address private relayer = makeAddr("relayer");
    Debt private debt;
    FuzzedVault private vault;
    FuzzedPool private pool;
    FuzzedPool private poolOfStrange;
    FuzzedToken private strange;
    Fuzzed[4] private strangers;
    address[4] private partners;
    TestToken[4] private plain;

    function setUp() public override {
        super.setUp();
        debt = new Debt(bob, IToken(address(dai)));
        vault = new FuzzedVault(dai, debt);
        strange = new FuzzedToken(debt);
        pool = new FuzzedPool(usdc, dai, debt);
        poolOfStrange = new FuzzedPool(strange, dai, debt);
        Reentrant calling = new Reentrant(address(proxy), _order(address(usdc), 1, WETH, 1), hex"00");
        partners = [address(new NoEther()), address(new GreedyPartner()), address(calling), partner];
        plain = [usdc, dai, TestToken(address(vault)), strange];
        vault.mint(address(this), 1e24);
        strange.mint(address(this), 1e24);
        dai.transfer(address(vault), 1e24);
        address[2] memory both = [owner, victim];
        for (uint256 i; i < 2; ++i) {
            for (uint256 j; j < 4; ++j) {
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
        vm.prank(address(pool));
        usdc.approve(address(proxy), type(uint256).max);
        Swap memory own = Swap(address(usdc), 1e6, WETH, 1, address(pool), block.timestamp);
        bytes memory call_ = abi.encodeCall(IExecutionProxy.swap, (own, bytes.concat(Program.SWAP, Program.hop(0))));
        strangers = [Fuzzed(pool), poolOfStrange, strange, vault];
        for (uint256 i; i < 4; ++i) {
            strangers[i].attempt(address(proxy), call_);
        }
    }

    // — orders of all kinds —

    /// Sells usdc with shares, ether or a strange token, for dai with ether or WETH.
    function _randomOrder() private returns (Order memory order) {
        uint256 kind = _random(3);
        _is(kind == 0 ? ETHER_IN : kind == 1 ? SHARES_IN : STRANGE_IN);
        order = _order(address(usdc), 1 + _random(1e10), address(dai), 1 + _random(1e16));
        order.recipient = bob;
        uint256 amount = order.inputs[0].amount;
        order.inputs = new Input[](2);
        order.inputs[0] = Input(address(usdc), amount);
        order.inputs[1] = kind == 0
            ? Input(NATIVE, 1 + _random(1 ether))
            : Input(kind == 1 ? address(vault) : address(strange), 1 + _random(1e18));
        uint256 least = order.outputs[0].minimum;
        bool etherOut = kind != 0 && _random(2) == 0;
        if (etherOut) _is(ETHER_OUT);
        order.outputs = new Output[](2);
        order.outputs[0] = Output(address(dai), least);
        order.outputs[1] = Output(etherOut ? NATIVE : WETH, 1 + _random(1e12));
        if (_random(3) == 0) _addPartner(order);
    }

    function _addPartner(Order memory order) private {
        uint256 which = _random(4);
        order.partner = partners[which];
        order.partnerFeeBps = uint16(_random(301));
        order.partnerFeeOnOutput = _random(2) == 0;
        address paidOn = order.partnerFeeOnOutput ? order.outputs[1].token : order.inputs[1].token;
        if (which < 3 && paidOn == NATIVE && order.partnerFeeBps != 0) _is(PARTNER_REFUSES + which);
    }

    /// One to five steps, honest or not, and one that makes the second output.
    function _randomProgram(Order memory order) private returns (bytes memory program) {
        bool ether_ = order.inputs[1].token == NATIVE;
        bool strangeIn = order.inputs[1].token == address(strange);
        bool wrapped = order.outputs[1].token == WETH;
        // the strange token is listed where it is not sold, and WETH where it is not bought
        address other = strangeIn ? address(wbtc) : address(strange);
        program = wrapped ? Program.tokens(other) : Program.tokens(other, WETH);
        uint8 weth = wrapped ? SECOND_OUT : 5;
        uint8 odd = strangeIn ? SECOND : STRANGE;
        if (ether_) program = bytes.concat(program, Program.v2(_to(), SECOND, DAI, _share(), v2WethDai));
        for (uint256 n = _random(5); n != 0; --n) {
            program = bytes.concat(program, _randomStep(order, odd, weth, wrapped));
        }
        program = bytes.concat(program, Program.v2(0, USDC, weth, 1 << 31, v2UsdcWeth));
        if (!wrapped) program = bytes.concat(program, Program.unwrap(weth, SECOND_OUT));
        program = bytes.concat(program, Program.v2(0, USDC, weth, 1 << 31, v2UsdcWeth));
        if (wrapped) program = bytes.concat(program, Program.v2(1, SECOND_OUT, DAI, 1 << 30, v2WethDai));
        else program = bytes.concat(program, Program.v2(1, weth, DAI, 0, v2WethDai));
    }

    function _randomStep(Order memory order, uint8 odd, uint8 weth, bool wrapped) private returns (bytes memory) {
        uint256 kind = _random(8);
        if (kind == 3 && order.inputs[1].token == address(vault)) {
            _is(HOSTILE_VAULT);
            return Program.head(0x41, 0, SECOND, DAI, _share());
        }
        if (kind == 4) {
            return bytes.concat(Program.v3(2, USDC, weth, _share(), v3UsdcWeth), Program.v2(1, weth, DAI, 0, v2WethDai));
        }
        if (kind == 5) return Program.v2(wrapped ? _to() : 0, USDC, weth, _share(), v2UsdcWeth);
        bool hasOdd = order.inputs[1].token == address(strange);
        if (kind > 5 && hasOdd) {
            _is(HOSTILE_TOKEN);
            return _hostileStep(odd, address(poolOfStrange));
        }
        _is(HOSTILE_POOL);
        return _hostileStep(USDC, address(pool));
    }

    function _hostileStep(uint8 tokenIn, address through) private returns (bytes memory) {
        uint256 shape = _random(3);
        if (shape == 0) return Program.v3(_to(), tokenIn, DAI, _share(), through);
        if (shape == 1) return Program.v2(_to(), tokenIn, DAI, _share(), through);
        bytes memory operands = abi.encodePacked(through, uint8(0), uint8(1));
        return bytes.concat(Program.head(0x20, 0, tokenIn, DAI, _share()), operands);
    }

    function _to() private returns (uint8) {
        return uint8(_random(3) / 2);
    }

    function _balances(address who) private view returns (uint256[5] memory balances) {
        balances =
            [usdc.balanceOf(who), dai.balanceOf(who), IToken(WETH).balanceOf(who), vault.balanceOf(who), who.balance];
    }

    /// Runs it as the owner himself, or signed by him and sent by a relayer.
    function _send(Order memory order, bytes memory program) private returns (bool ok) {
        uint256 valueWei = order.inputs[1].token == NATIVE ? order.inputs[1].amount : 0;
        if (_random(2) == 0) {
            _is(BY_ALLOWANCE);
            _give(owner, valueWei);
            vm.prank(owner);
            (ok,) = address(proxy).call{value: valueWei}(abi.encodeCall(IExecutionProxy.execute, (order, program)));
            return ok;
        }
        bool named = _random(2) == 0;
        _is(named ? BY_NAMED_RELAYER : BY_ANY_RELAYER);
        if (valueWei == 0) _is(SEVERAL_SIGNED);
        Permit memory permit = Permit(owner, 7, block.timestamp, named ? relayer : address(0));
        bytes memory signature = _sign(order, program, permit);
        _give(relayer, valueWei);
        vm.prank(relayer);
        (ok,) = address(proxy).call{value: valueWei}(
            abi.encodeCall(IExecutionProxy.executeWithPermit2, (order, program, permit, signature))
        );
    }

    function _prepare() private {
        dai.transfer(address(debt), 1e18);
        dai.transfer(address(pool), 1e20);
        usdc.transfer(address(pool), 1e10);
        dai.transfer(address(poolOfStrange), 1e20);
        for (uint256 i; i < 4; ++i) {
            strangers[i].behave(_random(type(uint256).max));
        }
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
        address[5] memory spenders = [address(pool), address(poolOfStrange), address(vault), v2UsdcWeth, v2WethDai];
        for (uint256 i; i < 5; ++i) {
            for (uint256 j; j < 4; ++j) {
                assertEq(plain[j].allowance(address(proxy), spenders[i]), 0, "an allowance is left");
            }
        }
    }

    function among_strangers(uint256 roll) external {
        seed = roll;
        Order memory order = _randomOrder();
        bytes memory program = _randomProgram(order);
        _prepare();
        (uint256[5] memory owners, uint256[5] memory bobs) = (_balances(owner), _balances(bob));
        bool ok = _send(order, program);
        _check(owners, bobs, order, ok);
        revert Undone(kinds, ok);
    }

    function test_orders_among_strangers() public {
        string[] memory names = new string[](14);
        names[BY_ALLOWANCE] = "paid by allowance";
        names[BY_NAMED_RELAYER] = "signed, sent by the relayer it names";
        names[BY_ANY_RELAYER] = "signed, sent by anyone";
        names[ETHER_IN] = "ether in";
        names[SHARES_IN] = "shares in";
        names[STRANGE_IN] = "hostile token in";
        names[SEVERAL_SIGNED] = "several inputs by one signature";
        names[ETHER_OUT] = "ether out";
        names[PARTNER_REFUSES] = "partner refuses ether";
        names[PARTNER_BURNS] = "partner burns its gas";
        names[PARTNER_CALLS_BACK] = "partner calls the proxy";
        names[HOSTILE_POOL] = "through a hostile pool";
        names[HOSTILE_VAULT] = "through a hostile vault";
        names[HOSTILE_TOKEN] = "a hostile token through a hostile pool";
        _campaign("orders among strangers", this.among_strangers.selector, names, 9_000);
    }

    // — paths —

    /// Sold and bought, where the owner pays, signs, or gives ether.
    function along_a_path(uint256 roll) external {
        seed = roll;
        (Swap memory order, bytes memory path, bool buys) = _randomPath();
        (uint256[5] memory owners, uint256[5] memory bobs) = (_balances(owner), _balances(bob));
        bool native = order.tokenIn == NATIVE;
        if (native) {
            _give(owner, order.amountIn);
            owners[4] += order.amountIn;
        }
        bool ok = _sendSwap(order, path);
        uint256 spent = native ? owners[4] - owner.balance : owners[0] - usdc.balanceOf(owner);
        uint256 place = order.tokenOut == NATIVE ? 4 : order.tokenOut == WETH ? 2 : 1;
        uint256 gained = _balances(bob)[place] - bobs[place];
        if (ok) {
            assertLe(spent, order.amountIn);
            if (buys) assertEq(gained, order.amountOut);
            else assertEq(spent, order.amountIn);
            assertGe(gained, order.amountOut);
            if (native && buys && spent != order.amountIn) _is(ETHER_RETURNED);
        } else {
            assertEq(spent + gained, 0);
        }
        _checkOthers();
        revert Undone(kinds, ok);
    }

    function _randomPath() private returns (Swap memory order, bytes memory path, bool buys) {
        bool native = _random(3) == 0;
        bool two = _random(2) == 0;
        buys = _random(2) == 0;
        _is(buys ? BOUGHT : SOLD);
        if (native) _is(PATH_ETHER_IN);
        if (two) _is(TWO_HOPS);
        // most hops are of pools that exist
        bool wethIsBetween = two && _random(5) != 0;
        path = _random(2) == 0 ? Program.hop(uint8(_random(6) / 5)) : Program.hop(2, native && !two ? 3000 : 500);
        if (two) {
            path = bytes.concat(path, abi.encodePacked(native || !wethIsBetween ? address(dai) : WETH));
            path = bytes.concat(path, _random(2) == 0 ? Program.hop(0) : Program.hop(2, 3000));
        }
        path = bytes.concat(buys ? Program.BUY : Program.SWAP, path);
        address out = [address(dai), WETH, NATIVE][_random(3)];
        if (out == NATIVE) _is(PATH_ETHER_OUT);
        uint256 amountIn = 1 + _random(native ? 1e19 : 1e11);
        order = Swap(native ? NATIVE : address(usdc), amountIn, out, 1 + _random(1e18), bob, block.timestamp);
    }

    function _sendSwap(Swap memory order, bytes memory path) private returns (bool ok) {
        if (order.tokenIn == NATIVE || _random(2) == 0) {
            uint256 valueWei = order.tokenIn == NATIVE ? order.amountIn : 0;
            vm.prank(owner);
            (ok,) = address(proxy).call{value: valueWei}(abi.encodeCall(IExecutionProxy.swap, (order, path)));
            return ok;
        }
        _is(SIGNED);
        Order memory as_ = _order(order.tokenIn, order.amountIn, order.tokenOut, order.amountOut);
        Permit memory permit = Permit(owner, 7, block.timestamp, relayer);
        bytes memory signature = _sign(as_, path, permit);
        vm.prank(relayer);
        (ok,) = address(proxy).call(abi.encodeCall(IExecutionProxy.swapWithPermit2, (order, path, permit, signature)));
    }

    function test_swaps_along_paths() public {
        string[] memory names = new string[](7);
        names[SOLD] = "sold exactly";
        names[BOUGHT] = "bought exactly";
        names[SIGNED] = "signed";
        names[PATH_ETHER_IN] = "ether in";
        names[PATH_ETHER_OUT] = "ether out";
        names[ETHER_RETURNED] = "ether that was not needed came back";
        names[TWO_HOPS] = "two hops";
        _campaign("swaps along paths", this.along_a_path.selector, names, 6_000);
    }
}
