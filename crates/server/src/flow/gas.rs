//! Units of gas of a whole transaction.

use braid_execution::Order;
use braid_primitives::Bytes;
use braid_routing::Route;

/// What the transaction is expected to use.
pub fn transaction_units(_order: &Order, _program: &Bytes, route: &Route) -> u64 {
    route.gas_units() + 120_000
}
