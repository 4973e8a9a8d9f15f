// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Erc20} from "./Coins.sol";
import {CryptoTerms} from "./CryptoPool.sol";
import {NextPool} from "./NextPool.sol";

/// Stand-in for Tricrypto of the next generation: the deployed calls, events and arithmetic.
/// What is left out: ether as such, administrator's fees, withdrawals of one coin, swaps of what was sent before.
contract StandInCurveTricryptoNG is NextPool {
    string public constant version = "v2.0.0";

    event AddLiquidity(
        address indexed provider, uint256[3] token_amounts, uint256 fee, uint256 token_supply, uint256 packed_price_scale
    );
    event RemoveLiquidity(address indexed provider, uint256[3] token_amounts, uint256 token_supply);

    constructor(CryptoTerms memory terms, string memory name, string memory symbol) NextPool(terms, name, symbol) {}

    function price_scale(uint256 k) external view returns (uint256) {
        return _unpack(_priceScale)[k];
    }

    function price_oracle(uint256 k) external view returns (uint256) {
        return _averages(_unpack(_priceScale))[k];
    }

    function last_prices(uint256 k) external view returns (uint256) {
        return _unpack(_lastPrices)[k];
    }

    function last_prices_timestamp() external view returns (uint256) {
        return _pricesTime;
    }

    function add_liquidity(uint256[3] calldata amounts, uint256 least) external payable returns (uint256 minted) {
        uint256[] memory list = new uint256[](3);
        (list[0], list[1], list[2]) = (amounts[0], amounts[1], amounts[2]);
        minted = _add(list, least);
        emit AddLiquidity(msg.sender, amounts, 0, totalSupply, _priceScale);
    }

    function remove_liquidity(uint256 shares, uint256[3] calldata least) external {
        uint256[] memory list = new uint256[](3);
        (list[0], list[1], list[2]) = (least[0], least[1], least[2]);
        uint256[] memory amounts = _remove(shares, list);
        emit RemoveLiquidity(msg.sender, [amounts[0], amounts[1], amounts[2]], totalSupply);
    }
}

/// Stand-in for Twocrypto of the next generation, v2.0.0: the deployed calls, events and arithmetic.
/// What is left out: administrator's fees, withdrawals of one coin, swaps of what was sent before.
contract StandInCurveTwocryptoNG is NextPool {
    string public constant version = "v2.0.0";

    event AddLiquidity(
        address indexed provider, uint256[2] token_amounts, uint256 fee, uint256 token_supply, uint256 packed_price_scale
    );
    event RemoveLiquidity(address indexed provider, uint256[2] token_amounts, uint256 token_supply);

    constructor(CryptoTerms memory terms, string memory name, string memory symbol) NextPool(terms, name, symbol) {}

    function price_scale() external view returns (uint256) {
        return _unpack(_priceScale)[0];
    }

    function price_oracle() external view returns (uint256) {
        return _averages(_unpack(_priceScale))[0];
    }

    function last_prices() external view returns (uint256) {
        return _unpack(_lastPrices)[0];
    }

    /// Two times in a word, that of prices below.
    function last_timestamp() external view returns (uint256) {
        return _pricesTime << 128 | _pricesTime;
    }

    function add_liquidity(uint256[2] calldata amounts, uint256 least) external returns (uint256 minted) {
        uint256[] memory list = new uint256[](2);
        (list[0], list[1]) = (amounts[0], amounts[1]);
        minted = _add(list, least);
        emit AddLiquidity(msg.sender, amounts, 0, totalSupply, _priceScale);
    }

    function remove_liquidity(uint256 shares, uint256[2] calldata least) external {
        uint256[] memory list = new uint256[](2);
        (list[0], list[1]) = (least[0], least[1]);
        uint256[] memory amounts = _remove(shares, list);
        emit RemoveLiquidity(msg.sender, [amounts[0], amounts[1]], totalSupply);
    }
}

/// Stand-in for the factories of the next generation: announces pools with their events, and makes none. The packed numbers, which
/// nobody here reads, are zero.
contract StandInCurveCryptoFactoryNG {
    event TricryptoPoolDeployed(
        address pool,
        string name,
        string symbol,
        address weth,
        address[3] coins,
        address math,
        bytes32 salt,
        uint256 packed_precisions,
        uint256 packed_A_gamma,
        uint256 packed_fee_params,
        uint256 packed_rebalancing_params,
        uint256 packed_prices,
        address deployer
    );
    event TwocryptoPoolDeployed(
        address pool,
        string name,
        string symbol,
        address[2] coins,
        address math,
        bytes32 salt,
        uint256[2] precisions,
        uint256 packed_A_gamma,
        uint256 packed_fee_params,
        uint256 packed_rebalancing_params,
        uint256 packed_prices,
        address deployer
    );

    function announceThree(NextPool pool) external {
        address[3] memory coins = [pool.coins(0), pool.coins(1), pool.coins(2)];
        (string memory name, string memory symbol) = (pool.name(), pool.symbol());
        emit TricryptoPoolDeployed(
            address(pool), name, symbol, address(0), coins, address(0), 0, 0, 0, 0, 0, 0, msg.sender
        );
    }

    function announceTwo(NextPool pool) external {
        address[2] memory coins = [pool.coins(0), pool.coins(1)];
        uint256[2] memory none;
        (string memory name, string memory symbol) = (pool.name(), pool.symbol());
        emit TwocryptoPoolDeployed(
            address(pool), name, symbol, coins, address(0), 0, none, 0, 0, 0, 0, msg.sender
        );
    }
}
