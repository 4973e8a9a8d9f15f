// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626 as OzVault, IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for Frankencoin's savings: pays its interest out of what the test puts here
contract StandInFrankencoinSavings {
    struct Account {
        uint192 saved;
        uint64 ticks;
        address referrer;
        uint32 referralFeePPM;
    }

    IERC20 private immutable zchf;
    uint24 public currentRatePPM;
    uint24 public nextRatePPM;
    uint64 private anchor;
    uint256 private anchored;
    mapping(address => Account) public savings;

    constructor(address zchf_, uint24 rate) {
        (zchf, currentRatePPM, nextRatePPM, anchored) = (IERC20(zchf_), rate, rate, block.timestamp);
    }

    function setRate(uint24 rate) external {
        (anchor, anchored) = (currentTicks(), block.timestamp);
        (currentRatePPM, nextRatePPM) = (rate, rate);
    }

    function propose(uint24 rate) external {
        nextRatePPM = rate;
    }

    function setReferrer(address account, address referrer, uint32 fee) external {
        (savings[account].referrer, savings[account].referralFeePPM) = (referrer, fee);
    }

    function currentTicks() public view returns (uint64) {
        return anchor + uint64((block.timestamp - anchored) * currentRatePPM);
    }

    function accruedInterest(address owner) public view returns (uint192) {
        Account memory account = savings[owner];
        uint64 ticks = currentTicks();
        if (ticks <= account.ticks || account.ticks == 0) return 0;
        return uint192(uint256(ticks - account.ticks) * account.saved / 1000000 / 365 days);
    }

    function save(uint192 amount) external {
        require(currentRatePPM != 0, "disabled");
        Account storage account = _refresh(msg.sender);
        zchf.transferFrom(msg.sender, address(this), amount);
        uint64 ticks = currentTicks();
        uint256 wait = uint256(account.saved) * (account.ticks - ticks) + uint256(amount) * currentRatePPM * 3 days;
        account.saved += amount;
        account.ticks = ticks + uint64(wait / account.saved);
    }

    function withdraw(address target, uint192 amount) external {
        Account storage account = _refresh(msg.sender);
        if (amount >= account.saved) {
            amount = account.saved;
            delete savings[msg.sender];
        } else {
            account.saved -= amount;
        }
        zchf.transfer(target, amount);
    }

    function _refresh(address owner) private returns (Account storage account) {
        account = savings[owner];
        uint64 ticks = currentTicks();
        if (ticks <= account.ticks) return account;
        uint192 interest = accruedInterest(owner);
        if (account.referrer != address(0)) interest -= uint192(uint256(interest) * account.referralFeePPM / 1000000);
        account.saved += interest;
        account.ticks = ticks;
    }
}

/// @title Stand-in for Frankencoin's svZCHF
contract StandInSavingsZchf is OzVault {
    StandInFrankencoinSavings public immutable savings;

    constructor(address zchf, address savings_) OzErc20("", "") OzVault(IERC20(zchf)) {
        savings = StandInFrankencoinSavings(savings_);
    }

    function totalAssets() public view override returns (uint256) {
        (uint192 saved,, address referrer, uint32 fee) = savings.savings(address(this));
        uint256 interest = savings.accruedInterest(address(this));
        return saved + interest - (referrer == address(0) ? 0 : interest * fee / 1000000);
    }

    function price() public view returns (uint256) {
        return totalSupply() == 0 ? 1e18 : totalAssets() * 1e18 / totalSupply();
    }

    function _convertToShares(uint256 assets, Math.Rounding rounding) internal view override returns (uint256) {
        return Math.mulDiv(assets, 1e18, price(), rounding);
    }

    function _convertToAssets(uint256 shares, Math.Rounding rounding) internal view override returns (uint256) {
        return Math.mulDiv(shares, price(), 1e18, rounding);
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        IERC20(asset()).transferFrom(caller, address(this), assets);
        savings.save(uint192(assets));
        _mint(receiver, shares);
    }

    function _withdraw(address, address receiver, address owner, uint256 assets, uint256 shares) internal override {
        _burn(owner, shares);
        savings.withdraw(receiver, uint192(assets));
    }
}
