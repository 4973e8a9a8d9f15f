// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Order} from "../src/IExecutionProxy.sol";
import {
    BlockingToken,
    FalseToken,
    HookedToken,
    NoEther,
    RebasingToken,
    Reentrant,
    SilentToken,
    TaxedToken
} from "./support/Hostile.sol";
import {IToken, Market} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {TestToken} from "./support/TestToken.sol";

/// Tokens and receivers that do not do what a token or a receiver should.
contract HostileTokensTest is Market {
    function _market(TestToken token) private returns (address pair) {
        token.mint(address(this), 1e27);
        return _pair(address(token), 1e24, WETH, 1_000 ether);
    }

    function _direct(address pair) private pure returns (bytes memory) {
        return bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, pair));
    }

    function test_token_that_returns_nothing_is_swapped_both_ways() public {
        SilentToken token = new SilentToken();
        address pair = _market(token);
        uint256 expected = _v2Out(pair, address(token), 1e20);
        _run(_order(address(token), 1e20, WETH, expected), _direct(pair));
        expected = _v2Out(pair, WETH, 1 ether);
        _run(
            _order(WETH, 1 ether, address(token), expected),
            bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, pair))
        );
        assertEq(token.balanceOf(bob), expected);
        assertEq(token.balanceOf(address(proxy)), 0);
    }

    function test_token_that_returns_false_is_refused() public {
        FalseToken token = new FalseToken();
        address pair = _market(token);
        token.refuse();
        Order memory order = _order(address(token), 1e20, WETH, 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(
                IExecutionProxy.TransferFailed.selector, 0, address(token), alice, pair, 1e20, abi.encode(false)
            )
        );
        proxy.execute(order, _direct(pair));
    }

    function test_token_without_code_is_refused() public {
        address nobody = makeAddr("nobody");
        Order memory order = _order(nobody, 1, WETH, 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                IExecutionProxy.TransferFailed.selector, 0, nobody, address(this), v2UsdcWeth, 1, bytes("")
            )
        );
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, v2UsdcWeth)));
        order = _order(address(usdc), 1, nobody, 1);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.BalanceUnavailable.selector, nobody, bytes("")));
        proxy.execute(order, _direct(v2UsdcWeth));
    }

    function test_taxed_input_is_refused_by_the_pair() public {
        TaxedToken token = new TaxedToken();
        address pair = _market(token);
        Order memory order = _order(address(token), 1e20, WETH, 1);
        _fund(order);
        token.mint(alice, 1e20);
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(
                IExecutionProxy.PoolCallFailed.selector,
                0,
                pair,
                abi.encodeWithSignature("Error(string)", "UniswapV2: K")
            )
        );
        proxy.execute(order, _direct(pair));
    }

    function test_taxed_output_counts_as_it_arrives() public {
        TaxedToken token = new TaxedToken();
        address pair = _market(token);
        uint256 gross = _v2Out(pair, WETH, 1 ether);
        uint256 net = gross - gross / 100;
        Order memory order = _order(WETH, 1 ether, address(token), net + 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 0, address(token), net, net + 1)
        );
        proxy.execute(order, _direct(pair));
        order.outputs[0].minimum = net;
        vm.prank(alice);
        assertEq(proxy.execute(order, _direct(pair))[0], net);
    }

    function test_taxed_token_on_the_way_through_the_proxy_is_refused() public {
        TaxedToken token = new TaxedToken();
        address pair = _market(token);
        Order memory order = _order(WETH, 1 ether, address(token), 1);
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.TransferFailed.selector);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, pair)));
    }

    function test_token_that_rebases_down_on_the_way_is_refused() public {
        RebasingToken token = new RebasingToken();
        address pair = _market(token);
        token.watch(address(proxy));
        Order memory order = _order(WETH, 1 ether, address(token), 1);
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.TransferFailed.selector);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, pair)));
    }

    function test_token_that_rebases_the_recipient_counts_as_it_ends() public {
        RebasingToken token = new RebasingToken();
        address pair = _market(token);
        token.watch(bob);
        token.mint(bob, 1e30);
        Order memory order = _order(WETH, 1 ether, address(token), 1);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.OutputBelowMinimum.selector, 0, address(token), 0, 1));
        proxy.execute(order, _direct(pair));
    }

    function test_token_that_blocks_the_proxy_passes_where_the_proxy_is_no_stop() public {
        BlockingToken token = new BlockingToken();
        address pair = _market(token);
        token.block_(address(proxy));
        uint256 expected = _v2Out(pair, address(token), 1e20);
        _run(_order(address(token), 1e20, WETH, expected), _direct(pair));

        Order memory order = _order(WETH, 1 ether, address(token), 1);
        _fund(order);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.PoolCallFailed.selector);
        proxy.execute(order, bytes.concat(Program.tokens(), Program.v2(0, 0, 1, 0, pair)));
    }

    function test_token_that_reenters_is_refused() public {
        HookedToken token = new HookedToken();
        address pair = _market(token);
        Order memory order = _order(address(token), 1e20, WETH, 1);
        _fund(order);
        token.setHook(new Reentrant(address(proxy), _order(address(dai), 1, WETH, 1), hex"00"));
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(
                IExecutionProxy.TransferFailed.selector,
                0,
                address(token),
                alice,
                pair,
                1e20,
                abi.encodeWithSelector(IExecutionProxy.Reentered.selector)
            )
        );
        proxy.execute(order, _direct(pair));
    }

    function test_recipient_that_reenters_is_refused() public {
        Reentrant hook = new Reentrant(address(proxy), _order(address(dai), 1, WETH, 1), hex"00");
        Order memory order = _order(WETH, 1 ether, NATIVE, 1);
        order.recipient = address(hook);
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(
                IExecutionProxy.EtherTransferFailed.selector,
                1,
                address(hook),
                1 ether,
                abi.encodeWithSelector(IExecutionProxy.Reentered.selector)
            )
        );
        proxy.execute(order, bytes.concat(Program.tokens(), Program.unwrap(0, 1)));
    }

    function test_recipient_that_refuses_ether_undoes_the_order() public {
        Order memory order = _order(WETH, 1 ether, NATIVE, 1);
        order.recipient = address(new NoEther());
        _fund(order);
        vm.prank(alice);
        vm.expectRevert(
            abi.encodeWithSelector(IExecutionProxy.EtherTransferFailed.selector, 1, order.recipient, 1 ether, bytes(""))
        );
        proxy.execute(order, bytes.concat(Program.tokens(), Program.unwrap(0, 1)));
        assertEq(IToken(WETH).balanceOf(alice), 1 ether);
    }

    function test_payer_without_allowance_or_balance_is_told_so() public {
        Order memory order = _order(address(usdc), 1e6, WETH, 1);
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.TransferFailed.selector);
        proxy.execute(order, _direct(v2UsdcWeth));
    }
}
