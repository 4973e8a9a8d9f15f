//! Connections: how many there may be, how long each may take for what, and how each is served.

pub mod accept;
pub mod address;
mod serving;
pub mod slots;
pub mod state;
mod stream;
