//! Contracts' own code that no package has: whoever has it names a folder.

use std::path::PathBuf;

use alloy_primitives::Bytes;

/// Names the folder: one file of creation code in hexadecimal for each contract, without constructor arguments.
const FOLDER: &str = "BRAID_BYTECODE";

/// Creation code of each contract in the order of their names; `None`, with a plain message, where one of them is not there.
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
