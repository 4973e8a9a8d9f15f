// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Compounding} from "./Compounding.sol";
import {StandInSkyJoin, StandInUsdsPsm, StandInVat} from "./Sky.sol";

/// @notice What ERC-4626 has its vaults say.
interface IVaultEvents {
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);
}

/// @title Stand-in for Sky's sUSDS, behind a proxy
/// @notice A trade takes the interest of everybody from the vat first, as deployed; shares are OpenZeppelin's. Referrals and other ways in and
/// out are left out.
contract StandInSusds is ERC20, IVaultEvents {
    IERC20 private immutable usds;
    StandInVat private immutable vat;
    StandInSkyJoin private immutable usdsJoin;
    address private immutable vow;
    uint192 public chi;
    uint64 public rho;
    uint256 public ssr;

    event Drip(uint256 chi, uint256 diff);

    constructor(address usds_, address vat_, address usdsJoin_, address vow_) ERC20("", "") {
        (usds, vat, usdsJoin, vow) = (IERC20(usds_), StandInVat(vat_), StandInSkyJoin(usdsJoin_), vow_);
    }

    function initialize(uint192 chi_, uint256 ssr_) external {
        require(rho == 0, "once");
        (chi, rho, ssr) = (chi_, uint64(block.timestamp), ssr_);
        vat.hope(address(usdsJoin));
    }

    function name() public pure override returns (string memory) {
        return "Savings USDS (stand-in)";
    }

    function symbol() public pure override returns (string memory) {
        return "sUSDS";
    }

    function asset() external view returns (address) {
        return address(usds);
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = assets * 1e27 / drip();
        usds.transferFrom(msg.sender, address(this), assets);
        _mint(receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        assets = shares * drip() / 1e27;
        if (owner != msg.sender) _spendAllowance(owner, msg.sender, shares);
        _burn(owner, shares);
        usds.transfer(receiver, assets);
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }

    function drip() public returns (uint256 now_) {
        (uint256 before, uint256 diff) = (chi, 0);
        now_ = before;
        if (block.timestamp > rho) {
            now_ = Compounding.grown(before, ssr, block.timestamp - rho);
            uint256 supply = totalSupply();
            diff = supply * now_ / 1e27 - supply * before / 1e27;
            vat.suck(vow, address(this), diff * 1e27);
            usdsJoin.exit(address(this), diff);
            (chi, rho) = (uint192(now_), uint64(block.timestamp));
        }
        emit Drip(now_, diff);
    }

    function maxDeposit(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function totalAssets() external view returns (uint256) {
        return previewRedeem(totalSupply());
    }

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return previewRedeem(shares);
    }

    function previewDeposit(uint256 assets) external view returns (uint256) {
        return assets * 1e27 / _now();
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        return shares * _now() / 1e27;
    }

    function _now() private view returns (uint256) {
        return Compounding.grown(chi, ssr, block.timestamp - rho);
    }
}

/// @title Stand-in for Spark's sUSDC, behind a proxy: sUSDS for USDC, by Sky's exchange
contract StandInSavingsUsdc is ERC20, IVaultEvents {
    IERC20 private immutable usdc;
    IERC20 private immutable dai;
    address private immutable daiPsm;
    StandInUsdsPsm public immutable psm;
    StandInSusds private immutable susds;

    constructor(address usdc_, address dai_, address daiPsm_, address psm_, address susds_) ERC20("", "") {
        (usdc, dai, daiPsm) = (IERC20(usdc_), IERC20(dai_), daiPsm_);
        (psm, susds) = (StandInUsdsPsm(psm_), StandInSusds(susds_));
    }

    function initialize() external {
        IERC20 usds = IERC20(susds.asset());
        usdc.approve(address(psm), type(uint256).max);
        usds.approve(address(psm), type(uint256).max);
        usds.approve(address(susds), type(uint256).max);
    }

    function name() public pure override returns (string memory) {
        return "Spark USDC Vault (stand-in)";
    }

    function symbol() public pure override returns (string memory) {
        return "sUSDC";
    }

    function asset() external view returns (address) {
        return address(usdc);
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
        require(psm.tin() < 1e18, "halted");
        usdc.transferFrom(msg.sender, address(this), assets);
        shares = susds.deposit(psm.sellGem(address(this), assets), address(this));
        _mint(receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        uint256 tout = psm.tout();
        assets = susds.redeem(shares, address(this), address(this)) * 1e6 / (1e18 + tout);
        if (owner != msg.sender) _spendAllowance(owner, msg.sender, shares);
        _burn(owner, shares);
        psm.buyGem(receiver, assets);
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }

    function totalAssets() external view returns (uint256) {
        return susds.previewRedeem(totalSupply()) / 1e12;
    }

    function maxDeposit(address) external view returns (uint256) {
        return dai.balanceOf(daiPsm) * 1e6 / (1e18 - psm.tin());
    }

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return susds.previewRedeem(shares) / 1e12;
    }

    function previewDeposit(uint256 assets) external view returns (uint256) {
        return susds.previewDeposit(assets * 1e12 - assets * 1e12 * psm.tin() / 1e18);
    }

    function previewRedeem(uint256 shares) external view returns (uint256) {
        return susds.previewRedeem(shares) * 1e6 / (1e18 + psm.tout());
    }
}
