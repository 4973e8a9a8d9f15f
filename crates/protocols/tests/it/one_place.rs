//! Counts the files that name a protocol outside of its own folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use braid_protocols::Product;

/// The maximum number of files outside of a protocol's folder that may name it. The list of products is one of them.
const MOST: usize = 4;

/// Returns the source of a file without its tests and comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    own.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            if name != "tests" && name != "vectors" && name != "bench" {
                sources(&path, all);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "testing.rs" && !name.starts_with("bench") {
            all.push(path);
        }
    }
}

/// Returns whether a text has a word that no letter, digit or underscore precedes.
fn has(text: &str, word: &str) -> bool {
    let part = |before: &str| before.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_');
    text.match_indices(word).any(|(at, _)| !part(&text[..at]))
}

#[test]
fn at_most_four_files_outside_of_a_protocols_folder_name_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // Skips crates that are not part of the service.
        if path.join("src").is_dir() && !["devnet", "fuzz", "lab"].contains(&name.as_str()) {
            sources(&path.join("src"), &mut files);
        }
    }
    assert!(files.len() > 200, "{}", files.len());
    let folders = crates.join("protocols/src");
    // The folder of a product is the beginning of its id, or its family. The names of a product are its id, its variant
    // and its module.
    let mut words: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for product in Product::ALL {
        let of_id = |folder: &&str| folders.join(folder).is_dir();
        let (id, family) = (product.id(), product.family());
        let prefixes = id.char_indices().filter(|(_, letter)| *letter == '_').map(|(at, _)| &id[..at]);
        let folder = [id, family].into_iter().chain(prefixes).find(of_id).expect("a folder");
        let of_folder = words.entry(folder.to_owned()).or_default();
        of_folder.extend([format!("{product:?}"), format!("\"{id}\""), format!("{folder}::")]);
    }
    let texts: Vec<(PathBuf, String)> = files.iter().map(|path| (path.clone(), code(path))).collect();
    let mut too_many = Vec::new();
    for (folder, words) in &words {
        let outside = texts.iter().filter(|(path, _)| !path.starts_with(folders.join(folder)));
        let naming = outside.filter(|(_, text)| words.iter().any(|word| has(text, word)));
        let naming: Vec<_> =
            naming.map(|(path, _)| path.strip_prefix(&crates).unwrap().display().to_string()).collect();
        if naming.len() > MOST {
            too_many.push(format!("{folder}: {}", naming.join(", ")));
        }
    }
    assert!(too_many.is_empty(), "named in more than {MOST} files:\n{}", too_many.join("\n"));
}
