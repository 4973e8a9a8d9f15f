//! Shares one market between services: [`publish`] writes it to a Redis stream, and [`follow`] reads it from there instead
//! of a node.

mod follow;
mod publish;

pub use follow::follow;
pub use publish::{Pace, publish};
