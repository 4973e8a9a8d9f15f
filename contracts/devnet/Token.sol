// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @title The ERC-20 tokens of the local chain
/// @notice Our own stand-ins for real mainnet tokens: same address, decimals and quirks, none of their code.
/// Nobody can mint. The whole supply goes to one holder when the token is made.
/// `balanceOf` is a plain mapping, at the storage slot that the real token uses, so that tools which fund an
/// account by writing storage work unchanged. Amounts are in atomic units.
abstract contract Balances {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    uint256 public totalSupply;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(address holder, uint256 supply) {
        balanceOf[holder] = supply;
        totalSupply = supply;
        emit Transfer(address(0), holder, supply);
    }

    /// @dev Reverts on too small a balance.
    function _move(address from, address to, uint256 value) internal {
        require(to != address(0), "transfer to the zero address");
        uint256 held = balanceOf[from];
        require(held >= value, "transfer amount exceeds balance");
        unchecked {
            balanceOf[from] = held - value;
            balanceOf[to] += value;
        }
        emit Transfer(from, to, value);
    }

    /// @dev Reverts on too small an allowance. The largest number stands for "unlimited" and is never used up.
    function _spend(address owner, address spender, uint256 value) internal {
        uint256 allowed = allowance[owner][spender];
        if (allowed == type(uint256).max) return;
        require(allowed >= value, "transfer amount exceeds allowance");
        unchecked {
            allowance[owner][spender] = allowed - value;
        }
    }

    function _approve(address spender, uint256 value) internal {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
    }
}

/// @notice Text name and symbol, as nearly every token has them.
abstract contract TextMetadata {
    string public name;
    string public symbol;
    uint8 public decimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }
}

/// @notice A token that keeps to the standard: returns true or reverts.
abstract contract StandardToken is Balances, TextMetadata {
    constructor(string memory name_, string memory symbol_, uint8 decimals_, address holder, uint256 supply)
        Balances(holder, supply)
        TextMetadata(name_, symbol_, decimals_)
    {}

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        _spend(from, msg.sender, value);
        _move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(spender, value);
        return true;
    }
}
