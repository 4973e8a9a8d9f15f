// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626 as OzVault, IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ERC4626 as SolmateVault} from "@solmate/mixins/ERC4626.sol";
import {ERC20 as SolmateErc20} from "@solmate/tokens/ERC20.sol";

// Stand-ins for the listed vaults that have rules of their own: second writings of the rules, over the libraries that the deployed ones use.

/// @title Stand-in for Falcon's sUSDf
contract StandInStakedUsdf is OzVault {
    uint256 public vestingAmount;
    uint40 public lastDistributionTimestamp;
    uint32 public vestingPeriod;
    uint24 public cooldownDuration = 3 days;

    constructor(address usdf, uint32 period) OzErc20("", "") OzVault(IERC20(usdf)) {
        vestingPeriod = period;
    }

    function setCooldownDuration(uint24 duration) external {
        cooldownDuration = duration;
    }

    function transferInRewards(uint256 amount) external {
        (vestingAmount, lastDistributionTimestamp) = (amount, uint40(block.timestamp));
        IERC20(asset()).transferFrom(msg.sender, address(this), amount);
    }

    function totalAssets() public view override returns (uint256) {
        uint256 passed = block.timestamp - lastDistributionTimestamp;
        uint256 locked = passed < vestingPeriod ? vestingAmount * (vestingPeriod - passed) / vestingPeriod : 0;
        return super.totalAssets() - locked;
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        super._deposit(caller, receiver, assets, shares);
        _leaves(assets, shares);
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares) internal override {
        require(cooldownDuration == 0, "cooldown");
        super._withdraw(caller, receiver, owner, assets, shares);
        _leaves(assets, shares);
    }

    function _leaves(uint256 assets, uint256 shares) private view {
        require(assets != 0 && shares != 0 && (totalSupply() == 0 || totalSupply() >= 1e18), "too few");
    }
}

/// @title Stand-in for Frax's sFRAX
contract StandInStakedFrax is SolmateVault {
    struct Cycle {
        uint40 cycleEnd;
        uint40 lastSync;
        uint216 rewardCycleAmount;
    }

    uint256 private immutable length;
    Cycle public rewardsCycleData;
    uint256 public lastRewardsDistribution;
    uint256 public storedTotalAssets;
    uint256 public maxDistributionPerSecondPerAsset;

    constructor(address frax, uint256 length_, uint256 most) SolmateVault(SolmateErc20(frax), "", "") {
        (length, maxDistributionPerSecondPerAsset) = (length_, most);
        visit();
    }

    function visit() public {
        storedTotalAssets += _came();
        lastRewardsDistribution = block.timestamp;
        if (block.timestamp <= rewardsCycleData.cycleEnd) return;
        uint256 end = (block.timestamp / length + 1) * length;
        if (end - block.timestamp < length / 20) end += length;
        uint256 fresh = asset.balanceOf(address(this)) - storedTotalAssets;
        rewardsCycleData = Cycle(uint40(end), uint40(block.timestamp), uint216(fresh));
    }

    function totalAssets() public view override returns (uint256) {
        return storedTotalAssets + _came();
    }

    function deposit(uint256 assets, address receiver) public override returns (uint256) {
        visit();
        return super.deposit(assets, receiver);
    }

    function redeem(uint256 shares, address receiver, address owner) public override returns (uint256) {
        visit();
        return super.redeem(shares, receiver, owner);
    }

    function afterDeposit(uint256 assets, uint256) internal override {
        storedTotalAssets += assets;
    }

    function beforeWithdraw(uint256 assets, uint256) internal override {
        storedTotalAssets -= assets;
    }

    function _came() private view returns (uint256) {
        Cycle memory cycle = rewardsCycleData;
        if (cycle.cycleEnd == 0) return 0;
        uint256 passed = (block.timestamp > cycle.cycleEnd ? cycle.cycleEnd : block.timestamp) - lastRewardsDistribution;
        uint256 spread = cycle.rewardCycleAmount * passed / (cycle.cycleEnd - cycle.lastSync);
        uint256 most = maxDistributionPerSecondPerAsset * passed * storedTotalAssets / 1e18;
        return spread < most ? spread : most;
    }
}

/// @title Stand-in for Resolv's stUSR, without transfers
contract StandInStUsr {
    using Math for uint256;

    IERC20 private immutable usr;
    uint256 public totalShares;
    mapping(address => uint256) public sharesOf;

    constructor(address usr_) {
        usr = IERC20(usr_);
    }

    function deposit(uint256 amount) external {
        uint256 shares = previewDeposit(amount);
        require(shares != 0, "no shares");
        totalShares += shares;
        sharesOf[msg.sender] += shares;
        usr.transferFrom(msg.sender, address(this), amount);
    }

    function withdraw(uint256 amount, address receiver) external {
        uint256 shares = amount.mulDiv(totalShares + 1000, usr.balanceOf(address(this)) + 1, Math.Rounding.Ceil);
        sharesOf[msg.sender] -= shares;
        totalShares -= shares;
        usr.transfer(receiver, amount);
    }

    function previewDeposit(uint256 amount) public view returns (uint256) {
        return amount.mulDiv(totalShares + 1000, usr.balanceOf(address(this)) + 1);
    }

    function worth(uint256 shares) external view returns (uint256) {
        return shares.mulDiv(usr.balanceOf(address(this)) + 1, totalShares + 1000);
    }
}

