// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

import {ERC20 as OzErc20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

// A second writing of the rules, over the libraries that the deployed contracts use.

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
