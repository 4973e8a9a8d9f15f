// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface IThirdVault {
    function unlock(bytes calldata data) external returns (bytes memory);
    function settle(address token, uint256 amount) external returns (uint256);
    function sendTo(address token, address to, uint256 amount) external;
    function initialize(
        address pool,
        address to,
        address[] memory tokens,
        uint256[] memory amounts,
        uint256 leastShares,
        bytes memory userData
    ) external returns (uint256);
    function swap(VaultSwap memory params) external returns (uint256, uint256, uint256 amountOut);
    function initializeBuffer(address wrapped, uint256 assets, uint256 shares, uint256 leastIssued, address owner)
        external
        returns (uint256);
    function addLiquidityToBuffer(address wrapped, uint256 mostAssets, uint256 mostShares, uint256 issued, address owner)
        external
        returns (uint256 assets, uint256 shares);
    function erc4626BufferWrapOrUnwrap(BufferWrapOrUnwrap memory params)
        external
        returns (uint256, uint256, uint256 amountOut);
}

struct BufferWrapOrUnwrap {
    uint8 kind;
    uint8 direction;
    address wrapped;
    uint256 amountGivenRaw;
    uint256 limitRaw;
}

struct VaultSwap {
    uint8 kind;
    address pool;
    address tokenIn;
    address tokenOut;
    uint256 amountGivenRaw;
    uint256 limitRaw;
    bytes userData;
}

/// @title Puts the first coins into pools of Balancer's third vault, and swaps in them, with what the caller holds and approved
/// @notice Of the local chain and the tests: the vault takes coins only inside of a session.
contract BalancerV3Filler {
    IThirdVault private constant VAULT = IThirdVault(0xbA1333333333a1BA1108E8412f11850A5C319bA9);

    function fill(address pool, address[] calldata tokens, uint256[] calldata amounts) external {
        VAULT.unlock(abi.encodeCall(this.filled, (msg.sender, pool, tokens, amounts)));
    }

    function filled(address payer, address pool, address[] calldata tokens, uint256[] calldata amounts) external {
        require(msg.sender == address(VAULT));
        for (uint256 i = 0; i < tokens.length; i++) {
            pay(payer, tokens[i], amounts[i]);
        }
        VAULT.initialize(pool, payer, tokens, amounts, 0, "");
    }

    /// @return amountOut What the vault pays the caller for the amount.
    function swap(address pool, address tokenIn, address tokenOut, uint256 amount) external returns (uint256 amountOut) {
        bytes memory result = VAULT.unlock(abi.encodeCall(this.swapped, (msg.sender, pool, tokenIn, tokenOut, amount)));
        return abi.decode(result, (uint256));
    }

    function swapped(address payer, address pool, address tokenIn, address tokenOut, uint256 amount)
        external
        returns (uint256 amountOut)
    {
        require(msg.sender == address(VAULT));
        pay(payer, tokenIn, amount);
        (,, amountOut) = VAULT.swap(VaultSwap(0, pool, tokenIn, tokenOut, amount, 0, ""));
        VAULT.sendTo(tokenOut, payer, amountOut);
    }

    /// Makes the buffer of a share.
    function fillBuffer(address wrapped, address asset, uint256 assets, uint256 shares) external {
        VAULT.unlock(abi.encodeCall(this.bufferFilled, (msg.sender, wrapped, asset, assets, shares)));
    }

    function bufferFilled(address payer, address wrapped, address asset, uint256 assets, uint256 shares) external {
        require(msg.sender == address(VAULT));
        if (assets != 0) pay(payer, asset, assets);
        if (shares != 0) pay(payer, wrapped, shares);
        VAULT.initializeBuffer(wrapped, assets, shares, 0, payer);
    }

    /// Adds to a buffer in proportion to what it holds, for so many more of the vault's own shares in it.
    function addToBuffer(address wrapped, address asset, uint256 issued) external {
        VAULT.unlock(abi.encodeCall(this.bufferGrown, (msg.sender, wrapped, asset, issued)));
    }

    function bufferGrown(address payer, address wrapped, address asset, uint256 issued) external {
        require(msg.sender == address(VAULT));
        uint256 most = type(uint128).max;
        (uint256 assets, uint256 shares) = VAULT.addLiquidityToBuffer(wrapped, most, most, issued, payer);
        pay(payer, asset, assets);
        pay(payer, wrapped, shares);
    }

    /// @return amountOut What a buffer pays the caller for the amount: shares for the asset, or the asset for shares.
    function exchange(address wrapped, address asset, bool wraps, uint256 amount) external returns (uint256 amountOut) {
        bytes memory result = VAULT.unlock(abi.encodeCall(this.exchanged, (msg.sender, wrapped, asset, wraps, amount)));
        return abi.decode(result, (uint256));
    }

    function exchanged(address payer, address wrapped, address asset, bool wraps, uint256 amount)
        external
        returns (uint256 amountOut)
    {
        require(msg.sender == address(VAULT));
        pay(payer, wraps ? asset : wrapped, amount);
        (,, amountOut) = VAULT.erc4626BufferWrapOrUnwrap(BufferWrapOrUnwrap(0, wraps ? 0 : 1, wrapped, amount, 0));
        VAULT.sendTo(wraps ? wrapped : asset, payer, amountOut);
    }

    /// Some tokens answer nothing.
    function pay(address payer, address token, uint256 amount) private {
        (bool ok,) =
            token.call(abi.encodeWithSignature("transferFrom(address,address,uint256)", payer, address(VAULT), amount));
        require(ok);
        VAULT.settle(token, amount);
    }
}
