//! What a pool of which only its own answers told what it is foretells, and what it answers.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::Pool;
use braid_simulation::evm::{Overlay, view_in};
use braid_simulation::{Fork, SimulationError};

use crate::verdict::Difference;

/// How long after the market's block it is asked what the model foretells, in seconds: whatever moves by itself has moved by then.
const LATER_SECONDS: [u64; 5] = [12, 3_600, 86_400, 30 * 86_400, 365 * 86_400];

/// Seconds between two blocks.
const BLOCK_SECONDS: u64 = 12;

/// What a pool answers otherwise than its model foretells, now or later, as if nobody touched it until then.
///
/// # Errors
/// When the state cannot be had.
pub(crate) fn unforetold(fork: &Fork, market: &Market, pool: &Pool) -> Result<Option<Difference>, SimulationError> {
    let now = market.block();
    let record = pool.product;
    if record.guessed_as(pool).is_none() {
        return Ok(None);
    }
    let mut overlay = Overlay::new(fork);
    for later in LATER_SECONDS {
        let number = now.number.saturating_add(later / BLOCK_SECONDS);
        let at = ExecutionBlock { number, timestamp: now.timestamp.saturating_add(later) };
        for predictions in record.predictions(pool, &at) {
            let answer = view_in(&mut overlay, predictions.call.to, predictions.call.data, at)?;
            let answer = answer.and_then(|answer| U256::try_from_be_slice(&answer));
            if answer != Some(predictions.answer) {
                let said = answer.map_or("a revert".into(), |answer| answer.to_string());
                let why = format!("a preview in {later} s would be {said}, the model says {}", predictions.answer);
                return Ok(Some(Difference { why, token: None }));
            }
        }
    }
    Ok(None)
}
