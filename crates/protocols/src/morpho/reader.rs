//! Reads a MetaMorpho vault in three rounds (the vault, its queues, its markets) and compares the model with the
//! vault's own previews.

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::sol;

use super::{ADAPTIVE_CURVE_IRM, Holding, Irm, MAX_QUEUE, MORPHO_BLUE, Market, MetaMorpho};
use crate::reading::{Reading, Stop, all, is};

sol! {
    function lostAssets() external view returns (uint256);
    function supplyQueue(uint256 index) external view returns (bytes32);
    function withdrawQueue(uint256 index) external view returns (bytes32);
    function config(bytes32 id) external view returns (uint184 cap, bool enabled, uint64 removableAt);
    function previewDeposit(uint256 assets) external view returns (uint256);
    function previewRedeem(uint256 shares) external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function market(bytes32 id) external view returns (uint128 totalSupplyAssets, uint128 totalSupplyShares, uint128 totalBorrowAssets, uint128 totalBorrowShares, uint128 lastUpdate, uint128 fee);
    function idToMarketParams(bytes32 id) external view returns (address loanToken, address collateralToken, address oracle, address irm, uint256 lltv);
    function position(bytes32 id, address user) external view returns (uint256 supplyShares, uint128 borrowShares, uint128 collateral);
    function rateAtTarget(bytes32 id) external view returns (int256);
}

/// Probe amount whose conversion uses all relevant digits.
const PROBE: U256 = U256::from_limbs([0xf00d_1234_5678_9abd, 0x0001_0fed_cba9_8765, 0, 0]);

/// A vault's previews of the probe.
pub(super) struct Previews {
    shares: U256,
    assets: U256,
}

impl Previews {
    pub(super) fn ask(vault: Address, reading: &mut Reading) -> Result<Self, Stop> {
        let shares = reading.ask(vault, &previewDepositCall { assets: PROBE });
        let assets = reading.ask(vault, &previewRedeemCall { shares: PROBE })?;
        Ok(Self { shares: shares?, assets })
    }

    /// Tells whether a model of shares and assets agrees.
    pub(super) fn agree(
        &self,
        shares_of: impl FnOnce(U256) -> Option<U256>,
        assets_of: impl FnOnce(U256) -> Option<U256>,
    ) -> bool {
        shares_of(PROBE) == Some(self.shares) && assets_of(PROBE) == Some(self.assets)
    }
}

/// Reads a contract's balance of an asset.
pub(super) fn held(asset: Address, owner: Address, reading: &mut Reading) -> Result<U256, Stop> {
    reading.ask(asset, &balanceOfCall { owner })
}

/// Reads a market.
pub(super) fn market(id: B256, reading: &mut Reading) -> Result<Market, Stop> {
    let market = reading.ask(MORPHO_BLUE, &marketCall { id });
    let params = reading.ask(MORPHO_BLUE, &idToMarketParamsCall { id });
    // the model returns a rate only for its own markets
    let rate = reading.try_ask(ADAPTIVE_CURVE_IRM, &rateAtTargetCall { id })?;
    let market = market?;
    let irm = match params?.irm {
        Address::ZERO => Irm::None,
        ADAPTIVE_CURVE_IRM => {
            let rate = rate.and_then(|rate| u64::try_from(rate).ok());
            Irm::AdaptiveCurve { rate_at_target_wad: rate.ok_or(reading.impossible("a rate out of range"))? }
        }
        _ => return Err(reading.impossible("a market with an unknown interest rate model")),
    };
    let fits = |value: u128| u64::try_from(value).map_err(|_| reading.impossible("a market's number beyond 64 bits"));
    Ok(Market {
        supply_assets: market.totalSupplyAssets,
        supply_shares: market.totalSupplyShares,
        borrow_assets: market.totalBorrowAssets,
        last_update: fits(market.lastUpdate)?,
        fee_wad: fits(market.fee)?,
        irm,
    })
}

/// Reads a supplier's shares of a market.
pub(super) fn shares(id: B256, user: Address, reading: &mut Reading) -> Result<U256, Stop> {
    Ok(reading.ask(MORPHO_BLUE, &positionCall { id, user })?.supplyShares)
}

/// Builds a supplier's position from the answers about shares and cap.
pub(super) fn holding(
    id: B256,
    shares: Result<U256, Stop>,
    cap_assets: Result<U256, Stop>,
    reading: &mut Reading,
) -> Result<Holding, Stop> {
    let market = market(id, reading)?;
    let shares = u128::try_from(shares?).map_err(|_| reading.impossible("shares beyond 128 bits"))?;
    Ok(Holding { id, market, shares, cap_assets: cap_assets? })
}

/// Reads a vault.
pub(super) fn read(vault: Address, asset: Address, reading: &mut Reading) -> Result<MetaMorpho, Stop> {
    let (timestamp, previews) = (reading.timestamp(), Previews::ask(vault, reading));
    let morpho_balance_assets = held(asset, MORPHO_BLUE, reading);
    let lost_assets = reading.try_ask(vault, &lostAssetsCall {});
    let views = ["asset()", "MORPHO()", "totalSupply()", "lastTotalAssets()", "fee()"];
    let itself = reading.words(vault, views);
    let views = ["DECIMALS_OFFSET()", "supplyQueueLength()", "withdrawQueueLength()"];
    let [offset, supplies, withdrawals] = reading.words(vault, views)?;
    let [asset_said, morpho, total_shares, last_total_assets, fee_wad] = itself?;
    if !is(asset_said, asset) {
        return Err(reading.impossible("another asset than announced"));
    }
    if !is(morpho, MORPHO_BLUE) {
        return Err(reading.impossible("another Morpho than Morpho Blue"));
    }
    let virtual_shares = U256::from(10).checked_pow(offset).ok_or(reading.impossible("an offset above 77"))?;
    let queue = |length: U256| {
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_QUEUE);
        Ok::<_, Stop>(0..length.ok_or(reading.impossible("a queue of more than 30 markets"))?)
    };
    let (supplies, withdrawals) = (queue(supplies)?, queue(withdrawals)?);
    let supply = all(supplies.map(|n| reading.ask(vault, &supplyQueueCall { index: U256::from(n) })));
    let withdraw = all(withdrawals.map(|n| reading.ask(vault, &withdrawQueueCall { index: U256::from(n) })))?;
    let holdings = all(withdraw.iter().map(|id| {
        let shares = shares(*id, vault, reading);
        let cap_assets = reading.ask(vault, &configCall { id: *id }).map(|config| config.cap.to());
        holding(*id, shares, cap_assets, reading)
    }))?;
    let position = |id: &B256| withdraw.iter().position(|known| known == id).and_then(|n| u8::try_from(n).ok());
    let read = MetaMorpho {
        total_shares,
        last_total_assets,
        lost_assets: lost_assets?,
        fee_wad,
        virtual_shares,
        holdings: holdings.into(),
        // a market outside the withdraw queue is not enabled and takes nothing
        supply_queue: supply?.iter().filter_map(position).collect(),
        morpho_balance_assets: morpho_balance_assets?,
    };
    let now = read.at(timestamp?).ok_or(reading.impossible("numbers that overflow its arithmetic"))?;
    let agree = previews?.agree(|assets| now.shares_of(assets), |shares| now.assets_of(shares));
    if agree { Ok(read) } else { Err(reading.impossible("previews that do not follow from its markets")) }
}
