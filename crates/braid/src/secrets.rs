//! Reads secrets from files: one per line, without blank lines and lines that begin with #.

use std::path::{Path, PathBuf};

use eyre::Result;

use crate::exit::usage;

/// Reads the secrets of a file. An error names the file, never its content.
pub(crate) fn read(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| usage(format!("cannot read {}: {error}", path.display())))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

/// Joins secrets given directly with those of a file. No secret has spaces around it: a client could not send them in a
/// header.
pub(crate) fn with(given: &[String], file: Option<&PathBuf>) -> Result<Vec<String>> {
    let mut all: Vec<String> = given.iter().map(|secret| secret.trim().to_owned()).collect();
    if let Some(path) = file {
        all.extend(read(path)?);
    }
    all.retain(|secret| !secret.is_empty());
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key after a comma and a space was another key, which no request could have.
    #[test]
    fn spaces_around_a_secret_are_not_part_of_it() {
        let given = ["first".to_owned(), " second".to_owned(), " ".to_owned()];
        assert_eq!(with(&given, None).unwrap(), ["first", "second"]);
    }

    #[test]
    fn a_file_has_one_secret_a_line_and_its_errors_show_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        std::fs::write(&path, "# of the desk\n  first \n\nsecond\r\n").unwrap();
        assert_eq!(with(&["given".into(), String::new()], Some(&path)).unwrap(), ["given", "first", "second"]);
        std::fs::write(&path, b"secret\xff").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("keys") && !error.contains("secret"), "{error}");
    }
}
