// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StandardToken} from "../Token.sol";

interface IShares {
    function getSharesByPooledEth(uint256 amount) external view returns (uint256);
    function getPooledEthByShares(uint256 shares) external view returns (uint256);
    function submit(address referral) external payable returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// @title Stand-in for Lido's wstETH on the local chain
/// @notice Our own code with the deployed interface: one token for each share of stETH. What the holder has at the start is
/// backed by shares that the world's builder sends here.
contract StandInWstEth is StandardToken {
    IShares private immutable steth;

    constructor(address steth_, address holder, uint256 supply)
        StandardToken("Wrapped liquid staked Ether 2.0 (stand-in)", "wstETH", 18, holder, supply)
    {
        steth = IShares(steth_);
    }

    receive() external payable {
        _mint(msg.sender, steth.submit{value: msg.value}(address(0)));
    }

    function wrap(uint256 amount) external returns (uint256 minted) {
        require(amount > 0, "wstETH: can't wrap zero stETH");
        minted = steth.getSharesByPooledEth(amount);
        _mint(msg.sender, minted);
        steth.transferFrom(msg.sender, address(this), amount);
    }

    function unwrap(uint256 burnt) external returns (uint256 amount) {
        require(burnt > 0, "wstETH: zero amount unwrap not allowed");
        amount = steth.getPooledEthByShares(burnt);
        balanceOf[msg.sender] -= burnt;
        totalSupply -= burnt;
        emit Transfer(msg.sender, address(0), burnt);
        steth.transfer(msg.sender, amount);
    }

    function stETH() external view returns (address) {
        return address(steth);
    }

    function stEthPerToken() external view returns (uint256) {
        return steth.getPooledEthByShares(1 ether);
    }

    function tokensPerStEth() external view returns (uint256) {
        return steth.getSharesByPooledEth(1 ether);
    }

    function _mint(address to, uint256 amount) private {
        balanceOf[to] += amount;
        totalSupply += amount;
        emit Transfer(address(0), to, amount);
    }
}
