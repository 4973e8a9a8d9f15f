//! What an answer was made of, besides what is stored with its quote.

use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::Head;
use braid_execution::GasEstimate;
use braid_primitives::Bytes;
use serde::{Deserialize, Serialize};

use crate::draft::{Aside, Draft};
use crate::solve::SolveLimits;

/// Gas, as a simulation measured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredGas {
    /// What the transaction used.
    pub total_gas_units: u64,
    /// What it may use.
    pub gas_limit: u64,
}

impl From<&GasEstimate> for MeasuredGas {
    fn from(gas: &GasEstimate) -> Self {
        Self { total_gas_units: gas.total_gas_units, gas_limit: gas.gas_limit }
    }
}

/// What an answer was made of, besides what is stored with the quote.
#[derive(Debug)]
pub struct Evidence {
    /// The request's body.
    pub request: Bytes,
    /// The market and its fees.
    pub head: Arc<Head>,
    /// What was left out.
    pub aside: Aside,
    /// How many known pools the follower left out.
    pub left_out: usize,
    /// The service's bounds.
    pub limits: SolveLimits,
    /// Gas, where a simulation measured it.
    pub measured_gas: Option<MeasuredGas>,
    /// How long the quote is open.
    pub lasts: Duration,
}

impl Evidence {
    /// Keeps what a draft was made of.
    pub(crate) fn of(draft: Draft, request: Bytes, left_out: usize, limits: SolveLimits) -> Self {
        let measured = draft.simulated.as_ref().is_some_and(|simulated| simulated.gas.is_some());
        Self {
            request,
            head: Arc::clone(&draft.asked.published.head),
            measured_gas: measured.then(|| MeasuredGas::from(&draft.gas)),
            aside: draft.aside,
            left_out,
            limits,
            lasts: Duration::from_millis(draft.expires_at_ms.saturating_sub(draft.asked.created_at_ms)),
        }
    }

    /// Returns how much memory it takes, the market not counted.
    pub(super) fn bytes(&self) -> u32 {
        let filter = self.head.market.pools().len() / 8;
        u32::try_from(self.request.len() + filter + 512).unwrap_or(u32::MAX)
    }
}
