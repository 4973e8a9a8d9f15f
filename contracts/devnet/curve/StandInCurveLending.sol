// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Coins, OtherShares} from "./Coins.sol";
import {StandInAavePool} from "./StandInAave.sol";
import {StandInCToken} from "./StandInCompound.sol";
import {FEE_WHOLE, WAD} from "./StableMath.sol";
import {ClassicPool, SignedPlaces} from "./StandInCurveStableSwap.sol";
import {StablePool, Terms} from "./StablePool.sol";

/// Stand-ins for Curve's pools of a lender's tokens: the deployed calls and events, the deployed arithmetic in Solidity of ours. What is left
/// out: withdrawals; at Compound, deposits of the coins themselves and views between them.
abstract contract LendingPool is ClassicPool, OtherShares {
    address[] internal _underlying;

    event TokenExchangeUnderlying(
        address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought
    );

    constructor(Terms memory terms, address[] memory underlying, address shares)
        StablePool(terms)
        OtherShares(shares)
    {
        require(underlying.length == terms.coins.length, "a coin for each token");
        _underlying = underlying;
    }

    function underlying_coins(uint256 k) external view returns (address) {
        return _underlying[k];
    }

    function lp_token() external view returns (address) {
        return address(SHARES);
    }

    function _amounts(uint256[3] memory given) internal view returns (uint256[] memory list) {
        list = new uint256[](_coins.length);
        for (uint256 k; k < list.length; ++k) {
            list[k] = given[k];
        }
    }
}

/// What the pools of Aave's tokens have in common.
abstract contract AavePool is LendingPool {
    StandInAavePool internal immutable LENDER;

    constructor(Terms memory terms, address[] memory underlying, address shares, address lender)
        LendingPool(terms, underlying, shares)
    {
        LENDER = StandInAavePool(lender);
        for (uint256 k; k < underlying.length; ++k) {
            Coins.allow(underlying[k], lender);
        }
    }

    function offpeg_fee_multiplier() external view returns (uint256) {
        return _offpegFeeMultiplier;
    }

    function get_dy_underlying(int128 i, int128 j, uint256 dx) external view returns (uint256) {
        return _view(_place(i), _place(j), dx);
    }

    function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external returns (uint256 dy) {
        (uint256 a, uint256 b) = (_place(i), _place(j));
        require(a != b, "one coin twice");
        dy = _swap(_held(0), _rates(), a, b, dx);
        require(dy >= least, "Exchange resulted in fewer coins than expected");
        _lend(a, dx);
        LENDER.withdraw(_underlying[b], dy, msg.sender);
        emit TokenExchangeUnderlying(msg.sender, i, dx, j, dy);
    }

    /// Of the coins themselves only.
    function _fill(uint256[] memory amounts, uint256 least, bool inUnderlying)
        internal
        returns (uint256 minted, uint256[] memory fees, uint256 invariant)
    {
        require(inUnderlying, "the stand-in takes no tokens of the lender's");
        (minted, fees, invariant) = _deposit(_held(0), _rates(), amounts);
        require(minted >= least, "Slippage screwed you");
        for (uint256 k; k < amounts.length; ++k) {
            if (amounts[k] != 0) _lend(k, amounts[k]);
        }
        _mint(msg.sender, minted);
    }

    function _lend(uint256 k, uint256 amount) private {
        Coins.pull(_underlying[k], amount);
        LENDER.deposit(_underlying[k], amount, address(this), 0);
    }
}

/// A pool of three of Aave's tokens: 0xDeBF….
contract StandInCurveAave is AavePool {
    event AddLiquidity(
        address indexed provider, uint256[3] token_amounts, uint256[3] fees, uint256 invariant, uint256 token_supply
    );

    constructor(Terms memory terms, address[] memory underlying, address shares, address lender)
        AavePool(terms, underlying, shares, lender)
    {}

    function add_liquidity(uint256[3] calldata given, uint256 least, bool inUnderlying) external returns (uint256 minted) {
        uint256[] memory fees;
        uint256 invariant;
        (minted, fees, invariant) = _fill(_amounts(given), least, inUnderlying);
        emit AddLiquidity(msg.sender, given, [fees[0], fees[1], fees[2]], invariant, _supply());
    }
}

/// A pool of two of Aave's tokens: 0xEB16….
contract StandInCurveAaveTwo is AavePool {
    event AddLiquidity(
        address indexed provider, uint256[2] token_amounts, uint256[2] fees, uint256 invariant, uint256 token_supply
    );

    constructor(Terms memory terms, address[] memory underlying, address shares, address lender)
        AavePool(terms, underlying, shares, lender)
    {}

    function add_liquidity(uint256[2] calldata given, uint256 least, bool inUnderlying) external returns (uint256 minted) {
        uint256[] memory fees;
        uint256 invariant;
        (minted, fees, invariant) = _fill(_amounts([given[0], given[1], 0]), least, inUnderlying);
        emit AddLiquidity(msg.sender, given, [fees[0], fees[1]], invariant, _supply());
    }
}

