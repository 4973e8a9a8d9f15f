//! Recorded markets in JSON: `{block, tokens: [{address, symbol, decimals}], pools: [{kind, dex, address, tokens, …}],
//! updates}`.
//!
//! A pool's `address` is the text of its key. Large integers are decimal strings. Pools of unknown kinds and entries
//! with impossible states are skipped and counted. A pool of a protocol that is not one of our products is read as the
//! product that runs the same code. That is right for benchmarks, but does not mean that a route through it can be
//! executed. Wrapped ether is always added.

mod balancer;
mod curve;
mod erc4626;
mod export;
mod fluid;
mod import;
mod json;
mod kinds;
mod uniswap;

#[cfg(test)]
mod tests;

use std::path::Path;

use braid_market::{FileError, Market};

pub use export::{Exported, export};
pub use import::{Imported, Update, import};

/// Reads a market from a file that Braid wrote, or from a recorded market in JSON. The first bytes show which it is.
///
/// # Errors
/// [`FileError`].
pub fn open(path: &Path) -> Result<Imported, FileError> {
    let bytes = std::fs::read(path).map_err(|error| FileError::Io { path: path.to_owned(), why: error.to_string() })?;
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        return import(&bytes);
    }
    Ok(Imported { market: Market::from_bytes(&bytes)?, skipped: Default::default(), updates: Vec::new() })
}
