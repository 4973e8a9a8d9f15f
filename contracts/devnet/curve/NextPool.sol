// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Coins, Erc20, OwnShares} from "./Coins.sol";
import {CryptoMath} from "./CryptoMath.sol";
import {CryptoTerms} from "./CryptoPool.sol";
import {NextMath} from "./NextMath.sol";
import {FEE_WHOLE, WAD} from "./StableMath.sol";

/// A CryptoSwap pool of the next generation, of two or three coins; `maHalfTime` of its terms is the time constant of the average.
/// The pool is its own share token. No administrator's fee is collected, and a deposit leaves the prices as they are.
abstract contract NextPool is OwnShares {
    address[] internal _coins;
    uint256[] internal _precisions;
    uint256[] internal _balances;
    // two prices of 128 bits in a word each, as deployed
    uint256 internal _priceScale;
    uint256 internal _priceOracle;
    uint256 internal _lastPrices;
    uint256 internal _fees;
    uint256 internal _rebalancing;

    uint256 public D;
    uint256 public initial_A_gamma;
    uint256 public future_A_gamma;
    uint256 public initial_A_gamma_time;
    uint256 public future_A_gamma_time;
    uint256 internal _pricesTime;
    uint256 public xcp_profit;
    uint256 public virtual_price;

    event TokenExchange(
        address indexed buyer,
        uint256 sold_id,
        uint256 tokens_sold,
        uint256 bought_id,
        uint256 tokens_bought,
        uint256 fee,
        uint256 packed_price_scale
    );
    event RampAgamma(
        uint256 initial_A,
        uint256 future_A,
        uint256 initial_gamma,
        uint256 future_gamma,
        uint256 initial_time,
        uint256 future_time
    );

    constructor(CryptoTerms memory terms, string memory name_, string memory symbol_) Erc20(name_, symbol_) {
        (_coins, _precisions, _balances) = (terms.coins, terms.precisions, new uint256[](terms.coins.length));
        _priceScale = _priceOracle = _lastPrices = _pack(terms.prices);
        initial_A_gamma = future_A_gamma = terms.amp << 128 | terms.gamma;
        _fees = terms.midFee << 128 | terms.outFee << 64 | terms.feeGamma;
        _rebalancing = terms.allowedExtraProfit << 128 | terms.adjustmentStep << 64 | terms.maHalfTime;
        (_pricesTime, xcp_profit, virtual_price) = (block.timestamp, WAD, WAD);
    }

    // — views —

    function coins(uint256 k) external view returns (address) {
        return _coins[k];
    }

    function balances(uint256 k) external view returns (uint256) {
        return _balances[k];
    }

    function A() external view returns (uint256 amp) {
        (amp,) = _shape();
    }

    function gamma() external view returns (uint256 width) {
        (, width) = _shape();
    }

    function mid_fee() external view returns (uint256) {
        return _third(_fees, 0);
    }

    function out_fee() external view returns (uint256) {
        return _third(_fees, 1);
    }

    function fee_gamma() external view returns (uint256) {
        return _third(_fees, 2);
    }

    function allowed_extra_profit() external view returns (uint256) {
        return _third(_rebalancing, 0);
    }

    function adjustment_step() external view returns (uint256) {
        return _third(_rebalancing, 1);
    }

    /// The time in which half of a change is forgotten: the constant times ln 2.
    function ma_time() external view returns (uint256) {
        return _third(_rebalancing, 2) * 694 / 1000;
    }

    function get_virtual_price() external view returns (uint256) {
        return WAD * _balancedMean(D, _unpack(_priceScale)) / totalSupply;
    }

    function get_dy(uint256 i, uint256 j, uint256 dx) external view returns (uint256) {
        return _solve(i, j, dx).dy;
    }

    function ramp_A_gamma(uint256 amp, uint256 width, uint256 time) external {
        (uint256 ampNow, uint256 widthNow) = _shape();
        (initial_A_gamma, initial_A_gamma_time) = (ampNow << 128 | widthNow, block.timestamp);
        (future_A_gamma, future_A_gamma_time) = (amp << 128 | width, time);
        emit RampAgamma(ampNow, amp, widthNow, width, block.timestamp, time);
    }

    // — swaps —

    struct Solved {
        uint256 amp;
        uint256 width;
        uint256 dy;
        uint256 fee;
        uint256 root;
        uint256[] xp;
    }

    function exchange(uint256 i, uint256 j, uint256 dx, uint256 min_dy) external payable returns (uint256) {
        require(msg.value == 0 && i != j && dx > 0, "ether, one coin twice, or nothing");
        Coins.pull(_coins[i], dx);
        Solved memory solved = _solve(i, j, dx);
        require(solved.dy >= min_dy, "Slippage");
        _balances[i] += dx;
        _balances[j] -= solved.dy;
        _tweak(solved);
        Coins.push(_coins[j], msg.sender, solved.dy);
        emit TokenExchange(msg.sender, i, dx, j, solved.dy, solved.fee, _priceScale);
        return solved.dy;
    }

    function _solve(uint256 i, uint256 j, uint256 dx) private view returns (Solved memory solved) {
        (solved.amp, solved.width) = _shape();
        uint256[] memory prices = _unpack(_priceScale);
        uint256[] memory held = _balances;
        uint256 invariant = future_A_gamma_time > block.timestamp
            ? NextMath.d(solved.amp, solved.width, _scaled(held, prices), 0)
            : D;
        held[i] += dx;
        solved.xp = _scaled(held, prices);
        uint256 y;
        (y, solved.root) = NextMath.y(solved.amp, solved.width, solved.xp, invariant, j);
        uint256 dy = solved.xp[j] - y - 1;
        solved.xp[j] = y;
        if (j > 0) dy = dy * WAD / prices[j - 1];
        dy /= _precisions[j];
        solved.fee = _fee(solved.xp) * dy / FEE_WHOLE;
        solved.dy = dy - solved.fee;
        solved.xp[j] = _scale(j, held[j] - solved.dy, prices);
    }

    // — liquidity —

    function _add(uint256[] memory amounts, uint256 least) internal returns (uint256 minted) {
        uint256[] memory prices = _unpack(_priceScale);
        uint256[] memory before = _scaled(_balances, prices);
        for (uint256 k; k < amounts.length; ++k) {
            _balances[k] += amounts[k];
            if (amounts[k] != 0) Coins.pull(_coins[k], amounts[k]);
        }
        uint256[] memory xp = _scaled(_balances, prices);
        (uint256 amp, uint256 width) = _shape();
        uint256 old = D;
        D = NextMath.d(amp, width, xp, 0);
        if (old == 0) {
            minted = _balancedMean(D, prices);
        } else {
            minted = totalSupply * D / old - totalSupply;
            minted -= _depositFee(before, xp) * minted / FEE_WHOLE + 1;
        }
        require(minted > 0 && minted >= least, "Slippage");
        _mint(msg.sender, minted);
        uint256 price = WAD * _balancedMean(D, prices) / totalSupply;
        if (old != 0) xcp_profit = xcp_profit * price / virtual_price;
        virtual_price = price;
    }

    function _depositFee(uint256[] memory before, uint256[] memory xp) private view returns (uint256) {
        uint256 n = xp.length;
        (uint256 sum, uint256 distance) = (0, 0);
        for (uint256 k; k < n; ++k) sum += xp[k] - before[k];
        for (uint256 k; k < n; ++k) {
            uint256 amount = xp[k] - before[k];
            distance += amount > sum / n ? amount - sum / n : sum / n - amount;
        }
        return _fee(xp) * n / (4 * (n - 1)) * distance / sum + 1e5;
    }

    function _remove(uint256 shares, uint256[] memory least) internal returns (uint256[] memory amounts) {
        uint256 supply = totalSupply;
        _burn(msg.sender, shares);
        amounts = new uint256[](least.length);
        for (uint256 k; k < amounts.length; ++k) {
            amounts[k] = _balances[k] * (shares - 1) / supply;
            require(amounts[k] >= least[k], "Slippage");
            _balances[k] -= amounts[k];
            Coins.push(_coins[k], msg.sender, amounts[k]);
        }
        D -= D * shares / supply;
    }

    // — the price scale —

    function _tweak(Solved memory solved) private {
        uint256[] memory scale = _unpack(_priceScale);
        uint256[] memory oracle = _averages(scale);
        if (_pricesTime < block.timestamp) (_priceOracle, _pricesTime) = (_pack(oracle), block.timestamp);
        uint256 invariant = NextMath.d(solved.amp, solved.width, solved.xp, solved.root);
        uint256[] memory last = NextMath.prices(solved.amp, solved.width, solved.xp, invariant);
        for (uint256 k; k < last.length; ++k) last[k] = last[k] * scale[k] / WAD;
        _lastPrices = _pack(last);

        uint256 old = virtual_price;
        uint256 price = WAD * _balancedMean(invariant, scale) / totalSupply;
        require(price > old || future_A_gamma_time >= block.timestamp, "Loss");
        xcp_profit = xcp_profit * price / old;
        (D, virtual_price) = (invariant, price);
        _move(solved, scale, oracle);
    }

    /// Moves the price scale towards the averages, if profits pay for it.
    function _move(Solved memory solved, uint256[] memory scale, uint256[] memory oracle) private {
        uint256 profit = xcp_profit;
        if (virtual_price * 2 - WAD <= profit + 2 * _third(_rebalancing, 0)) return;
        uint256 norm;
        for (uint256 k; k < scale.length; ++k) {
            uint256 ratio = oracle[k] * WAD / scale[k];
            ratio = ratio > WAD ? ratio - WAD : WAD - ratio;
            norm = scale.length == 1 ? ratio : norm + ratio * ratio;
        }
        if (scale.length == 2) norm = NextMath.isqrt(norm);
        uint256 step = _third(_rebalancing, 1);
        if (step < norm / 5) step = norm / 5;
        if (norm <= step) return;
        uint256[] memory moved = solved.xp;
        for (uint256 k; k < scale.length; ++k) {
            uint256 old = scale[k];
            scale[k] = (old * (norm - step) + step * oracle[k]) / norm;
            moved[k + 1] = moved[k + 1] * scale[k] / old;
        }
        uint256 invariant = NextMath.d(solved.amp, solved.width, moved, 0);
        uint256 price = WAD * _balancedMean(invariant, scale) / totalSupply;
        if (price > WAD && 2 * price - WAD > profit) {
            (_priceScale, D, virtual_price) = (_pack(scale), invariant, price);
        }
    }

    function _averages(uint256[] memory scale) internal view returns (uint256[] memory averages) {
        averages = _unpack(_priceOracle);
        if (_pricesTime >= block.timestamp) return averages;
        uint256[] memory last = _unpack(_lastPrices);
        uint256 weight = NextMath.expOfMinus((block.timestamp - _pricesTime) * WAD / _third(_rebalancing, 2));
        for (uint256 k; k < averages.length; ++k) {
            uint256 capped = last[k] < 2 * scale[k] ? last[k] : 2 * scale[k];
            averages[k] = (capped * (WAD - weight) + averages[k] * weight) / WAD;
        }
    }

    // — scaling —

    function _shape() internal view returns (uint256 amp, uint256 width) {
        (uint256 end, uint256 word) = (future_A_gamma_time, future_A_gamma);
        (amp, width) = (word >> 128, word & type(uint128).max);
        if (block.timestamp >= end) return (amp, width);
        uint256 length = end - initial_A_gamma_time;
        uint256 elapsed = block.timestamp - initial_A_gamma_time;
        uint256 start = initial_A_gamma;
        amp = ((start >> 128) * (length - elapsed) + amp * elapsed) / length;
        width = ((start & type(uint128).max) * (length - elapsed) + width * elapsed) / length;
    }

    function _scale(uint256 k, uint256 amount, uint256[] memory prices) private view returns (uint256) {
        amount *= _precisions[k];
        return k == 0 ? amount : amount * prices[k - 1] / WAD;
    }

    function _scaled(uint256[] memory amounts, uint256[] memory prices) private view returns (uint256[] memory xp) {
        xp = new uint256[](amounts.length);
        for (uint256 k; k < xp.length; ++k) xp[k] = _scale(k, amounts[k], prices);
    }

    function _fee(uint256[] memory xp) internal view returns (uint256) {
        uint256 weight = CryptoMath.feeWeight(xp, _third(_fees, 2));
        return (_third(_fees, 0) * weight + _third(_fees, 1) * (WAD - weight)) / WAD;
    }

    function _balancedMean(uint256 invariant, uint256[] memory prices) private pure returns (uint256) {
        uint256 n = prices.length + 1;
        uint256[] memory x = new uint256[](n);
        x[0] = invariant / n;
        for (uint256 k = 1; k < n; ++k) x[k] = invariant * WAD / (n * prices[k - 1]);
        return NextMath.geometricMean(x);
    }

    function _pack(uint256[] memory prices) internal pure returns (uint256 packed) {
        packed = prices[0];
        if (prices.length == 2) packed |= prices[1] << 128;
    }

    function _unpack(uint256 packed) internal view returns (uint256[] memory prices) {
        prices = new uint256[](_coins.length - 1);
        prices[0] = packed & type(uint128).max;
        if (prices.length == 2) prices[1] = packed >> 128;
    }

    /// One of three numbers of 64 bits in a word, the first on top.
    function _third(uint256 packed, uint256 k) internal pure returns (uint256) {
        return packed >> (128 - 64 * k) & type(uint64).max;
    }
}
