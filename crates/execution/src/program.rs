//! The program: the packed bytes that tell the proxy which steps to run (`docs/internals/program.md`, section 2).
//!
//! Encoding decides two things that never change an amount: where each step pays its output, and the place of a step
//! that can be paid in advance, which is moved to directly after the step that pays it. A wrapping of ether that feeds
//! one pool alone becomes a part of that pool's step. Everything else is the route's. A program that is one chain of
//! pools which their factories vouch for is written as a path too.

mod check;
mod encode;
mod error;
mod leg;
mod order_of_steps;
mod path;
pub(crate) mod run;
mod steps;

pub use encode::{encode_program, encode_purchase};
pub use error::EncodeError;
pub(crate) use leg::Leg;
pub use steps::{Destination, Program, ProgramStep};

#[cfg(test)]
mod tests;
