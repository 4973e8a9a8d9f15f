//! Coins with state of their own, read together with the pool so that their rates are known for the next block: shares
//! of listed vaults, whose rate a pool of the next generation requests, and stETH, which moves as shares.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{
    coins::STETH,
    pool::{Model, State},
    reader::PoolReader,
    stable::{Rate, VaultRate},
};
use crate::{
    Discovered, PoolState, Product, StateReader, erc4626,
    reading::{self, Reading, Stop, all},
};

sol! {
    function decimals() external view returns (uint8);
}

/// Returns a reader of a pool and of such coins. Values that never change come from an earlier state.
pub(super) fn reader(pool: &Discovered, was: Option<&State>) -> Box<dyn StateReader> {
    let own = PoolReader::new(pool, was);
    let partners: Vec<Partner> =
        pool.coins.iter().enumerate().filter_map(|(coin, token)| Partner::of(pool, coin, *token)).collect();
    reading::reader(pool.key.contract, move |reading| read(&own, &partners, reading).map(Arc::new))
}

/// A coin with state of its own.
struct Partner {
    coin: usize,
    found: Discovered,
}

impl Partner {
    fn of(pool: &Discovered, coin: usize, token: Address) -> Option<Self> {
        let vault = erc4626::LISTED.iter().find(|listed| listed.vault == token);
        let (product, coins) = match (pool.product, vault) {
            (Product::CurveStableswapNg, Some(listed)) => (Product::Erc4626, vec![listed.asset, listed.vault]),
            _ if token == STETH => (Product::LidoSteth, vec![token]),
            _ => return None,
        };
        Some(Self { coin, found: Discovered::new(token, product, coins) })
    }

    /// Reads the coin's state and the decimals of its coins; `None` if the contract's answers do not decode.
    fn read(&self, reading: &mut Reading) -> Result<Option<(PoolState, Vec<u8>)>, Stop> {
        let decimals: Vec<_> = self.found.coins.iter().map(|coin| reading.try_ask(*coin, &decimalsCall {})).collect();
        match reading.read_by(self.found.product.reader(&self.found)) {
            Ok(state) => Ok(Some((state, all(decimals)?.into_iter().flatten().collect()))),
            Err(Stop::Unanswered) => Err(Stop::Unanswered),
            Err(Stop::Refused(_)) => Ok(None),
        }
    }
}

/// Builds the rate of a vault's share, as the pool computes it.
fn rate(address: Address, vault: &erc4626::State, [asset, share]: [u8; 2]) -> Option<VaultRate> {
    let power = |exponent: u8| U256::from(10).checked_pow(U256::from(exponent));
    Some(VaultRate {
        multiplier: power(36_u8.checked_sub(share)?)?,
        whole_share: power(share)?,
        asset_scale: power(18_u8.checked_sub(asset)?)?,
        address,
        vault: *vault,
    })
}

fn read(own: &PoolReader, partners: &[Partner], reading: &mut Reading) -> Result<State, Stop> {
    let timestamp = if partners.is_empty() { Ok(0) } else { reading.timestamp() };
    let state = own.read(reading);
    let theirs = all(partners.iter().map(|partner| partner.read(reading)))?;
    let mut state = state?;
    let now = ExecutionBlock { number: 0, timestamp: timestamp? };
    for (partner, theirs) in partners.iter().zip(theirs) {
        match theirs {
            Some((PoolState::Lido(lido), _)) => {
                state.steth = u8::try_from(partner.coin).ok().map(|coin| (coin, lido));
            }
            Some((PoolState::Erc4626(vault), decimals)) => {
                let rate =
                    decimals.try_into().ok().and_then(|decimals| rate(partner.found.key.contract, &vault, decimals));
                let (Some(rate), Model::Stable(pool)) = (rate, &mut state.model) else { continue };
                let Some(said) = pool.rates.0.get_mut(partner.coin) else { continue };
                // the pool may not request this vault's rate at all
                let rate = Rate::Vault(Box::new(rate));
                if rate.at(&now) == said.at(&now) {
                    *said = rate;
                }
            }
            _ if partner.found.product == Product::LidoSteth => {
                return Err(reading.impossible("stETH without a rate"));
            }
            _ => {}
        }
    }
    Ok(state)
}
