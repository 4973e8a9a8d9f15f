// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Coins, Erc20, ICoin} from "./Coins.sol";
import {WAD} from "./StableMath.sol";
import {Work} from "./Work.sol";

/// Stand-in for Compound's comptroller, second version, as far as deposits go. Anyone may stop them.
contract StandInComptroller {
    mapping(address market => bool) public mintGuardianPaused;

    function _setMintPaused(address market, bool paused) external returns (bool) {
        mintGuardianPaused[market] = paused;
        return paused;
    }
}

/// Stand-in for a market of Compound's, second version: simple interest by the block between two accruals, at a rate that follows what is
/// borrowed. Borrowing is left out: so much is borrowed from the first, by nobody. Amounts have the deployed 8 decimals, which `decimals` of
/// the token underneath does not say.
contract StandInCToken is Erc20 {
    // What an accrual, a deposit or a redemption uses on mainnet beyond this: the rate's own contract, rewards, a proxy.
    uint256 private constant MORE_WORK = 80_000;
    // Five per cent a year on all that is borrowed, by blocks of twelve seconds.
    uint256 private constant RATE = WAD * 5 / 100 / 2_628_000;

    address public immutable underlying;
    StandInComptroller public immutable comptroller;
    uint256 public constant reserveFactorMantissa = WAD * 15 / 100;
    uint256 public accrualBlockNumber;
    uint256 public totalBorrows;
    uint256 public totalReserves;

    event AccrueInterest(uint256 cashPrior, uint256 interest, uint256 totalBorrows);

    /// Shares for what is borrowed belong to nobody, at the rate that is given.
    constructor(string memory name_, string memory symbol_, address asset, address comptroller_, uint256 borrows, uint256 rate)
        Erc20(name_, symbol_)
    {
        (underlying, comptroller) = (asset, StandInComptroller(comptroller_));
        (accrualBlockNumber, totalBorrows) = (block.number, borrows);
        _create(address(this), borrows * WAD / rate);
    }

    function getCash() public view returns (uint256) {
        return ICoin(underlying).balanceOf(address(this));
    }

    function borrowRatePerBlock() public view returns (uint256) {
        return RATE * totalBorrows / (getCash() + totalBorrows - totalReserves);
    }

    function supplyRatePerBlock() external view returns (uint256) {
        uint256 used = totalBorrows * WAD / (getCash() + totalBorrows - totalReserves);
        return used * (borrowRatePerBlock() * (WAD - reserveFactorMantissa) / WAD) / WAD;
    }

    function exchangeRateStored() public view returns (uint256) {
        return (getCash() + totalBorrows - totalReserves) * WAD / totalSupply;
    }

    function exchangeRateCurrent() external returns (uint256) {
        accrueInterest();
        return exchangeRateStored();
    }

    function accrueInterest() public returns (uint256) {
        uint256 blocks = block.number - accrualBlockNumber;
        if (blocks == 0) return 0;
        Work.use(MORE_WORK);
        uint256 cash = getCash();
        uint256 interest = borrowRatePerBlock() * blocks * totalBorrows / WAD;
        totalBorrows += interest;
        totalReserves += reserveFactorMantissa * interest / WAD;
        accrualBlockNumber = block.number;
        emit AccrueInterest(cash, interest, totalBorrows);
        return 0;
    }

    function mint(uint256 amount) external returns (uint256) {
        accrueInterest();
        require(!comptroller.mintGuardianPaused(address(this)), "mint is paused");
        Work.use(MORE_WORK);
        uint256 shares = amount * WAD / exchangeRateStored();
        Coins.pull(underlying, amount);
        _create(msg.sender, shares);
        return 0;
    }

    /// Answers with an error, and does nothing, where there is too little cash.
    function redeem(uint256 shares) external returns (uint256) {
        accrueInterest();
        Work.use(MORE_WORK);
        uint256 amount = exchangeRateStored() * shares / WAD;
        if (getCash() < amount) return 14;
        _destroy(msg.sender, shares);
        Coins.push(underlying, msg.sender, amount);
        return 0;
    }
}
