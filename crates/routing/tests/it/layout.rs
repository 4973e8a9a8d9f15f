//! Tests that the modules of a crate have no circular imports, not even indirect ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The crates without circular imports, by folder.
const CRATES: [&str; 9] =
    ["protocols", "market", "routing", "execution", "ethereum", "store", "audit", "quoting", "server"];

/// A crate's list that names every file of a kind, and generates what those files use: it stands outside of the graph.
const LIST: (&str, &str) = ("protocols", "registry.rs");

#[test]
fn no_file_imports_what_imports_it() {
    for name in CRATES {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let mut crate_ = Crate::read(&source);
        if name == LIST.0 {
            assert!(crate_.modules.remove(&module(LIST.1)).is_some(), "{name} has no list");
        }
        assert!(crate_.modules.len() > 1, "{name} has no files");
        assert_eq!(crate_.circle(), None, "{name}: an import circle");
    }
}

#[test]
fn circles_are_found_through_lists_re_exports_and_parents() {
    let circle = |files: &[(&str, &str)]| {
        let modules = files.iter().map(|(path, text)| (module(path), code(text))).collect();
        Crate { modules }.circle()
    };
    let named = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(circle(&[("a.rs", "use crate::b::{C, d::{E}};"), ("b.rs", "")]), None);
    assert_eq!(circle(&[("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { crate::a::g() }")]), named(&["a", "b", "a"]));
    let through_root =
        [("lib.rs", "mod a; mod b; pub use a::A;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::A;")];
    assert_eq!(circle(&through_root), named(&["a", "b", "a"]));
    let with_parent = [("p/mod.rs", "mod q; use q::Q; struct P(Q);"), ("p/q.rs", "use super::P;")];
    assert_eq!(circle(&with_parent), named(&["p", "p::q", "p"]));
    let of_variant = [("p/mod.rs", "mod q; pub use q::Q; fn f() { crate::All::Q }"), ("p/q.rs", "use super::P;")];
    assert_eq!(circle(&of_variant), None);
    let in_comments_and_tests = "// crate::a::x\n#[cfg(test)]\nmod tests { use crate::a::A; }";
    assert_eq!(circle(&[("a.rs", "use crate::b::B;"), ("b.rs", in_comments_and_tests)]), None);
}

/// The path of a module from the crate's root: `["solve", "split"]`.
type Place = Vec<String>;

/// The modules of a crate, without comments and tests.
struct Crate {
    modules: BTreeMap<Place, String>,
}

