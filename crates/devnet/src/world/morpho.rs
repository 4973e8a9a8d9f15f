//! Morpho Blue with its own code, three USDC markets that a vault lends to, and their borrower.

use alloy::{
    primitives::{Address, Bytes, U256, keccak256},
    sol,
    sol_types::SolValue,
};

use super::{Batch, placement::Placement};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses as at,
    rpc::{Rpc, Tx},
    tokens,
};

sol! {
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }
    function setPrice(uint256 price) external;
    function enableIrm(address irm) external;
    function enableLltv(uint256 lltv) external;
    function createMarket(MarketParams params) external;
    function supplyCollateral(MarketParams params, uint256 assets, address onBehalf, bytes data) external;
    function borrow(MarketParams params, uint256 assets, uint256 shares, address onBehalf, address receiver) external;
    function setCap(MarketParams params, uint184 cap) external;
}

/// A market: its collateral in whole tokens, the vault's cap for it, and the amount borrowed, both in dollars.
struct Market {
    collateral: &'static str,
    collateral_units: u64,
    cap_usd: u64,
    borrowed_usd: u64,
}

/// Utilization below the target, above the target, and nearly zero.
const MARKETS: [Market; 3] = [
    Market { collateral: "WBTC", collateral_units: 20_000, cap_usd: 1_000_000_000, borrowed_usd: 750_000_000 },
    Market { collateral: "wstETH", collateral_units: 400_000, cap_usd: 900_000_000, borrowed_usd: 830_000_000 },
    Market { collateral: "WETH", collateral_units: 20_000, cap_usd: 2_000_000_000, borrowed_usd: 20_000_000 },
];

/// The liquidation loan-to-value ratio, in percent.
const LLTV_PERCENT: u64 = 86;

const WAD: u64 = 1_000_000_000_000_000_000;

impl Market {
    fn params(&self) -> MarketParams {
        MarketParams {
            loanToken: tokens::by_symbol("USDC").address,
            collateralToken: tokens::by_symbol(self.collateral).address,
            oracle: Address::from_word(keccak256(self.collateral)),
            irm: at::ADAPTIVE_CURVE_IRM,
            lltv: lltv(),
        }
    }

    /// Returns the oracle's price, at which the collateral is worth twice the loans: atomic units of USDC per atomic
    /// unit of the collateral, with 36 decimals.
    fn price(&self) -> U256 {
        let scale = U256::from(10).pow(U256::from(36));
        dollars(2 * self.borrowed_usd) * scale / self.put_up()
    }

    fn put_up(&self) -> U256 {
        tokens::by_symbol(self.collateral).units(self.collateral_units)
    }
}

fn lltv() -> U256 {
    U256::from(WAD / 100 * LLTV_PERCENT)
}

fn dollars(whole: u64) -> U256 {
    U256::from(whole) * U256::from(1_000_000_u64)
}

/// Returns the parameters of the markets, in the order of [`MARKETS`].
pub(super) fn market_params() -> [MarketParams; 3] {
    MARKETS.map(|market| market.params())
}

/// Returns Morpho Blue, which the maker owns, its interest rate model, and the oracle of each collateral.
pub(super) fn placements() -> Vec<Placement> {
    let mut placements = vec![
        ("MorphoBlue", at::MORPHO_BLUE, MAKER.abi_encode()),
        ("MorphoAdaptiveCurve", at::ADAPTIVE_CURVE_IRM, at::MORPHO_BLUE.abi_encode()),
    ];
    placements.extend(MARKETS.iter().map(|market| ("MorphoOracle", market.params().oracle, vec![])));
    placements
}

/// Creates the markets and lets the vault lend to them.
pub(super) async fn open(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let irm = enableIrmCall { irm: at::ADAPTIVE_CURVE_IRM };
    batch.send("an interest rate model", Tx::call(MAKER, at::MORPHO_BLUE, &irm).gas(200_000)).await?;
    let lltv = enableLltvCall { lltv: lltv() };
    batch.send("a loan to value", Tx::call(MAKER, at::MORPHO_BLUE, &lltv).gas(200_000)).await?;
    for market in MARKETS {
        let params = market.params();
        let price = setPriceCall { price: market.price() };
        batch.send("a price", Tx::call(MAKER, params.oracle, &price).gas(200_000)).await?;
        let create = createMarketCall { params: params.clone() };
        batch.send("a market", Tx::call(MAKER, at::MORPHO_BLUE, &create).gas(1_000_000)).await?;
        let cap = setCapCall { params, cap: dollars(market.cap_usd).to() };
        batch.send("its cap", Tx::call(MAKER, at::GAUNTLET_USDC_PRIME, &cap).gas(1_000_000)).await?;
    }
    batch.mine().await
}

/// Borrows from the markets after the vault has lent to them.
pub(super) async fn borrow(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for market in MARKETS {
        let (params, assets) = (market.params(), market.put_up());
        let approve = IErc20::approveCall { spender: at::MORPHO_BLUE, value: assets };
        batch.send("approving Morpho", Tx::call(MAKER, params.collateralToken, &approve).gas(200_000)).await?;
        let put_up = supplyCollateralCall { params: params.clone(), assets, onBehalf: MAKER, data: Bytes::new() };
        batch.send("collateral", Tx::call(MAKER, at::MORPHO_BLUE, &put_up).gas(1_000_000)).await?;
        let assets = dollars(market.borrowed_usd);
        let call = borrowCall { params, assets, shares: U256::ZERO, onBehalf: MAKER, receiver: MAKER };
        batch.send("borrowing", Tx::call(MAKER, at::MORPHO_BLUE, &call).gas(1_000_000)).await?;
    }
    batch.mine().await
}
