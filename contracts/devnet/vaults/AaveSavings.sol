// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC4626Upgradeable, IERC20} from "@openzeppelin/contracts-upgradeable/token/ERC20/extensions/ERC4626Upgradeable.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// @title Stand-in for Aave's sGHO, in both of its releases, behind a proxy
/// @notice A second writing of the rules, over the library that the deployed one uses. Anybody may set what the deployed one asks for roles for;
/// `paused` lies in the first slot and not in a place of the library's.
contract StandInSavingsGho is ERC4626Upgradeable {
    bytes32 private constant PLACE = 0x52190d4bcaca04cac5a7c2ae78ea3854d285be3b91819fb1b3ed9862d9a9a400;
    uint256 private constant YEAR = 365 days;
    bool private immutable second;
    bool public paused;

    event ExchangeRateUpdated(uint256 timestamp, uint256 index);

    struct First {
        uint176 yieldIndex;
        uint64 lastUpdate;
        uint16 targetRate;
        uint160 supplyCap;
        uint96 ratePerSecond;
    }

    struct Second {
        uint120 yieldIndex;
        uint40 lastUpdate;
        uint16 targetRate;
        uint40 supplyCap;
        uint40 pendingRateEffectiveAt;
        uint16 pendingTargetRate;
    }

    constructor(bool second_) {
        second = second_;
    }

    function initialize(address gho, uint256 cap) external initializer {
        __ERC20_init("sGho (stand-in)", "sGHO");
        __ERC4626_init(IERC20(gho));
        if (second) (_second().yieldIndex, _second().lastUpdate) = (1e27, uint40(block.timestamp));
        else (_first().yieldIndex, _first().lastUpdate) = (1e27, uint64(block.timestamp));
        setCap(cap);
    }

    /// @param cap in whole units
    function setCap(uint256 cap) public {
        if (second) _second().supplyCap = uint40(cap);
        else _first().supplyCap = uint160(cap * 1e18);
    }

    function setPaused(bool paused_) external {
        paused = paused_;
    }

    function setTargetRate(uint16 rate, uint40 at) external {
        if (second) {
            Second storage s = _second();
            (s.yieldIndex, s.lastUpdate, s.targetRate) = _checkpoint();
            (s.pendingRateEffectiveAt, s.pendingTargetRate) = (0, 0);
            if (at > block.timestamp) {
                (s.pendingRateEffectiveAt, s.pendingTargetRate) = (at, rate);
            } else {
                (s.yieldIndex, s.lastUpdate, s.targetRate) = (uint120(_index()), uint40(block.timestamp), rate);
            }
        } else {
            _write();
            (_first().targetRate, _first().ratePerSecond) = (rate, uint96(uint256(rate) * 1e27 / 10000 / YEAR));
        }
    }

    function totalAssets() public view override returns (uint256) {
        return _convertToAssets(totalSupply(), Math.Rounding.Floor);
    }

    function maxDeposit(address) public view override returns (uint256) {
        uint256 cap = second ? uint256(_second().supplyCap) * 1e18 : _first().supplyCap;
        uint256 all = totalAssets();
        return paused || all >= cap ? 0 : cap - all;
    }

    function maxRedeem(address owner) public view override returns (uint256) {
        uint256 payable_ = convertToShares(IERC20(asset()).balanceOf(address(this)));
        return paused ? 0 : Math.min(balanceOf(owner), payable_);
    }

    function _convertToShares(uint256 assets, Math.Rounding rounding) internal view override returns (uint256) {
        return Math.mulDiv(assets, 1e27, _index(), rounding);
    }

    function _convertToAssets(uint256 shares, Math.Rounding rounding) internal view override returns (uint256) {
        return Math.mulDiv(shares, _index(), 1e27, rounding);
    }

    function _update(address from, address to, uint256 value) internal override {
        require(!paused, "paused");
        if (!second) _write();
        super._update(from, to, value);
    }

    function _write() private {
        First storage s = _first();
        if (s.lastUpdate == block.timestamp) return;
        uint176 index = uint176(_index());
        (s.yieldIndex, s.lastUpdate) = (index, uint64(block.timestamp));
        emit ExchangeRateUpdated(block.timestamp, index);
    }

    function _index() private view returns (uint256) {
        if (second) {
            (uint120 index, uint40 since, uint16 rate) = _checkpoint();
            return index + _earned(rate, block.timestamp - since);
        }
        First storage s = _first();
        return s.yieldIndex * (1e27 + s.ratePerSecond * (block.timestamp - s.lastUpdate)) / 1e27;
    }

    function _checkpoint() private view returns (uint120, uint40, uint16) {
        Second storage s = _second();
        uint40 at = s.pendingRateEffectiveAt;
        if (at == 0 || block.timestamp < at) return (s.yieldIndex, s.lastUpdate, s.targetRate);
        return (uint120(s.yieldIndex + _earned(s.targetRate, at - s.lastUpdate)), at, s.pendingTargetRate);
    }

    function _earned(uint256 rate, uint256 time) private pure returns (uint256) {
        return rate * 1e27 * time / (10000 * YEAR);
    }

    function _first() private pure returns (First storage s) {
        bytes32 place = PLACE;
        assembly {
            s.slot := place
        }
    }

    function _second() private pure returns (Second storage s) {
        bytes32 place = PLACE;
        assembly {
            s.slot := place
        }
    }
}
