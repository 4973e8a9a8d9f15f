//! Tests of the recorded mainnet markets, if they are available.

use braid_lab::recorded::Imported;
use braid_market::Market;
use braid_protocols::PoolState;

use crate::support::recorded_market;

#[test]
fn every_covered_pool_of_a_real_market_is_read() {
    let Some(Imported { market, skipped, updates }) = recorded_market("mainnet_24721394.json") else { return };
    let count = |of: fn(&PoolState) -> bool| market.pools().iter().filter(|pool| of(&pool.state)).count();
    let (pairs, concentrated, vaults, fluid) = (
        count(|state| matches!(state, PoolState::UniswapV2(_))),
        count(|state| matches!(state, PoolState::UniswapV3(_))),
        count(|state| matches!(state, PoolState::Erc4626(_))),
        count(|state| matches!(state, PoolState::FluidDexT1(_))),
    );
    assert_eq!((pairs, concentrated, vaults, fluid), (1_043, 307, 1, 22), "left out: {skipped:?}");
    assert_eq!(market.tokens().len(), 1_707);
    assert_eq!(updates.len(), 13);
    assert!(skipped.is_empty(), "left out: {skipped:?}");
}

#[test]
fn a_real_market_survives_its_file() {
    let Some(Imported { market, .. }) = recorded_market("mainnet_2023_09.json") else { return };
    let bytes = market.to_bytes().unwrap();
    let back = Market::from_bytes(&bytes).unwrap();
    assert_eq!(back.pools(), market.pools());
}
