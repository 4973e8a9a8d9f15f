// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IRateModel, Market, MarketParams, SharesMath, StandInMorpho} from "./StandInMorpho.sol";

interface IAdapter {
    function allocate(bytes memory data, uint256 assets, bytes4 selector, address sender)
        external
        returns (bytes32[] memory ids, int256 change);
    function deallocate(bytes memory data, uint256 assets, bytes4 selector, address sender)
        external
        returns (bytes32[] memory ids, int256 change);
    function realAssets() external view returns (uint256);
}

/// @title Stand-in for Morpho's Vault V2 on the local chain
/// @notice Our own code with the deployed interface and arithmetic: adapters, caps, a highest rate, fees on gains and on everything, gates that
/// are there or not. One curator, no timelocks, no forced deallocation.
contract StandInVaultV2 is ERC20 {
    using SafeERC20 for IERC20;

    struct Caps {
        uint256 allocation;
        uint128 absoluteCap;
        uint128 relativeCap;
    }

    uint256 private constant WAD = 1e18;

    address public immutable asset;
    uint256 public immutable virtualShares;
    address private immutable curator;

    uint256 private transient firstTotalAssets;
    uint128 public _totalAssets;
    uint64 public lastUpdate;
    uint64 public maxRate;
    uint96 public performanceFee;
    uint96 public managementFee;
    address public receiveSharesGate;
    address public sendSharesGate;
    address public receiveAssetsGate;
    address public sendAssetsGate;
    address public liquidityAdapter;
    bytes public liquidityData;
    address[] public adapters;
    mapping(bytes32 id => Caps) private caps;

    event AccrueInterest(
        uint256 previousTotalAssets, uint256 newTotalAssets, uint256 performanceFeeShares, uint256 managementFeeShares
    );
    event Deposit(address indexed sender, address indexed onBehalf, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender, address indexed receiver, address indexed onBehalf, uint256 assets, uint256 shares
    );
    event Allocate(address indexed sender, address indexed adapter, uint256 assets, bytes32[] ids, int256 change);
    event Deallocate(address indexed sender, address indexed adapter, uint256 assets, bytes32[] ids, int256 change);
    event AddAdapter(address indexed account);
    event SetLiquidityAdapterAndData(
        address indexed sender, address indexed newLiquidityAdapter, bytes indexed newLiquidityData
    );
    event SetSendAssetsGate(address indexed newSendAssetsGate);
    event IncreaseAbsoluteCap(bytes32 indexed id, bytes idData, uint256 newAbsoluteCap);

    modifier curated() {
        require(msg.sender == curator);
        _;
    }

    constructor(address asset_, address curator_, string memory name_, string memory symbol_) ERC20(name_, symbol_) {
        (asset, curator, lastUpdate) = (asset_, curator_, uint64(block.timestamp));
        virtualShares = 10 ** (18 - ERC20(asset_).decimals());
    }

    function adaptersLength() external view returns (uint256) {
        return adapters.length;
    }

    function allocation(bytes32 id) external view returns (uint256) {
        return caps[id].allocation;
    }

    function absoluteCap(bytes32 id) external view returns (uint256) {
        return caps[id].absoluteCap;
    }

    function relativeCap(bytes32 id) external view returns (uint256) {
        return caps[id].relativeCap;
    }

    function addAdapter(address account) external curated {
        adapters.push(account);
        emit AddAdapter(account);
    }

    function setCaps(bytes calldata idData, uint128 absolute, uint128 relative) external curated {
        bytes32 id = keccak256(idData);
        (caps[id].absoluteCap, caps[id].relativeCap) = (absolute, relative);
        emit IncreaseAbsoluteCap(id, idData, absolute);
    }

    function setLiquidityAdapterAndData(address adapter, bytes calldata data) external curated {
        (liquidityAdapter, liquidityData) = (adapter, data);
        emit SetLiquidityAdapterAndData(msg.sender, adapter, data);
    }

    function setRates(uint64 maxRate_, uint96 performanceFee_, uint96 managementFee_) external curated {
        accrueInterest();
        (maxRate, performanceFee, managementFee) = (maxRate_, performanceFee_, managementFee_);
    }

    function setSendAssetsGate(address gate) external curated {
        sendAssetsGate = gate;
        emit SetSendAssetsGate(gate);
    }

    function allocate(address adapter, bytes calldata data, uint256 assets) external curated {
        _allocate(adapter, data, assets);
    }

    function accrueInterest() public {
        (uint256 total, uint256 performance, uint256 management) = accrueInterestView();
        emit AccrueInterest(_totalAssets, total, performance, management);
        _totalAssets = uint128(total);
        if (firstTotalAssets == 0) firstTotalAssets = total;
        if (performance != 0) _mint(curator, performance);
        if (management != 0) _mint(curator, management);
        lastUpdate = uint64(block.timestamp);
    }

    function accrueInterestView() public view returns (uint256 total, uint256 performance, uint256 management) {
        uint256 last = _totalAssets;
        if (firstTotalAssets != 0) return (last, 0, 0);
        uint256 elapsed = block.timestamp - lastUpdate;
        total = IERC20(asset).balanceOf(address(this));
        for (uint256 k; k < adapters.length; ++k) {
            total += IAdapter(adapters[k]).realAssets();
        }
        uint256 most = last + last * elapsed * maxRate / WAD;
        if (total > most) total = most;
        if (total > last) performance = (total - last) * performanceFee / WAD;
        management = total * elapsed * managementFee / WAD;
        uint256 rest = total - performance - management + 1;
        uint256 shares = totalSupply() + virtualShares;
        (performance, management) = (performance * shares / rest, management * shares / rest);
    }

    function totalAssets() external view returns (uint256 total) {
        (total,,) = accrueInterestView();
    }

    function previewDeposit(uint256 assets) public view returns (uint256) {
        (uint256 total, uint256 performance, uint256 management) = accrueInterestView();
        return assets * (totalSupply() + performance + management + virtualShares) / (total + 1);
    }

    function previewRedeem(uint256 shares) public view returns (uint256) {
        (uint256 total, uint256 performance, uint256 management) = accrueInterestView();
        return shares * (total + 1) / (totalSupply() + performance + management + virtualShares);
    }

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return previewRedeem(shares);
    }

    function previewMint(uint256 shares) external view returns (uint256) {
        (uint256 total, uint256 performance, uint256 management) = accrueInterestView();
        return _divideUp(shares * (total + 1), totalSupply() + performance + management + virtualShares);
    }

    function previewWithdraw(uint256 assets) external view returns (uint256) {
        (uint256 total, uint256 performance, uint256 management) = accrueInterestView();
        return _divideUp(assets * (totalSupply() + performance + management + virtualShares), total + 1);
    }

    function _divideUp(uint256 a, uint256 b) private pure returns (uint256) {
        return (a + b - 1) / b;
    }

    function deposit(uint256 assets, address onBehalf) external returns (uint256 shares) {
        accrueInterest();
        shares = previewDeposit(assets);
        require(receiveSharesGate == address(0), "CannotReceiveShares");
        require(sendAssetsGate == address(0), "CannotSendAssets");
        IERC20(asset).safeTransferFrom(msg.sender, address(this), assets);
        _mint(onBehalf, shares);
        _totalAssets += uint128(assets);
        emit Deposit(msg.sender, onBehalf, assets, shares);
        if (liquidityAdapter != address(0)) _allocate(liquidityAdapter, liquidityData, assets);
    }

    function redeem(uint256 shares, address receiver, address onBehalf) external returns (uint256 assets) {
        accrueInterest();
        assets = previewRedeem(shares);
        require(sendSharesGate == address(0), "CannotSendShares");
        require(receiveAssetsGate == address(0), "CannotReceiveAssets");
        uint256 idle = IERC20(asset).balanceOf(address(this));
        if (assets > idle && liquidityAdapter != address(0)) {
            _deallocate(liquidityAdapter, liquidityData, assets - idle);
        }
        if (msg.sender != onBehalf) _spendAllowance(onBehalf, msg.sender, shares);
        _burn(onBehalf, shares);
        _totalAssets -= uint128(assets);
        IERC20(asset).safeTransfer(receiver, assets);
        emit Withdraw(msg.sender, receiver, onBehalf, assets, shares);
    }

    function _allocate(address adapter, bytes memory data, uint256 assets) private {
        accrueInterest();
        IERC20(asset).safeTransfer(adapter, assets);
        (bytes32[] memory ids, int256 change) = IAdapter(adapter).allocate(data, assets, msg.sig, msg.sender);
        for (uint256 k; k < ids.length; ++k) {
            Caps storage c = caps[ids[k]];
            int256 counted = int256(c.allocation) + change;
            require(counted >= 0, "CastOverflow");
            c.allocation = uint256(counted);
            require(c.absoluteCap > 0 && c.allocation <= c.absoluteCap, "AbsoluteCapExceeded");
            require(
                c.relativeCap == WAD || c.allocation <= firstTotalAssets * c.relativeCap / WAD, "RelativeCapExceeded"
            );
        }
        emit Allocate(msg.sender, adapter, assets, ids, change);
    }

    function _deallocate(address adapter, bytes memory data, uint256 assets) private {
        (bytes32[] memory ids, int256 change) = IAdapter(adapter).deallocate(data, assets, msg.sig, msg.sender);
        for (uint256 k; k < ids.length; ++k) {
            Caps storage c = caps[ids[k]];
            require(c.allocation > 0, "ZeroAllocation");
            int256 counted = int256(c.allocation) + change;
            require(counted >= 0, "CastOverflow");
            c.allocation = uint256(counted);
        }
        IERC20(asset).safeTransferFrom(adapter, address(this), assets);
        emit Deallocate(msg.sender, adapter, assets, ids, change);
    }
}

