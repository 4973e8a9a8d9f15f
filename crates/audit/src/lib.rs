//! The self-audit: compares what models say of pools with what the EVM does, while the service runs.
//!
//! It checks one swap at a time, within a budget: mostly of pools that quotes used lately, in between of all pools in
//! turn. The swap goes through the proxy, in the block after the market's, on that block's state. A pool that pays
//! anything but what its model says is put in quarantine, where no quote uses it. It is checked again after 1, 2, 4, …
//! blocks and released as soon as it agrees.
//!
//! Tokens are checked before a quote goes through them: those of a quote's route while it waits, the others in the
//! order of how many pools they have. Unverified vaults, and pools that pay more than all others explain, are checked
//! before their first use too.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod audit;
mod budget;
mod check;
mod checks;
mod config;
mod outliers;
mod predictions;
mod quarantine;
mod queue;
mod retry;
#[cfg(test)]
mod testing;
mod tokens;
mod transfers;
mod vaults;
mod verdict;
mod verified;

pub use audit::Audit;
pub use checks::Wanted;
pub use config::AuditConfig;
pub use outliers::{Doubtful, Outliers};
pub use quarantine::Quarantine;
pub use tokens::Tokens;
pub use vaults::Vaults;
pub use verdict::{Difference, Probe, Verdict};
