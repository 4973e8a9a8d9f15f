//! Compares what an unverified vault's model predicts of its answers with what it answers.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::Pool;
use braid_simulation::evm::{Overlay, view_at};
use braid_simulation::{Fork, SimulationError};

use crate::verdict::Difference;

/// Times after the market's block at which answers are compared, in seconds: accrual shows by then.
const LATER_SECONDS: [u64; 5] = [12, 3_600, 86_400, 30 * 86_400, 365 * 86_400];

/// Seconds between two blocks.
const BLOCK_SECONDS: u64 = 12;

/// Returns the first answer of an unverified vault that differs from its prediction, now or later, as if no transaction
/// touched it until then. `None` for other pools.
///
/// # Errors
/// When the state could not be read.
pub(crate) fn wrong_prediction(
    fork: &Fork,
    market: &Market,
    pool: &Pool,
) -> Result<Option<Difference>, SimulationError> {
    if pool.product.guessed_as(pool).is_none() {
        return Ok(None);
    }
    let now = market.block();
    let mut overlay = Overlay::new(fork);
    for later in LATER_SECONDS {
        let number = now.number.saturating_add(later / BLOCK_SECONDS);
        let at = ExecutionBlock { number, timestamp: now.timestamp.saturating_add(later) };
        for prediction in pool.product.predictions(pool, &at) {
            let answer = view_at(&mut overlay, prediction.call.to, prediction.call.data, at)?;
            let answer = answer.and_then(|answer| U256::try_from_be_slice(&answer));
            if answer != Some(prediction.answer) {
                let said = answer.map_or("a revert".into(), |answer| answer.to_string());
                let why = format!("a preview in {later} s would be {said}, the model says {}", prediction.answer);
                return Ok(Some(Difference { why, token: None }));
            }
        }
    }
    Ok(None)
}