/// @title Stand-in for Vault V2's adapter of Morpho Blue's markets on the local chain
contract StandInMarketAdapter is IAdapter {
    using SharesMath for uint256;

    StandInMorpho private immutable blue;
    StandInVaultV2 public immutable parentVault;
    address public immutable asset;

    bytes32[] public marketIds;
    mapping(bytes32 id => uint256) public supplyShares;

    constructor(address vault, address blue_) {
        (parentVault, blue) = (StandInVaultV2(vault), StandInMorpho(blue_));
        asset = StandInVaultV2(vault).asset();
        SafeERC20.forceApprove(IERC20(asset), blue_, type(uint256).max);
        SafeERC20.forceApprove(IERC20(asset), vault, type(uint256).max);
    }

    function morpho() external view returns (address) {
        return address(blue);
    }

    function marketIdsLength() external view returns (uint256) {
        return marketIds.length;
    }

    function allocate(bytes memory data, uint256 assets, bytes4, address)
        external
        returns (bytes32[] memory ids, int256 change)
    {
        MarketParams memory params = _params(data);
        bytes32 id = keccak256(data);
        if (assets > 0) {
            (, uint256 minted) = blue.supply(params, assets, 0, address(this), "");
            require(minted >= assets, "SharePriceAboveOne");
            supplyShares[id] += minted;
        }
        return _counted(params, id);
    }

    function deallocate(bytes memory data, uint256 assets, bytes4, address)
        external
        returns (bytes32[] memory ids, int256 change)
    {
        MarketParams memory params = _params(data);
        bytes32 id = keccak256(data);
        if (assets > 0) {
            (, uint256 burnt) = blue.withdraw(params, assets, 0, address(this), address(this));
            supplyShares[id] -= burnt;
        }
        return _counted(params, id);
    }

    function _params(bytes memory data) private view returns (MarketParams memory params) {
        require(msg.sender == address(parentVault));
        params = abi.decode(data, (MarketParams));
        require(params.loanToken == asset, "LoanAssetMismatch");
    }

    function _counted(MarketParams memory params, bytes32 id) private returns (bytes32[] memory ids, int256) {
        ids = new bytes32[](3);
        ids[0] = keccak256(abi.encode("this", address(this)));
        ids[1] = keccak256(abi.encode("collateralToken", params.collateralToken));
        ids[2] = keccak256(abi.encode("this/marketParams", address(this), params));
        uint256 before = parentVault.allocation(ids[2]);
        uint256 held = expectedSupplyAssets(id);
        if (before == 0 && held > 0) marketIds.push(id);
        if (before > 0 && held == 0) _forget(id);
        return (ids, int256(held) - int256(before));
    }

    function _forget(bytes32 id) private {
        for (uint256 k; k < marketIds.length; ++k) {
            if (marketIds[k] != id) continue;
            marketIds[k] = marketIds[marketIds.length - 1];
            marketIds.pop();
            return;
        }
    }

    function expectedSupplyAssets(bytes32 id) public view returns (uint256) {
        if (supplyShares[id] == 0) return 0;
        Market memory m;
        (m.totalSupplyAssets, m.totalSupplyShares, m.totalBorrowAssets, m.totalBorrowShares, m.lastUpdate, m.fee) =
            blue.market(id);
        MarketParams memory p;
        (p.loanToken, p.collateralToken, p.oracle, p.irm, p.lltv) = blue.idToMarketParams(id);
        uint256 elapsed = block.timestamp - m.lastUpdate;
        if (elapsed != 0 && m.totalBorrowAssets != 0 && p.irm != address(0)) {
            (m,,) = SharesMath.accrued(m, IRateModel(p.irm).borrowRateView(p, m), elapsed);
        }
        return supplyShares[id].assetsDown(m);
    }

    function realAssets() external view returns (uint256 sum) {
        for (uint256 k; k < marketIds.length; ++k) {
            sum += expectedSupplyAssets(marketIds[k]);
        }
    }
}

