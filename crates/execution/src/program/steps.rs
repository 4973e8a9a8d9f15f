//! A program, and the place of each step in it.

use braid_primitives::Bytes;
use serde::{Deserialize, Serialize};

/// The first byte of a path along which exactly the output is bought.
pub(super) const BUY: u8 = 0xfe;

/// Where a step pays its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Destination {
    /// To the proxy.
    Proxy = 0,
    /// Straight to the order's recipient.
    Recipient = 1,
    /// Straight to the pool of the next step.
    NextPool = 2,
}

/// A step's place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStep {
    /// Position of the step in the route.
    pub route_step: usize,
    /// Where it pays its output.
    pub destination: Destination,
    /// Whether the step before paid its input into the pool.
    pub prepaid: bool,
    /// Position in the route of the wrapping of ether that this step does by itself: it spends that step's input.
    pub wraps: Option<usize>,
}

/// A program, and what was decided in making it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// What the proxy reads.
    pub bytes: Bytes,
    /// The steps in the order in which the proxy runs them: position `i` is step `i` of the proxy's errors.
    pub steps: Vec<ProgramStep>,
    /// The same as a path, where the program is one: cheaper to run, and what is sent then.
    #[serde(default)]
    pub path: Option<Bytes>,
}

impl Program {
    /// Returns what the proxy is sent and what a signature binds: the path, if the program is one, else the steps.
    pub fn sent(&self) -> &Bytes {
        self.path.as_ref().unwrap_or(&self.bytes)
    }

    /// Returns whether it buys exactly the order's output, for at most the order's input.
    pub fn buys(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.first() == Some(&BUY))
    }

    /// Returns the route's step behind a step of the program, as the proxy's errors count it.
    pub fn route_step(&self, program_step: usize) -> Option<usize> {
        self.steps.get(program_step).map(|place| place.route_step)
    }
}
