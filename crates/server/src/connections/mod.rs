//! Connections: their limits, timeouts and serving.

pub mod accept;
pub mod address;
mod serving;
pub mod slots;
pub mod state;
mod stream;
