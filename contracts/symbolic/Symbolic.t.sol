// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Test} from "forge-std/Test.sol";
import {AMOUNT_LIMIT, NATIVE} from "../src/Constants.sol";
import {ExecutionProxy} from "../src/ExecutionProxy.sol";
import {Swap} from "../src/IExecutionProxy.sol";
import {Hop, Hops} from "../src/Hops.sol";
import {Account, Accounts} from "../src/Ledger.sol";
import {Run, Runs} from "../src/Run.sol";
import {AnyPool, AnyToken, BareGuard} from "./StandIns.sol";

/// The shared arithmetic, laid bare.
contract Bare {
    function lower(uint256 counted, uint256 base, uint256 balance) external pure returns (uint256) {
        return Runs.lower(counted, base, balance);
    }

    function take(uint256 at, uint256 end, uint256 size) external pure returns (uint256 from, uint256 cursor) {
        Run memory run;
        (run.at, run.end) = (at, end);
        from = Runs.take(run, size);
        cursor = run.at;
    }

    function accounts(uint256 count, uint256 head) external pure returns (uint256 into, uint256 out) {
        Run memory run;
        run.accounts = count;
        (Account from, Account to) = Runs.accountsOf(run, head);
        uint256 first = Account.unwrap(run.first);
        return (Account.unwrap(from) - first, Account.unwrap(to) - first);
    }

    /// Of what is held at the proxy alone, so that no token is called.
    function spend(uint256 held, uint32 share) external returns (uint256 spent, uint256 left, bool fromPayer) {
        Run memory run;
        Account from = Accounts.open(1);
        from.setHeld(held);
        Runs.spend(run, from, share);
        return (run.amountIn, from.held() + from.due(), run.source == Runs.WITH_PAYER);
    }

    /// Reads a path of one hop, and says where the hops end.
    function hop(bytes calldata path, address from, address into)
        external
        pure
        returns (bool buys, uint256 size, bool pair, bool zeroForOne, address tokenIn, address tokenOut)
    {
        Hop first;
        Hop end;
        (buys, first, end) = Hops.read(path, from, into);
        size = Hop.unwrap(end) - Hop.unwrap(first);
        (pair, zeroForOne, tokenIn, tokenOut) = (first.isPair(), first.zeroForOne(), first.tokenIn(), end.tokenIn());
    }

    /// Reads a path; of each of its first two hops the pool and the token that goes in, and the token that comes out at the end.
    function hops(bytes calldata path, address from, address into)
        external
        pure
        returns (uint256 count, address[2] memory pools, address[3] memory tokens)
    {
        (, Hop hop_, Hop end) = Hops.read(path, from, into);
        count = (Hop.unwrap(end) - Hop.unwrap(hop_)) / 64;
        tokens[2] = end.tokenIn();
        for (uint256 i; i < count && i < 2; ++i) {
            (pools[i], tokens[i]) = (hop_.pool(), hop_.tokenIn());
            hop_ = hop_.next();
        }
    }

    /// Of what is still with the payer.
    function draw(uint256 due, uint32 share) external returns (uint256 spent, uint256 left, bool fromPayer) {
        Run memory run;
        Account from = Accounts.open(1);
        from.setDue(due);
        Runs.spend(run, from, share);
        return (run.amountIn, from.held() + from.due(), run.source == Runs.WITH_PAYER);
    }
}

