//! Exact routes: planned flows in integers, and their values.

pub(crate) mod candidate;
pub(crate) mod repair;
pub(crate) mod shares;
pub(crate) mod trim;
pub(crate) mod valuation;
