//! Tests of the whole repository: the dependencies between crates are those of `ARCHITECTURE.md`, no retired word of
//! `docs/glossary.md` is used, and the site in `docs/` is complete.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the names in backticks of a text.
fn quoted(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Returns the crates of this repository that a crate depends on, by the names of their folders.
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

/// The extensions of files that people read.
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

/// Returns whether a lower-case text contains a phrase that no letter precedes or follows. Underscores and digits may,
/// so parts of names count.
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

/// Returns every page that people read, by its path.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut all = Vec::new();
    files(&root(), &mut all);
    all.retain(|path| path.extension().is_some_and(|end| end == "md"));
    all.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// Returns the lines of a page outside of code blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    page.split("\n```").step_by(2).flat_map(str::lines)
}

/// Returns the anchors of a page's headings, which are the same on the site as on GitHub.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in prose(page).filter(|line| line.starts_with('#')) {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let twin = (1..).map(|n| format!("{anchor}-{n}")).find(|twin| !found.contains(twin)).unwrap();
        found.insert(if found.contains(&anchor) { twin } else { anchor });
    }
    found
}

/// Returns the targets of a page's links and pictures.
fn links(page: &str) -> impl Iterator<Item = &str> {
    prose(page).flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()))
}

#[test]
fn every_link_leads_somewhere_and_none_of_the_site_leaves_it() {
    assert_eq!(anchors("# A `b`-c\n## D\n```\n# no\n```\n# D"), ["a-b-c", "d", "d-1"].map(str::to_owned).into());
    let (pages, site) = (pages(), root().join("docs"));
    let mut broken = Vec::new();
    for (path, page) in &pages {
        for link in links(page).filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target =
                if file.is_empty() { Ok(path.clone()) } else { path.parent().unwrap().join(file).canonicalize() };
            let leads = target.is_ok_and(|target| {
                let anchored = |anchor| pages.get(&target).is_some_and(|page| anchors(page).contains(anchor));
                anchor.is_none_or(anchored) && (!path.starts_with(&site) || target.starts_with(&site))
            });
            if !leads {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(pages.len() > 30 && broken.is_empty(), "links that lead nowhere, or out of the site: {broken:#?}");
}

#[test]
fn every_page_of_the_site_is_in_its_summary_once() {
    let site = root().join("docs");
    let summary = read(&site.join("SUMMARY.md"));
    let mut listed: Vec<PathBuf> = links(&summary).map(|link| site.join(link)).collect();
    listed.sort();
    let pages = pages().into_keys().filter(|path| path.starts_with(&site) && !path.ends_with("SUMMARY.md"));
    assert_eq!(listed, pages.collect::<Vec<_>>());
}

#[test]
fn every_test_that_the_service_s_threat_model_names_exists() {
    let page = read(&root().join("docs/operate/security.md"));
    let mut sources = Vec::new();
    files(&root().join("crates"), &mut sources);
    sources.retain(|path| path.extension().is_some_and(|end| end == "rs"));
    let text: String = sources.iter().map(|path| read(path)).collect();
    let rows =
        page.lines().filter(|line| line.starts_with("| ") && line.contains('`') && line.matches(" | ").count() == 2);
    let named: Vec<String> = rows.filter_map(|row| row.rsplit(" | ").next()).flat_map(quoted).collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        assert!(text.contains(&format!("fn {name}(")), "there is no test {name}");
    }
}

#[test]
fn every_error_and_warning_says_what_to_do() {
    let page = read(&root().join("docs/integrate/errors.md"));
    let document = read(&root().join("docs/openapi.json"));
    let list = document.split("\"ProblemCode\": {").nth(1).unwrap().split("\"enum\": [").nth(1).unwrap();
    let mut codes: Vec<&str> = list.split(']').next().unwrap().split('"').skip(1).step_by(2).collect();
    assert!(codes.len() > 20, "the document lists {} codes", codes.len());
    let mut sources = Vec::new();
    files(&root().join("crates/quoting/src"), &mut sources);
    let sources: String = sources.iter().map(|path| read(path)).collect();
    let warnings = sources.split("code: \"").skip(1).filter_map(|rest| rest.split('"').next());
    codes.extend(warnings);
    let missing: Vec<&str> = codes.into_iter().filter(|code| !page.contains(&format!("`{code}`"))).collect();
    assert!(missing.is_empty(), "docs/integrate/errors.md does not say what to do about {missing:?}");
}

#[test]
fn every_survived_failure_names_tests_that_exist() {
    let page = read(&root().join("docs/operate/surviving.md"));
    let mut sources = Vec::new();
    files(&root().join("crates"), &mut sources);
    let sources: String =
        sources.iter().filter(|path| path.extension().unwrap() == "rs").map(|path| read(path)).collect();
    let (mut rows, mut missing) = (0, Vec::new());
    for table in page.split("| failure | result | test |\n").skip(1) {
        for row in table.lines().skip(1).take_while(|line| line.starts_with('|')) {
            let tests: Vec<String> = quoted(row.trim_end_matches(" |").rsplit(" | ").next().unwrap()).collect();
            let is_there = |test: &String| sources.contains(&format!("fn {test}("));
            missing.extend(tests.iter().filter(|test| !is_there(test)).cloned());
            missing.extend(tests.is_empty().then(|| row.to_owned()));
            rows += 1;
        }
    }
    assert!(rows > 50 && missing.is_empty(), "of {rows} rows these have no test: {missing:#?}");
}

/// On another machine npm failed with a code of its own.
#[test]
fn a_machine_for_which_the_local_chain_is_not_packaged_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    // It prints its arguments instead of the machine's name.
    std::os::unix::fs::symlink("/bin/echo", dir.path().join("uname")).unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let mut script = std::process::Command::new(root().join("scripts/check-tools.sh"));
    let output = script.arg("linux-x86_64").env("PATH", path).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.starts_with("error: this machine is -sm: "), "{said}");
}
