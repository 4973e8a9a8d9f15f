// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface IAaveProxy {
    function initialize(address logic, bytes calldata data) external payable;
}

interface IAaveRates {
    function setInterestRateParams(address asset, bytes calldata curve) external;
}

struct ConfigurationMap {
    uint256 data;
}

interface IAavePool {
    function initReserve(address asset, address aToken, address debtToken) external;
    function setConfiguration(address asset, ConfigurationMap calldata configuration) external;
    function syncRatesState(address asset) external;
    function syncIndexesState(address asset) external;
}

interface IAaveToken {
    function initialize(
        address pool,
        address asset,
        uint8 decimals,
        string calldata name,
        string calldata symbol,
        bytes calldata params
    ) external;
}

/// The rate of a reserve in hundredths of a percent: where it bends, at nothing lent, and how much more up to the bend and beyond.
struct RateCurve {
    uint16 optimal;
    uint32 base;
    uint32 slope1;
    uint32 slope2;
}

/// A reserve: its tokens, which are still empty proxies, and what it is configured as, Aave's own word.
struct Reserve {
    address asset;
    address aToken;
    address debtToken;
    uint8 decimals;
    string symbol;
    uint256 configuration;
    RateCurve curve;
}

/// @title Lists reserves in a pool of Aave's third version, in the place of its configurator
/// @notice Of the local chain and the tests: the pool, its tokens and its rates are Aave's own code; this only does what governance does.
contract AaveV3Keeper {
    IAavePool private immutable pool;
    IAaveRates private immutable rates;
    address private immutable aTokenLogic;
    address private immutable debtTokenLogic;

    constructor(address pool_, address rates_, address aTokenLogic_, address debtTokenLogic_) {
        (pool, rates) = (IAavePool(pool_), IAaveRates(rates_));
        (aTokenLogic, debtTokenLogic) = (aTokenLogic_, debtTokenLogic_);
    }

    /// Lists a reserve.
    function list(Reserve calldata reserve) external {
        begin(reserve.aToken, aTokenLogic, reserve, "a");
        begin(reserve.debtToken, debtTokenLogic, reserve, "variableDebt");
        pool.initReserve(reserve.asset, reserve.aToken, reserve.debtToken);
        rates.setInterestRateParams(reserve.asset, abi.encode(reserve.curve));
        pool.setConfiguration(reserve.asset, ConfigurationMap(reserve.configuration));
    }

    /// Changes what a reserve is configured as, as governance does: interest up to then is that of before.
    function configure(address asset, uint256 configuration) external {
        pool.syncIndexesState(asset);
        pool.setConfiguration(asset, ConfigurationMap(configuration));
        pool.syncRatesState(asset);
    }

    function begin(address token, address logic, Reserve calldata reserve, string memory prefix) private {
        string memory symbol = string.concat(prefix, "Eth", reserve.symbol);
        bytes memory call = abi.encodeCall(
            IAaveToken.initialize,
            (address(pool), reserve.asset, reserve.decimals, string.concat("Aave ", symbol), symbol, "")
        );
        IAaveProxy(token).initialize(logic, call);
    }
}
