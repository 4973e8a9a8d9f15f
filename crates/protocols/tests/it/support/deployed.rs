//! Contracts' own code that no package contains. It is read from a folder that the environment names.

use std::path::PathBuf;

use alloy_primitives::Bytes;

/// The environment variable with the folder. It contains one file of creation code in hexadecimal for each contract,
/// without constructor arguments.
const FOLDER: &str = "BRAID_BYTECODE";

/// Returns the creation code of each contract in the order of the names. If one is missing, prints that and returns
/// `None`.
pub fn initcodes<const N: usize>(names: [&str; N]) -> Option<[Bytes; N]> {
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    let found = names.map(|name| {
        let code =
            folder.as_ref().and_then(|folder| std::fs::read_to_string(folder.join(name).with_extension("hex")).ok());
        if code.is_none() {
            println!("skipped: {FOLDER} names no folder with {name}.hex");
        }
        code.map(|code| code.trim().parse::<Bytes>().unwrap())
    });
    found.iter().all(Option::is_some).then(|| found.map(Option::unwrap_or_default))
}
