//! Access to recordings, which may not be available.

use std::path::{Path, PathBuf};

use braid_lab::recorded::{Imported, open};

/// Returns the path of a file in the folder of recordings, `BRAID_RECORDINGS` or `../shared`. If it does not exist,
/// prints that and returns `None`.
pub(crate) fn recording(name: &str) -> Option<PathBuf> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("BRAID_RECORDINGS").map_or_else(usual, PathBuf::from).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// Returns a recorded market, if it is available.
pub(crate) fn recorded_market(name: &str) -> Option<Imported> {
    Some(open(&recording(&format!("markets/{name}"))?).unwrap())
}

/// Returns a file of vectors, if it is available.
pub(crate) fn vectors(family: &str) -> Option<String> {
    Some(std::fs::read_to_string(recording(&format!("vectors/{family}.json"))?).unwrap())
}
