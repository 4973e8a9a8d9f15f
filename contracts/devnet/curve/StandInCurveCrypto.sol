// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {CryptoMath} from "./CryptoMath.sol";
import {CryptoPool, CryptoTerms} from "./CryptoPool.sol";
import {WAD} from "./StableMath.sol";

/// Stand-in for the two-coin CryptoSwap pools of the factory: the deployed calls, events and arithmetic.
/// What is left out: ether as such, administrator's fees, withdrawals of one coin.
contract StandInCurveCryptoSwap is CryptoPool {
    event AddLiquidity(address indexed provider, uint256[2] token_amounts, uint256 fee, uint256 token_supply);
    event RemoveLiquidity(address indexed provider, uint256[2] token_amounts, uint256 token_supply);

    constructor(CryptoTerms memory terms, address shares) CryptoPool(terms, shares) {}

    function price_scale() external view returns (uint256) {
        return _priceScale[0];
    }

    /// The average as of this block.
    function price_oracle() external view returns (uint256) {
        return _averages()[0];
    }

    function last_prices() external view returns (uint256) {
        return _lastPrices[0];
    }

    function add_liquidity(uint256[2] calldata amounts, uint256 least) external returns (uint256 minted) {
        uint256[] memory list = new uint256[](2);
        (list[0], list[1]) = (amounts[0], amounts[1]);
        minted = _add(list, least);
        emit AddLiquidity(msg.sender, amounts, 0, token.totalSupply());
    }

    function remove_liquidity(uint256 shares, uint256[2] calldata least) external {
        uint256[] memory list = new uint256[](2);
        (list[0], list[1]) = (least[0], least[1]);
        uint256[] memory amounts = _remove(shares, list);
        emit RemoveLiquidity(msg.sender, [amounts[0], amounts[1]], token.totalSupply());
    }

    function _distance() internal view override returns (bool far, uint256 norm, uint256 step) {
        uint256 ratio = _priceOracle[0] * WAD / _priceScale[0];
        norm = ratio > WAD ? ratio - WAD : WAD - ratio;
        step = adjustment_step > norm / 5 ? adjustment_step : norm / 5;
        far = norm > step;
    }

    function _startsWhileNear() internal pure override returns (bool) {
        return false;
    }
}

/// Stand-in for tricrypto2, the three-coin pool of 2021: the deployed calls, events and arithmetic.
/// What is left out: ether as such, administrator's fees, withdrawals of one coin.
contract StandInCurveTricrypto is CryptoPool {
    event AddLiquidity(address indexed provider, uint256[3] token_amounts, uint256 fee, uint256 token_supply);
    event RemoveLiquidity(address indexed provider, uint256[3] token_amounts, uint256 token_supply);

    constructor(CryptoTerms memory terms, address shares) CryptoPool(terms, shares) {}

    function price_scale(uint256 k) external view returns (uint256) {
        return _priceScale[k];
    }

    /// The average as stored.
    function price_oracle(uint256 k) external view returns (uint256) {
        return _priceOracle[k];
    }

    function last_prices(uint256 k) external view returns (uint256) {
        return _lastPrices[k];
    }

    function add_liquidity(uint256[3] calldata amounts, uint256 least) external {
        uint256[] memory list = new uint256[](3);
        (list[0], list[1], list[2]) = (amounts[0], amounts[1], amounts[2]);
        _add(list, least);
        emit AddLiquidity(msg.sender, amounts, 0, token.totalSupply());
    }

    function remove_liquidity(uint256 shares, uint256[3] calldata least) external {
        uint256[] memory list = new uint256[](3);
        (list[0], list[1], list[2]) = (least[0], least[1], least[2]);
        uint256[] memory amounts = _remove(shares, list);
        emit RemoveLiquidity(msg.sender, [amounts[0], amounts[1], amounts[2]], token.totalSupply());
    }

    function _distance() internal view override returns (bool far, uint256 norm, uint256 step) {
        for (uint256 k; k < 2; ++k) {
            uint256 ratio = _priceOracle[k] * WAD / _priceScale[k];
            ratio = ratio > WAD ? ratio - WAD : WAD - ratio;
            norm += ratio * ratio;
        }
        step = adjustment_step;
        far = norm > step * step;
        norm = far ? CryptoMath.sqrt(norm / WAD) : 0;
    }

    function _startsWhileNear() internal pure override returns (bool) {
        return true;
    }
}