impl Crate {
    fn read(source: &Path) -> Self {
        let mut modules = BTreeMap::new();
        let mut folders = vec![source.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    modules.insert(module(path.strip_prefix(source).unwrap().to_str().unwrap()), code(&text));
                }
            }
        }
        Self { modules }
    }

    /// Returns the modules on a cycle, with the first one repeated at the end; `None` if there is no cycle.
    fn circle(&self) -> Option<Vec<String>> {
        let edges: BTreeMap<&Place, BTreeSet<Place>> =
            self.modules.keys().map(|from| (from, self.imports(from))).collect();
        let mut done = BTreeSet::new();
        for start in self.modules.keys() {
            // Each module on the way with those of its imports that were not visited yet.
            let mut way = vec![(start.clone(), edges[start].iter())];
            while let Some((here, rest)) = way.last_mut() {
                let Some(next) = rest.next() else {
                    done.insert(here.clone());
                    way.pop();
                    continue;
                };
                if let Some(at) = way.iter().position(|(known, _)| known == next) {
                    let names = way[at..].iter().map(|(place, _)| place).chain([next]);
                    return Some(names.map(|place| place.join("::")).collect());
                }
                if !done.contains(next) {
                    way.push((next.clone(), edges[next].iter()));
                }
            }
        }
        None
    }

    /// Returns the modules that define what a module imports. A `pub use` only re-exports and is not an import.
    fn imports(&self, from: &Place) -> BTreeSet<Place> {
        let mut own = self.modules[from].clone();
        let mut paths = Vec::new();
        for (text, is_public, tree) in uses(&self.modules[from]) {
            own = own.replacen(&text, "", 1);
            paths.extend(expanded(&tree).into_iter().map(|path| (path, is_public)));
        }
        let names = names(&own);
        let needed = |path: &str| path.rsplit("::").next().is_some_and(|name| names.contains(name));
        let inline = inline_paths(&own);
        let imported = paths.into_iter().filter(|(path, is_public)| !is_public || needed(path)).map(|(path, _)| path);
        let targets = imported.chain(inline).filter_map(|path| self.absolute(from, &path));
        targets.map(|path| self.definer(path)).filter(|to| to != from && !to.is_empty()).collect()
    }

    /// Returns a path from the crate's root; `None` if the path is in another crate.
    fn absolute(&self, from: &Place, path: &str) -> Option<Place> {
        let mut segments: Place = path.split("::").map(str::to_owned).collect();
        let mut base = from.clone();
        match segments.first()?.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                while segments.get(1).is_some_and(|segment| segment == "super") {
                    base.pop();
                    segments.remove(0);
                }
                base.pop();
            }
            child => {
                let place: Place = base.iter().cloned().chain([child.to_owned()]).collect();
                return self.modules.contains_key(&place).then(|| base.into_iter().chain(segments).collect());
            }
        }
        segments.remove(0);
        Some(base.into_iter().chain(segments).collect())
    }

    /// Returns the module that defines what a path names, following `pub use`.
    fn definer(&self, mut path: Place) -> Place {
        for _ in 0..8 {
            let mut place = path.clone();
            while !place.is_empty() && !self.modules.contains_key(&place) {
                place.pop();
            }
            let Some(name) = path.get(place.len()) else { return place };
            let text = self.modules.get(&place).map_or("", String::as_str);
            let handed_on = uses(text).into_iter().filter(|(_, is_public, _)| *is_public);
            let mut handed_on = handed_on.flat_map(|(_, _, tree)| expanded(&tree));
            let source = handed_on.find(|path| path.rsplit("::").next() == Some(name));
            let Some(source) = source.and_then(|source| self.absolute(&place, &source)) else { return place };
            let rest = path.split_off(place.len() + 1);
            path = source.into_iter().chain(rest).collect();
        }
        path
    }
}

/// Returns the module of a file, by its path in the source folder.
fn module(path: &str) -> Place {
    let mut place: Place = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if place.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        place.pop();
    }
    place
}

/// Returns a file without its comments and without the tests at its end.
fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..tests].lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// Returns every `use` of a text: the whole item, whether it is public, and its tree.
fn uses(text: &str) -> Vec<(String, bool, String)> {
    let mut found = Vec::new();
    for part in text.split_inclusive(';') {
        let Some(at) =
            part.rfind("use ").filter(|at| !part[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        else {
            continue;
        };
        let before = part[..at].lines().last().unwrap_or("");
        if before.trim().is_empty() || before.trim().starts_with("pub") {
            let tree = part[at + 4..].trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
            found.push((part[at..].to_owned(), before.trim().starts_with("pub"), tree));
        }
    }
    found
}

/// Returns the paths of a use tree: those of `a::{b, c::d}` are `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else {
        return vec![tree.split(" as ").next().unwrap_or("").trim().to_owned()];
    };
    let (prefix, inner) = (tree[..open].trim(), &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())]);
    let (mut paths, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let one = inner[start..at].trim();
                start = (at + 1).min(inner.len());
                if !one.is_empty() {
                    paths.extend(expanded(one).into_iter().map(|path| format!("{prefix}{path}")));
                }
            }
            _ => {}
        }
    }
    paths
}

/// Returns the names that code uses, of paths only the first: neither the variants of an enum nor modules that it declares.
fn names(code: &str) -> BTreeSet<&str> {
    let is_declaration = |line: &&str| line.ends_with(';') && line.split_whitespace().rev().nth(1) == Some("mod");
    let lines = code.lines().filter(|line| !is_declaration(line));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':'));
    words.filter_map(|word| word.split("::").next()).map(|name| name.trim_end_matches(':')).collect()
}

/// Returns the paths from the crate that code names outside of `use`.
fn inline_paths(code: &str) -> Vec<String> {
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let starts = ["crate::", "super::", "self::"];
    let paths = words.filter(|word| starts.iter().any(|start| word.starts_with(start)));
    paths.map(|path| path.trim_end_matches(':').to_owned()).collect()
}
