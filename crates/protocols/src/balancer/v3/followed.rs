//! Rates that follow from a vault. A coin of a boosted pool is the share of an ERC-4626 vault, and its rate provider
//! returns the redemption value of a number of shares. If that vault is modelled, the rate is computed for the block of
//! execution, instead of the block of the reading.

use alloy_primitives::{Address, U256, uint};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use crate::{
    RouteState,
    reading::{Reading, Stop, all},
    vault::{Kind, Vault, ask_kind},
};

sol! {
    function asset() external view returns (address);
}

/// Maximum difference between the decimals of a share and of its asset.
const MOST_DECIMALS_APART: u64 = 12;

/// A coin whose rate follows from a vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// Position of the coin.
    pub coin: u8,
    /// The coin, which is also the vault's address.
    pub token: Address,
    /// Asset of the vault.
    pub asset: Address,
    /// Number of shares in the provider's request.
    pub shares: U256,
    /// The vault.
    pub vault: Vault,
}

impl Followed {
    /// Computes the provider's answer in a block, after a route's trades with vaults; `None` if it reverts.
    pub fn rate(&self, at: &ExecutionBlock, route: &RouteState) -> Option<U256> {
        self.vault.rate(at, route.before(self.token)).ok()?.down(false, self.shares)
    }

    /// Finds the number of shares in the provider's request from its answer at a time.
    fn identify(mut self, rate: U256, timestamp: u64) -> Result<Self, Mismatch> {
        let at = ExecutionBlock { number: 0, timestamp };
        let of = |apart: u64| U256::from(10).pow(U256::from(18 + apart));
        let mut mismatch = Mismatch::Complete;
        for shares in (0..=MOST_DECIMALS_APART).map(of) {
            self.shares = shares;
            match self.rate(&at, &RouteState::default()).map(|said| said.abs_diff(rate)) {
                Some(U256::ZERO) => return Ok(self),
                Some(apart) if apart > ROUNDING && apart <= rate / NEAR => mismatch = Mismatch::Slight,
                _ => {}
            }
        }
        Err(mismatch)
    }
}

/// How the provider's answer differs from the vault's conversion of any number of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mismatch {
    /// By as much as rates of two blocks do.
    Slight,
    Complete,
}

/// Limits of such differences: rates within the first differ by rounding, rates within one part in the second by the
/// block.
const ROUNDING: U256 = uint!(2_U256);
const NEAR: U256 = uint!(10_000_U256);

/// Calls `asset()` of all coins; `None` for a coin that is not a vault's share.
pub(super) fn ask_assets(coins: &[Address], reading: &mut Reading) -> Vec<Result<Option<Address>, Stop>> {
    coins.iter().map(|coin| reading.try_ask(*coin, &assetCall {})).collect()
}

/// Reads the vaults of a pool's coins that have rate providers. A vault that cannot be read does not exclude the pool:
/// the provider's answer is then used as the rate.
pub(super) fn read(
    coins: &[Address],
    assets: Vec<Result<Option<Address>, Stop>>,
    rated: &[bool],
    reading: &mut Reading,
) -> Result<Vec<Followed>, Stop> {
    let coins = (0_u8..).zip(coins).zip(all(assets)?).zip(rated);
    let shares = coins.filter_map(|(((coin, token), asset), rated)| Some((coin, *token, asset.filter(|_| *rated)?)));
    let shares: Vec<_> = shares.collect();
    let kinds = all(shares.iter().map(|(_, token, asset)| ask_kind(*token, *asset, reading)))?;
    let vaults = all(shares.iter().zip(kinds).map(|((_, token, asset), kind)| {
        if kind.is_verified() { read_vault(kind, *token, *asset, reading) } else { Ok(None) }
    }))?;
    let followed = shares.into_iter().zip(vaults).filter_map(|((coin, token, asset), vault)| {
        Some(Followed { coin, token, asset, shares: U256::ZERO, vault: vault? })
    });
    Ok(followed.collect())
}

/// Reads a vault; `None` if it cannot be read.
fn read_vault(kind: Kind, token: Address, asset: Address, reading: &mut Reading) -> Result<Option<Vault>, Stop> {
    let mut vault = kind.read(token, asset, None, reading);
    if matches!(vault, Err(Stop::Refused(_))) {
        vault = reading.again(|reading| kind.read(token, asset, None, reading));
    }
    match vault {
        Ok(vault) => Ok(Some(vault)),
        Err(Stop::Unanswered) => Err(Stop::Unanswered),
        Err(Stop::Refused(_)) => Ok(None),
    }
}

/// Reads the vaults of the coins whose rates followed at the earlier reading. At a block without a relevant log, vaults
/// whose logs reveal every change are not read.
pub(super) fn read_again(
    was: &[Followed],
    no_relevant_log: bool,
    reading: &mut Reading,
) -> Result<Vec<Followed>, Stop> {
    all(was.iter().map(|before| {
        let (kind, was) = (Kind::of(&before.vault, before.token), &before.vault);
        let vault = if no_relevant_log {
            kind.read_each_block(before.token, before.asset, was, reading)?
        } else {
            kind.read(before.token, before.asset, Some(was), reading)?
        };
        Ok(Followed { vault, ..before.clone() })
    }))
}

/// Returns the coins whose providers agree with their vaults, from the rates and the block's time. `followed_before`
/// tells whether all did at the earlier reading.
///
/// # Errors
/// If a rate that followed no longer does, or one is close to the vault's conversion. The answers are then of two
/// blocks, and another reading may agree.
pub(super) fn agreeing(
    candidates: Vec<Followed>,
    followed_before: bool,
    rate: impl Fn(u8) -> Option<U256>,
    timestamp: u64,
) -> Result<Vec<Followed>, &'static str> {
    let mut all = Vec::new();
    for candidate in candidates {
        let Some(rate) = rate(candidate.coin) else { continue };
        match candidate.identify(rate, timestamp) {
            Ok(followed) => all.push(followed),
            Err(mismatch) if followed_before || mismatch == Mismatch::Slight => {
                return Err("a rate that differs from its vault's in this block");
            }
            Err(_) => {}
        }
    }
    Ok(all)
}
