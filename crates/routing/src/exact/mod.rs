//! Exact routes: planned flows in integers, and what they are worth.

pub(crate) mod candidate;
pub(crate) mod mend;
pub(crate) mod shares;
pub(crate) mod valuation;
