//! The EVM in process, on state forked from a node at one block.
//!
//! A [`Fork`] reads the node lazily and remembers what it read, so that a second simulation of the same block asks the node
//! only for what the first one did not touch. Each simulation runs on its own overlay; nothing it writes is seen by another.
//!
//! Forks and simulations block: call them from a thread that may wait. A [`Simulator`] does so, on a bounded number of threads.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod evm;
pub mod fork;
pub mod grant;
pub mod node;
pub mod simulate;
pub mod simulator;
pub mod source;
pub mod work;

pub use fork::Fork;
pub use grant::Grant;
pub use node::NodeState;
pub use simulate::{Outcome, SimulationError, Status, Transaction, Transferred, simulate, view_after};
pub use simulator::{Simulator, Unavailable};
pub use source::{Account, SourceError, StateSource};
pub use work::{Bounds, WorkError, WorkPool};
