// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @notice The log that MakerDAO's first contracts write of a call: its selector and first three words as topics, and 288 bytes.
abstract contract Noted {
    modifier note() {
        _;
        assembly {
            log4(mload(0x40), 288, shl(224, shr(224, calldataload(0))), calldataload(4), calldataload(36), calldataload(68))
        }
    }
}

/// @title Stand-in for MakerDAO's vat: what everybody has of internal dai, in rad
/// @notice The words that moving and making dai reads and writes, and the logs. Anybody may let anybody in; there is no collateral.
contract StandInVat is Noted {
    mapping(address => uint256) public wards;
    mapping(address => mapping(address => uint256)) public can;
    mapping(address => uint256) public dai;
    mapping(address => uint256) public sin;
    uint256 public debt;
    uint256 public vice;

    function rely(address account) external {
        wards[account] = 1;
    }

    function hope(address account) external {
        can[msg.sender][account] = 1;
    }

    function move(address from, address to, uint256 rad) external note {
        uint256 allowed = can[from][msg.sender];
        require(from == msg.sender || allowed == 1, "Vat/not-allowed");
        dai[from] -= rad;
        dai[to] += rad;
    }

    function suck(address debtor, address to, uint256 rad) external note {
        require(wards[msg.sender] == 1, "Vat/not-authorized");
        sin[debtor] += rad;
        dai[to] += rad;
        vice += rad;
        debt += rad;
    }
}

/// @title Stand-in for what makes internal dai a token and back: DAI's, and USDS's
/// @notice It has the token in stock, where the deployed one mints and burns.
contract StandInSkyJoin {
    StandInVat private immutable vat;
    IERC20 private immutable token;
    uint256 public live = 1;

    event Join(address indexed caller, address indexed account, uint256 wad);
    event Exit(address indexed caller, address indexed account, uint256 wad);

    constructor(address vat_, address token_) {
        (vat, token) = (StandInVat(vat_), IERC20(token_));
    }

    function join(address account, uint256 wad) external {
        vat.move(address(this), account, wad * 1e27);
        token.transferFrom(msg.sender, address(this), wad);
        emit Join(msg.sender, account, wad);
    }

    function exit(address account, uint256 wad) external {
        require(live == 1, "not-live");
        vat.move(msg.sender, address(this), wad * 1e27);
        token.transfer(account, wad);
        emit Exit(msg.sender, account, wad);
    }
}

/// @title Stand-in for the holder of the exchange's USDC
contract StandInPocket {
    constructor(address usdc, address exchange) {
        IERC20(usdc).approve(exchange, type(uint256).max);
    }
}

/// @title Stand-in for Sky's exchange of USDC for DAI
/// @notice Anybody may set its fees.
contract StandInLitePsm {
    IERC20 public immutable gem;
    IERC20 public immutable dai;
    address public immutable pocket;
    uint256 public tin;
    uint256 public tout;

    event SellGem(address indexed owner, uint256 value, uint256 fee);
    event BuyGem(address indexed owner, uint256 value, uint256 fee);

    constructor(address usdc, address dai_, address pocket_) {
        (gem, dai, pocket) = (IERC20(usdc), IERC20(dai_), pocket_);
    }

    function setFees(uint256 tin_, uint256 tout_) external {
        (tin, tout) = (tin_, tout_);
    }

    function sellGem(address account, uint256 amount) external returns (uint256 out) {
        out = amount * 1e12;
        uint256 fee = out * tin / 1e18;
        out -= fee;
        gem.transferFrom(msg.sender, pocket, amount);
        dai.transfer(account, out);
        emit SellGem(account, amount, fee);
    }

    function buyGem(address account, uint256 amount) external returns (uint256 paid) {
        paid = amount * 1e12;
        uint256 fee = paid * tout / 1e18;
        paid += fee;
        dai.transferFrom(msg.sender, address(this), paid);
        gem.transferFrom(pocket, account, amount);
        emit BuyGem(account, amount, fee);
    }
}

/// @title Stand-in for Sky's exchange of USDC for USDS, which goes by DAI
contract StandInUsdsPsm {
    StandInLitePsm private immutable psm;
    StandInSkyJoin private immutable daiJoin;
    StandInSkyJoin private immutable usdsJoin;
    IERC20 private immutable usdc;
    IERC20 private immutable usds;
    address public immutable pocket;

    constructor(address psm_, address daiJoin_, address usdsJoin_, address usds_, address vat) {
        (psm, daiJoin, usdsJoin) = (StandInLitePsm(psm_), StandInSkyJoin(daiJoin_), StandInSkyJoin(usdsJoin_));
        (usdc, usds, pocket) = (psm.gem(), IERC20(usds_), psm.pocket());
        psm.dai().approve(psm_, type(uint256).max);
        psm.dai().approve(daiJoin_, type(uint256).max);
        usdc.approve(psm_, type(uint256).max);
        usds.approve(usdsJoin_, type(uint256).max);
        StandInVat(vat).hope(daiJoin_);
        StandInVat(vat).hope(usdsJoin_);
    }

    function tin() external view returns (uint256) {
        return psm.tin();
    }

    function tout() external view returns (uint256) {
        return psm.tout();
    }

    function sellGem(address account, uint256 amount) external returns (uint256 out) {
        usdc.transferFrom(msg.sender, address(this), amount);
        out = psm.sellGem(address(this), amount);
        daiJoin.join(address(this), out);
        usdsJoin.exit(account, out);
    }

    function buyGem(address account, uint256 amount) external returns (uint256 paid) {
        paid = amount * 1e12;
        paid += paid * psm.tout() / 1e18;
        usds.transferFrom(msg.sender, address(this), paid);
        usdsJoin.join(address(this), paid);
        daiJoin.exit(address(this), paid);
        psm.buyGem(account, amount);
    }
}
