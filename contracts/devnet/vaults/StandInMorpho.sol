// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IAsset} from "./Savings.sol";

struct MarketParams {
    address loanToken;
    address collateralToken;
    address oracle;
    address irm;
    uint256 lltv;
}

struct Market {
    uint128 totalSupplyAssets;
    uint128 totalSupplyShares;
    uint128 totalBorrowAssets;
    uint128 totalBorrowShares;
    uint128 lastUpdate;
    uint128 fee;
}

interface IRateModel {
    function borrowRate(MarketParams memory params, Market memory market) external returns (uint256);
    function borrowRateView(MarketParams memory params, Market memory market) external view returns (uint256);
}

/// Rounding is in the name. Shares have a virtual million, assets a virtual one.
library SharesMath {
    function sharesDown(uint256 assets, Market memory m) internal pure returns (uint256) {
        return assets * (m.totalSupplyShares + 1e6) / (m.totalSupplyAssets + 1);
    }

    function sharesUp(uint256 assets, Market memory m) internal pure returns (uint256) {
        return (assets * (m.totalSupplyShares + 1e6) + m.totalSupplyAssets) / (m.totalSupplyAssets + 1);
    }

    function assetsDown(uint256 shares, Market memory m) internal pure returns (uint256) {
        return shares * (m.totalSupplyAssets + 1) / (m.totalSupplyShares + 1e6);
    }

    function assetsUp(uint256 shares, Market memory m) internal pure returns (uint256) {
        return (shares * (m.totalSupplyAssets + 1) + m.totalSupplyShares + 1e6 - 1) / (m.totalSupplyShares + 1e6);
    }

    /// A market with the interest of a span at a rate per second in wad.
    function accrued(Market memory m, uint256 rate, uint256 elapsed)
        internal
        pure
        returns (Market memory, uint256 interest, uint256 feeShares)
    {
        uint256 first = rate * elapsed;
        uint256 second = first * first / (2 * 1e18);
        interest = m.totalBorrowAssets * (first + second + second * first / (3 * 1e18)) / 1e18;
        m.totalBorrowAssets += uint128(interest);
        m.totalSupplyAssets += uint128(interest);
        if (m.fee != 0) {
            uint256 fee = interest * m.fee / 1e18;
            m.totalSupplyAssets -= uint128(fee);
            feeShares = sharesDown(fee, m);
            m.totalSupplyAssets += uint128(fee);
            m.totalSupplyShares += uint128(feeShares);
        }
        return (m, interest, feeShares);
    }
}

/// @title Stand-in for Morpho Blue where its own code is not to be had
/// @notice Our own code with the deployed interface for suppliers: interest, shares and the protocol's fee. Whoever asks may borrow, without
/// collateral. The local chain has Morpho's own code.
contract StandInMorpho {
    using SharesMath for uint256;

    struct Position {
        uint256 supplyShares;
        uint128 borrowShares;
        uint128 collateral;
    }

    mapping(bytes32 => mapping(address => Position)) public position;
    mapping(bytes32 => Market) private markets;
    mapping(bytes32 => MarketParams) public idToMarketParams;

    event CreateMarket(bytes32 indexed id, MarketParams marketParams);
    event AccrueInterest(bytes32 indexed id, uint256 prevBorrowRate, uint256 interest, uint256 feeShares);
    event Supply(
        bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets, uint256 shares
    );
    event Withdraw(
        bytes32 indexed id,
        address caller,
        address indexed onBehalf,
        address indexed receiver,
        uint256 assets,
        uint256 shares
    );
    event Borrow(
        bytes32 indexed id,
        address caller,
        address indexed onBehalf,
        address indexed receiver,
        uint256 assets,
        uint256 shares
    );

    function createMarket(MarketParams memory params) external {
        bytes32 id = keccak256(abi.encode(params));
        markets[id].lastUpdate = uint128(block.timestamp);
        idToMarketParams[id] = params;
        emit CreateMarket(id, params);
        if (params.irm != address(0)) IRateModel(params.irm).borrowRate(params, markets[id]);
    }

    function market(bytes32 id) external view returns (uint128, uint128, uint128, uint128, uint128, uint128) {
        Market memory m = markets[id];
        return (m.totalSupplyAssets, m.totalSupplyShares, m.totalBorrowAssets, m.totalBorrowShares, m.lastUpdate, m.fee);
    }

    function supply(MarketParams memory params, uint256 assets, uint256, address onBehalf, bytes calldata)
        external
        returns (uint256, uint256 shares)
    {
        bytes32 id = keccak256(abi.encode(params));
        _accrue(params, id);
        shares = assets.sharesDown(markets[id]);
        position[id][onBehalf].supplyShares += shares;
        markets[id].totalSupplyShares += uint128(shares);
        markets[id].totalSupplyAssets += uint128(assets);
        emit Supply(id, msg.sender, onBehalf, assets, shares);
        require(IAsset(params.loanToken).transferFrom(msg.sender, address(this), assets));
        return (assets, shares);
    }

    function withdraw(MarketParams memory params, uint256 assets, uint256, address onBehalf, address receiver)
        external
        returns (uint256, uint256 shares)
    {
        require(onBehalf == msg.sender, "unauthorized");
        bytes32 id = keccak256(abi.encode(params));
        _accrue(params, id);
        shares = assets.sharesUp(markets[id]);
        position[id][onBehalf].supplyShares -= shares;
        markets[id].totalSupplyShares -= uint128(shares);
        markets[id].totalSupplyAssets -= uint128(assets);
        require(markets[id].totalBorrowAssets <= markets[id].totalSupplyAssets, "insufficient liquidity");
        emit Withdraw(id, msg.sender, onBehalf, receiver, assets, shares);
        require(IAsset(params.loanToken).transfer(receiver, assets));
        return (assets, shares);
    }

    /// @notice Without collateral, unlike the deployed contract.
    function borrow(MarketParams memory params, uint256 assets, uint256, address onBehalf, address receiver) external {
        bytes32 id = keccak256(abi.encode(params));
        _accrue(params, id);
        markets[id].totalBorrowAssets += uint128(assets);
        require(markets[id].totalBorrowAssets <= markets[id].totalSupplyAssets, "insufficient liquidity");
        emit Borrow(id, msg.sender, onBehalf, receiver, assets, assets);
        require(IAsset(params.loanToken).transfer(receiver, assets));
    }

    function accrueInterest(MarketParams memory params) external {
        _accrue(params, keccak256(abi.encode(params)));
    }

    function _accrue(MarketParams memory params, bytes32 id) private {
        uint256 elapsed = block.timestamp - markets[id].lastUpdate;
        if (elapsed == 0) return;
        if (params.irm != address(0)) {
            uint256 rate = IRateModel(params.irm).borrowRate(params, markets[id]);
            (Market memory m, uint256 interest, uint256 feeShares) = SharesMath.accrued(markets[id], rate, elapsed);
            markets[id] = m;
            emit AccrueInterest(id, rate, interest, feeShares);
        }
        markets[id].lastUpdate = uint128(block.timestamp);
    }
}

