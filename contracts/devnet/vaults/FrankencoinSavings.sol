// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626 as OzVault, IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

/// @title Stand-in for the reserve that Frankencoin's interest is paid from
contract StandInFrankencoinReserve {
    constructor(address zchf, address savings) {
        IERC20(zchf).approve(savings, type(uint256).max);
    }
}

/// @title Stand-in for Frankencoin's savings
/// @notice Interest comes from the reserve's stock, which the deployed token moves itself. Anybody may set the rate and a referrer.
contract StandInFrankencoinSavings {
    struct Account {
        uint192 saved;
        uint64 ticks;
        address referrer;
        uint32 referralFeePPM;
    }

    IERC20 private immutable zchf;
    address private immutable reserve;
    uint24 public currentRatePPM;
    uint24 public nextRatePPM;
    uint64 private anchor;
    uint64 private anchored;
    mapping(address => Account) public savings;

    event Saved(address indexed account, uint192 amount);
    event InterestCollected(address indexed account, uint256 interest, uint256 referrerFee);
    event Withdrawn(address indexed account, uint192 amount);
    event Loss(address indexed minter, uint256 amount, uint256 reserve);

    constructor(address zchf_, address reserve_, uint24 rate) {
        (zchf, reserve, currentRatePPM, nextRatePPM) = (IERC20(zchf_), reserve_, rate, rate);
        anchored = uint64(block.timestamp);
    }

    function setRate(uint24 rate) external {
        (anchor, anchored) = (currentTicks(), uint64(block.timestamp));
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
        emit Saved(msg.sender, amount);
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
        emit Withdrawn(msg.sender, amount);
    }

    function _refresh(address owner) private returns (Account storage account) {
        account = savings[owner];
        uint64 ticks = currentTicks();
        if (ticks <= account.ticks) return account;
        uint192 interest = accruedInterest(owner);
        if (interest > 0) {
            zchf.transferFrom(reserve, address(this), interest);
            emit Loss(address(this), interest, zchf.balanceOf(reserve));
            uint192 fee = 0;
            if (account.referrer != address(0)) {
                fee = uint192(uint256(interest) * account.referralFeePPM / 1000000);
                zchf.transfer(account.referrer, fee);
            }
            account.saved += interest - fee;
            emit InterestCollected(owner, interest, fee);
        }
        account.ticks = ticks;
    }
}

/// @title Stand-in for Frankencoin's svZCHF
contract StandInSavingsZchf is OzVault {
    StandInFrankencoinSavings public immutable savings;

    event InterestClaimed(uint256 interest, uint256 referralFee, uint256 totalClaimed);

    uint256 public totalClaimed;

    constructor(address zchf, address savings_) OzErc20("Savings Vault ZCHF (stand-in)", "svZCHF") OzVault(IERC20(zchf)) {
        savings = StandInFrankencoinSavings(savings_);
        // the deployed token lets its modules take what they ask for
        IERC20(zchf).approve(savings_, type(uint256).max);
    }

    function totalAssets() public view override returns (uint256) {
        (uint256 interest,) = _interest();
        (uint192 saved,,,) = savings.savings(address(this));
        return saved + interest;
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
        _claim();
        IERC20(asset()).transferFrom(caller, address(this), assets);
        savings.save(uint192(assets));
        _mint(receiver, shares);
        emit Deposit(caller, receiver, assets, shares);
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares) internal override {
        _claim();
        if (caller != owner) _spendAllowance(owner, caller, shares);
        _burn(owner, shares);
        savings.withdraw(receiver, uint192(assets));
        emit Withdraw(caller, receiver, owner, assets, shares);
    }

    /// @return what came since the last visit, and of it what is a referrer's
    function _interest() private view returns (uint256, uint256) {
        uint256 interest = savings.accruedInterest(address(this));
        (,, address referrer, uint32 part) = savings.savings(address(this));
        uint256 fee = referrer == address(0) ? 0 : interest * part / 1000000;
        return (interest - fee, fee);
    }

    function _claim() private {
        (uint256 interest, uint256 fee) = _interest();
        if (interest == 0 || totalSupply() == 0) return;
        totalClaimed += interest;
        emit InterestClaimed(interest, fee, totalClaimed);
    }
}
