// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {PERMIT2, WETH} from "../src/Constants.sol";
import {IExecutionProxy, Order, Permit} from "../src/IExecutionProxy.sol";
import {IToken} from "./support/Market.sol";
import {Program} from "./support/Program.sol";
import {IPermit2, Signing} from "./support/Signing.sol";
import {TestToken} from "./support/TestToken.sol";

interface IErc2612 is IToken {
    function DOMAIN_SEPARATOR() external view returns (bytes32);
    function PERMIT_TYPEHASH() external view returns (bytes32);
    function nonces(address) external view returns (uint256);
    function permit(address, address, uint256, uint256, uint8, bytes32, bytes32) external;
}

/// A token with the permit of DAI: a holder allows everything or nothing, by a counted nonce.
contract DaiLike is TestToken(18) {
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256("Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)");
    bytes32 public immutable DOMAIN_SEPARATOR = keccak256(
        abi.encode(
            keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
            keccak256("Dai Stablecoin"),
            keccak256("1"),
            block.chainid,
            address(this)
        )
    );
    mapping(address => uint256) public nonces;

    function permit(
        address holder,
        address spender,
        uint256 nonce,
        uint256 expiry,
        bool allowed,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        bytes32 hash = keccak256(abi.encode(PERMIT_TYPEHASH, holder, spender, nonce, expiry, allowed));
        require(holder == ecrecover(keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR, hash)), v, r, s), "signer");
        require(expiry == 0 || block.timestamp <= expiry, "expired");
        require(nonce == nonces[holder]++, "nonce");
        allowance[holder][spender] = allowed ? type(uint256).max : 0;
    }
}

/// Code that an account delegates to by EIP-7702 and that answers for its signatures.
contract DelegateThatSigns {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (bytes32 r, bytes32 s, uint8 v) =
            (bytes32(signature[0:32]), bytes32(signature[32:64]), uint8(bytes1(signature[64])));
        return ecrecover(hash, v, r, s) == address(this) ? this.isValidSignature.selector : bytes4(0);
    }
}

/// Code that knows nothing of signatures.
contract DelegateThatDoesNotSign {
    function count() external pure returns (uint256) {
        return 1;
    }
}

