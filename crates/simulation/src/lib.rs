//! The EVM in process, on state forked from a node at one block.
//!
//! A job on a block's state is a function of a [`Fork`]. It is tried with what is known of the block; what was missing is read from the node, all
//! of it at once, and the job is tried again until nothing was missing. What one job read is there for the next, and the state of the block before
//! leads to what a job will need. Each job runs on its own overlay; nothing that it writes is seen by another.
//!
//! A [`Simulator`] runs the attempts on a bounded number of threads. None of them waits for the node.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

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

pub use fork::Fork;
pub use grant::Grant;
pub use lanes::{Admitted, Caller};
pub use simulate::{Outcome, Part, SimulationError, Status, Transaction, Transferred, simulate, simulate_with_parts};
pub use simulator::{Simulator, Terms, Unavailable};
pub use source::{SourceError, StateSource};
pub use work::{Bounds, WorkError, WorkPool};
