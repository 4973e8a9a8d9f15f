//! Morpho Blue's own code with its markets, their borrowers and the adaptive interest rate model.

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_sol_types::{SolValue, sol};
use braid_protocols::morpho::{ADAPTIVE_CURVE_IRM, MORPHO_BLUE};

use super::chain::{Chain, OWNER};

sol! {
    #[derive(Debug)]
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }
    function enableIrm(address irm) external;
    function enableLltv(uint256 lltv) external;
    function createMarket(MarketParams params) external;
    function setPrice(uint256 price) external;
    function setFeeRecipient(address recipient) external;
    function accrueInterest(MarketParams params) external;
    function supplyCollateral(MarketParams params, uint256 assets, address onBehalf, bytes data) external;
    function supply(MarketParams params, uint256 assets, uint256 shares, address onBehalf, bytes data) external returns (uint256, uint256);
    function borrow(MarketParams params, uint256 assets, uint256 shares, address onBehalf, address receiver) external returns (uint256, uint256);
    function repay(MarketParams params, uint256 assets, uint256 shares, address onBehalf, bytes data) external returns (uint256, uint256);
    function market(bytes32 id) external view returns (uint128 totalSupplyAssets, uint128 totalSupplyShares, uint128 totalBorrowAssets, uint128 totalBorrowShares, uint128 lastUpdate, uint128 fee);
    interface Protocol {
        function setFee(MarketParams params, uint256 fee) external;
    }
    interface Vault {
        function setCap(MarketParams params, uint184 cap) external;
        function submitCap(MarketParams params, uint256 cap) external;
        function acceptCap(MarketParams params) external;
    }
}

/// The oracle of every collateral.
const ORACLE: Address = Address::repeat_byte(0x0c);

/// The liquidation loan-to-value ratio, in wad.
const LLTV: u64 = 860_000_000_000_000_000;

/// Places Morpho Blue at its address, owned by the sender of all transactions, and its interest rate model.
pub fn place(chain: &mut Chain) {
    chain.place(MORPHO_BLUE, "MorphoBlue", &OWNER.abi_encode());
    chain.place(ADAPTIVE_CURVE_IRM, "MorphoAdaptiveCurve", &MORPHO_BLUE.abi_encode());
    chain.place(ORACLE, "MorphoOracle", &[]);
    chain.send(ORACLE, &setPriceCall { price: U256::from(10).pow(U256::from(36)) }).unwrap();
    for irm in [Address::ZERO, ADAPTIVE_CURVE_IRM] {
        chain.send(MORPHO_BLUE, &enableIrmCall { irm }).unwrap();
    }
    chain.send(MORPHO_BLUE, &enableLltvCall { lltv: U256::from(LLTV) }).unwrap();
}

/// Returns the parameters of a market of an asset with a collateral token for this market only.
pub fn params(asset: Address, place: u8, irm: Address) -> MarketParams {
    let collateral = Address::repeat_byte(0xc0 + place);
    MarketParams { loanToken: asset, collateralToken: collateral, oracle: ORACLE, irm, lltv: U256::from(LLTV) }
}

/// Creates such a market, in which the sender of all transactions may borrow a large amount.
pub fn market(chain: &mut Chain, asset: Address, place: u8, irm: Address) -> MarketParams {
    let params = params(asset, place, irm);
    chain.place(params.collateralToken, "Asset", &[]);
    chain.set_balance(params.collateralToken, OWNER, U256::ONE << 127);
    chain.send(MORPHO_BLUE, &createMarketCall { params: params.clone() }).unwrap();
    let assets = U256::ONE << 110;
    let call = supplyCollateralCall { params: params.clone(), assets, onBehalf: OWNER, data: Default::default() };
    chain.send(MORPHO_BLUE, &call).unwrap();
    params
}

/// Borrows, if the market has enough.
pub fn borrow(chain: &mut Chain, params: &MarketParams, assets: U256) {
    let params = params.clone();
    let call = borrowCall { params, assets, shares: U256::ZERO, onBehalf: OWNER, receiver: OWNER };
    drop(chain.send(MORPHO_BLUE, &call));
}

/// Returns the id of a market.
pub fn id(params: &MarketParams) -> B256 {
    keccak256(params.abi_encode())
}
