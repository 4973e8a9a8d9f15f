// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ETHER, ICoin, Pay, Words} from "./Words.sol";
import {StandInFluidLiquidity} from "./StandInFluidLiquidity.sol";

interface IWrapped {
    function deposit() external payable;
    function withdraw(uint256 amount) external;
}

/// @title Stand-in for a Fluid fToken on the local chain
/// @notice Our own code with the deployed interface, storage layout and arithmetic: what is deposited lies in the liquidity layer, and its
/// interest is the share's. Without rewards; of wrapped ether, ether lies in the layer.
contract StandInFluidFToken is ERC20 {
    using Words for uint256;

    uint256 private constant ONE = 1e12;

    // slots 5 to 8, as the deployed contract has them
    uint256[2] private _permits;
    address private _rewardsRateModel;
    uint96 private _gap;
    uint64 private _liquidityExchangePrice;
    uint64 private _tokenExchangePrice;
    uint40 private _lastUpdateTimestamp;
    uint8 private _status;
    bool private _rewardsActive;

    StandInFluidLiquidity private immutable layer;
    address public immutable asset;
    address private immutable stored;
    uint8 private immutable places;

    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares
    );
    event LogUpdateRates(uint256 tokenExchangePrice, uint256 liquidityExchangePrice);

    /// @param stored_ What lies in the layer: the asset, or ether for wrapped ether.
    constructor(address layer_, address asset_, address stored_, string memory name_, string memory symbol_)
        ERC20(name_, symbol_)
    {
        (layer, asset, stored) = (StandInFluidLiquidity(payable(layer_)), asset_, stored_);
        places = ICoin(asset_).decimals();
        (_liquidityExchangePrice, _tokenExchangePrice) = (uint64(ONE), uint64(ONE));
        (_lastUpdateTimestamp, _status) = (uint40(block.timestamp), 1);
    }

    receive() external payable {}

    function decimals() public view override returns (uint8) {
        return places;
    }

    function getData()
        external
        view
        returns (address, address, address, address, address, bool, uint256, uint256, uint256)
    {
        (uint256 price,) = layer.exchangePricesOf(stored);
        uint256 word = layer.readFromStorage(_slot());
        uint256 balance = word.number(1, 64) * price / ONE;
        address none = address(0);
        return (address(layer), none, _rewardsRateModel, none, none, _rewardsActive, balance, price, _price(price));
    }

    function _slot() private view returns (bytes32) {
        return keccak256(abi.encode(stored, keccak256(abi.encode(address(this), uint256(8)))));
    }

    function _price(uint256 layerPrice) private view returns (uint256) {
        uint256 gain = (layerPrice - _liquidityExchangePrice) * 1e14 / _liquidityExchangePrice;
        return _tokenExchangePrice + _tokenExchangePrice * gain / 1e14;
    }

    function _priceNow() private view returns (uint256) {
        (uint256 price,) = layer.exchangePricesOf(stored);
        return _price(price);
    }

    /// @notice Stores both prices as they are now; anyone may.
    function updateRates() external returns (uint256 tokenPrice, uint256 layerPrice) {
        (layerPrice,) = layer.exchangePricesOf(stored);
        tokenPrice = _price(layerPrice);
        (_tokenExchangePrice, _liquidityExchangePrice) = (uint64(tokenPrice), uint64(layerPrice));
        _lastUpdateTimestamp = uint40(block.timestamp);
        emit LogUpdateRates(tokenPrice, layerPrice);
    }

    function totalAssets() external view returns (uint256) {
        return _priceNow() * totalSupply() / ONE;
    }

    function convertToShares(uint256 assets) public view returns (uint256) {
        return assets * ONE / _priceNow();
    }

    function convertToAssets(uint256 shares) public view returns (uint256) {
        return shares * _priceNow() / ONE;
    }

    function previewDeposit(uint256 assets) external view returns (uint256) {
        return convertToShares(assets);
    }

    function previewRedeem(uint256 shares) external view returns (uint256) {
        return convertToAssets(shares);
    }

    function previewMint(uint256 shares) external view returns (uint256) {
        return (shares * _priceNow() + ONE - 1) / ONE;
    }

    function previewWithdraw(uint256 assets) external view returns (uint256) {
        uint256 price = _priceNow();
        return (assets * ONE + price - 1) / price;
    }

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        require(_status == 1 && receiver != address(0));
        _status = 2;
        uint256 value;
        if (stored == ETHER) {
            Pay.from(asset, msg.sender, address(this), assets);
            IWrapped(asset).withdraw(assets);
            value = assets;
        }
        (uint256 price,) = layer.operate{value: value}(
            stored, int256(assets), 0, address(0), address(0), value == 0 ? abi.encode(msg.sender) : bytes("")
        );
        shares = assets * ONE / _price(price);
        require(shares != 0, "DepositInsignificant");
        _mint(receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
        _status = 1;
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        require(_status == 1 && receiver != address(0));
        _status = 2;
        assets = convertToAssets(shares);
        uint256 price = _priceNow();
        uint256 burnt = (assets * ONE + price - 1) / price;
        _burn(owner, burnt);
        layer.operate(stored, -int256(assets), 0, stored == ETHER ? address(this) : receiver, address(0), "");
        if (stored == ETHER) {
            IWrapped(asset).deposit{value: assets}();
            Pay.out(asset, receiver, assets);
        }
        emit Withdraw(msg.sender, receiver, owner, assets, burnt);
        _status = 1;
        if (msg.sender != owner) _spendAllowance(owner, msg.sender, burnt);
    }

    function liquidityCallback(address token, uint256 amount, bytes calldata data) external {
        require(msg.sender == address(layer) && token == asset && _status == 2);
        Pay.from(token, abi.decode(data, (address)), address(layer), amount);
    }
}

/// @title Stand-in for Fluid's factory of fTokens on the local chain
/// @notice It announces a share that lies there already, at its mainnet address, with the deployed event.
contract StandInFluidLendingFactory {
    event LogTokenCreated(address indexed token, address indexed asset, uint256 indexed count, string fTokenType);

    address[] private _tokens;

    function allTokens() external view returns (address[] memory) {
        return _tokens;
    }

    function announce(address token, uint256 count, string calldata kind) external {
        _tokens.push(token);
        emit LogTokenCreated(token, StandInFluidFToken(payable(token)).asset(), count, kind);
    }
}

/// @title Stand-in for everyone who borrows from Fluid's liquidity layer on the local chain
contract StandInFluidBorrower {
    StandInFluidLiquidity private immutable layer;
    address private immutable keeper;

    constructor(address layer_, address keeper_) {
        (layer, keeper) = (StandInFluidLiquidity(payable(layer_)), keeper_);
    }

    function borrow(address token, uint256 amount) external {
        require(msg.sender == keeper);
        layer.operate(token, 0, int256(amount), address(0), keeper, "");
    }
}
