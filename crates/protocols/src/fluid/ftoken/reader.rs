//! Reads an fToken in one round, and compares its price with the model. The last stored prices have no view, so storage
//! is read.

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;
use braid_primitives::WETH;

use super::{PRICE_ONE, State};
use crate::{
    fluid::{
        arith::small_bits,
        reading::{ETHER, LIQUIDITY, paused, token},
    },
    reading::{Reading, Stop, is},
};

sol! {
    function getData() external view returns (address liquidity, address lendingFactory, address rewardsRateModel, address permit2, address rebalancer, bool rewardsActive, uint256 liquidityBalance, uint256 liquidityExchangePrice, uint256 tokenExchangePrice);
}

/// Slot of `_liquidityExchangePrice`, `_tokenExchangePrice`, `_lastUpdateTimestamp`, `_status`, `_rewardsActive`.
/// Source: the fToken's `Variables`.
const PRICES: U256 = U256::from_limbs([8, 0, 0, 0]);

/// Reads one fToken.
pub(super) fn read(share: Address, asset: Address, reading: &mut Reading) -> Result<State, Stop> {
    // for WETH, the layer holds ether
    let stored = if asset == WETH { ETHER } else { asset };
    let itself = reading.words(share, ["asset()", "totalSupply()"]);
    let (data, prices) = (reading.ask(share, &getDataCall {}), reading.storage(share, PRICES));
    let (now, layer_paused) = (reading.timestamp(), paused(reading));
    let (layer, _) = token(stored, share, None, reading)?;
    let ([asset_said, total_shares], data, prices) = (itself?, data?, prices?);
    if !is(asset_said, asset) {
        return Err(reading.impossible("another asset than announced"));
    }
    if data.liquidity != LIQUIDITY {
        return Err(reading.impossible("another liquidity layer"));
    }
    if data.rewardsActive {
        return Err(reading.impossible("rewards, which are not modelled"));
    }
    let (token_price, layer_price) = (small_bits(prices, 64, 64), small_bits(prices, 0, 64));
    let state = State { stored, layer, layer_paused: layer_paused?, token_price, layer_price, total_shares };
    if U256::from(state.token_price) < PRICE_ONE || U256::from(state.layer_price) < PRICE_ONE {
        return Err(reading.impossible("prices below one"));
    }
    if state.price(now?) != Ok(data.tokenExchangePrice) {
        return Err(reading.impossible("a price that does not follow from the layer's"));
    }
    Ok(state)
}