/// What the pools of Compound's tokens have in common.
abstract contract CompoundPool is LendingPool, SignedPlaces {
    /// Decimals of each coin's rate beyond those of its lender's.
    uint256[] private _precisions;

    constructor(Terms memory terms, address[] memory underlying, address shares)
        LendingPool(terms, underlying, shares)
    {
        for (uint256 k; k < underlying.length; ++k) {
            _precisions.push(terms.rates[k] / WAD);
        }
    }

    function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external {
        (uint256 a, uint256 b) = (_place(i), _place(j));
        require(a != b, "one coin twice");
        _beforeExchange();
        uint256[] memory rates = _rates();
        uint256 shares = _swap(_held(0), rates, a, b, dx * WAD / (rates[a] / _precisions[a]));
        uint256 dy = shares * (rates[b] / _precisions[b]) / WAD;
        require(dy >= least, "Exchange resulted in fewer coins than expected");
        Coins.pull(_underlying[a], dx);
        if (_isLent(a)) {
            Coins.allow(_underlying[a], _coins[a]);
            require(StandInCToken(_coins[a]).mint(dx) == 0, "Could not mint coin");
        }
        if (_isLent(b)) require(StandInCToken(_coins[b]).redeem(shares) == 0, "Could not redeem coin");
        Coins.push(_underlying[b], msg.sender, dy);
        emit TokenExchangeUnderlying(msg.sender, i, dx, j, dy);
    }

    function _isLent(uint256 k) internal view returns (bool) {
        return _coins[k] != _underlying[k];
    }

    function _beforeExchange() internal override {
        for (uint256 k; k < _coins.length; ++k) {
            if (_isLent(k)) StandInCToken(_coins[k]).exchangeRateCurrent();
        }
    }

    /// The stored rate of each market, with what its blocks since would have added: nothing in a block in which it has accrued.
    function _rates() internal view override returns (uint256[] memory rates) {
        rates = _fixedRates;
        for (uint256 k; k < rates.length; ++k) {
            if (!_isLent(k)) continue;
            StandInCToken market = StandInCToken(_coins[k]);
            uint256 rate = market.exchangeRateStored();
            rate += rate * market.supplyRatePerBlock() * (block.number - market.accrualBlockNumber()) / WAD;
            rates[k] = _precisions[k] * rate;
        }
    }

    /// The first pools state both balances anew from what they are worth.
    function _swap(uint256[] memory held, uint256[] memory rates, uint256 i, uint256 j, uint256 dx)
        internal
        override
        returns (uint256 amountOut)
    {
        (uint256 dy, uint256 swapFee) = _solve(held, rates, i, j, dx, false);
        uint256 x = rates[i] * held[i] / WAD + dx * rates[i] / WAD;
        uint256 y = rates[j] * held[j] / WAD - dy;
        uint256 feeAmount = dy * swapFee / FEE_WHOLE;
        amountOut = (dy - feeAmount) * WAD / rates[j];
        _balances[i] = x * WAD / rates[i];
        _balances[j] = (y + feeAmount - feeAmount * admin_fee / FEE_WHOLE) * WAD / rates[j];
    }
}

/// Two of Compound's tokens: 0xA2B4….
contract StandInCurveCompound is CompoundPool {
    event AddLiquidity(
        address indexed provider, uint256[2] token_amounts, uint256[2] fees, uint256 invariant, uint256 token_supply
    );

    constructor(Terms memory terms, address[] memory underlying, address shares)
        CompoundPool(terms, underlying, shares)
    {}

    function add_liquidity(uint256[2] calldata given, uint256 least) external {
        _beforeExchange();
        (, uint256[] memory fees, uint256 invariant) = _add(_amounts([given[0], given[1], 0]), least);
        emit AddLiquidity(msg.sender, given, [fees[0], fees[1]], invariant, _supply());
    }
}

/// Two of Compound's tokens and a coin that is not lent: 0x52EA….
contract StandInCurveCompoundTether is CompoundPool {
    event AddLiquidity(
        address indexed provider, uint256[3] token_amounts, uint256[3] fees, uint256 invariant, uint256 token_supply
    );

    constructor(Terms memory terms, address[] memory underlying, address shares)
        CompoundPool(terms, underlying, shares)
    {}

    function add_liquidity(uint256[3] calldata given, uint256 least) external {
        _beforeExchange();
        (, uint256[] memory fees, uint256 invariant) = _add(_amounts(given), least);
        emit AddLiquidity(msg.sender, given, [fees[0], fees[1], fees[2]], invariant, _supply());
    }
}
