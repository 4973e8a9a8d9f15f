//! What holds for the whole tree: the arrows between crates are those of `ARCHITECTURE.md`, and no retired word of `docs/glossary.md` is used.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names in backticks of a text.
fn quoted(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Crates of this repository that a crate depends on, by the names of their folders.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or("");
    let lines = section.split("\n[").next().unwrap_or("").lines();
    let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next()?.strip_prefix("braid-").map(str::to_owned));
    names.collect()
}

#[test]
fn crates_depend_on_what_the_architecture_says_and_on_nothing_else() {
    let page = read(&root().join("ARCHITECTURE.md"));
    let table = page.split("## The crates").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `") && !line.starts_with("| `contracts/`"));
    let mut said = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        said.insert(quoted(cells[0]).next().unwrap(), quoted(cells[cells.len() - 1]).collect::<BTreeSet<_>>());
    }
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        found.insert(name, dependencies(&read(&folder.join("Cargo.toml"))));
    }
    assert_eq!(said, found, "the last column of the table of crates is not what their manifests say");
}

/// Files that people read, by their ends.
const READ: [&str; 7] = ["rs", "md", "sol", "sh", "py", "toml", "mjs"];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "node_modules", "out", "cache"].contains(&name) {
                files(&path, found);
            }
        } else if path.extension().is_some_and(|end| READ.contains(&end.to_str().unwrap())) {
            found.push(path);
        }
    }
}

/// Whether a text has a phrase as words of their own, in any case, also as parts of a name.
fn says(text: &str, phrase: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    text.match_indices(phrase)
        .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + phrase.len()..].chars().next()))
}

#[test]
fn no_retired_word_is_used() {
    assert!(says("an old_word here", "word") && says("old words", "old words") && !says("keyword", "word"));
    let glossary = root().join("docs/glossary.md");
    let page = read(&glossary);
    let list = page.split("## Retired words").nth(1).unwrap();
    let retired: BTreeSet<String> = quoted(list).collect();
    assert!(retired.len() > 10, "the list of retired words is gone");
    let mut all = Vec::new();
    files(&root(), &mut all);
    let mut used = Vec::new();
    for path in all.iter().filter(|path| **path != glossary) {
        for (number, line) in read(path).lines().enumerate() {
            let line = line.to_lowercase();
            for word in retired.iter().filter(|word| says(&line, &word.to_lowercase())) {
                used.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    assert!(used.is_empty(), "retired words, see docs/glossary.md: {used:#?}");
}
