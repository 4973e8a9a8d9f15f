//! The EVM in process, on state forked from a node at one block.
//!
//! A job on a block's state is a function of a [`Fork`]. It is tried with the values that are known of the block; all
//! missing values are read from the node at once, and the job is tried again until none was missing. Values that one
//! job read serve the next, and the state of the block before shows what a job will need. Each job writes to its own
//! overlay, which no other job sees.
//!
//! A [`Simulator`] runs the attempts on a bounded number of threads, none of which waits for the node.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod attempts;
pub mod evm;
pub mod fork;
pub mod grant;
mod lanes;
mod layouts;
mod line;
mod memory;
mod node;
pub mod simulate;
pub mod simulator;
pub mod source;
pub mod work;

pub use attempts::{Terms, Unavailable};
pub use evm::Transaction;
pub use fork::Fork;
pub use grant::Grant;
pub use lanes::{Admitted, Caller};
pub use line::Kept;
pub use simulate::{Outcome, Part, SimulationError, Status, Transferred, Watched, simulate, simulate_with_parts};
pub use simulator::Simulator;
pub use source::{SourceError, StateSource};
pub use work::{Bounds, WorkError, WorkPool};
