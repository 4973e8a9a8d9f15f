//! Vectors of ERC-4626 vaults and of Lido.

use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::{
    SwapError,
    erc4626::{self, Accrual, Conversion, RAY, WAD},
    lido::{self, StakeLimit},
};

use super::Outcome;
use super::entry::{Entry, Row, RowKind, VectorPool};
use crate::states::StateError;

/// A vault, with the block of its rows.
struct Vault {
    state: erc4626::State,
    at: ExecutionBlock,
}

/// Reads a vault by its `kind`.
pub(super) fn vault(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    let pool = entry.pool();
    let params = pool.object("params")?;
    let ratio = |virtual_assets: u64, virtual_shares: U256| {
        Ok(Conversion::Ratio {
            total_assets: params.u256("total_assets")?,
            total_shares: params.u256("total_supply")?,
            virtual_assets: U256::from(virtual_assets),
            virtual_shares,
        })
    };
    let mut accrual = Accrual::None;
    let conversion = match pool.text("kind").unwrap_or_default() {
        "oz_virtual" => {
            if params.get("last_total_assets").is_some() {
                let (last_total_assets, fee_wad) = (params.u256("last_total_assets")?, params.u256("fee_1e18")?);
                accrual = Accrual::PerformanceFee { last_total_assets, fee_wad };
            }
            let offset = params.u64_or("decimals_offset", 0)?;
            let power = U256::from(10).checked_pow(U256::from(offset));
            ratio(1, power.ok_or_else(|| StateError::Impossible("an offset above 77".to_owned()))?)?
        }
        "plain_ratio" => ratio(0, U256::ZERO)?,
        "ray_rate" => Conversion::Rate { rate: params.u256("rate_ray")?, one: RAY },
        "rate_1e18" if params.get("convert_to_assets_1e18").is_some() => {
            Conversion::Rate { rate: params.u256("convert_to_assets_1e18")?, one: WAD }
        }
        "one_to_one" => Conversion::Rate { rate: WAD, one: WAD },
        other => return Err(StateError::Unsupported(format!("no exact state of a vault of kind {other:?}"))),
    };
    let limit = |field| params.u256_or(field, U256::MAX);
    let (max_deposit_assets, max_redeem_shares) = (limit("max_deposit")?, limit("max_redeem")?);
    let limits = erc4626::Limits { max_deposit_assets, max_redeem_shares, ..erc4626::Limits::NONE };
    let state = erc4626::State { conversion, accrual, limits, form: None };
    Ok(Box::new(Vault { state, at: entry.block() }))
}

impl VectorPool for Vault {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let refusal = row.kind == RowKind::Refusal;
        check(row, |amount_in, deposits| match (refusal, deposits) {
            (true, true) => self.state.deposit(&self.at, amount_in).map(|(shares, _)| shares),
            (true, false) => self.state.redeem(&self.at, amount_in).map(|(assets, _)| assets),
            // The files record conversions of amounts above the vault's limits at the time.
            (false, true) => self.state.preview_deposit(&self.at, amount_in),
            (false, false) => self.state.preview_redeem(&self.at, amount_in),
        })
    }
}

/// Lido, and which of its contracts the rows call.
struct Lido {
    state: lido::State,
    at: ExecutionBlock,
    stakes: bool,
}

/// Reads Lido's state: the totals, or the rate of one share in wei.
pub(super) fn lido(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    let pool = entry.pool();
    let params = pool.object("params")?;
    let (total_pooled_ether_wei, total_shares) = if params.get("total_shares").is_some() {
        (params.u256("total_pooled_ether")?, params.u256("total_shares")?)
    } else {
        (params.u256("steth_per_token")?, WAD)
    };
    let state =
        lido::State { total_pooled_ether_wei, total_shares, stake_limit: StakeLimit::Unlimited, stopped: false };
    Ok(Box::new(Lido {
        state,
        at: entry.block(),
        stakes: pool.text("kind") == Some("lido_submit") || entry.protocol().starts_with("lido_steth"),
    }))
}

impl VectorPool for Lido {
    fn check(&self, row: &Row<'_>) -> Outcome {
        check(row, |amount_in, forwards| match (self.stakes, forwards) {
            (true, _) => self.state.stake(&self.at, amount_in).map(|(steth, _)| steth),
            (false, true) => self.state.wrap(amount_in),
            (false, false) => self.state.unwrap(amount_in),
        })
    }
}

/// Compares a row with the result of `paid` for its amount in and direction. An output of zero counts as an amount.
fn check(row: &Row<'_>, paid: impl Fn(U256, bool) -> Result<U256, SwapError>) -> Outcome {
    let (Some(amount_in), Some((coin_in, _))) = (row.amount("amount_in"), row.coins()) else {
        return Outcome::Skipped("no amount or no coins".to_owned());
    };
    let paid = paid(amount_in, coin_in == 0);
    match row.kind {
        RowKind::Refusal => row.refused(paid),
        RowKind::Check => Outcome::Skipped("no such check".to_owned()),
        RowKind::Swap => match paid {
            Err(SwapError::ZeroOutput) => row.compare("amount_out", Ok(U256::ZERO)),
            paid => row.compare("amount_out", paid),
        },
    }
}