/// @title Stand-in for Morpho's adaptive curve where its own code is not to be had
/// @notice Our own code of the deployed model: the rate at target utilisation moves exponentially with how far utilisation is from it.
contract StandInAdaptiveCurveIrm is IRateModel {
    int256 private constant WAD = 1e18;
    int256 private constant TARGET = 0.9e18;
    int256 private constant SPEED = int256(50e18) / 365 days;
    int256 private constant FIRST = int256(0.04e18) / 365 days;
    int256 private constant LEAST = int256(0.001e18) / 365 days;
    int256 private constant MOST = int256(2e18) / 365 days;
    int256 private constant LN_2 = 0.693147180559945309e18;

    mapping(bytes32 => int256) public rateAtTarget;

    function borrowRate(MarketParams memory params, Market memory market) external returns (uint256 rate) {
        bytes32 id = keccak256(abi.encode(params));
        (rate, rateAtTarget[id]) = _rates(id, market);
    }

    function borrowRateView(MarketParams memory params, Market memory market) external view returns (uint256 rate) {
        (rate,) = _rates(keccak256(abi.encode(params)), market);
    }

    function _rates(bytes32 id, Market memory m) private view returns (uint256, int256 end) {
        int256 used = m.totalSupplyAssets == 0
            ? int256(0)
            : int256(uint256(m.totalBorrowAssets) * 1e18 / m.totalSupplyAssets);
        int256 far = (used - TARGET) * WAD / (used > TARGET ? WAD - TARGET : TARGET);
        int256 start = rateAtTarget[id];
        int256 average;
        if (start == 0) {
            (average, end) = (FIRST, FIRST);
        } else {
            int256 moved = SPEED * far / WAD * int256(block.timestamp - m.lastUpdate);
            (average, end) = (start, start);
            if (moved != 0) {
                end = _moved(start, moved);
                average = (start + end + 2 * _moved(start, moved / 2)) / 4;
            }
        }
        int256 slope = far < 0 ? WAD - WAD * WAD / 4e18 : int256(3e18);
        return (uint256((slope * far / WAD + WAD) * average / WAD), end);
    }

    function _moved(int256 start, int256 by) private pure returns (int256 rate) {
        rate = start * _exp(by) / WAD;
        if (rate < LEAST) rate = LEAST;
        if (rate > MOST) rate = MOST;
    }

    function _exp(int256 x) private pure returns (int256) {
        if (x < -41.446531673892822312e18) return 0;
        if (x >= 93.859467695000404319e18) return 57716089161558943949701069502944508345128.422502756744429568e18;
        int256 doublings = (x + (x < 0 ? -(LN_2 / 2) : LN_2 / 2)) / LN_2;
        int256 rest = x - doublings * LN_2;
        int256 power = WAD + rest + rest * rest / WAD / 2;
        return doublings >= 0 ? power << uint256(doublings) : power >> uint256(-doublings);
    }
}
