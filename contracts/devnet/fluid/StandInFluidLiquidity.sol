// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ETHER, ICoin, Pay, Words} from "./Words.sol";

interface IProtocol {
    function liquidityCallback(address token, uint256 amount, bytes calldata data) external;
}

/// @title Stand-in for Fluid's liquidity layer on the local chain
/// @notice Our own code with the deployed `operate`, `readFromStorage`, event and storage layout: exchange prices, limits that expand, totals
/// rounded against the protocols. Rates rise straight with utilisation; large deposits do not raise a limit that decays; no roles: its keeper
/// writes any word.
contract StandInFluidLiquidity {
    using Words for uint256;

    uint256 private constant ONE = 1e12;
    uint256 private constant FOUR = 1e4;

    address private immutable keeper;

    // slots 0 to 11, as the deployed contract has them
    uint256 private _collector;
    uint256 private _status;
    uint256[3] private _roles;
    mapping(address token => uint256 word) private _exchangePrices;
    mapping(address token => uint256 highestRate) private _rates;
    mapping(address token => uint256 word) private _totals;
    mapping(address user => mapping(address token => uint256 word)) private _supplies;
    mapping(address user => mapping(address token => uint256 word)) private _loans;
    uint256 private _listed;
    mapping(address token => uint256 word) private _configs2;

    event LogOperate(
        address indexed user,
        address indexed token,
        int256 supplyAmount,
        int256 borrowAmount,
        address withdrawTo,
        address borrowTo,
        uint256 totalAmounts,
        uint256 exchangePricesAndConfig
    );

    /// A token while it is operated on.
    struct Book {
        uint256 word;
        uint256 totals;
        uint256 supplyPrice;
        uint256 borrowPrice;
    }

    /// What all of a token is used for: which part is lent, and which parts bear interest.
    struct Use {
        uint256 supplied;
        uint256 part;
        uint256 supplies;
        uint256 loans;
    }

    constructor(address keeper_) {
        keeper = keeper_;
        _status = 1;
    }

    receive() external payable {}

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

    /// @notice Lists a token at exchange prices of one; rates rise to `highestRate` (hundredths of a percent) where all is lent.
    function list(address token, uint256 highestRate, uint256 feePercent) external {
        require(msg.sender == keeper);
        _rates[token] = highestRate;
        // stored anew when utilisation moves by more than half a percent
        _exchangePrices[token] = (feePercent * 100 << 16) | (50 << 44) | (block.timestamp << 58) | (ONE << 91) | (ONE << 155);
    }

    /// @notice Lets a protocol in: configuration bits of its words, amounts and times zero.
    function allow(address user, address token, uint256 supply, uint256 loan) external {
        require(msg.sender == keeper);
        _supplies[user][token] = supply;
        _loans[user][token] = loan;
    }

    /// @notice Exchange prices of supply and loans with interest up to now, twelve decimals.
    function exchangePricesOf(address token) external view returns (uint256, uint256) {
        return _prices(_exchangePrices[token]);
    }

    function operate(
        address token,
        int256 supplyAmount,
        int256 borrowAmount,
        address withdrawTo,
        address borrowTo,
        bytes calldata data
    ) external payable returns (uint256, uint256) {
        require(_status == 1, "paused, or entered twice");
        _status = 2;
        require(supplyAmount != 0 || borrowAmount != 0, "OperateAmountsZero");
        _bring(token, _positive(supplyAmount) + _positive(-borrowAmount), data);
        Book memory book = Book(_exchangePrices[token], _totals[token], 0, 0);
        (book.supplyPrice, book.borrowPrice) = _prices(book.word);
        if (supplyAmount != 0) _supply(token, supplyAmount, book);
        if (borrowAmount != 0) _borrow(token, borrowAmount, book);
        _totals[token] = book.totals;
        _settle(token, book, borrowAmount > 0);
        _takeOut(token, [_positive(-supplyAmount), _positive(borrowAmount)], withdrawTo, borrowTo);
        emit LogOperate(msg.sender, token, supplyAmount, borrowAmount, withdrawTo, borrowTo, book.totals, book.word);
        _status = 1;
        return (book.supplyPrice, book.borrowPrice);
    }

    function _positive(int256 amount) private pure returns (uint256) {
        return amount > 0 ? uint256(amount) : 0;
    }

    function _bring(address token, uint256 amount, bytes calldata data) private {
        if (token == ETHER) {
            require(amount <= msg.value && msg.value <= amount * (FOUR + 100) / FOUR, "TransferAmountOutOfBounds");
            return;
        }
        require(msg.value == 0, "MsgValueForNonNativeToken");
        if (amount == 0) return;
        if (data.length > 95) {
            // a pool says how much it brings, with what it keeps of the fee
            uint256 said = abi.decode(data, (uint256));
            require(said >= amount && said <= amount * (FOUR + 100) / FOUR, "TransferAmountOutOfBounds");
            amount = said;
        }
        uint256 before = ICoin(token).balanceOf(address(this));
        IProtocol(msg.sender).liquidityCallback(token, amount, data);
        require(ICoin(token).balanceOf(address(this)) - before >= amount, "TransferAmountOutOfBounds");
    }

    function _takeOut(address token, uint256[2] memory amounts, address withdrawTo, address borrowTo) private {
        if (withdrawTo == borrowTo) {
            if (amounts[0] + amounts[1] != 0) Pay.out(token, withdrawTo, amounts[0] + amounts[1]);
            return;
        }
        if (amounts[0] != 0) Pay.out(token, withdrawTo, amounts[0]);
        if (amounts[1] != 0) Pay.out(token, borrowTo, amounts[1]);
    }

    /// Exchange prices with interest up to now.
    function _prices(uint256 word) private view returns (uint256 supplyPrice, uint256 borrowPrice) {
        (supplyPrice, borrowPrice) = (word.bits(91, 64), word.bits(155, 64));
        require(supplyPrice != 0 && borrowPrice != 0, "TokenNotListed");
        uint256 rate = word.bits(0, 16);
        uint256 elapsed = block.timestamp - word.bits(58, 33);
        uint256 loans = word.bits(234, 15);
        if (elapsed == 0 || rate == 0 || loans == 1) return (supplyPrice, borrowPrice);
        borrowPrice += borrowPrice * rate * elapsed / (365 days * FOUR);
        uint256 supplies = word.bits(219, 15);
        if (supplies == 1) return (supplyPrice, borrowPrice);
        uint256 used = word.bits(30, 14);
        // the share of suppliers who earn, and of borrowers who pay, both with 27 digits
        uint256 earning = supplies & 1 == 1
            ? used * (1e27 + 1e27 * FOUR / (supplies >> 1)) / FOUR
            : 1e27 * used * (FOUR + (supplies >> 1)) / (FOUR * FOUR);
        uint256 free = (loans >> 1) * 1e27 / (FOUR + (loans >> 1));
        uint256 paying = loans & 1 == 1 ? free : 1e27 - free;
        uint256 supplyRate = rate * (FOUR * earning * paying / 1e54) * (FOUR - word.bits(16, 14));
        supplyPrice += supplyPrice * supplyRate * elapsed / (365 days * FOUR * FOUR * FOUR);
    }

    function _supply(address token, int256 amount, Book memory book) private {
        uint256 word = _supplies[msg.sender][token];
        require(word != 0 && word >> 255 == 0, "user unknown or paused");
        uint256 held = word.number(1, 64);
        uint256 limit = _withdrawalLimit(word, held);
        bool interest = word & 1 == 1;
        uint256 raw = amount > 0 ? uint256(amount) : uint256(-amount);
        if (interest) raw = amount > 0 ? raw * ONE / book.supplyPrice : _up(raw * ONE, book.supplyPrice);
        held = amount > 0 ? held + raw : held - raw;
        require(amount > 0 || held >= limit, "WithdrawalLimitReached");
        if (held < word.number(200, 18)) {
            limit = 0;
        } else {
            uint256 least = held - held * word.bits(162, 14) / FOUR;
            if (limit < least) limit = least;
        }
        _supplies[msg.sender][token] = _written(word, held.pack(56, false), limit);
        book.totals = _total(book.totals, interest ? 0 : 64, raw, amount > 0, false);
    }

    function _borrow(address token, int256 amount, Book memory book) private {
        uint256 word = _loans[msg.sender][token];
        require(word != 0 && word >> 255 == 0, "user unknown or paused");
        uint256 owed = word.number(1, 64);
        uint256 limit = _borrowLimit(word, owed);
        bool interest = word & 1 == 1;
        uint256 raw = amount > 0 ? uint256(amount) : uint256(-amount);
        if (interest) raw = amount > 0 ? _up(raw * ONE, book.borrowPrice) : raw * ONE / book.borrowPrice;
        owed = amount > 0 ? owed + raw : owed - raw;
        require(amount < 0 || owed <= limit, "BorrowLimitReached");
        uint256 most = owed + owed * word.bits(162, 14) / FOUR;
        uint256 base = word.number(200, 18);
        if (most < base) {
            limit = base;
        } else {
            if (most > word.number(218, 18)) most = word.number(218, 18);
            if (limit > most) limit = most;
        }
        _loans[msg.sender][token] = _written(word, owed.pack(56, true), limit);
        book.totals = _total(book.totals, interest ? 128 : 192, raw, amount > 0, true);
    }

    function _up(uint256 numerator, uint256 denominator) private pure returns (uint256) {
        return (numerator + denominator - 1) / denominator;
    }

    function _expanded(uint256 word, uint256 most) private view returns (uint256) {
        uint256 duration = word.bits(176, 24);
        return duration == 0 ? most : most * (block.timestamp - word.bits(129, 33)) / duration;
    }

    function _withdrawalLimit(uint256 word, uint256 held) private view returns (uint256) {
        uint256 last = word.number(65, 64);
        if (last == 0) return 0;
        uint256 most = word.bits(162, 14) * held / FOUR;
        uint256 grown = _expanded(word, most);
        uint256 limit = last > grown ? last - grown : 0;
        return limit < held - most ? held - most : limit;
    }

    function _borrowLimit(uint256 word, uint256 owed) private view returns (uint256 limit) {
        uint256 most = owed * word.bits(162, 14) / FOUR;
        limit = word.number(65, 64) + _expanded(word, most);
        if (limit > owed + most) limit = owed + most;
        uint256 base = word.number(200, 18);
        if (limit < base) return base;
        if (limit > word.number(218, 18)) limit = word.number(218, 18);
    }

    function _written(uint256 word, uint256 amount, uint256 limit) private view returns (uint256) {
        require(amount != word.bits(1, 64), "OperateAmountInsufficient");
        return word.put(1, 64, amount).put(65, 64, limit.pack(56, false)).put(129, 33, block.timestamp);
    }

    function _total(uint256 totals, uint256 at, uint256 raw, bool adds, bool up) private pure returns (uint256 next) {
        uint256 before = totals.number(at, 64);
        require(raw <= 1 << 80 || raw <= (adds ? before * 10_000 : before / 2), "OperateAmountRatioExcess");
        uint256 amount = adds ? before + raw : before > raw ? before - raw : 0;
        next = totals.put(at, 64, amount.pack(56, up));
        require(next != totals, "OperateAmountInsufficient");
    }

    /// Checks utilisation; stores prices, rate and shares where they are due.
    function _settle(address token, Book memory book, bool borrows) private {
        Use memory use = _use(book);
        uint256 word = book.word;
        if (borrows && use.supplied != 0) {
            require(use.part <= (word.bits(249, 1) == 1 ? _configs2[token].bits(0, 14) : FOUR), "MaxUtilizationReached");
        }
        if (!_due(word, use)) return;
        word = word.put(0, 16, _rates[token] * use.part / FOUR);
        word = word.put(30, 14, use.part);
        word = word.put(58, 33, block.timestamp);
        word = word.put(91, 64, book.supplyPrice);
        word = word.put(155, 64, book.borrowPrice);
        word = word.put(219, 15, use.supplies);
        word = word.put(234, 15, use.loans);
        (_exchangePrices[token], book.word) = (word, word);
    }

    function _use(Book memory book) private pure returns (Use memory use) {
        (use.supplied, use.supplies) = _shares(book.totals, book.supplyPrice, 0);
        uint256 owed;
        (owed, use.loans) = _shares(book.totals, book.borrowPrice, 128);
        use.part = use.supplied == 0 ? 0 : owed * FOUR / use.supplied;
    }

    function _due(uint256 word, Use memory use) private view returns (bool) {
        uint256 threshold = word.bits(44, 14);
        return block.timestamp > word.bits(58, 33) + 1 days || _far(use.part, word.bits(30, 14), threshold)
            || _turned(use.supplies, word.bits(219, 15), threshold) || _turned(use.loans, word.bits(234, 15), threshold);
    }

    /// What there is in all, and which part of it bears interest or is free of it.
    function _shares(uint256 totals, uint256 price, uint256 at) private pure returns (uint256 sum, uint256 ratio) {
        uint256 interest = totals.number(at, 64) * price / ONE;
        uint256 free = totals.number(at + 64, 64);
        sum = interest + free;
        if (interest > free) ratio = (free * FOUR / interest) << 1;
        else if (interest < free) ratio = (interest * FOUR / free) << 1 | 1;
        else if (sum != 0) ratio = FOUR << 1;
    }

    function _far(uint256 a, uint256 b, uint256 threshold) private pure returns (bool) {
        return (a > b ? a - b : b - a) > threshold;
    }

    function _turned(uint256 fresh, uint256 last, uint256 threshold) private pure returns (bool) {
        return fresh & 1 != last & 1 || _far(fresh >> 1, last >> 1, threshold);
    }
}