/// For every input, not for random ones. Run by contracts/symbolic.sh.
contract Symbolic is Test {
    AnyToken private constant SOLD = AnyToken(address(0xA000));
    AnyToken private constant BETWEEN = AnyToken(address(0xB000));
    AnyToken private constant BOUGHT = AnyToken(address(0xC000));
    address private constant RECIPIENT = address(0xD000);

    ExecutionProxy private proxy;
    Bare private bare;
    BareGuard private guard;
    // where Uniswap's V3 factory puts its pools of 0.05%
    AnyPool private direct;
    AnyPool private firstOfTwo;
    AnyPool private lastOfTwo;

    function setUp() public {
        vm.chainId(1);
        proxy = new ExecutionProxy();
        bare = new Bare();
        guard = new BareGuard();
        bytes memory token = address(new AnyToken()).code;
        vm.etch(address(SOLD), token);
        vm.etch(address(BETWEEN), token);
        vm.etch(address(BOUGHT), token);
        bytes memory pool = address(new AnyPool()).code;
        direct = AnyPool(_pool(2, address(SOLD), address(BOUGHT), 500));
        firstOfTwo = AnyPool(_pool(2, address(SOLD), address(BETWEEN), 500));
        lastOfTwo = AnyPool(_pool(2, address(BETWEEN), address(BOUGHT), 500));
        vm.etch(address(direct), pool);
        vm.etch(address(firstOfTwo), pool);
        vm.etch(address(lastOfTwo), pool);
    }

    /// CREATE2 as the specification's table has it, token0 first.
    function _pool(uint256 factory, address token0, address token1, uint24 fee) private pure returns (address) {
        address[5] memory deployers = [
            0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f,
            0xC0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac,
            0x1F98431c8aD98523631AE4a59f267346ea31F984,
            0xbACEB8eC6b9355Dfc0269C18bac9d6E2Bdc29C4F,
            0x41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9
        ];
        bytes32[5] memory codes = [
            bytes32(0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f),
            0xe18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303,
            0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54,
            0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54,
            0x6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2
        ];
        bytes32 salt =
            factory < 2 ? keccak256(abi.encodePacked(token0, token1)) : keccak256(abi.encode(token0, token1, fee));
        bytes32 hash = keccak256(abi.encodePacked(bytes1(0xff), deployers[factory], salt, codes[factory]));
        return address(uint160(uint256(hash)));
    }

    /// The cursor never leaves the program, and what is taken lies inside it.
    function check_take_stays_inside(uint256 at, uint256 end, uint256 size) public view {
        vm.assume(at <= end);
        try bare.take(at, end, size) returns (uint256 from, uint256 cursor) {
            assert(from == at);
            assert(size <= end - at);
            assert(cursor == at + size && cursor <= end);
        } catch {
            assert(size > end - at);
        }
    }

    /// A token index beyond the ledger never reads memory.
    function check_accounts_stay_inside(uint256 count, uint256 head) public view {
        vm.assume(count <= 255);
        uint256 indexIn = uint8(head >> 232);
        uint256 indexOut = uint8(head >> 224);
        try bare.accounts(count, head) returns (uint256 from, uint256 into) {
            assert(indexIn < count && indexOut < count && from == indexIn * 224 && into == indexOut * 224);
        } catch {
            assert(indexIn >= count || indexOut >= count);
        }
    }

    /// A share never spends more than is at hand, loses nothing, and everything is everything.
    function check_spend_keeps_the_sum(uint256 held, uint32 share) public {
        vm.assume(held <= AMOUNT_LIMIT);
        try bare.spend(held, share) returns (uint256 spent, uint256 left, bool fromPayer) {
            assert(spent != 0 && spent + left == held);
            assert(spent == (share == 0 ? held : (held * share) >> 32));
            assert(!fromPayer);
        } catch {
            assert(held == 0 || (share != 0 && (held * share) >> 32 == 0));
        }
    }

    function check_draw_keeps_the_sum(uint256 due, uint32 share) public {
        vm.assume(due <= AMOUNT_LIMIT);
        try bare.draw(due, share) returns (uint256 spent, uint256 left, bool fromPayer) {
            assert(spent != 0 && spent + left == due);
            assert(spent == (share == 0 ? due : (due * share) >> 32));
            assert(fromPayer);
        } catch {
            assert(due == 0 || (share != 0 && (due * share) >> 32 == 0));
        }
    }

    /// A path of one hop through a pair or a pool is one hop between the two tokens, and nothing else is.
    function check_path_of_one_hop(uint8 kind, uint8 factory, uint24 fee, address from, address into) public view {
        vm.assume(from != NATIVE && into != NATIVE);
        bool pair = factory < 2;
        bytes memory path = pair ? abi.encodePacked(kind, factory) : abi.encodePacked(kind, factory, fee);
        try bare.hop(path, from, into) returns (
            bool buys, uint256 size, bool isPair, bool zeroForOne, address tokenIn, address tokenOut
        ) {
            assert((kind == 0xff && !buys) || (kind == 0xfe && buys));
            assert(factory < 5 && isPair == pair && size == 64);
            assert(tokenIn == from && tokenOut == into && zeroForOne == (from < into));
        } catch {
            assert((kind != 0xff && kind != 0xfe) || factory >= 5);
        }
    }

    /// A path that is cut, or has up to 19 bytes too many, is none, whatever the bytes.
    function check_path_of_a_wrong_length(uint8 factory, bytes32 rest, address from, address into) public view {
        vm.assume(factory < 5 && from != NATIVE && into != NATIVE);
        uint256 right = factory < 2 ? 0 : 3;
        for (uint256 length; length < 20; ++length) {
            if (length == right) continue;
            bytes memory path = abi.encodePacked(uint8(0xff), factory, rest);
            assembly ("memory-safe") {
                mstore(path, add(length, 2))
            }
            try bare.hop(path, from, into) {
                assert(false);
            } catch {}
        }
    }

    function _hop(uint8 factory, uint24 fee) private pure returns (bytes memory) {
        return factory < 2 ? abi.encodePacked(factory) : abi.encodePacked(factory, fee);
    }

    function _factory(uint8 factory) private pure returns (uint8) {
        for (uint8 i; i < 4; ++i) {
            if (factory == i) return i;
        }
        return 4;
    }

    /// The pool of a path is the one that CREATE2 and its factory name, whatever the factory and the fee, for two tokens in either order.
    function check_pool_is_the_one_of_its_factory(uint8 any, uint24 fee, bool backwards) public view {
        vm.assume(any < 5);
        // one path of the proof for each factory
        uint8 factory = _factory(any);
        (address from, address into) = (address(SOLD), address(BOUGHT));
        if (backwards) (from, into) = (into, from);
        (, address[2] memory pools,) = bare.hops(abi.encodePacked(uint8(0xff), _hop(factory, fee)), from, into);
        assert(pools[0] == _pool(factory, address(SOLD), address(BOUGHT), fee));
    }

    /// A path of two hops of any two factories passes through the token that it names.
    function check_path_of_two_hops(uint8 a, uint8 b, uint24 fee, address from, address mid, address into) public view {
        vm.assume(from != NATIVE && into != NATIVE && a < 5 && b < 5);
        bytes memory path = abi.encodePacked(uint8(0xff), _hop(a, fee), mid, _hop(b, fee));
        (uint256 count,, address[3] memory tokens) = bare.hops(path, from, into);
        assert(count == 2 && tokens[0] == from && tokens[1] == mid && tokens[2] == into);
    }

    // — the flat entry —

    function _order(uint256 amountIn, uint256 amountOut) private view returns (Swap memory) {
        return Swap(address(SOLD), amountIn, address(BOUGHT), amountOut, RECIPIENT, block.timestamp);
    }

    /// Whatever the pool asks and answers: a sale takes exactly the amount from the caller, once, for the pool that was named, and no answer below
    /// the minimum passes.
    function check_sale_keeps_its_minimum(uint256 amount, uint256 minimum, int256 asked, int256 other, int256 answer)
        public
    {
        direct.behave(asked, other, answer);
        try proxy.swap(_order(amount, minimum), hex"ff020001f4") returns (uint256 got) {
            assert(got >= minimum && minimum != 0 && int256(got) == -answer);
            assert(SOLD.moved() == amount && SOLD.transfers() == 1);
            assert(SOLD.payer() == address(this) && SOLD.receiver() == address(direct));
            assert(direct.paysTo() == RECIPIENT);
        } catch {}
    }

    /// Whatever the pool asks and answers: a purchase takes what was asked and never above the maximum, and only for exactly what was bought.
    function check_purchase_keeps_its_maximum(uint256 most, uint256 amount, int256 asked, int256 other, int256 answer)
        public
    {
        direct.behave(asked, other, answer);
        try proxy.swap(_order(most, amount), hex"fe020001f4") returns (uint256 sold) {
            assert(sold <= most && SOLD.moved() == sold && SOLD.transfers() == 1);
            assert(SOLD.payer() == address(this) && SOLD.receiver() == address(direct));
            assert(int256(amount) == -answer && direct.paysTo() == RECIPIENT);
        } catch {}
    }

    /// The same through two pools: the last pool is paid by the first, and the first by the caller.
    function check_purchase_of_two_hops_keeps_its_maximum(
        uint256 most,
        uint256 amount,
        int256 asked,
        int256 askedBefore,
        int256 answerBefore
    ) public {
        lastOfTwo.behave(asked, 0, -int256(amount));
        firstOfTwo.behave(askedBefore, 0, answerBefore);
        bytes memory path = abi.encodePacked(hex"fe020001f4", address(BETWEEN), hex"020001f4");
        try proxy.swap(_order(most, amount), path) returns (uint256 sold) {
            assert(sold <= most && SOLD.moved() == sold && SOLD.transfers() == 1);
            assert(SOLD.payer() == address(this) && SOLD.receiver() == address(firstOfTwo));
            // what the last pool asked for is what the first gave
            assert(BETWEEN.transfers() == 0 && -answerBefore == (asked > 0 ? asked : int256(0)));
            assert(firstOfTwo.paysTo() == address(lastOfTwo) && lastOfTwo.paysTo() == RECIPIENT);
        } catch {}
    }

    /// While a sale or a purchase waits for its pool, nobody else is let in, with the very terms that the pool was given.
    function check_nobody_but_the_named_pool_is_let_in(
        address thief,
        bool buys,
        uint256 amountIn,
        int256 asked,
        int256 other
    ) public {
        vm.assume(thief != address(0) && thief != address(direct));
        direct.behave(asked, other, -1);
        direct.letIn(thief);
        try proxy.swap(_order(amountIn, 1), buys ? bytes(hex"fe020001f4") : bytes(hex"ff020001f4")) {
            assert(false);
        } catch {}
    }

    /// The guard lets in who was expected, with the terms that were expected, and once.
    function check_guard_lets_in_one_caller_with_one_set_of_terms(
        address pool,
        address caller,
        bytes32[3] memory given,
        bytes32[3] memory brought
    ) public {
        vm.assume(caller != address(0));
        guard.expect(pool, abi.encode(given));
        bool same = given[0] == brought[0] && given[1] == brought[1] && given[2] == brought[2];
        vm.prank(caller);
        (bool ok,) = address(guard).call(abi.encodeCall(BareGuard.consume, (abi.encode(brought))));
        assert(ok == (caller == pool && same));
        if (!ok) return;
        vm.prank(caller);
        (ok,) = address(guard).call(abi.encodeCall(BareGuard.consume, (abi.encode(brought))));
        assert(!ok);
    }

    /// What is counted of a gain is never more than was paid, nor than arrived.
    function check_gain_is_the_lower(uint256 counted, uint256 base, uint256 balance) public view {
        uint256 gain = bare.lower(counted, base, balance);
        assert(gain <= counted);
        assert(balance <= base ? gain == 0 : gain <= balance - base);
        assert(gain == counted || (balance <= base && gain == 0) || gain == balance - base);
    }

    /// While no step waits, no caller's callback does anything but revert.
    function check_idle_callbacks_revert(address caller, int256 a, int256 b, bytes32 x, bytes32 y, bytes32 z) public {
        vm.assume(caller != address(0));
        vm.prank(caller);
        (bool answered,) = address(proxy).call(abi.encodeWithSelector(0xfa461e33, a, b, abi.encode(x, y, z)));
        assert(!answered);
        vm.prank(caller);
        (answered,) = address(proxy).call(abi.encodeWithSelector(0x23a69e75, a, b, abi.encode(x, y, z)));
        assert(!answered);
        vm.prank(caller);
        try proxy.balancerV3UnlockCallback(abi.encode(x, y, z)) {
            assert(false);
        } catch {}
    }

    /// While no step waits, ether from anyone comes back.
    function check_idle_ether_reverts(address caller, uint256 value) public {
        vm.assume(caller != address(0) && caller != address(proxy));
        vm.deal(caller, value);
        vm.prank(caller);
        (bool ok,) = address(proxy).call{value: value}("");
        assert(!ok);
    }
}
