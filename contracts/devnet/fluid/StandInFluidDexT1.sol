// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ETHER, ICoin, Pay, Words} from "./Words.sol";
import {StandInFluidLiquidity} from "./StandInFluidLiquidity.sol";

struct Implementations {
    address shift;
    address admin;
    address colOperations;
    address debtOperations;
    address perfectOperationsAndSwapOut;
}

struct ConstantViews {
    uint256 dexId;
    address liquidity;
    address factory;
    Implementations implementations;
    address deployerContract;
    address token0;
    address token1;
    bytes32 supplyToken0Slot;
    bytes32 borrowToken0Slot;
    bytes32 supplyToken1Slot;
    bytes32 borrowToken1Slot;
    bytes32 exchangePriceToken0Slot;
    bytes32 exchangePriceToken1Slot;
    uint256 oracleMapping;
}

interface ICentrePrice {
    function centerPrice() external returns (uint256);
}

/// What an account of the layer makes, as a trade faces it. Amounts have twelve decimals, prices 27.
struct Side {
    uint256 realIn;
    uint256 realOut;
    uint256 imaginaryIn;
    uint256 imaginaryOut;
}

struct Range {
    uint256 centre;
    uint256 upper;
    uint256 lower;
    uint256 mean;
}

/// Where a trade goes: into collateral and debt, out of both, and the price that it leaves.
struct Parts {
    uint256 deposit;
    uint256 withdrawal;
    uint256 payback;
    uint256 loan;
    uint256 price;
}

struct Charge {
    uint256 feePips;
    uint256 cutPercent;
}

/// Arithmetic of a pool, apart from where its numbers are stored.
abstract contract FluidDexMaths {
    using Words for uint256;

    uint256 internal constant ONE = 1e27;

    function _split(uint256 amount, Side memory c, Side memory d) internal pure returns (uint256) {
        if (d.imaginaryIn == 0) return amount;
        if (c.imaginaryIn == 0) return 0;
        uint256 rootC = (c.imaginaryIn * c.imaginaryOut * 1e18).root();
        uint256 rootD = (d.imaginaryIn * d.imaginaryOut * 1e18).root();
        int256 share = (int256((d.imaginaryIn + amount) * rootC) - int256(c.imaginaryIn * rootD)) / int256(rootC + rootD);
        if (share <= 0) return 0;
        return uint256(share) < amount ? uint256(share) : amount;
    }

    /// Both sides end at one price.
    function _give(bool zeroForOne, uint256 amount, Side memory c, Side memory d, Charge memory charge, uint256 centre)
        internal
        pure
        returns (Parts memory p)
    {
        require(amount <= (c.imaginaryIn + d.imaginaryIn) / 2, "SwapInLimitingAmounts");
        p.deposit = _split(amount, c, d);
        p.payback = amount - p.deposit;
        p.withdrawal = _paid(zeroForOne, p.deposit, c, charge.feePips, centre);
        p.loan = _paid(zeroForOne, p.payback, d, charge.feePips, centre);
        uint256 kept = 1e8 - charge.cutPercent * charge.feePips;
        (p.deposit, p.payback) = (p.deposit * kept / 1e8, p.payback * kept / 1e8);
        (Side memory s, uint256 more, uint256 less) =
            p.deposit > p.payback ? (c, p.deposit, p.withdrawal) : (d, p.payback, p.loan);
        (more, less) = (s.imaginaryIn + more, s.imaginaryOut - less);
        p.price = zeroForOne ? less * ONE / more : more * ONE / less;
    }

    function _paid(bool zeroForOne, uint256 amount, Side memory s, uint256 feePips, uint256 centre)
        private
        pure
        returns (uint256 out)
    {
        if (amount == 0) return 0;
        uint256 given = amount * (1e6 - feePips) / 1e6;
        out = given * s.imaginaryOut / (s.imaginaryIn + given);
        (uint256 more, uint256 less) = (s.realIn + amount, s.realOut - out);
        uint256 least = zeroForOne ? more * centre / (ONE * 10_000) : more * ONE / (centre * 10_000);
        require(less >= least, "TokenReservesTooLow");
    }

    /// Collateral: real and imaginary reserves of tokens 0 and 1.
    function _ofCollateral(Range memory r, uint256 x, uint256 y) internal pure returns (uint256[4] memory) {
        uint256 dx;
        uint256 dy;
        if (r.mean < ONE) (dx, dy) = _outside(r.mean, r.upper, x, y);
        else (dy, dx) = _outside(ONE * ONE / r.mean, ONE * ONE / r.lower, y, x);
        return [x, y, x + dx, y + dy];
    }

    function _outside(uint256 mean, uint256 edge, uint256 x, uint256 y) private pure returns (uint256 dx, uint256 dy) {
        uint256 wide = edge - mean;
        uint256 half = (mean * x + y * ONE) / (2 * wide);
        uint256 product = x * y;
        product = product < 1e50 ? product * ONE / wide : product / wide * ONE;
        dx = half + (product + half * half).root();
        dy = dx * mean / ONE;
    }

    function _ofDebt(Range memory r, uint256 x, uint256 y) internal pure returns (uint256[4] memory) {
        if (r.mean < ONE) return _debt(r.mean, r.lower, x, y);
        uint256[4] memory turned = _debt(ONE * ONE / r.mean, ONE * ONE / r.upper, y, x);
        return [turned[1], turned[0], turned[3], turned[2]];
    }

    function _debt(uint256 mean, uint256 lower, uint256 dx, uint256 dy) private pure returns (uint256[4] memory all) {
        int256 half = (int256(dx * mean) - int256(dy * ONE)) / int256(2 * ONE);
        uint256 product = dx * dy;
        product = product < 1e50 ? product * lower / ONE : product / ONE * lower;
        uint256 real1 = uint256(int256((product + uint256(half * half)).root()) + half);
        uint256 above = real1 * ONE - dx * lower;
        require(above >= 1e6, "DebtReservesTooLow");
        all[3] = real1 < 1e25 ? real1 * real1 * ONE / above : real1 * real1 / (above / ONE);
        all[2] = all[3] * dx / real1 - dx;
        all[0] = all[2] * dy / (all[3] + dy);
        all[1] = real1;
    }
}

