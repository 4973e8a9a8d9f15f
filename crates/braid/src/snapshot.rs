//! `--snapshot`: a market file from which a first start continues.

use std::path::PathBuf;
use std::sync::Arc;

use braid_ethereum::{Node, check_snapshot};
use braid_store::market::{Saved, Snapshot};
use eyre::{Result, eyre};

use crate::exit::usage;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SnapshotArgs {
    /// Begin with the pools of this snapshot, which `braid market save --data` wrote, rather than with a search of the
    /// whole chain. Used where the data directory holds no market yet
    #[arg(long, env = "BRAID_SNAPSHOT", value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// The SHA-256 that the snapshot must have, in hex digits
    #[arg(long, env = "BRAID_SNAPSHOT_SHA256", value_name = "HEX", requires = "snapshot")]
    snapshot_sha256: Option<String>,
}

impl SnapshotArgs {
    /// Returns whether a snapshot is named.
    pub(crate) const fn is_named(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Loads the snapshot, if one is named and there is no stored market.
    pub(crate) fn load(&self, saved: Option<&Saved>) -> Result<Option<Arc<Snapshot>>> {
        if self.is_named() && saved.is_some() {
            tracing::info!("the snapshot is not used: the data directory holds a market already");
            return Ok(None);
        }
        self.read().map(|snapshot| snapshot.map(Arc::new))
    }

    /// Reads the snapshot, if one is named.
    pub(crate) fn read(&self) -> Result<Option<Snapshot>> {
        let Some(path) = &self.snapshot else { return Ok(None) };
        let snapshot = Snapshot::load(path).map_err(|error| usage(cannot_use(path, &error)))?;
        if let Some(expected) = self.snapshot_sha256.as_ref().filter(|hex| !hex.eq_ignore_ascii_case(&snapshot.digest))
        {
            let what = format!("its SHA-256 is {}, not {expected}", snapshot.digest);
            return Err(usage(cannot_use(path, &what)));
        }
        Ok(Some(snapshot))
    }

    /// Checks that the snapshot is of the node's chain.
    pub(crate) async fn check(&self, node: &Node, snapshot: Option<&Arc<Snapshot>>) -> Result<()> {
        let (Some(path), Some(snapshot)) = (&self.snapshot, snapshot) else { return Ok(()) };
        check_snapshot(node, snapshot).await.map_err(|error| eyre!(cannot_use(path, &error)))
    }
}

fn cannot_use(path: &std::path::Path, why: &dyn std::fmt::Display) -> String {
    format!("the snapshot {} cannot be used: {why}; name another one, or start without", path.display())
}