/// @title Stand-in for Vault V2's adapter of a MetaMorpho vault on the local chain
contract StandInVaultAdapter is IAdapter {
    StandInVaultV2 public immutable parentVault;
    address public immutable morphoVaultV1;

    constructor(address vault, address inner) {
        (parentVault, morphoVaultV1) = (StandInVaultV2(vault), inner);
        IERC20 asset = IERC20(StandInVaultV2(vault).asset());
        SafeERC20.forceApprove(asset, inner, type(uint256).max);
        SafeERC20.forceApprove(asset, vault, type(uint256).max);
    }

    function allocate(bytes memory data, uint256 assets, bytes4, address)
        external
        returns (bytes32[] memory, int256)
    {
        require(msg.sender == address(parentVault) && data.length == 0);
        if (assets > 0) IERC4626(morphoVaultV1).deposit(assets, address(this));
        return _counted();
    }

    function deallocate(bytes memory data, uint256 assets, bytes4, address)
        external
        returns (bytes32[] memory, int256)
    {
        require(msg.sender == address(parentVault) && data.length == 0);
        if (assets > 0) IERC4626(morphoVaultV1).withdraw(assets, address(this), address(this));
        return _counted();
    }

    function _id() private view returns (bytes32) {
        return keccak256(abi.encode("this", address(this)));
    }

    function _held() private view returns (uint256) {
        return IERC4626(morphoVaultV1).previewRedeem(IERC4626(morphoVaultV1).balanceOf(address(this)));
    }

    function _counted() private view returns (bytes32[] memory ids, int256) {
        ids = new bytes32[](1);
        ids[0] = _id();
        return (ids, int256(_held()) - int256(parentVault.allocation(ids[0])));
    }

    function realAssets() external view returns (uint256) {
        return parentVault.allocation(_id()) == 0 ? 0 : _held();
    }
}

/// @title Stand-in for the factory of Vault V2 on the local chain
/// @notice It announces a vault that lies there already, with the deployed event.
contract StandInVaultV2Factory {
    event CreateVaultV2(address indexed owner, address indexed asset, bytes32 salt, address indexed newVaultV2);

    mapping(address => bool) public isVaultV2;

    function announce(address vault) external {
        isVaultV2[vault] = true;
        emit CreateVaultV2(msg.sender, StandInVaultV2(vault).asset(), 0, vault);
    }
}