/// @title Stand-in for Resolv's wstUSR
contract StandInWstUsr is OzErc20 {
    IERC20 public immutable asset;
    address public immutable stUSRAddress;

    constructor(address usr, address staked) OzErc20("", "") {
        (asset, stUSRAddress) = (IERC20(usr), staked);
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = previewDeposit(assets);
        asset.transferFrom(msg.sender, address(this), assets);
        StandInStUsr(stUSRAddress).deposit(assets);
        _mint(receiver, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        require(shares <= balanceOf(owner), "too much");
        assets = previewRedeem(shares);
        StandInStUsr(stUSRAddress).withdraw(assets, receiver);
        _burn(owner, shares);
    }

    function totalAssets() external view returns (uint256) {
        return previewRedeem(totalSupply());
    }

    function maxDeposit(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function previewDeposit(uint256 assets) public view returns (uint256) {
        return StandInStUsr(stUSRAddress).previewDeposit(assets) / 1000;
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        return StandInStUsr(stUSRAddress).worth(shares * 1000);
    }
}

/// @title Stand-in for Sky's sUSDS: pays its interest out of what the test puts here
contract StandInSusds {
    IERC20 private immutable usds;
    uint256 public ssr;
    uint256 public chi;
    uint256 public rho;

    constructor(address usds_, uint256 chi_, uint256 ssr_) {
        (usds, chi, ssr, rho) = (IERC20(usds_), chi_, ssr_, block.timestamp);
    }

    function deposit(uint256 assets) external returns (uint256) {
        usds.transferFrom(msg.sender, address(this), assets);
        return assets * 1e27 / _drip();
    }

    function redeem(uint256 shares) external returns (uint256 assets) {
        assets = shares * _drip() / 1e27;
        usds.transfer(msg.sender, assets);
    }

    function now_() public view returns (uint256) {
        uint256 exponent = block.timestamp - rho;
        if (exponent == 0) return chi;
        uint256 base = ssr;
        uint256 result = exponent % 2 == 0 ? 1e27 : base;
        for (exponent /= 2; exponent != 0; exponent /= 2) {
            base = (base * base + 1e27 / 2) / 1e27;
            if (exponent % 2 != 0) result = (result * base + 1e27 / 2) / 1e27;
        }
        return result * chi / 1e27;
    }

    function _drip() private returns (uint256) {
        (chi, rho) = (now_(), block.timestamp);
        return chi;
    }
}

/// @title Stand-in for Sky's exchange of USDC for USDS, which here it has in stock
contract StandInSkyPsm {
    IERC20 private immutable usdc;
    IERC20 private immutable usds;
    address public immutable pocket;
    uint256 public tin;
    uint256 public tout;

    constructor(address usdc_, address usds_, address pocket_) {
        (usdc, usds, pocket) = (IERC20(usdc_), IERC20(usds_), pocket_);
    }

    function setFees(uint256 tin_, uint256 tout_) external {
        (tin, tout) = (tin_, tout_);
    }

    function sellGem(address receiver, uint256 amount) external returns (uint256 out) {
        out = amount * 1e12 - amount * 1e12 * tin / 1e18;
        usdc.transferFrom(msg.sender, pocket, amount);
        usds.transfer(receiver, out);
    }

    function buyGem(address receiver, uint256 amount) external {
        usds.transferFrom(msg.sender, address(this), amount * 1e12 + amount * 1e12 * tout / 1e18);
        usdc.transferFrom(pocket, receiver, amount);
    }
}

/// @title Stand-in for Spark's sUSDC
contract StandInSavingsUsdc is OzErc20 {
    IERC20 public immutable asset;
    IERC20 private immutable usds;
    StandInSkyPsm public immutable psm;
    StandInSusds private immutable susds;

    constructor(address usdc, address usds_, address psm_, address susds_) OzErc20("", "") {
        (asset, usds, psm, susds) = (IERC20(usdc), IERC20(usds_), StandInSkyPsm(psm_), StandInSusds(susds_));
    }

    function chi() external view returns (uint256) {
        return susds.chi();
    }

    function ssr() external view returns (uint256) {
        return susds.ssr();
    }

    function rho() external view returns (uint256) {
        return susds.rho();
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        asset.transferFrom(msg.sender, address(this), assets);
        shares = susds.deposit(psm.sellGem(address(this), assets));
        _mint(receiver, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        assets = susds.redeem(shares) * 1e6 / (1e18 + psm.tout());
        _burn(owner, shares);
        psm.buyGem(receiver, assets);
    }

    function totalAssets() external view returns (uint256) {
        return totalSupply() * susds.now_() / 1e27 / 1e12;
    }

    function maxDeposit(address) external view returns (uint256) {
        return usds.balanceOf(address(psm)) * 1e6 / (1e18 - psm.tin());
    }

    function previewDeposit(uint256 assets) external view returns (uint256) {
        return (assets * 1e12 - assets * 1e12 * psm.tin() / 1e18) * 1e27 / susds.now_();
    }

    function previewRedeem(uint256 shares) external view returns (uint256) {
        return (shares * susds.now_() / 1e27) * 1e6 / (1e18 + psm.tout());
    }
}

/// @title Stand-in for Aave's sGHO, in both of its releases
contract StandInSavingsGho is OzVault {
    bytes32 private constant PLACE = 0x52190d4bcaca04cac5a7c2ae78ea3854d285be3b91819fb1b3ed9862d9a9a400;
    uint256 private constant YEAR = 365 days;
    bool private immutable second;
    bool public paused;

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

    constructor(address gho, bool second_, uint256 cap) OzErc20("", "") OzVault(IERC20(gho)) {
        second = second_;
        if (second_) (_second().yieldIndex, _second().lastUpdate) = (1e27, uint40(block.timestamp));
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
        (_first().yieldIndex, _first().lastUpdate) = (uint176(_index()), uint64(block.timestamp));
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

/// @title Stand-in for a vault of Yearn's release 3.0.4, whose one strategy is the test
contract StandInYearnVault is OzErc20 {
    IERC20 public immutable asset;
    string public constant apiVersion = "3.0.4";
    bool public auto_allocate;
    address public deposit_limit_module;
    address public withdraw_limit_module;
    uint256 public depositLimit = type(uint256).max;
    uint256 public totalIdle;
    uint256 public totalDebt;
    uint256 public profitUnlockingRate;
    uint256 public lastProfitUpdate;
    uint256 public fullProfitUnlockDate;

    constructor(address asset_) OzErc20("", "") {
        asset = IERC20(asset_);
    }

    function set(bool allocates, address deposits, address withdrawals, uint256 limit) external {
        (auto_allocate, deposit_limit_module, withdraw_limit_module, depositLimit) = (allocates, deposits, withdrawals, limit);
    }

    /// @notice Lends what is idle, but for so much.
    function lend(uint256 keep) external {
        uint256 amount = totalIdle > keep ? totalIdle - keep : 0;
        (totalIdle, totalDebt) = (totalIdle - amount, totalDebt + amount);
        asset.transfer(msg.sender, amount);
    }

    /// @notice A profit of the strategy, whose shares go in so many seconds.
    function report(uint256 gain, uint256 time) external {
        uint256 locked = previewDeposit(gain);
        _burn(address(this), unlockedShares());
        totalDebt += gain;
        if (locked != 0) _mint(address(this), locked);
        profitUnlockingRate = balanceOf(address(this)) * 1e12 / time;
        (lastProfitUpdate, fullProfitUnlockDate) = (block.timestamp, block.timestamp + time);
    }

    function totalAssets() public view returns (uint256) {
        return totalIdle + totalDebt;
    }

    function totalSupply() public view override returns (uint256) {
        return super.totalSupply() - unlockedShares();
    }

    function unlockedShares() public view returns (uint256) {
        if (fullProfitUnlockDate == 0) return 0;
        if (block.timestamp >= fullProfitUnlockDate) return balanceOf(address(this));
        return profitUnlockingRate * (block.timestamp - lastProfitUpdate) / 1e12;
    }

    function maxDeposit(address) public view returns (uint256) {
        uint256 all = totalAssets();
        if (depositLimit == type(uint256).max) return depositLimit;
        return all >= depositLimit ? 0 : depositLimit - all;
    }

    function previewDeposit(uint256 assets) public view returns (uint256) {
        uint256 all = totalAssets();
        if (all == 0) return totalSupply() == 0 ? assets : 0;
        return assets * totalSupply() / all;
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        return totalSupply() == 0 ? shares : shares * totalAssets() / totalSupply();
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = previewDeposit(assets);
        require(assets <= maxDeposit(receiver) && assets > 0 && shares > 0, "limit");
        asset.transferFrom(msg.sender, address(this), assets);
        totalIdle += assets;
        _mint(receiver, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        assets = previewRedeem(shares);
        require(shares > 0 && assets > 0, "nothing");
        _burn(owner, shares);
        if (assets > totalIdle) {
            // the strategy gives back what is missing
            uint256 missing = assets - totalIdle;
            asset.transferFrom(tx.origin, address(this), missing);
            (totalIdle, totalDebt) = (assets, totalDebt - missing);
        }
        totalIdle -= assets;
        asset.transfer(receiver, assets);
    }
}
