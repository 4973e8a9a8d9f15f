// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Coins, ETHER, ICoin, Shares} from "./Coins.sol";
import {FEE_WHOLE, Product, Shape, StableMath, WAD} from "./StableMath.sol";

/// Where the generations of one invariant differ.
/// @param precision what the amplification is multiplied by: 1 for the first pools, 100 for the later
/// @param exchangeKeepsOne, viewKeepsOne one scaled unit is kept back
/// @param viewFeeAfterScaling `get_dy` takes the fee from the coin's own units
/// @param held the pool asks its coins what it holds (stETH's) instead of counting
/// @param answersNothing `exchange` gives no amount (3pool's)
struct Habits {
    uint256 precision;
    Product product;
    bool exchangeKeepsOne;
    bool viewKeepsOne;
    bool viewFeeAfterScaling;
    bool givesUnsettled;
    bool held;
    bool answersNothing;
}

/// What a pool is made with.
/// @param coins two or more; ether as 0xEeee…
/// @param rates what an atomic unit is worth: 10^(36 - decimals)
/// @param amp the amplification, times the habits' precision
/// @param fee, adminFee, offpegFeeMultiplier in units of 1e-10; the last 0 where the fee does not move
struct Terms {
    address[] coins;
    uint256[] rates;
    uint256 amp;
    uint256 fee;
    uint256 adminFee;
    uint256 offpegFeeMultiplier;
    Habits habits;
}

