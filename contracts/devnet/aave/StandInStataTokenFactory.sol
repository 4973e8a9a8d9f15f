// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface IWrapped {
    function asset() external view returns (address);
}

/// @title Stand-in for Aave's factory of wrapped tokens on the local chain
/// @notice Our own code with the deployed views and event: the deployed one makes its tokens at addresses that follow from its code, and here
/// they lie where mainnet has them. The tokens themselves are Aave's own code.
contract StandInStataTokenFactory {
    event StataTokenCreated(address indexed stataToken, address indexed underlying);

    mapping(address => address) public getStataToken;

    function announce(address wrapped) external {
        address asset = IWrapped(wrapped).asset();
        getStataToken[asset] = wrapped;
        emit StataTokenCreated(wrapped, asset);
    }
}
