// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StandInCurvePlainPool2} from "./StandInCurveStableSwap.sol";
import {Terms} from "./StablePool.sol";

/// Stand-ins for Curve's factories whose logs do not say which pool they announce: it is found in their lists. They make plain pools of
/// two coins, and list what was placed elsewhere.
abstract contract ListOfPools {
    struct Entry {
        address[] coins;
        address[] underlying;
        address implementation;
        uint8[] assetTypes;
        address share;
    }

    address[] public pool_list;
    mapping(address => Entry) internal _entries;

    function pool_count() external view returns (uint256) {
        return pool_list.length;
    }

    function _list(address pool, Entry memory entry) internal {
        pool_list.push(pool);
        _entries[pool] = entry;
    }

    function is_meta(address pool) external view returns (bool) {
        return _entries[pool].underlying.length != 0;
    }

    function get_implementation_address(address pool) external view returns (address) {
        return _entries[pool].implementation;
    }
}

/// The factory of plain pools and metapools.
contract StandInCurveStableFactory is ListOfPools {
    event PlainPoolDeployed(address[4] coins, uint256 A, uint256 fee, address deployer);
    event MetaPoolDeployed(address coin, address base_pool, uint256 A, uint256 fee, address deployer);

    /// Lists a plain pool that was placed elsewhere.
    function announcePlain(address pool, address[] memory coins, address implementation) public {
        _list(pool, Entry(coins, new address[](0), implementation, new uint8[](0), pool));
        emit PlainPoolDeployed(_four(coins), 0, 0, msg.sender);
    }

    /// Lists a metapool: its two coins, and its own coin with the base pool's.
    function announceMeta(address pool, address[] memory coins, address[] memory underlying, address implementation)
        external
    {
        _list(pool, Entry(coins, underlying, implementation, new uint8[](0), pool));
        emit MetaPoolDeployed(coins[0], coins[1], 0, 0, msg.sender);
    }

    /// Makes a plain pool of two coins.
    function deployPlain(Terms memory terms, address implementation) external returns (address pool) {
        pool = address(new StandInCurvePlainPool2(terms, "Curve.fi factory pool (stand-in)", "factory"));
        announcePlain(pool, terms.coins, implementation);
    }

    function get_coins(address pool) external view returns (address[4] memory) {
        return _four(_entries[pool].coins);
    }

    function get_underlying_coins(address pool) external view returns (address[8] memory eight) {
        address[] storage coins = _entries[pool].underlying;
        require(coins.length != 0, "not a metapool");
        for (uint256 k; k < coins.length; ++k) {
            eight[k] = coins[k];
        }
    }

    function _four(address[] memory coins) private pure returns (address[4] memory four) {
        for (uint256 k; k < coins.length; ++k) {
            four[k] = coins[k];
        }
    }
}

/// The factory of the next generation.
contract StandInCurveStableFactoryNG is ListOfPools {
    event PlainPoolDeployed(address[] coins, uint256 A, uint256 fee, address deployer);
    event MetaPoolDeployed(address coin, address base_pool, uint256 A, uint256 fee, address deployer);

    mapping(address pool => address) public get_base_pool;

    function announcePlain(address pool, address[] memory coins, uint8[] memory assetTypes) external {
        _list(pool, Entry(coins, new address[](0), address(0), assetTypes, pool));
        emit PlainPoolDeployed(coins, 0, 0, msg.sender);
    }

    /// The kinds of coins of a metapool are not kept.
    function announceMeta(address pool, address[] memory coins, address[] memory underlying, address base) external {
        get_base_pool[pool] = base;
        _list(pool, Entry(coins, underlying, address(0), new uint8[](0), pool));
        emit MetaPoolDeployed(coins[0], base, 0, 0, msg.sender);
    }

    function get_coins(address pool) external view returns (address[] memory) {
        return _entries[pool].coins;
    }

    function get_underlying_coins(address pool) external view returns (address[] memory) {
        return _entries[pool].underlying;
    }

    function get_pool_asset_types(address pool) external view returns (uint8[] memory) {
        return _entries[pool].assetTypes;
    }
}

/// The factory of CryptoSwap pools of two coins.
contract StandInCurveCryptoFactory is ListOfPools {
    event CryptoPoolDeployed(
        address token,
        address[2] coins,
        uint256 A,
        uint256 gamma,
        uint256 mid_fee,
        uint256 out_fee,
        uint256 allowed_extra_profit,
        uint256 fee_gamma,
        uint256 adjustment_step,
        uint256 admin_fee,
        uint256 ma_half_time,
        uint256 initial_price,
        address deployer
    );

    function announceTwo(address pool, address[] memory coins, address share) external {
        _list(pool, Entry(coins, new address[](0), address(0), new uint8[](0), share));
        emit CryptoPoolDeployed(share, [coins[0], coins[1]], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, msg.sender);
    }

    function get_coins(address pool) external view returns (address[2] memory) {
        address[] storage coins = _entries[pool].coins;
        return [coins[0], coins[1]];
    }

    function get_token(address pool) external view returns (address) {
        return _entries[pool].share;
    }
}
