// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Coins, Erc20, OwnShares} from "./Coins.sol";
import {MetaPool} from "./StandInCurveMetaPool.sol";
import {StableMath, WAD, FEE_WHOLE} from "./StableMath.sol";
import {StablePool, Terms} from "./StablePool.sol";

/// Where a coin's rate comes from.
/// @param kind 0 none, 1 an oracle that answers with 18 decimals, 3 an ERC-4626 vault (the coin itself)
/// @param oracle, selector the view to ask, for kind 1
struct RateSource {
    uint8 kind;
    address oracle;
    bytes4 selector;
}

interface IVault {
    function asset() external view returns (address);
    function decimals() external view returns (uint8);
    function convertToAssets(uint256 shares) external view returns (uint256);
}

/// Stand-ins for Curve's StableSwap pools of the next generation: the deployed calls, events and arithmetic.
/// What is left out: rebasing coins, price and invariant oracles, withdrawals in given amounts, other receivers.
abstract contract NextPool is StablePool, OwnShares {
    event TokenExchange(
        address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought
    );
    event AddLiquidity(
        address indexed provider, uint256[] token_amounts, uint256[] fees, uint256 invariant, uint256 token_supply
    );
    event RemoveLiquidity(address indexed provider, uint256[] token_amounts, uint256[] fees, uint256 token_supply);
    event RemoveLiquidityOne(
        address indexed provider, int128 token_id, uint256 token_amount, uint256 coin_amount, uint256 token_supply
    );

    string public constant version = "v7.0.0";

    function N_COINS() external view returns (uint256) {
        return _coins.length;
    }

    function offpeg_fee_multiplier() external view returns (uint256) {
        return _offpegFeeMultiplier;
    }

    function stored_rates() external view returns (uint256[] memory) {
        return _rates();
    }

    function get_balances() external view returns (uint256[] memory) {
        return _held(0);
    }

    function dynamic_fee(int128 i, int128 j) external view returns (uint256) {
        uint256[] memory xp = _scale(_held(0), _rates());
        return _feeBetween(xp[_place(i)], xp[_place(j)], fee);
    }

    /// What to pay in for an amount out, at the fee of the balances before the swap.
    function get_dx(int128 i, int128 j, uint256 dy) external view returns (uint256) {
        (uint256 a, uint256 b) = (_place(i), _place(j));
        uint256[] memory rates = _rates();
        uint256[] memory xp = _scale(_held(0), rates);
        uint256 rate = _feeBetween(xp[a], xp[b], fee);
        uint256 y = xp[b] - (dy * rates[b] / WAD + 1) * FEE_WHOLE / (FEE_WHOLE - rate);
        return (StableMath.y(_shape(), b, a, y, xp) - xp[a]) * WAD / rates[a];
    }

    function exchange(int128 i, int128 j, uint256 dx, uint256 min_dy) external returns (uint256 dy) {
        dy = _exchange(i, j, dx, min_dy);
        emit TokenExchange(msg.sender, i, dx, j, dy);
    }

    function add_liquidity(uint256[] memory amounts, uint256 least) external returns (uint256 minted) {
        uint256[] memory fees;
        uint256 invariant;
        (minted, fees, invariant) = _add(amounts, least);
        emit AddLiquidity(msg.sender, amounts, fees, invariant, totalSupply);
    }

    function remove_liquidity(uint256 shares, uint256[] memory least) external returns (uint256[] memory amounts) {
        amounts = _remove(shares, least);
        emit RemoveLiquidity(msg.sender, amounts, new uint256[](amounts.length), totalSupply);
    }

    function remove_liquidity_one_coin(uint256 shares, int128 coin, uint256 least) external returns (uint256 amount) {
        amount = _removeOne(shares, coin, least);
        emit RemoveLiquidityOne(msg.sender, coin, shares, amount, totalSupply);
    }

    /// Exactly what a deposit mints; the estimate without a fee for a withdrawal.
    function calc_token_amount(uint256[] memory amounts, bool deposit) external view returns (uint256 minted) {
        if (!deposit) return _estimate(amounts, false);
        (minted,,) = _minting(_held(0), _rates(), amounts);
    }
}

/// Stand-in for a plain pool of two to eight coins.
contract StandInCurveStableSwapNG is NextPool {
    RateSource[] private _sources;

    constructor(Terms memory terms, RateSource[] memory sources, string memory name, string memory symbol)
        StablePool(terms)
        Erc20(name, symbol)
    {
        require(sources.length == terms.coins.length, "a source of rates for each coin");
        for (uint256 k; k < sources.length; ++k) {
            _sources.push(sources[k]);
        }
    }

    function _rates() internal view override returns (uint256[] memory rates) {
        rates = _fixedRates;
        for (uint256 k; k < rates.length; ++k) {
            RateSource memory source = _sources[k];
            if (source.kind == 1) rates[k] = rates[k] * _ask(source) / WAD;
            if (source.kind == 3) rates[k] = rates[k] * _shareValue(IVault(_coins[k])) / WAD;
        }
    }

    function _ask(RateSource memory source) private view returns (uint256) {
        (bool ok, bytes memory answer) = source.oracle.staticcall(abi.encodePacked(source.selector));
        require(ok, "the oracle does not answer");
        return abi.decode(answer, (uint256));
    }

    /// Assets for one whole share, 18 decimals.
    function _shareValue(IVault vault) private view returns (uint256) {
        uint256 assets = vault.convertToAssets(10 ** vault.decimals());
        return assets * 10 ** (18 - IVault(vault.asset()).decimals());
    }
}

/// Stand-in for a metapool of the next generation.
contract StandInCurveMetaPoolNG is NextPool, MetaPool {
    constructor(
        Terms memory terms,
        address base,
        uint256 baseCoins,
        bool baseIsNext,
        string memory name,
        string memory symbol
    ) StablePool(terms) MetaPool(base, baseCoins, baseIsNext) Erc20(name, symbol) {}

    function BASE_POOL() external view returns (address) {
        return address(BASE);
    }

    function BASE_COINS(uint256 k) external view returns (address) {
        return _baseCoins[k];
    }

    function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external returns (uint256) {
        return _exchangeUnderlying(i, j, dx, least);
    }

    function get_dy_underlying(int128 i, int128 j, uint256 dx) external view returns (uint256) {
        return _viewUnderlying(i, j, dx);
    }

    function _rates() internal view override(MetaPool, StablePool) returns (uint256[] memory) {
        return MetaPool._rates();
    }
}
