// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Coins, Erc20, ICoin, OtherShares, OwnShares} from "./Coins.sol";
import {FEE_WHOLE, StableMath, WAD} from "./StableMath.sol";
import {StablePool, Terms} from "./StablePool.sol";
import {TwoCoins} from "./StandInCurveStableSwap.sol";

/// What a metapool calls of its base pool.
interface IBase {
    function coins(uint256 k) external view returns (address);
    function fee() external view returns (uint256);
    function get_virtual_price() external view returns (uint256);
    function get_dy(int128 i, int128 j, uint256 dx) external view returns (uint256);
    function calc_withdraw_one_coin(uint256 shares, int128 coin) external view returns (uint256);
    function exchange(int128 i, int128 j, uint256 dx, uint256 least) external;
    function remove_liquidity_one_coin(uint256 shares, int128 coin, uint256 least) external;
}

/// A pool of one coin and the shares of a base pool, and through them of each of the base pool's coins.
/// The base pool has two or three coins and takes a list of that length, or is of the next generation.
abstract contract MetaPool is StablePool {
    event TokenExchangeUnderlying(
        address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought
    );

    IBase internal immutable BASE;
    address[] internal _baseCoins;
    bool internal immutable BASE_IS_NEXT;

    constructor(address base, uint256 baseCoins, bool baseIsNext) {
        (BASE, BASE_IS_NEXT) = (IBase(base), baseIsNext);
        for (uint256 k; k < baseCoins; ++k) {
            address coin = BASE.coins(k);
            _baseCoins.push(coin);
            Coins.allow(coin, base);
        }
    }

    /// The price of the base pool's shares that a swap uses.
    function _sharePrice() internal view virtual returns (uint256) {
        return BASE.get_virtual_price();
    }

    /// Before a swap: the pools that remember that price remember it here.
    function _refresh() internal virtual {}

    function _rates() internal view virtual override returns (uint256[] memory rates) {
        rates = new uint256[](2);
        (rates[0], rates[1]) = (_fixedRates[0], _sharePrice());
    }

    /// Coin 0 is the pool's own, coin k the base pool's coin k - 1.
    function _exchangeUnderlying(int128 i, int128 j, uint256 dx, uint256 least) internal returns (uint256 dy) {
        _refresh();
        uint256[] memory rates = _rates();
        (address coinIn, address coinOut) = (_underlying(i), _underlying(j));
        require(i != j, "one coin twice");
        Coins.pull(coinIn, dx);
        if (i > 0 && j > 0) {
            uint256 before = ICoin(coinOut).balanceOf(address(this));
            BASE.exchange(i - 1, j - 1, dx, least);
            dy = ICoin(coinOut).balanceOf(address(this)) - before;
        } else {
            uint256 brought = i == 0 ? dx : _addToBase(uint128(i) - 1, dx);
            dy = _swap(_held(0), rates, i == 0 ? 0 : 1, j == 0 ? 0 : 1, brought);
            if (j > 0) dy = _takeFromBase(j - 1, dy, coinOut);
        }
        require(dy >= least, "Exchange resulted in fewer coins than expected");
        Coins.push(coinOut, msg.sender, dy);
        emit TokenExchangeUnderlying(msg.sender, i, dx, j, dy);
    }

    function _underlying(int128 k) private view returns (address) {
        require(k >= 0 && uint128(k) <= _baseCoins.length, "no such coin");
        return k == 0 ? _coins[0] : _baseCoins[uint128(k) - 1];
    }

    function _addToBase(uint256 k, uint256 amount) private returns (uint256 shares) {
        uint256 before = ICoin(_coins[1]).balanceOf(address(this));
        (bool ok,) = address(BASE).call(_depositCall("add_liquidity(uint256[", "],uint256)", k, amount, 0));
        require(ok, "the base pool refused a deposit");
        return ICoin(_coins[1]).balanceOf(address(this)) - before;
    }

    function _takeFromBase(int128 k, uint256 shares, address coin) private returns (uint256) {
        uint256 before = ICoin(coin).balanceOf(address(this));
        BASE.remove_liquidity_one_coin(shares, k, 0);
        return ICoin(coin).balanceOf(address(this)) - before;
    }

    /// The estimate of the shares for one coin: `calc_token_amount`.
    function _baseEstimate(uint256 k, uint256 amount) private view returns (uint256) {
        (bool ok, bytes memory answer) =
            address(BASE).staticcall(_depositCall("calc_token_amount(uint256[", "],bool)", k, amount, 1));
        require(ok, "the base pool refused an estimate");
        return abi.decode(answer, (uint256));
    }

    /// A call of the base pool with a list of amounts, one of them not zero: of a fixed length, or of any in the next generation.
    function _depositCall(string memory head, string memory tail, uint256 k, uint256 amount, uint256 second)
        private
        view
        returns (bytes memory)
    {
        uint256[] memory amounts = new uint256[](_baseCoins.length);
        amounts[k] = amount;
        string memory length = BASE_IS_NEXT ? "" : amounts.length == 2 ? "2" : "3";
        bytes4 selector = bytes4(keccak256(bytes(string.concat(head, length, tail))));
        if (BASE_IS_NEXT) return abi.encodeWithSelector(selector, amounts, second);
        return abi.encodePacked(selector, amounts, second);
    }

    function _viewUnderlying(int128 i, int128 j, uint256 dx) internal view returns (uint256) {
        if (i > 0 && j > 0) return BASE.get_dy(i - 1, j - 1, dx);
        if (i == 0) return BASE.calc_withdraw_one_coin(_view(0, 1, dx), j - 1);
        uint256 shares = _baseEstimate(uint128(i) - 1, dx);
        return BASE_IS_NEXT ? _view(1, 0, shares) : _viewLessHalfFee(shares);
    }

    /// The classic view takes half of the base pool's fee off the estimate.
    function _viewLessHalfFee(uint256 shares) private view returns (uint256) {
        uint256[] memory rates = _rates();
        uint256[] memory xp = _scale(_held(0), rates);
        uint256 x = shares * rates[1] / WAD;
        x = x - x * BASE.fee() / (2 * FEE_WHOLE) + xp[1];
        uint256 dy = xp[0] - StableMath.y(_shape(), 1, 0, x, xp) - 1;
        return (dy - fee * dy / FEE_WHOLE) * WAD / rates[0];
    }
}

