//! One market for many services: [`publish`] tells it on a Redis stream, [`follow`] takes it from there in place of a
//! node.

mod follow;
mod publish;

pub use follow::follow;
pub use publish::{Pace, publish};
