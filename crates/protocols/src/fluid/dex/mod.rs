//! DEX T1 pools.

mod reserves;
mod snapshot;

pub use reserves::{Fees, Parts, Reserves, Side};
pub use snapshot::{Limit, Snapshot};
