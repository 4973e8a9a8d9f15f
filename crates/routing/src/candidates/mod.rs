//! Candidate flows: single paths, and simple splits of them.

pub(crate) mod chunks;
pub(crate) mod plans;
pub(crate) mod simple;
pub(crate) mod walk;
