// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Coins, ICoin} from "./Coins.sol";
import {Work} from "./Work.sol";

// One, in Aave's 27 decimals.
uint256 constant RAY = 1e27;

/// Stand-in for an aToken of Aave's second version: balances are kept in units of what was one at the beginning, and shown with what the
/// reserve has earned. What is left out: transfers, permits, rewards.
contract StandInAToken {
    string public name;
    string public symbol;
    uint8 public decimals;
    address public immutable UNDERLYING_ASSET_ADDRESS;
    StandInAavePool public immutable POOL;
    mapping(address => uint256) public scaledBalanceOf;

    event Mint(address indexed from, uint256 value, uint256 index);
    event Burn(address indexed from, address indexed target, uint256 value, uint256 index);

    constructor(string memory name_, string memory symbol_, uint8 decimals_, address asset, address pool) {
        (name, symbol, decimals) = (name_, symbol_, decimals_);
        (UNDERLYING_ASSET_ADDRESS, POOL) = (asset, StandInAavePool(pool));
    }

    function balanceOf(address owner) external view returns (uint256) {
        return _times(scaledBalanceOf[owner], POOL.getReserveNormalizedIncome(UNDERLYING_ASSET_ADDRESS));
    }

    function mint(address to, uint256 amount, uint256 index) external {
        require(msg.sender == address(POOL), "only the lending pool");
        uint256 scaled = _scaled(amount, index);
        require(scaled != 0, "nothing to mint");
        scaledBalanceOf[to] += scaled;
        emit Mint(to, amount, index);
    }

    function burn(address from, address to, uint256 amount, uint256 index) external {
        require(msg.sender == address(POOL), "only the lending pool");
        uint256 scaled = _scaled(amount, index);
        require(scaled != 0, "nothing to burn");
        scaledBalanceOf[from] -= scaled;
        Coins.push(UNDERLYING_ASSET_ADDRESS, to, amount);
        emit Burn(from, to, amount, index);
    }

    function _times(uint256 a, uint256 b) private pure returns (uint256) {
        return (a * b + RAY / 2) / RAY;
    }

    function _scaled(uint256 amount, uint256 index) private pure returns (uint256) {
        return (amount * RAY + index / 2) / index;
    }
}

/// Stand-in for the lending pool of Aave's second version: simple interest by the second between two touches of a reserve, at a rate that
/// follows what is lent out of it. Borrowing is left out: so much is lent from the first, to nobody. Anyone may open a reserve, freeze one
/// or pause all.
contract StandInAavePool {
    struct Reserve {
        uint256 configuration;
        uint128 liquidityIndex;
        uint128 variableBorrowIndex;
        uint128 currentLiquidityRate;
        uint128 currentVariableBorrowRate;
        uint128 currentStableBorrowRate;
        uint40 lastUpdateTimestamp;
        address aToken;
        address stableDebtToken;
        address variableDebtToken;
        address interestRateStrategy;
        uint8 id;
    }

    uint256 private constant YEAR = 365 days;
    uint256 private constant ACTIVE = 1 << 56;
    uint256 private constant FROZEN = 1 << 57;
    // What a deposit and a withdrawal use on mainnet beyond this: debt tokens, the rate's own contract, rewards, proxies.
    uint256 private constant MORE_WORK = 150_000;

    bool public paused;
    mapping(address asset => Reserve) private _reserves;
    mapping(address asset => uint256) private _lent;

    event ReserveDataUpdated(address indexed reserve, uint256 rate, uint256 index);

    function open(address asset, address aToken, uint256 index, uint256 lent) external {
        Reserve storage reserve = _reserves[asset];
        require(reserve.aToken == address(0), "a reserve is opened once");
        (reserve.configuration, reserve.liquidityIndex) = (ACTIVE, uint128(index));
        (reserve.lastUpdateTimestamp, reserve.aToken) = (uint40(block.timestamp), aToken);
        _lent[asset] = lent;
    }

    function freeze(address asset, bool frozen) external {
        _reserves[asset].configuration = frozen ? ACTIVE | FROZEN : ACTIVE;
    }

    function setPause(bool to) external {
        paused = to;
    }

    function getReserveData(address asset) external view returns (Reserve memory) {
        return _reserves[asset];
    }

    function getReserveNormalizedIncome(address asset) public view returns (uint256) {
        Reserve storage reserve = _reserves[asset];
        if (reserve.lastUpdateTimestamp == block.timestamp) return reserve.liquidityIndex;
        uint256 elapsed = block.timestamp - reserve.lastUpdateTimestamp;
        uint256 grown = reserve.currentLiquidityRate * elapsed / YEAR + RAY;
        return (grown * reserve.liquidityIndex + RAY / 2) / RAY;
    }

    function deposit(address asset, uint256 amount, address onBehalfOf, uint16) external {
        Reserve storage reserve = _reserves[asset];
        require(!paused, "64");
        require(amount != 0, "1");
        require(reserve.configuration & ACTIVE != 0, "2");
        require(reserve.configuration & FROZEN == 0, "3");
        _touch(asset, amount, 0);
        (bool ok, bytes memory answer) = asset.call(
            abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, reserve.aToken, amount)
        );
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "the asset could not be moved");
        StandInAToken(reserve.aToken).mint(onBehalfOf, amount, reserve.liquidityIndex);
    }

    function withdraw(address asset, uint256 amount, address to) external returns (uint256) {
        Reserve storage reserve = _reserves[asset];
        require(!paused, "64");
        require(amount != 0, "1");
        require(amount <= StandInAToken(reserve.aToken).balanceOf(msg.sender), "5");
        require(reserve.configuration & ACTIVE != 0, "2");
        _touch(asset, 0, amount);
        StandInAToken(reserve.aToken).burn(msg.sender, to, amount, reserve.liquidityIndex);
        return amount;
    }

    function _touch(address asset, uint256 added, uint256 taken) private {
        Work.use(MORE_WORK);
        Reserve storage reserve = _reserves[asset];
        reserve.liquidityIndex = uint128(getReserveNormalizedIncome(asset));
        reserve.lastUpdateTimestamp = uint40(block.timestamp);
        uint256 cash = ICoin(asset).balanceOf(reserve.aToken) + added - taken;
        // eight per cent a year on all that is lent
        reserve.currentLiquidityRate = uint128(8 * RAY / 100 * _lent[asset] / (cash + _lent[asset]));
        emit ReserveDataUpdated(asset, reserve.currentLiquidityRate, reserve.liquidityIndex);
    }
}
