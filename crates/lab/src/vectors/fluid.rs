//! Vectors of Fluid's DEX T1 pools, in the form in which Fluid's resolvers return them.

use braid_primitives::{Address, ExecutionBlock, U256};
use braid_protocols::SwapError;
use braid_protocols::fluid::dex::{Snapshot, atomic, normalised};
use serde_json::Value;

use super::Outcome;
use super::entry::{Entry, Row, RowKind, VectorPool};
use crate::states::{Fields, StateError, fluid as states};

/// The reason for which a row may be equal in another project's arithmetic and not in the contract's.
const FEE_FIRST: &str =
    "fluid_dex_t1: the source takes the fee from the atomic amount, the contract from the amount of twelve decimals";

struct Dex {
    pool: Snapshot,
    at: ExecutionBlock,
}

/// Reads a pool and its tokens' decimals.
pub(super) fn dex(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    // Which coin is ether affects only the gas.
    let pool = states::snapshot(&entry.pool(), [Address::ZERO; 2], decimals(&entry.pool())?)?;
    // Rows without a timestamp have that of the snapshot.
    let mut at = entry.block();
    at.timestamp = at.timestamp.max(pool.taken_at);
    Ok(Box::new(Dex { pool, at }))
}

fn decimals(pool: &Fields<'_>) -> Result<[u8; 2], StateError> {
    let tokens = pool.get("tokens").and_then(Value::as_array).ok_or_else(|| pool.wrong("tokens", "two tokens"))?;
    let [first, second] = &tokens[..] else { return Err(pool.wrong("tokens", "two tokens")) };
    let of = |token| {
        let decimals = u8::try_from(Fields::of(token).u64_or("decimals", 18)?).ok().filter(|decimals| *decimals <= 36);
        decimals.ok_or_else(|| StateError::Impossible("more than 36 decimals".to_owned()))
    };
    Ok([of(first)?, of(second)?])
}

impl Dex {
    /// Computes a swap as the libraries do that recorded most rows: the fee is taken from the atomic amount, and the
    /// sum of both parts is converted to atomic units once.
    fn fee_first(&self, row: &Row<'_>, zero_for_one: bool, given: U256) -> Option<U256> {
        let mut free = self.pool.clone();
        let fee_pips = free.reserves.fees.fee_pips;
        free.reserves.fees.fee_pips = 0;
        let fee = |amount: U256| Some(amount.checked_mul(U256::from(fee_pips))? / U256::from(1_000_000));
        if row.is_exact_out() {
            let asked = free.swap_exact_out(&self.at, zero_for_one, given).ok()?;
            asked.checked_add(fee(asked)?)
        } else {
            let [first, second] = free.decimals;
            let (decimals_in, decimals_out) = if zero_for_one { (first, second) } else { (second, first) };
            let normal = normalised(given.checked_sub(fee(given)?)?, decimals_in)?;
            let parts = free.reserves.give(zero_for_one, normal).ok()?;
            atomic(parts.collateral.1.checked_add(parts.debt.1)?, decimals_out)
        }
    }

    fn paid(&self, row: &Row<'_>, zero_for_one: bool, given: U256) -> Result<U256, SwapError> {
        if row.is_exact_out() {
            self.pool.swap_exact_out(&self.at, zero_for_one, given)
        } else {
            self.pool.swap(&self.at, zero_for_one, given).map(|(out, ..)| out)
        }
    }
}

impl VectorPool for Dex {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let zero_for_one = match row.coins() {
            Some((0, 1)) => true,
            Some((1, 0)) => false,
            _ => return Outcome::Skipped("no coins".to_owned()),
        };
        let (given, asked) = if row.is_exact_out() { ("amount_out", "amount_in") } else { ("amount_in", "amount_out") };
        let Some(given) = row.amount(given) else { return Outcome::Skipped("no amount is given".to_owned()) };
        let paid = self.paid(row, zero_for_one, given);
        match row.kind {
            RowKind::Check => Outcome::Skipped("no such check".to_owned()),
            RowKind::Refusal => row.refused(paid),
            RowKind::Swap => match row.compare(asked, paid.clone()) {
                // Rounding cannot explain a swap that we refuse.
                Outcome::Differs(expected, got) if paid.is_ok() => {
                    let on_chain = row.fields().text("verified") == Some("on-chain");
                    let theirs = self.fee_first(row, zero_for_one, given).filter(|_| !on_chain);
                    if theirs.is_some() && theirs == row.amount(asked) {
                        Outcome::Explained(FEE_FIRST)
                    } else {
                        Outcome::Differs(expected, got)
                    }
                }
                outcome => outcome,
            },
        }
    }
}
