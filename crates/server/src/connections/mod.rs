//! Connections: how many there may be, how long each may take for what, and how each is served.

pub mod accept;
pub mod address;
pub mod link;
pub mod places;
mod serving;
mod stream;
