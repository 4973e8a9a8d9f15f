//! Opens the data directory's market, with errors that state the fix.

use std::path::Path;
use std::sync::Arc;

use braid_market::{FileError, Market};
use braid_store::market::{Found, MARKET_FILE, Saved};
use braid_store::quotes::QUOTE_DIR;
use braid_store::{KeyStore, MarketStore, StoreError};
use eyre::{Report, Result, eyre};

use crate::exit::usage;
use crate::paths::DataDir;

/// Opens the market of a data directory. A market that cannot be used is moved and logged, and then read from the chain
/// again.
pub(crate) fn open_market(data: &DataDir) -> Result<(Arc<MarketStore>, Option<Saved>)> {
    braid_store::prepare_dir(&data.data_dir).map_err(cannot_store)?;
    let (store, found) = MarketStore::open(&data.data_dir).map_err(cannot_store)?;
    let saved = match found {
        Found::Nothing => None,
        Found::Market(saved) => Some(*saved),
        Found::Unusable(damage) => {
            let moved_to = format!("{MARKET_FILE}.unusable");
            tracing::error!(%damage, moved_to, "the stored market cannot be used: it is read from the chain again");
            None
        }
    };
    Ok((Arc::new(store), saved))
}

/// Loads a market file, with errors that name it.
pub(crate) fn market_file(path: &Path) -> Result<Market> {
    Market::load(path).map_err(|error| match error {
        FileError::Io { .. } => usage(error.to_string()),
        _ => usage(format!("{}: {error}", path.display())),
    })
}

/// Returns the market of a data directory.
pub(crate) fn stored_market(dir: &Path) -> Result<Market> {
    Ok(stored(dir)?.market.as_ref().clone())
}

/// Returns the stored market of a data directory, with its search for pools.
pub(crate) fn stored(dir: &Path) -> Result<Saved> {
    let file = dir.join(MARKET_FILE);
    if !file.exists() {
        let text = format!("there is no {MARKET_FILE} in {}; `braid sync` or `braid serve` makes one", dir.display());
        return Err(usage(text));
    }
    match MarketStore::open(dir).map_err(cannot_store)?.1 {
        Found::Market(saved) => Ok(*saved),
        Found::Nothing => Err(eyre!("{} holds no market yet", file.display())),
        Found::Unusable(damage) => Err(eyre!("{damage}; it was moved to {MARKET_FILE}.unusable")),
    }
}

/// Checks that a service can use a data directory, without leaving anything in it: that it can be made and written, and that
/// what is in it can be opened. A running service may be using it meanwhile.
pub(crate) fn check_dir(dir: &Path) -> Result<()> {
    let missing: Vec<&Path> =
        dir.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
    let prepared = braid_store::prepare_dir(dir);
    for made in missing {
        // keep one that a service took into use meanwhile: it is not empty
        let _ = std::fs::remove_dir(made);
    }
    prepared.map_err(cannot_store)?;
    KeyStore::open(dir).map_err(cannot_store)?;
    MarketStore::check(dir).map_err(cannot_store)?;
    let quotes = dir.join(QUOTE_DIR);
    if quotes.exists() { braid_store::prepare_dir(&quotes).map_err(cannot_store) } else { Ok(()) }
}

/// Returns whether a start would use the market of a data directory, and no snapshot.
pub(crate) fn holds_market(dir: &Path) -> Result<bool> {
    MarketStore::holds_market(dir).map_err(cannot_store)
}

pub(crate) fn cannot_store(error: StoreError) -> Report {
    let help = match &error {
        StoreError::InUse { .. } => "stop that one, or name another directory with --data",
        StoreError::DamagedKeys { .. } => "put back a copy, or move the file away and make new keys",
        _ => "name a directory that can be written with --data",
    };
    eyre!("{error}; {help}")
}