/// Tokens' own permits in place of an approval, and who can sign.
contract PermitsTest is Signing {
    uint256 private constant AMOUNT = 1e15;
    IErc2612 private shares;
    address private pair;
    DaiLike private daiLike;

    function setUp() public override {
        super.setUp();
        // the shares of a pair are a token with ERC-2612's permit, on mainnet's own bytecode
        shares = IErc2612(v2WethDai);
        shares.transfer(owner, 4 * AMOUNT);
        pair = _pair(v2WethDai, 1e20, WETH, 1_000 ether);
        daiLike = new DaiLike();
        daiLike.mint(address(this), 1e24);
        daiLike.transfer(owner, 4 * AMOUNT);
        _pair(address(daiLike), 1e22, WETH, 1_000 ether);
    }

    function _step(bool dai, uint64 nonce, uint64 deadline, bytes32 digest) private view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return bytes.concat(
            Program.head(0x70, 0, 0, 0, 0), abi.encodePacked(dai ? uint8(1) : uint8(0), nonce, deadline, v, r, s)
        );
    }

    function _erc2612(uint256 amount, uint256 deadline) private view returns (bytes32) {
        bytes32 hash = keccak256(
            abi.encode(shares.PERMIT_TYPEHASH(), owner, address(proxy), amount, shares.nonces(owner), deadline)
        );
        return keccak256(abi.encodePacked(hex"1901", shares.DOMAIN_SEPARATOR(), hash));
    }

    function _program(bytes memory permit) private view returns (bytes memory) {
        return bytes.concat(Program.tokens(), permit, Program.v2(1, 0, 1, 0, pair));
    }

    function _sell(address token) private view returns (Order memory) {
        return _order(token, AMOUNT, WETH, 1);
    }

    function test_permit_of_erc2612_stands_for_the_approval() public {
        uint64 deadline = uint64(block.timestamp + 60);
        bytes memory program = _program(_step(false, 0, deadline, _erc2612(AMOUNT, deadline)));
        Order memory order = _sell(v2WethDai);
        order.outputs[0].minimum = _v2Out(pair, v2WethDai, AMOUNT);
        vm.prank(owner);
        assertEq(proxy.execute(order, program)[0], order.outputs[0].minimum);
        assertEq(shares.allowance(owner, address(proxy)), 0, "the allowance was exact");
        _assertNothingLeft();
    }

    /// The partner's fee is a part of what is allowed.
    function test_permit_covers_the_partners_fee() public {
        uint64 deadline = uint64(block.timestamp + 60);
        Order memory order = _sell(v2WethDai);
        (order.partner, order.partnerFeeBps) = (partner, 100);
        bytes memory program = _program(_step(false, 0, deadline, _erc2612(AMOUNT, deadline)));
        vm.prank(owner);
        proxy.execute(order, program);
        assertEq(shares.balanceOf(partner), AMOUNT / 100);
        assertEq(shares.allowance(owner, address(proxy)), 0);
    }

    /// Somebody else shows the token the permit first: the order runs all the same.
    function test_permit_that_was_shown_before_is_no_harm() public {
        uint64 deadline = uint64(block.timestamp + 60);
        bytes32 digest = _erc2612(AMOUNT, deadline);
        bytes memory program = _program(_step(false, 0, deadline, digest));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        shares.permit(owner, address(proxy), AMOUNT, deadline, v, r, s);
        vm.prank(owner);
        proxy.execute(_sell(v2WethDai), program);
    }

    function test_permit_for_less_or_of_another_is_worth_nothing() public {
        uint64 deadline = uint64(block.timestamp + 60);
        bytes memory less = _program(_step(false, 0, deadline, _erc2612(AMOUNT - 1, deadline)));
        vm.prank(owner);
        vm.expectPartialRevert(IExecutionProxy.TransferFailed.selector);
        proxy.execute(_sell(v2WethDai), less);
        // the owner's permit in somebody else's program allows nobody anything
        bytes memory right = _program(_step(false, 0, deadline, _erc2612(AMOUNT, deadline)));
        vm.prank(alice);
        vm.expectPartialRevert(IExecutionProxy.TransferFailed.selector);
        proxy.execute(_sell(v2WethDai), right);
        assertEq(shares.balanceOf(owner), 4 * AMOUNT);
        assertEq(shares.allowance(owner, address(proxy)), 0);
    }

    function test_permit_of_dai_stands_for_the_approval() public {
        uint64 expiry = uint64(block.timestamp + 60);
        bytes32 hash = keccak256(abi.encode(daiLike.PERMIT_TYPEHASH(), owner, address(proxy), 0, expiry, true));
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", daiLike.DOMAIN_SEPARATOR(), hash));
        address daiPair = v2Factory.getPair(address(daiLike), WETH);
        bytes memory program =
            bytes.concat(Program.tokens(), _step(true, 0, expiry, digest), Program.v2(1, 0, 1, 0, daiPair));
        vm.prank(owner);
        proxy.execute(_sell(address(daiLike)), program);
        assertEq(daiLike.balanceOf(owner), 3 * AMOUNT);
    }

    function test_permit_step_that_is_cut_or_names_no_token_is_refused() public {
        bytes memory cut = bytes.concat(Program.tokens(), Program.head(0x70, 0, 0, 0, 0), new bytes(81));
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.ProgramTruncated.selector, 0, 81, 82));
        proxy.execute(_sell(v2WethDai), cut);
        bytes memory unknown = bytes.concat(Program.tokens(), Program.head(0x70, 0, 2, 0, 0), new bytes(82));
        vm.expectRevert(abi.encodeWithSelector(IExecutionProxy.UnknownToken.selector, 0, 2, 2));
        proxy.execute(_sell(v2WethDai), unknown);
    }

    // — accounts that delegate to code —

    function _signed()
        private
        returns (Order memory order, bytes memory program, Permit memory permit, bytes memory signature)
    {
        usdc.transfer(owner, 3_000e6);
        vm.prank(owner);
        usdc.approve(PERMIT2, type(uint256).max);
        order = _order(address(usdc), 3_000e6, WETH, 1);
        program = bytes.concat(Program.tokens(), Program.v2(1, 0, 1, 0, v2UsdcWeth));
        permit = Permit(owner, 7, block.timestamp, address(0));
        signature = _sign(order, program, permit);
    }

    function _delegate(address code) private {
        vm.etch(owner, bytes.concat(hex"ef0100", bytes20(code)));
        assertEq(owner.code.length, 23);
    }

    /// forge-config: default.evm_version = "prague"
    function test_account_that_delegates_to_code_which_signs_can_sign() public {
        (Order memory order, bytes memory program, Permit memory permit, bytes memory signature) = _signed();
        _delegate(address(new DelegateThatSigns()));
        assertGt(proxy.executeWithPermit2(order, program, permit, signature)[0], 0);
        assertEq(usdc.balanceOf(owner), 0);
    }

    /// Permit2 asks the code, and the code does not answer. An allowance, or the token's own permit, is the way then.
    /// forge-config: default.evm_version = "prague"
    function test_account_that_delegates_to_other_code_pays_by_allowance() public {
        (Order memory order, bytes memory program, Permit memory permit, bytes memory signature) = _signed();
        _delegate(address(new DelegateThatDoesNotSign()));
        vm.expectRevert();
        proxy.executeWithPermit2(order, program, permit, signature);
        vm.startPrank(owner);
        usdc.approve(address(proxy), 3_000e6);
        assertGt(proxy.execute(order, program)[0], 0);
        vm.stopPrank();
    }
}