/// @title Stand-in for a Fluid DEX T1 pool on the local chain
/// @notice Our own code with the deployed `swapIn`, reads, events and storage layout: collateral and debt in the liquidity layer, a range
/// around a centre that is stored or another contract's, ranges on their way, thresholds. Neither a centre nor thresholds are on
/// their way to another value; only its keeper fills it.
contract StandInFluidDexT1 is FluidDexMaths {
    using Words for uint256;

    // slots 0, 1, 7 and 8, as the deployed contract has them
    uint256 private _variables;
    uint256 private _variables2;
    uint256[5] private _shares;
    uint256 private _shifts;
    uint256 private _centreShift;

    StandInFluidLiquidity private immutable layer;
    address private immutable keeper;
    address private immutable deployer;
    address private immutable token0;
    address private immutable token1;
    uint256 private immutable decimals0;
    uint256 private immutable decimals1;

    event Swap(bool swap0to1, uint256 amountIn, uint256 amountOut, address to);
    event LogUpdateRangePercents(uint256 upperPercent, uint256 lowerPercent, uint256 shiftTime);

    constructor(address layer_, address keeper_, address deployer_, address[2] memory tokens, uint256 variables2, uint256 centre)
    {
        require(tokens[0] < tokens[1]);
        (layer, keeper, deployer) = (StandInFluidLiquidity(payable(layer_)), keeper_, deployer_);
        (token0, token1) = (tokens[0], tokens[1]);
        (decimals0, decimals1) = (_decimals(tokens[0]), _decimals(tokens[1]));
        _variables2 = variables2;
        uint256 price = centre.pack(32, false);
        _variables = (price << 1) | (price << 41) | (price << 81) | (block.timestamp << 121);
    }

    function _decimals(address token) private view returns (uint256) {
        return token == ETHER ? 18 : ICoin(token).decimals();
    }

    function readFromStorage(bytes32 slot) external view returns (uint256 word) {
        assembly {
            word := sload(slot)
        }
    }

    function writeToStorage(bytes32 slot, uint256 word) external {
        require(msg.sender == keeper);
        assembly {
            sstore(slot, word)
        }
    }

    function constantsView() external view returns (ConstantViews memory views) {
        (views.dexId, views.liquidity, views.factory) = (1, address(layer), keeper);
        (views.deployerContract, views.token0, views.token1) = (deployer, token0, token1);
        views.supplyToken0Slot = _slot(8, address(this), token0);
        views.borrowToken0Slot = _slot(9, address(this), token0);
        views.supplyToken1Slot = _slot(8, address(this), token1);
        views.borrowToken1Slot = _slot(9, address(this), token1);
        views.exchangePriceToken0Slot = keccak256(abi.encode(token0, uint256(5)));
        views.exchangePriceToken1Slot = keccak256(abi.encode(token1, uint256(5)));
    }

    function _slot(uint256 mappingSlot, address user, address token) private pure returns (bytes32) {
        return keccak256(abi.encode(token, keccak256(abi.encode(user, mappingSlot))));
    }

    /// @notice Deposits collateral of the keeper, and borrows for it.
    function fill(uint256[2] calldata deposits, uint256[2] calldata loans) external payable {
        require(msg.sender == keeper);
        address[2] memory tokens = [token0, token1];
        for (uint256 k; k < 2; ++k) {
            bytes memory data = abi.encode(deposits[k], false, keeper);
            uint256 value = tokens[k] == ETHER ? deposits[k] : 0;
            if (deposits[k] | loans[k] == 0) continue;
            layer.operate{value: value}(tokens[k], int256(deposits[k]), int256(loans[k]), address(0), keeper, data);
        }
    }

    /// @notice Sets the range on its way to other percents, in millionths.
    function shiftRange(uint256 upper, uint256 lower, uint256 seconds_) external {
        require(msg.sender == keeper);
        uint256 word = _variables2;
        _shifts = word.bits(27, 20) | (word.bits(47, 20) << 20) | (seconds_ << 40) | (block.timestamp << 60);
        _variables2 = word.put(27, 20, upper).put(47, 20, lower) | (1 << 26);
        emit LogUpdateRangePercents(upper, lower, seconds_);
    }

    function liquidityCallback(address token, uint256 amount, bytes calldata data) external {
        require(msg.sender == address(layer));
        (,, address payer) = abi.decode(data, (uint256, bool, address));
        Pay.from(token, payer, address(layer), amount);
    }

    function swapIn(bool zeroForOne, uint256 amountIn, uint256 least, address to) external payable returns (uint256 out) {
        require(_variables2 >> 255 == 0 && _variables & 1 == 0 && _variables2 & 3 != 0, "closed");
        if (to == address(0)) to = msg.sender;
        (address tokenIn, address tokenOut) = zeroForOne ? (token0, token1) : (token1, token0);
        require(msg.value == (tokenIn == ETHER ? amountIn : 0), "EthAndAmountInMisMatch");
        uint256 normal = _normal(amountIn, zeroForOne ? decimals0 : decimals1);
        require(normal >= 1e6 && amountIn >= 100 && normal <= type(uint96).max, "LimitingAmountsSwapAndNonPerfectActions");
        Range memory range = _range();
        Parts memory p;
        {
            Charge memory charge = Charge(_variables2.bits(2, 17), _variables2.bits(19, 7));
            (Side memory c, Side memory d) = _sides(range, zeroForOne);
            p = _give(zeroForOne, normal, c, d, charge, range.centre);
        }
        (uint256 decimalsIn, uint256 decimalsOut) = zeroForOne ? (decimals0, decimals1) : (decimals1, decimals0);
        (p.deposit, p.payback) = (_atomic(p.deposit, decimalsIn), _atomic(p.payback, decimalsIn));
        (p.withdrawal, p.loan) = (_atomic(p.withdrawal, decimalsOut), _atomic(p.loan, decimalsOut));
        out = p.withdrawal + p.loan;
        require(out >= least, "NotEnoughAmountOut");
        _operate(tokenIn, tokenOut, amountIn, to, p);
        _checkUtilization(tokenOut, zeroForOne ? 238 : 228);
        _variables = _moved(p.price, range.centre);
        emit Swap(zeroForOne, amountIn, out, to);
    }

    function _operate(address tokenIn, address tokenOut, uint256 amountIn, address to, Parts memory p) private {
        bytes memory data = abi.encode(amountIn, false, msg.sender);
        layer.operate{value: msg.value}(tokenIn, int256(p.deposit), -int256(p.payback), address(0), address(0), data);
        address withdrawTo = p.withdrawal == 0 ? address(0) : to;
        address borrowTo = p.loan == 0 ? address(0) : to;
        layer.operate(tokenOut, -int256(p.withdrawal), int256(p.loan), withdrawTo, borrowTo, "");
    }

    function _checkUtilization(address token, uint256 at) private view {
        uint256 limit = _variables2.bits(at, 10);
        if (limit >= 1_000) return;
        uint256 word = layer.readFromStorage(keccak256(abi.encode(token, uint256(5))));
        require(word.bits(30, 14) <= limit * 10, "TokenUtilizationLimit");
    }

    function _normal(uint256 amount, uint256 decimals) private pure returns (uint256) {
        return decimals > 12 ? amount / 10 ** (decimals - 12) : amount * 10 ** (12 - decimals);
    }

    function _atomic(uint256 amount, uint256 decimals) private pure returns (uint256) {
        return decimals > 12 ? amount * 10 ** (decimals - 12) : amount / 10 ** (12 - decimals);
    }

    function _sides(Range memory range, bool zeroForOne) private view returns (Side memory c, Side memory d) {
        (uint256 supply0, uint256 borrow0) = _prices(token0);
        (uint256 supply1, uint256 borrow1) = _prices(token1);
        if (_variables2 & 1 != 0) {
            uint256 x = _normal(_worth(8, token0, supply0), decimals0);
            uint256 y = _normal(_worth(8, token1, supply1), decimals1);
            c = _facing(_ofCollateral(range, x, y), zeroForOne);
        }
        if (_variables2 & 2 != 0) {
            uint256 x = _normal(_worth(9, token0, borrow0), decimals0);
            uint256 y = _normal(_worth(9, token1, borrow1), decimals1);
            d = _facing(_ofDebt(range, x, y), zeroForOne);
        }
    }

    function _facing(uint256[4] memory all, bool zeroForOne) private pure returns (Side memory) {
        return zeroForOne ? Side(all[0], all[1], all[2], all[3]) : Side(all[1], all[0], all[3], all[2]);
    }

    function _prices(address token) private view returns (uint256, uint256) {
        return layer.exchangePricesOf(token);
    }

    function _worth(uint256 mappingSlot, address token, uint256 price) private view returns (uint256 amount) {
        uint256 word = layer.readFromStorage(_slot(mappingSlot, address(this), token));
        amount = word.number(1, 64);
        if (word & 1 == 1) amount = amount * price / 1e12;
    }

    function _range() private returns (Range memory r) {
        uint256 second = _variables2;
        uint256 nonce = second.bits(112, 30);
        r.centre = nonce == 0 ? _variables.number(81, 40) : ICentrePrice(_made(nonce)).centerPrice();
        (r.upper, r.lower) = _bounds(r.centre);
        bool moved;
        if (second.bits(68, 20) != 0) {
            (uint256 above, uint256 below) = (r.upper - r.centre, r.centre - r.lower);
            uint256 elapsed = block.timestamp - _variables.bits(121, 33);
            uint256 duration = second.bits(88, 24);
            if (elapsed > duration) elapsed = duration;
            uint256 last = _variables.number(41, 40);
            if (last > r.centre + above * (1_000 - second.bits(68, 10)) / 1_000) {
                (r.centre, moved) = (r.centre + above * elapsed / duration, true);
            } else if (last < r.centre - below * (1_000 - second.bits(78, 10)) / 1_000) {
                (r.centre, moved) = (r.centre - below * elapsed / duration, true);
            }
        }
        if (r.centre > second.number(172, 28)) (r.centre, moved) = (second.number(172, 28), true);
        else if (r.centre < second.number(200, 28)) (r.centre, moved) = (second.number(200, 28), true);
        if (moved) (r.upper, r.lower) = _bounds(r.centre);
        r.mean = r.upper < 1e38 ? (r.upper * r.lower).root() : (r.upper / 1e18 * (r.lower / 1e18)).root() * 1e18;
    }

    function _bounds(uint256 centre) private view returns (uint256, uint256) {
        (uint256 upper, uint256 lower) = (_variables2.bits(27, 20), _variables2.bits(47, 20));
        if (_variables2.bits(26, 1) == 1) {
            (uint256 duration, uint256 start) = (_shifts.bits(40, 20), _shifts.bits(60, 33));
            if (start + duration >= block.timestamp) {
                upper = _between(upper, _shifts.bits(0, 20), block.timestamp - start, duration);
                lower = _between(lower, _shifts.bits(20, 20), block.timestamp - start, duration);
            }
        }
        return (centre * 1e6 / (1e6 - upper), centre * (1e6 - lower) / 1e6);
    }

    function _between(uint256 fresh, uint256 last, uint256 elapsed, uint256 duration) private pure returns (uint256) {
        return fresh > last ? last + (fresh - last) * elapsed / duration : last - (last - fresh) * elapsed / duration;
    }

    /// The contract that the deployer made as its n-th, n below 128.
    function _made(uint256 nonce) private view returns (address) {
        require(nonce < 0x80);
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes2(0xd694), deployer, uint8(nonce))))));
    }

    /// A trade moves the price by at most a twentieth of the one stored last.
    function _moved(uint256 price, uint256 centre) private view returns (uint256 word) {
        word = _variables;
        bool sameBlock = word.bits(121, 33) == block.timestamp;
        uint256 share = word.number(sameBlock ? 1 : 41, 40) * 1e18 / price;
        require((share > 1e18 ? share - 1e18 : 1e18 - share) <= 1e18 / 20, "OracleUpdateHugeSwapDiff");
        if (sameBlock) {
            uint256 before = word.number(81, 40);
            require(centre >= before * (1e8 - 1) / 1e8 && centre <= before * (1e8 + 1) / 1e8, "CenterPriceUnexpected");
            return word.put(41, 40, price.pack(32, false));
        }
        word = word.put(1, 40, word.bits(41, 40)).put(41, 40, price.pack(32, false));
        return word.put(81, 40, centre.pack(32, false)).put(121, 33, block.timestamp);
    }
}

/// @title Stand-in for a contract that tells the centre of a Fluid pool
contract StandInFluidCentrePrice {
    address private immutable keeper;
    uint256 private _price;

    constructor(address keeper_, uint256 price) {
        (keeper, _price) = (keeper_, price);
    }

    function set(uint256 price) external {
        require(msg.sender == keeper);
        _price = price;
    }

    function centerPrice() external view returns (uint256) {
        return _price;
    }
}

/// @title Stand-in for Fluid's factory of pools on the local chain
/// @notice It announces a pool that lies there already, at its mainnet address, with the deployed event.
contract StandInFluidDexFactory {
    event DexT1Deployed(
        address indexed dex, uint256 dexId, address indexed supplyToken, address indexed borrowToken
    );

    function announce(address dex, uint256 id) external {
        ConstantViews memory views = StandInFluidDexT1(dex).constantsView();
        emit DexT1Deployed(dex, id, views.token0, views.token1);
    }
}
