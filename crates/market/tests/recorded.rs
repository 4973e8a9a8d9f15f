//! The recorded mainnet markets next to the checkout, where they are there.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use braid_market::{Imported, Market, open};
use braid_protocols::PoolState;

/// A recorded market; `None`, with a word, where the recordings are not at hand.
fn recorded(name: &str) -> Option<Imported> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/markets").join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(open(&path).unwrap())
}

#[test]
fn every_covered_pool_of_a_real_market_is_read() {
    let Some(Imported { market, skipped, updates }) = recorded("mainnet_24721394.json") else { return };
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
    let Some(Imported { market, .. }) = recorded("mainnet_2023_09.json") else { return };
    let bytes = market.to_bytes().unwrap();
    let back = Market::from_bytes(&bytes).unwrap();
    assert_eq!(back.pools(), market.pools());
}
