// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626, IERC20, Math} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IRateModel, Market, MarketParams, SharesMath, StandInMorpho} from "./StandInMorpho.sol";

/// @title Stand-in for a MetaMorpho vault (version 1.1) on the local chain
/// @notice Our own code with the deployed interface and arithmetic, on OpenZeppelin's ERC-4626: queues, caps, the owner's fee, lost assets. No
/// roles, no timelocks.
contract StandInMetaMorpho is ERC4626 {
    using SharesMath for uint256;
    using Math for uint256;

    struct MarketConfig {
        uint184 cap;
        bool enabled;
        uint64 removableAt;
    }

    StandInMorpho public immutable MORPHO;
    uint8 public immutable DECIMALS_OFFSET;
    address private immutable curator;

    mapping(bytes32 => MarketConfig) public config;
    uint96 public fee;
    bytes32[] public supplyQueue;
    bytes32[] public withdrawQueue;
    uint256 public lastTotalAssets;
    uint256 public lostAssets;

    event UpdateLastTotalAssets(uint256 updatedTotalAssets);
    event AccrueInterest(uint256 newTotalAssets, uint256 feeShares);
    event SetCap(address indexed caller, bytes32 indexed id, uint256 cap);
    event SetFee(address indexed caller, uint256 newFee);

    constructor(address morpho, address asset_, uint8 offset, address curator_, string memory name_, string memory symbol_)
        ERC20(name_, symbol_)
        ERC4626(IERC20(asset_))
    {
        (MORPHO, DECIMALS_OFFSET, curator) = (StandInMorpho(morpho), offset, curator_);
        IERC20(asset_).approve(morpho, type(uint256).max);
    }

    /// @notice Lets a market in, or changes its cap.
    function setCap(MarketParams memory params, uint184 cap) external {
        require(msg.sender == curator);
        bytes32 id = keccak256(abi.encode(params));
        if (!config[id].enabled) {
            supplyQueue.push(id);
            withdrawQueue.push(id);
        }
        config[id] = MarketConfig(cap, true, 0);
        emit SetCap(msg.sender, id, cap);
    }

    function setFee(uint96 fee_) external {
        require(msg.sender == curator);
        _accrueInterest();
        fee = fee_;
        emit SetFee(msg.sender, fee_);
    }

    function supplyQueueLength() external view returns (uint256) {
        return supplyQueue.length;
    }

    function withdrawQueueLength() external view returns (uint256) {
        return withdrawQueue.length;
    }

    function maxDeposit(address) public view override returns (uint256 most) {
        for (uint256 i; i < supplyQueue.length; ++i) {
            bytes32 id = supplyQueue[i];
            uint256 held = _shares(id).assetsUp(_expected(id));
            uint256 cap = config[id].cap;
            if (cap > held) most += cap - held;
        }
    }

    function deposit(uint256 assets, address receiver) public override returns (uint256 shares) {
        _accrueInterest();
        shares = assets.mulDiv(totalSupply() + 10 ** DECIMALS_OFFSET, lastTotalAssets + 1);
        _deposit(msg.sender, receiver, assets, shares);
        _supply(assets);
        _note(lastTotalAssets + assets);
    }

    function redeem(uint256 shares, address receiver, address owner) public override returns (uint256 assets) {
        _accrueInterest();
        assets = shares.mulDiv(lastTotalAssets + 1, totalSupply() + 10 ** DECIMALS_OFFSET);
        _note(lastTotalAssets > assets ? lastTotalAssets - assets : 0);
        _take(assets);
        _withdraw(msg.sender, receiver, owner, assets, shares);
    }

    function withdraw(uint256 assets, address receiver, address owner) public override returns (uint256 shares) {
        _accrueInterest();
        shares = assets.mulDiv(totalSupply() + 10 ** DECIMALS_OFFSET, lastTotalAssets + 1, Math.Rounding.Ceil);
        _note(lastTotalAssets > assets ? lastTotalAssets - assets : 0);
        _take(assets);
        _withdraw(msg.sender, receiver, owner, assets, shares);
    }

    function totalAssets() public view override returns (uint256 total) {
        (, total,) = _accruedFeeAndAssets();
    }

    function _decimalsOffset() internal view override returns (uint8) {
        return DECIMALS_OFFSET;
    }

    function _convertToShares(uint256 assets, Math.Rounding rounding) internal view override returns (uint256) {
        (uint256 feeShares, uint256 total,) = _accruedFeeAndAssets();
        return assets.mulDiv(totalSupply() + feeShares + 10 ** DECIMALS_OFFSET, total + 1, rounding);
    }

    function _convertToAssets(uint256 shares, Math.Rounding rounding) internal view override returns (uint256) {
        (uint256 feeShares, uint256 total,) = _accruedFeeAndAssets();
        return shares.mulDiv(total + 1, totalSupply() + feeShares + 10 ** DECIMALS_OFFSET, rounding);
    }

    function _supply(uint256 assets) private {
        for (uint256 i; i < supplyQueue.length && assets != 0; ++i) {
            bytes32 id = supplyQueue[i];
            MarketParams memory params = _params(id);
            MORPHO.accrueInterest(params);
            uint256 held = _shares(id).assetsUp(_stored(id));
            uint256 room = config[id].cap > held ? config[id].cap - held : 0;
            uint256 part = room < assets ? room : assets;
            if (part != 0) MORPHO.supply(params, part, 0, address(this), "");
            assets -= part;
        }
        require(assets == 0, "AllCapsReached");
    }

    function _take(uint256 assets) private {
        for (uint256 i; i < withdrawQueue.length && assets != 0; ++i) {
            bytes32 id = withdrawQueue[i];
            MarketParams memory params = _params(id);
            MORPHO.accrueInterest(params);
            Market memory m = _stored(id);
            uint256 part = _shares(id).assetsDown(m);
            uint256 free = m.totalSupplyAssets - m.totalBorrowAssets;
            uint256 there = IERC20(asset()).balanceOf(address(MORPHO));
            if (free < part) part = free;
            if (there < part) part = there;
            if (assets < part) part = assets;
            if (part != 0) MORPHO.withdraw(params, part, 0, address(this), address(this));
            assets -= part;
        }
        require(assets == 0, "NotEnoughLiquidity");
    }

    function _accrueInterest() private {
        (uint256 feeShares, uint256 total, uint256 lost) = _accruedFeeAndAssets();
        _note(total);
        lostAssets = lost;
        if (feeShares != 0) _mint(curator, feeShares);
        emit AccrueInterest(total, feeShares);
    }

    function _accruedFeeAndAssets() private view returns (uint256 feeShares, uint256 total, uint256 lost) {
        uint256 held;
        for (uint256 i; i < withdrawQueue.length; ++i) {
            held += _shares(withdrawQueue[i]).assetsDown(_expected(withdrawQueue[i]));
        }
        lost = held < lastTotalAssets - lostAssets ? lastTotalAssets - held : lostAssets;
        total = held + lost;
        uint256 feeAssets = (total - lastTotalAssets).mulDiv(fee, 1e18);
        if (feeAssets != 0) feeShares = feeAssets.mulDiv(totalSupply() + 10 ** DECIMALS_OFFSET, total - feeAssets + 1);
    }

    /// A market with interest up to now.
    function _expected(bytes32 id) private view returns (Market memory m) {
        m = _stored(id);
        uint256 elapsed = block.timestamp - m.lastUpdate;
        MarketParams memory params = _params(id);
        if (elapsed != 0 && m.totalBorrowAssets != 0 && params.irm != address(0)) {
            (m,,) = SharesMath.accrued(m, IRateModel(params.irm).borrowRateView(params, m), elapsed);
        }
    }

    function _stored(bytes32 id) private view returns (Market memory m) {
        (m.totalSupplyAssets, m.totalSupplyShares, m.totalBorrowAssets, m.totalBorrowShares, m.lastUpdate, m.fee) =
            MORPHO.market(id);
    }

    function _params(bytes32 id) private view returns (MarketParams memory p) {
        (p.loanToken, p.collateralToken, p.oracle, p.irm, p.lltv) = MORPHO.idToMarketParams(id);
    }

    function _shares(bytes32 id) private view returns (uint256 shares) {
        (shares,,) = MORPHO.position(id, address(this));
    }

    function _note(uint256 total) private {
        lastTotalAssets = total;
        emit UpdateLastTotalAssets(total);
    }
}

/// @title Stand-in for MetaMorpho's factory on the local chain
/// @notice It announces a vault that lies there already, at its mainnet address, with the deployed event.
contract StandInMetaMorphoFactory {
    event CreateMetaMorpho(
        address indexed metaMorpho,
        address indexed caller,
        address initialOwner,
        uint256 initialTimelock,
        address indexed asset,
        string name,
        string symbol,
        bytes32 salt
    );

    mapping(address => bool) public isMetaMorpho;

    function announce(address vault) external {
        isMetaMorpho[vault] = true;
        StandInMetaMorpho v = StandInMetaMorpho(vault);
        emit CreateMetaMorpho(vault, msg.sender, msg.sender, 0, v.asset(), v.name(), v.symbol(), 0);
    }
}
