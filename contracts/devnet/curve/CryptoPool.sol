// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Coins, StandInCurveToken} from "./Coins.sol";
import {CryptoMath} from "./CryptoMath.sol";
import {FEE_WHOLE, WAD} from "./StableMath.sol";

/// What a CryptoSwap pool is made with.
/// @param precisions what brings a coin to 18 decimals
/// @param prices of coins 1 (and 2) in coin 0, 18 decimals
/// @param amp with nⁿ and the factor 10,000; gamma 18 decimals
/// @param midFee, outFee in units of 1e-10; feeGamma, allowedExtraProfit, adjustmentStep 18 decimals
struct CryptoTerms {
    address[] coins;
    uint256[] precisions;
    uint256[] prices;
    uint256 amp;
    uint256 gamma;
    uint256 midFee;
    uint256 outFee;
    uint256 feeGamma;
    uint256 allowedExtraProfit;
    uint256 adjustmentStep;
    uint256 maHalfTime;
}

/// A CryptoSwap pool of two or three coins: swaps, and the price around which its liquidity lies.
/// No administrator's fee is collected, and after a deposit the price is probed as after a swap too small to tell it.
abstract contract CryptoPool {
    address[] internal _coins;
    uint256[] internal _precisions;
    uint256[] internal _balances;
    uint256[] internal _priceScale;
    uint256[] internal _priceOracle;
    uint256[] internal _lastPrices;
    bool internal _notAdjusted;

    StandInCurveToken public immutable token;
    uint256 public D;
    uint256 public initial_A_gamma;
    uint256 public future_A_gamma;
    uint256 public initial_A_gamma_time;
    uint256 public future_A_gamma_time;
    uint256 public mid_fee;
    uint256 public out_fee;
    uint256 public fee_gamma;
    uint256 public allowed_extra_profit;
    uint256 public adjustment_step;
    uint256 public ma_half_time;
    uint256 public last_prices_timestamp;
    uint256 public xcp_profit;
    uint256 public virtual_price;
    uint256 public constant admin_fee = 0;

    event TokenExchange(
        address indexed buyer, uint256 sold_id, uint256 tokens_sold, uint256 bought_id, uint256 tokens_bought
    );
    event RampAgamma(
        uint256 initial_A,
        uint256 future_A,
        uint256 initial_gamma,
        uint256 future_gamma,
        uint256 initial_time,
        uint256 future_time
    );

    constructor(CryptoTerms memory terms, address shares) {
        token = StandInCurveToken(shares);
        (_coins, _precisions, _balances) = (terms.coins, terms.precisions, new uint256[](terms.coins.length));
        (_priceScale, _priceOracle, _lastPrices) = (terms.prices, terms.prices, terms.prices);
        initial_A_gamma = future_A_gamma = terms.amp << 128 | terms.gamma;
        (mid_fee, out_fee, fee_gamma) = (terms.midFee, terms.outFee, terms.feeGamma);
        (allowed_extra_profit, adjustment_step) = (terms.allowedExtraProfit, terms.adjustmentStep);
        (ma_half_time, last_prices_timestamp) = (terms.maHalfTime, block.timestamp);
        (xcp_profit, virtual_price) = (WAD, WAD);
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

    function fee() external view returns (uint256) {
        return _fee(_scaled(_balances));
    }

    function get_virtual_price() external view returns (uint256) {
        return WAD * _balancedMean(D, _priceScale) / token.totalSupply();
    }

    function get_dy(uint256 i, uint256 j, uint256 dx) external view returns (uint256 dy) {
        (dy,) = _solve(i, j, dx, _invariantNow());
    }

    function ramp_A_gamma(uint256 amp, uint256 width, uint256 time) external {
        (uint256 ampNow, uint256 widthNow) = _shape();
        (initial_A_gamma, initial_A_gamma_time) = (ampNow << 128 | widthNow, block.timestamp);
        (future_A_gamma, future_A_gamma_time) = (amp << 128 | width, time);
        emit RampAgamma(ampNow, amp, widthNow, width, block.timestamp, time);
    }

    // — swaps —

    /// Selling and buying in the coins as they are: ether only as WETH.
    function exchange(uint256 i, uint256 j, uint256 dx, uint256 min_dy) external payable returns (uint256 dy) {
        require(msg.value == 0 && i != j && dx > 0, "ether, one coin twice, or nothing");
        if (future_A_gamma_time > 0) {
            D = _invariantNow();
            if (block.timestamp >= future_A_gamma_time) future_A_gamma_time = 1;
        }
        uint256[] memory xp;
        (dy, xp) = _solve(i, j, dx, D);
        require(dy >= min_dy, "Slippage");
        _balances[i] += dx;
        _balances[j] -= dy;
        Coins.pull(_coins[i], dx);
        Coins.push(_coins[j], msg.sender, dy);
        _tweak(xp, _pricesPaid(i, j, dx, dy), 0);
        emit TokenExchange(msg.sender, i, dx, j, dy);
    }

    /// The invariant that a swap starts from: found anew during a ramp and once after it.
    function _invariantNow() private view returns (uint256) {
        if (future_A_gamma_time == 0) return D;
        (uint256 amp, uint256 width) = _shape();
        return CryptoMath.d(amp, width, _scaled(_balances));
    }

    /// What a swap pays, and the scaled balances after it.
    function _solve(uint256 i, uint256 j, uint256 dx, uint256 invariant)
        private
        view
        returns (uint256 dy, uint256[] memory xp)
    {
        uint256[] memory held = _balances;
        held[i] += dx;
        xp = _scaled(held);
        (uint256 amp, uint256 width) = _shape();
        uint256 y = CryptoMath.y(amp, width, xp, invariant, j);
        dy = xp[j] - y - 1;
        xp[j] = y;
        if (j > 0) dy = dy * WAD / _priceScale[j - 1];
        dy /= _precisions[j];
        dy -= _fee(xp) * dy / FEE_WHOLE;
        xp[j] = _scale(j, held[j] - dy);
    }

    /// The prices that a swap shows; empty where it is too small to show one.
    function _pricesPaid(uint256 i, uint256 j, uint256 dx, uint256 dy) private view returns (uint256[] memory prices) {
        if (dx <= 1e5 || dy <= 1e5) return prices;
        (uint256 paid, uint256 got) = (dx * _precisions[i], dy * _precisions[j]);
        prices = _lastPrices;
        uint256 at = j == 0 ? i - 1 : j - 1;
        if (i == 0) prices[at] = paid * WAD / got;
        else if (j == 0) prices[at] = got * WAD / paid;
        else prices[at] = prices[i - 1] * paid / got;
        if (prices[at] == 0) return new uint256[](0);
    }

    // — liquidity —

    function _add(uint256[] memory amounts, uint256 least) internal returns (uint256 minted) {
        uint256[] memory before = _scaled(_balances);
        for (uint256 k; k < amounts.length; ++k) {
            _balances[k] += amounts[k];
            if (amounts[k] != 0) Coins.pull(_coins[k], amounts[k]);
        }
        uint256[] memory xp = _scaled(_balances);
        (uint256 amp, uint256 width) = _shape();
        uint256 old = D;
        uint256 invariant = CryptoMath.d(amp, width, xp);
        uint256 supply = token.totalSupply();
        if (old == 0) {
            minted = _balancedMean(invariant, _priceScale);
            (D, virtual_price, xcp_profit) = (invariant, WAD, WAD);
        } else {
            minted = supply * invariant / old - supply;
            minted -= _depositFee(before, xp) * minted / FEE_WHOLE + 1;
        }
        require(minted > 0 && minted >= least, "Slippage");
        token.mint(msg.sender, minted);
        if (old != 0) _tweak(xp, new uint256[](0), invariant);
    }

    /// The fee on a deposit's distance from balance, and the noise that the pools add to it.
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
        uint256 supply = token.totalSupply();
        token.burnFrom(msg.sender, shares);
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

    function _tweak(uint256[] memory xp, uint256[] memory paid, uint256 invariant) private {
        (uint256 amp, uint256 width) = _shape();
        _priceOracle = _averages();
        if (last_prices_timestamp < block.timestamp) last_prices_timestamp = block.timestamp;
        if (invariant == 0) invariant = CryptoMath.d(amp, width, xp);
        _lastPrices = paid.length == 0 ? _probe(amp, width, xp, invariant) : paid;

        uint256 old = virtual_price;
        uint256 supply = token.totalSupply();
        uint256 price = WAD * _balancedMean(invariant, _priceScale) / supply;
        require(price >= old || future_A_gamma_time != 0, "Loss");
        if (future_A_gamma_time == 1) future_A_gamma_time = 0;
        xcp_profit = xcp_profit * price / old;
        (D, virtual_price) = (invariant, price);
        _move(amp, width, xp, supply);
    }

    /// Moves the price scale towards the averages, if profits pay for it.
    function _move(uint256 amp, uint256 width, uint256[] memory xp, uint256 supply) private {
        (bool far, uint256 norm, uint256 step) = _distance();
        bool affords = virtual_price * 2 - WAD > xcp_profit + 2 * allowed_extra_profit;
        if (!_notAdjusted && affords && (far || _startsWhileNear())) _notAdjusted = true;
        if (!_notAdjusted) return;
        if (!far) {
            if (!_startsWhileNear()) _notAdjusted = false;
            return;
        }
        uint256[] memory prices = _priceScale;
        uint256[] memory moved = new uint256[](xp.length);
        moved[0] = xp[0];
        for (uint256 k; k < prices.length; ++k) {
            uint256 old = prices[k];
            prices[k] = (old * (norm - step) + step * _priceOracle[k]) / norm;
            moved[k + 1] = xp[k + 1] * prices[k] / old;
        }
        uint256 invariant = CryptoMath.d(amp, width, moved);
        uint256 price = WAD * _balancedMean(invariant, prices) / supply;
        if (price > WAD && 2 * price - WAD > xcp_profit) {
            (_priceScale, D, virtual_price) = (prices, invariant, price);
        } else {
            _notAdjusted = false;
        }
    }

    /// Whether the averages are far from the price scale, how far, and the step towards them.
    function _distance() internal view virtual returns (bool far, uint256 norm, uint256 step);

    /// Whether a move begins while the averages are still near.
    function _startsWhileNear() internal view virtual returns (bool);

    function _averages() internal view returns (uint256[] memory averages) {
        averages = _priceOracle;
        if (last_prices_timestamp >= block.timestamp) return averages;
        uint256 weight = CryptoMath.halfPower((block.timestamp - last_prices_timestamp) * WAD / ma_half_time);
        for (uint256 k; k < averages.length; ++k) {
            averages[k] = (_lastPrices[k] * (WAD - weight) + averages[k] * weight) / WAD;
        }
    }

    /// The prices of a millionth of coin 0.
    function _probe(uint256 amp, uint256 width, uint256[] memory xp, uint256 invariant)
        private
        view
        returns (uint256[] memory prices)
    {
        prices = new uint256[](xp.length - 1);
        uint256 probe = xp[0] / 1e6;
        uint256[] memory moved = new uint256[](xp.length);
        for (uint256 k; k < xp.length; ++k) moved[k] = xp[k];
        moved[0] += probe;
        for (uint256 k; k < prices.length; ++k) {
            uint256 y = CryptoMath.y(amp, width, moved, invariant, k + 1);
            prices[k] = _priceScale[k] * probe / (xp[k + 1] - y);
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

    function _scale(uint256 k, uint256 amount) private view returns (uint256) {
        amount *= _precisions[k];
        return k == 0 ? amount : amount * _priceScale[k - 1] / WAD;
    }

    function _scaled(uint256[] memory amounts) internal view returns (uint256[] memory xp) {
        xp = new uint256[](amounts.length);
        for (uint256 k; k < xp.length; ++k) xp[k] = _scale(k, amounts[k]);
    }

    function _fee(uint256[] memory xp) internal view returns (uint256) {
        uint256 weight = CryptoMath.feeWeight(xp, fee_gamma);
        return (mid_fee * weight + out_fee * (WAD - weight)) / WAD;
    }

    function _balancedMean(uint256 invariant, uint256[] memory prices) private pure returns (uint256) {
        uint256 n = prices.length + 1;
        uint256[] memory x = new uint256[](n);
        x[0] = invariant / n;
        for (uint256 k = 1; k < n; ++k) x[k] = invariant * WAD / (n * prices[k - 1]);
        return CryptoMath.geometricMean(x);
    }
}
