//! Recordings, which may not be at hand.

use std::path::{Path, PathBuf};

use braid_lab::recorded::{Imported, open};

/// A file of the folder of recordings, `BRAID_RECORDINGS` or `../shared`; `None`, with a word, where it is not there.
pub(crate) fn recording(name: &str) -> Option<PathBuf> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("BRAID_RECORDINGS").map_or_else(usual, PathBuf::from).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// A recorded market, where it is at hand.
pub(crate) fn recorded_market(name: &str) -> Option<Imported> {
    Some(open(&recording(&format!("markets/{name}"))?).unwrap())
}

/// A file of vectors, where it is at hand.
pub(crate) fn vectors(family: &str) -> Option<String> {
    Some(std::fs::read_to_string(recording(&format!("vectors/{family}.json"))?).unwrap())
}
