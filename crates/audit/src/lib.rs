//! The self-audit: what models say of pools is compared with what the EVM does, while the service runs.
//!
//! One swap at a time, within a budget: mostly of pools that quotes used lately, in between of all pools in turn. The swap goes
//! through the proxy, on the state of the market's own block, in the block after it. A pool that pays anything but what the
//! model says is in quarantine: no quote uses it. It is tried again after 1, 2, 4, … blocks, and is out as soon as it agrees.
//!
//! Tokens are checked before a quote goes through them: those with most pools first, and those of a quote's route while it waits.
//! So are pools of which only their own answers told what they are, vaults that somebody named, and pools that pay more than all others explain.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod audit;
mod check;
mod conduct;
mod ledger;
mod outliers;
mod predictions;
mod quarantine;
mod queue;
mod tokens;
mod vaults;
mod verdict;

pub use audit::{Audit, AuditConfig, Wanted};
pub use outliers::{Doubtful, Outliers};
pub use quarantine::Quarantine;
pub use tokens::Tokens;
pub use vaults::Vaults;
pub use verdict::{Difference, Probe, Verdict};
