// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Test} from "forge-std/Test.sol";
import {AMOUNT_LIMIT, NATIVE} from "../src/Constants.sol";
import {ExecutionProxy} from "../src/ExecutionProxy.sol";
import {Hop, Hops} from "../src/Hops.sol";
import {Account, Accounts} from "../src/Ledger.sol";
import {Run, Runs} from "../src/Run.sol";

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
    ExecutionProxy private proxy;
    Bare private bare;

    function setUp() public {
        proxy = new ExecutionProxy();
        bare = new Bare();
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
            assert(spent != 0 && spent + left == held && spent <= held);
            assert(share != 0 || left == 0);
            assert(!fromPayer);
        } catch {
            assert(held == 0 || (share != 0 && (held * share) >> 32 == 0));
        }
    }

    function check_draw_keeps_the_sum(uint256 due, uint32 share) public {
        vm.assume(due <= AMOUNT_LIMIT);
        try bare.draw(due, share) returns (uint256 spent, uint256 left, bool fromPayer) {
            assert(spent != 0 && spent + left == due && spent <= due);
            assert(share != 0 || left == 0);
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

    /// A path that is cut, or has a byte too many, is none.
    function check_path_of_a_wrong_length(uint8 factory, uint8 extra, address from, address into) public view {
        vm.assume(factory < 5 && extra < 20 && from != NATIVE && into != NATIVE);
        uint256 size = factory < 2 ? 0 : 3;
        vm.assume(extra != size);
        try bare.hop(abi.encodePacked(uint8(0xff), factory, new bytes(extra)), from, into) {
            assert(false);
        } catch {}
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
