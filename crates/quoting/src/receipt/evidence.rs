//! The inputs of an answer that are not stored with its quote.

use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::Head;
use braid_execution::GasEstimate;
use braid_primitives::Bytes;
use serde::{Deserialize, Serialize};

use crate::draft::{Draft, ServiceExclusions};
use crate::solve::SolveLimits;

/// Gas that a simulation measured, in gas units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredGas {
    /// Gas that the transaction used.
    pub total_gas_units: u64,
    /// Gas limit of the transaction.
    pub gas_limit: u64,
}

impl From<&GasEstimate> for MeasuredGas {
    fn from(gas: &GasEstimate) -> Self {
        Self { total_gas_units: gas.total_gas_units, gas_limit: gas.gas_limit }
    }
}

/// The inputs of an answer that are not stored with its quote.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// The request's body.
    pub request: Bytes,
    /// The market with its fees.
    pub head: Arc<Head>,
    /// Pools and tokens that the service excluded.
    pub exclusions: ServiceExclusions,
    /// Number of known pools that the follower excludes.
    pub excluded_by_follower: usize,
    /// Limits of the solve.
    pub limits: SolveLimits,
    /// Gas that a simulation measured, if there was one.
    pub measured_gas: Option<MeasuredGas>,
    /// Lifetime of the quote.
    pub ttl: Duration,
}

impl Evidence {
    /// Takes the inputs from a draft.
    pub(crate) fn of(draft: Draft, request: Bytes, excluded_by_follower: usize, limits: SolveLimits) -> Self {
        let measured = draft.simulated.as_ref().is_some_and(|simulated| simulated.gas.is_some());
        Self {
            request,
            head: Arc::clone(&draft.input.published.head),
            measured_gas: measured.then(|| MeasuredGas::from(&draft.gas)),
            exclusions: draft.exclusions,
            excluded_by_follower,
            limits,
            ttl: Duration::from_millis(draft.expires_at_ms.saturating_sub(draft.input.created_at_ms)),
        }
    }

    /// Estimates its memory in bytes, without the market.
    pub(super) fn bytes(&self) -> u32 {
        let filter = self.head.market.pools().len() / 8;
        u32::try_from(self.request.len() + filter + 512).unwrap_or(u32::MAX)
    }
}