/// A StableSwap pool: the arithmetic and the books that all generations share. Nobody owns it: anyone may ramp its amplification.
abstract contract StablePool is Shares {
    address[] internal _coins;
    uint256[] internal _balances;
    uint256[] internal _fixedRates;
    uint256[] internal _owed;
    Habits internal _habits;

    uint256 public fee;
    uint256 public admin_fee;
    uint256 public initial_A;
    uint256 public future_A;
    uint256 public initial_A_time;
    uint256 public future_A_time;
    uint256 internal _offpegFeeMultiplier;

    event RampA(uint256 old_A, uint256 new_A, uint256 initial_time, uint256 future_time);

    constructor(Terms memory terms) {
        uint256 n = terms.coins.length;
        require(n >= 2 && terms.rates.length == n, "two coins or more, and a rate for each");
        (_coins, _fixedRates, _habits) = (terms.coins, terms.rates, terms.habits);
        (_balances, _owed) = (new uint256[](n), new uint256[](n));
        (fee, admin_fee, _offpegFeeMultiplier) = (terms.fee, terms.adminFee, terms.offpegFeeMultiplier);
        (initial_A, future_A) = (terms.amp, terms.amp);
    }

    // — views of every generation —

    function coins(uint256 k) external view returns (address) {
        return _coins[k];
    }

    function balances(uint256 k) external view returns (uint256) {
        return _held(0)[k];
    }

    function admin_balances(uint256 k) external view returns (uint256) {
        return _owed[k];
    }

    function A() external view returns (uint256) {
        return _amp() / _habits.precision;
    }

    /// Only pools whose amplification has a precision know this call.
    function A_precise() external view returns (uint256) {
        require(_habits.precision != 1);
        return _amp();
    }

    function get_virtual_price() external view returns (uint256) {
        return StableMath.d(_shape(), _scale(_held(0), _rates())) * WAD / _supply();
    }

    function get_dy(int128 i, int128 j, uint256 dx) external view virtual returns (uint256) {
        return _view(_place(i), _place(j), dx);
    }

    function calc_withdraw_one_coin(uint256 shares, int128 coin) external view returns (uint256 amount) {
        (amount,) = _withdrawal(shares, _place(coin));
    }

    function ramp_A(uint256 future, uint256 time) external {
        uint256 now_ = _amp();
        (initial_A, initial_A_time) = (now_, block.timestamp);
        (future_A, future_A_time) = (future * _habits.precision, time);
        emit RampA(now_, future_A, block.timestamp, time);
    }

    // — arithmetic —

    function _amp() internal view returns (uint256) {
        if (block.timestamp >= future_A_time) return future_A;
        uint256 elapsed = block.timestamp - initial_A_time;
        uint256 length = future_A_time - initial_A_time;
        if (future_A > initial_A) return initial_A + (future_A - initial_A) * elapsed / length;
        return initial_A - (initial_A - future_A) * elapsed / length;
    }

    function _shape() internal view returns (Shape memory) {
        return Shape(_amp(), _habits.precision, _habits.product, _habits.givesUnsettled);
    }

    /// What each coin is worth now.
    function _rates() internal view virtual returns (uint256[] memory) {
        return _fixedRates;
    }

    /// What the pool holds for its owners; `etherIn` came with this call and is not counted yet.
    function _held(uint256 etherIn) internal view returns (uint256[] memory held) {
        if (!_habits.held) return _balances;
        held = new uint256[](_coins.length);
        for (uint256 k; k < held.length; ++k) {
            uint256 all =
                _coins[k] == ETHER ? address(this).balance - etherIn : ICoin(_coins[k]).balanceOf(address(this));
            held[k] = all - _owed[k];
        }
    }

    function _scale(uint256[] memory amounts, uint256[] memory rates) internal pure returns (uint256[] memory xp) {
        xp = new uint256[](amounts.length);
        for (uint256 k; k < xp.length; ++k) {
            xp[k] = rates[k] * amounts[k] / WAD;
        }
    }

    /// The fee between two average balances: larger the further they are apart.
    function _feeBetween(uint256 x, uint256 y, uint256 base) internal view returns (uint256) {
        uint256 multiplier = _offpegFeeMultiplier;
        if (multiplier <= FEE_WHOLE) return base;
        uint256 sum = x + y;
        return multiplier * base / ((multiplier - FEE_WHOLE) * 4 * x * y / (sum * sum) + FEE_WHOLE);
    }

    /// A swap in scaled units, before the fee.
    function _solve(uint256[] memory held, uint256[] memory rates, uint256 i, uint256 j, uint256 dx, bool keepsOne)
        internal
        view
        returns (uint256 dy, uint256 swapFee)
    {
        uint256[] memory xp = _scale(held, rates);
        uint256 x = xp[i] + dx * rates[i] / WAD;
        uint256 y = StableMath.y(_shape(), i, j, x, xp);
        dy = xp[j] - y - (keepsOne ? 1 : 0);
        swapFee = _feeBetween((xp[i] + x) / 2, (xp[j] + y) / 2, fee);
    }

    function _view(uint256 i, uint256 j, uint256 dx) internal view returns (uint256 dy) {
        uint256[] memory rates = _rates();
        uint256 swapFee;
        (dy, swapFee) = _solve(_held(0), rates, i, j, dx, _habits.viewKeepsOne);
        if (_habits.viewFeeAfterScaling) {
            dy = dy * WAD / rates[j];
            return dy - swapFee * dy / FEE_WHOLE;
        }
        return (dy - swapFee * dy / FEE_WHOLE) * WAD / rates[j];
    }

    /// The books of a swap; the coins are moved by the caller.
    function _swap(uint256[] memory held, uint256[] memory rates, uint256 i, uint256 j, uint256 dx)
        internal
        virtual
        returns (uint256 amountOut)
    {
        (uint256 dy, uint256 swapFee) = _solve(held, rates, i, j, dx, _habits.exchangeKeepsOne);
        uint256 feeAmount = dy * swapFee / FEE_WHOLE;
        amountOut = (dy - feeAmount) * WAD / rates[j];
        uint256 owed = feeAmount * admin_fee / FEE_WHOLE * WAD / rates[j];
        _owed[j] += owed;
        _balances[i] = held[i] + dx;
        _balances[j] = held[j] - amountOut - owed;
    }

    function _imbalanceFee() private view returns (uint256) {
        uint256 n = _coins.length;
        return fee * n / (4 * (n - 1));
    }

    /// The shares for a deposit, the fee on each coin, and the invariant with all that came in.
    function _minting(uint256[] memory held, uint256[] memory rates, uint256[] memory amounts)
        internal
        view
        returns (uint256 minted, uint256[] memory fees, uint256 invariant)
    {
        uint256 supply = _supply();
        uint256 before = StableMath.d(_shape(), _scale(held, rates));
        uint256[] memory kept = new uint256[](amounts.length);
        for (uint256 k; k < kept.length; ++k) {
            require(supply != 0 || amounts[k] != 0, "the first deposit has every coin");
            kept[k] = held[k] + amounts[k];
        }
        invariant = StableMath.d(_shape(), _scale(kept, rates));
        require(invariant > before, "nothing was added");
        if (supply == 0) return (invariant, new uint256[](kept.length), invariant);
        fees = _imbalanceFees(held, kept, rates, before, invariant);
        for (uint256 k; k < kept.length; ++k) {
            kept[k] -= fees[k];
        }
        minted = supply * (StableMath.d(_shape(), _scale(kept, rates)) - before) / before;
    }

    /// The fee on each coin's distance from a deposit in proportion.
    function _imbalanceFees(
        uint256[] memory held,
        uint256[] memory kept,
        uint256[] memory rates,
        uint256 before,
        uint256 invariant
    ) private view returns (uint256[] memory fees) {
        fees = new uint256[](held.length);
        for (uint256 k; k < fees.length; ++k) {
            uint256 ideal = invariant * held[k] / before;
            uint256 average = rates[k] * (held[k] + kept[k]) / WAD;
            uint256 rate = _feeBetween(average, (before + invariant) / fees.length, _imbalanceFee());
            fees[k] = rate * (ideal > kept[k] ? ideal - kept[k] : kept[k] - ideal) / FEE_WHOLE;
        }
    }

    /// The books of a deposit; the coins are moved by the caller.
    function _deposit(uint256[] memory held, uint256[] memory rates, uint256[] memory amounts)
        internal
        returns (uint256 minted, uint256[] memory fees, uint256 invariant)
    {
        (minted, fees, invariant) = _minting(held, rates, amounts);
        for (uint256 k; k < amounts.length; ++k) {
            uint256 owed = fees[k] * admin_fee / FEE_WHOLE;
            _owed[k] += owed;
            _balances[k] = held[k] + amounts[k] - owed;
        }
    }

    /// What burning shares pays in one coin, and the fee in that coin.
    function _withdrawal(uint256 shares, uint256 coin) internal view returns (uint256 amount, uint256 feeAmount) {
        uint256[] memory rates = _rates();
        uint256[] memory xp = _scale(_held(0), rates);
        Shape memory shape = _shape();
        uint256 before = StableMath.d(shape, xp);
        uint256 afterwards = before - shares * before / _supply();
        uint256 y = StableMath.yOfD(shape, coin, xp, afterwards);
        uint256[] memory reduced = _reduced(xp, coin, y, before, afterwards);
        amount = (reduced[coin] - StableMath.yOfD(shape, coin, reduced, afterwards) - 1) * WAD / rates[coin];
        feeAmount = (xp[coin] - y) * WAD / rates[coin] - amount;
    }

    function _reduced(uint256[] memory xp, uint256 coin, uint256 y, uint256 before, uint256 afterwards)
        private
        view
        returns (uint256[] memory reduced)
    {
        reduced = new uint256[](xp.length);
        uint256 mean = (before + afterwards) / (2 * xp.length);
        for (uint256 k; k < xp.length; ++k) {
            uint256 share = xp[k] * afterwards / before;
            (uint256 distance, uint256 average) = k == coin ? (share - y, (xp[k] + y) / 2) : (xp[k] - share, xp[k]);
            reduced[k] = xp[k] - _feeBetween(average, mean, _imbalanceFee()) * distance / FEE_WHOLE;
        }
    }

    // — coins —

    /// What a pool does before it looks at its rates.
    function _beforeExchange() internal virtual {}

    function _exchange(int128 i, int128 j, uint256 dx, uint256 least) internal returns (uint256 dy) {
        _beforeExchange();
        (uint256 a, uint256 b) = (_place(i), _place(j));
        uint256[] memory held = _held(msg.value);
        require(a != b, "one coin twice");
        dy = _swap(held, _rates(), a, b, dx);
        require(dy >= least, "Exchange resulted in fewer coins than expected");
        require(_coins[a] == ETHER || msg.value == 0, "ether without need");
        Coins.pull(_coins[a], dx);
        Coins.push(_coins[b], msg.sender, dy);
    }

    function _add(uint256[] memory amounts, uint256 least)
        internal
        returns (uint256 minted, uint256[] memory fees, uint256 invariant)
    {
        (minted, fees, invariant) = _deposit(_held(msg.value), _rates(), amounts);
        require(minted >= least, "Slippage screwed you");
        for (uint256 k; k < amounts.length; ++k) {
            if (amounts[k] != 0) Coins.pull(_coins[k], amounts[k]);
        }
        _mint(msg.sender, minted);
    }

    function _removeOne(uint256 shares, int128 coin, uint256 least) internal returns (uint256 amount) {
        uint256 k = _place(coin);
        uint256 feeAmount;
        (amount, feeAmount) = _withdrawal(shares, k);
        require(amount >= least, "Not enough coins removed");
        uint256 owed = feeAmount * admin_fee / FEE_WHOLE;
        _owed[k] += owed;
        _balances[k] -= _habits.held ? 0 : amount + owed;
        _burn(msg.sender, shares);
        Coins.push(_coins[k], msg.sender, amount);
    }

    function _remove(uint256 shares, uint256[] memory least) internal returns (uint256[] memory amounts) {
        uint256[] memory held = _held(0);
        uint256 supply = _supply();
        amounts = new uint256[](held.length);
        _burn(msg.sender, shares);
        for (uint256 k; k < held.length; ++k) {
            amounts[k] = held[k] * shares / supply;
            require(amounts[k] >= least[k], "Withdrawal resulted in fewer coins than expected");
            _balances[k] = held[k] - amounts[k];
            Coins.push(_coins[k], msg.sender, amounts[k]);
        }
    }

    /// The estimate of a deposit's or withdrawal's shares, without a fee.
    function _estimate(uint256[] memory amounts, bool deposit) internal view returns (uint256) {
        (uint256[] memory held, uint256[] memory rates) = (_held(0), _rates());
        uint256 before = StableMath.d(_shape(), _scale(held, rates));
        for (uint256 k; k < amounts.length; ++k) {
            held[k] = deposit ? held[k] + amounts[k] : held[k] - amounts[k];
        }
        uint256 later = StableMath.d(_shape(), _scale(held, rates));
        return (deposit ? later - before : before - later) * _supply() / before;
    }

    function _place(int128 k) internal view returns (uint256) {
        require(k >= 0 && uint128(k) < _coins.length, "no such coin");
        return uint128(k);
    }
}
