//! Vectors of Uniswap V2 pairs and V3 pools, and of their forks.

use braid_primitives::U256;
use braid_protocols::{SwapError, uniswap_v2, uniswap_v3};

use super::Outcome;
use super::entry::{Entry, Row, RowKind, VectorPool};
use crate::states::{StateError, uniswap as states};

/// Reads a pair.
pub(super) fn pair(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    Ok(Box::new(states::pair(&entry.pool())?))
}

/// Reads a concentrated pool.
pub(super) fn pool(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    Ok(Box::new(states::pool(&entry.pool())?))
}

/// Recomputes a row from the pool's output for an exact input.
///
/// If the pool cannot spend a recorded input, the amount that it does spend is compared. For an exact output, the
/// recorded input must be the smallest that pays it, or all that the pool takes if it cannot pay as much.
fn check(row: &Row<'_>, paid: impl Fn(U256) -> Result<U256, SwapError>) -> Outcome {
    let Some(amount_in) = row.amount("amount_in") else {
        return Outcome::Skipped("no amount in".to_owned());
    };
    match row.kind {
        RowKind::Refusal => return row.refused(paid(amount_in)),
        RowKind::Check => return Outcome::Skipped("no such check".to_owned()),
        RowKind::Swap => {}
    }
    let Some(amount_out) = row.amount("amount_out") else {
        return Outcome::Skipped("no amount out".to_owned());
    };
    if !row.is_exact_out() {
        return match paid(amount_in) {
            Err(SwapError::ZeroOutput) if amount_out.is_zero() => Outcome::Equal,
            Err(SwapError::InsufficientLiquidity { consumed, .. }) if !consumed.is_zero() => {
                row.compare("amount_out", paid(consumed))
            }
            amount => row.compare("amount_out", amount),
        };
    }
    let spent_all = match paid(amount_in.saturating_add(U256::ONE)) {
        Err(SwapError::InsufficientLiquidity { consumed, .. }) => consumed == amount_in,
        _ => false,
    };
    let enough = paid(amount_in).is_ok_and(|out| out >= amount_out);
    let least = amount_in.checked_sub(U256::ONE).is_none_or(|less| paid(less).map_or(true, |out| out < amount_out));
    match (enough, least) {
        _ if spent_all => Outcome::Equal,
        (true, true) => Outcome::Equal,
        (true, false) => Outcome::Differs(amount_in.to_string(), "less pays as much".to_owned()),
        (false, _) => Outcome::Differs(amount_out.to_string(), format!("{:?}", paid(amount_in))),
    }
}

impl VectorPool for uniswap_v2::State {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let Some((coin_in, _)) = row.coins() else { return Outcome::Skipped("no coins".to_owned()) };
        if let (true, Some(amount_out)) = (row.is_exact_out(), row.amount("amount_out")) {
            let asked = self.swap_exact_out(coin_in == 0, amount_out);
            return if row.kind == RowKind::Refusal { row.refused(asked) } else { row.compare("amount_in", asked) };
        }
        check(row, |amount| self.swap(coin_in == 0, amount).map(|swap| swap.amount_out))
    }
}

impl VectorPool for uniswap_v3::State {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let Some((coin_in, _)) = row.coins() else { return Outcome::Skipped("no coins".to_owned()) };
        check(row, |amount| self.swap(coin_in == 0, amount).map(|swap| swap.amount_out))
    }
}
