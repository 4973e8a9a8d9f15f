// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Compounding} from "./Compounding.sol";
import {IVaultEvents} from "./SkySavings.sol";

/// @title Stand-in for Spark's vault of USDC, behind a proxy
/// @notice A rate that compounds, a cap on all assets, and what lies in it is paid out. Shares are OpenZeppelin's. Anybody may set the cap and
/// take what lies in it, where the deployed one asks for roles and, of a depositor, that it has none.
contract StandInSparkVault is ERC20, IVaultEvents {
    address public asset;
    uint192 public chi;
    uint64 public rho;
    uint256 public vsr;
    uint256 public depositCap;

    mapping(address => uint256) private takers;

    event Drip(uint256 chi, uint256 diff);

    constructor() ERC20("", "") {}

    function initialize(address asset_, uint192 chi_, uint256 vsr_, uint256 cap) external {
        require(rho == 0, "once");
        (asset, chi, rho, vsr, depositCap) = (asset_, chi_, uint64(block.timestamp), vsr_, cap);
    }

    function setDepositCap(uint256 cap) external {
        depositCap = cap;
    }

    function take(uint256 amount) external {
        IERC20(asset).transfer(msg.sender, amount);
    }

    function name() public pure override returns (string memory) {
        return "Spark Savings USDC (stand-in)";
    }

    function symbol() public pure override returns (string memory) {
        return "spUSDC";
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = assets * 1e27 / drip();
        require(takers[msg.sender] == 0 && takers[receiver] == 0, "taker");
        require(totalAssets() + assets <= depositCap, "cap");
        IERC20(asset).transferFrom(msg.sender, address(this), assets);
        _mint(receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        assets = shares * drip() / 1e27;
        if (owner != msg.sender) _spendAllowance(owner, msg.sender, shares);
        _burn(owner, shares);
        require(assets <= IERC20(asset).balanceOf(address(this)), "liquidity");
        IERC20(asset).transfer(receiver, assets);
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }

    function drip() public returns (uint256 now_) {
        (uint256 before, uint256 diff) = (chi, 0);
        now_ = before;
        if (block.timestamp > rho) {
            now_ = _now();
            uint256 supply = totalSupply();
            diff = supply * now_ / 1e27 - supply * before / 1e27;
            (chi, rho) = (uint192(now_), uint64(block.timestamp));
        }
        emit Drip(now_, diff);
    }

    function maxDeposit(address) external view returns (uint256) {
        uint256 all = totalAssets();
        return all >= depositCap ? 0 : depositCap - all;
    }

    function totalAssets() public view returns (uint256) {
        return convertToAssets(totalSupply());
    }

    function convertToAssets(uint256 shares) public view returns (uint256) {
        return shares * _now() / 1e27;
    }

    function previewDeposit(uint256 assets) external view returns (uint256) {
        return assets * 1e27 / _now();
    }

    function previewRedeem(uint256 shares) external view returns (uint256 assets) {
        assets = convertToAssets(shares);
        require(assets <= IERC20(asset).balanceOf(address(this)), "liquidity");
    }

    function _now() private view returns (uint256) {
        return Compounding.grown(chi, vsr, block.timestamp - rho);
    }
}
