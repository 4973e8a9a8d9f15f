// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";

/// @title OpenZeppelin's proxy as it comes
contract OpenZeppelinProxy is ERC1967Proxy {
    constructor(address code, bytes memory call) ERC1967Proxy(code, call) {}
}