/// Metapools with the classic calls.
abstract contract ClassicMetaPool is MetaPool, TwoCoins {
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

/// Stand-in for the metapools of the main registry: the price of the base pool's shares is remembered for ten minutes.
contract StandInCurveMetaPool is ClassicMetaPool, OtherShares {
    uint256 public base_virtual_price;
    uint256 public base_cache_updated;

    constructor(Terms memory terms, address shares, address base, uint256 baseCoins, bool baseIsNext)
        StablePool(terms)
        MetaPool(base, baseCoins, baseIsNext)
        OtherShares(shares)
    {
        (base_virtual_price, base_cache_updated) = (BASE.get_virtual_price(), block.timestamp);
    }

    function base_pool() external view returns (address) {
        return address(BASE);
    }

    function base_coins(uint256 k) external view returns (address) {
        return _baseCoins[k];
    }

    function lp_token() external view returns (address) {
        return address(SHARES);
    }

    function _sharePrice() internal view override returns (uint256) {
        return block.timestamp > base_cache_updated + 600 ? BASE.get_virtual_price() : base_virtual_price;
    }

    function _refresh() internal override {
        if (block.timestamp > base_cache_updated + 600) {
            (base_virtual_price, base_cache_updated) = (BASE.get_virtual_price(), block.timestamp);
        }
    }

    function _beforeExchange() internal override {
        _refresh();
    }
}

/// Stand-in for the metapools of the factory: the base pool is asked each time, and the pool is its own share token.
contract StandInCurveFactoryMetaPool is ClassicMetaPool, OwnShares {
    constructor(
        Terms memory terms,
        address base,
        uint256 baseCoins,
        bool baseIsNext,
        string memory name,
        string memory symbol
    ) StablePool(terms) MetaPool(base, baseCoins, baseIsNext) Erc20(name, symbol) {}
}
