//! The configuration file: a TOML file whose keys are the long names of options.
//!
//! Its values become the defaults of their options. So the environment and the command line take precedence, and one
//! parser checks all three.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Command;
use toml::{Table, Value};

/// Commands that read the file. Every key must be an option of the first.
const COMMANDS: [&str; 4] = ["serve", "sync", "keys", "doctor"];

/// The variable that names the file.
const VARIABLE: &str = "BRAID_CONFIG";

/// The option with the file's path, for the commands that read it. It is read before the rest is parsed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConfigFile {
    /// TOML file with options by their long names, such as `rate-limit = 600`; environment variables and flags take
    /// precedence
    #[arg(long, env = VARIABLE, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

/// Returns the command with the file's values as defaults, and the names of the file's settings. `args` is the command
/// line. Only the commands that use the file read it.
pub(crate) fn apply(
    command: Command,
    mut args: impl Iterator<Item = OsString>,
) -> Result<(Command, Vec<String>), String> {
    if !args.nth(1).is_some_and(|name| COMMANDS.iter().any(|reader| name == *reader)) {
        return Ok((command, Vec::new()));
    }
    let named = named_in(args).or_else(|| std::env::var_os(VARIABLE).filter(|value| !value.is_empty()));
    let Some(path) = named.map(PathBuf::from) else { return Ok((command, Vec::new())) };
    let shown = path.display();
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    with_defaults(command, &text, &path)
}

/// Finds the value of `--config` on a command line.
fn named_in(args: impl Iterator<Item = OsString>) -> Option<OsString> {
    let mut args = args.take_while(|arg| arg != "--");
    while let Some(arg) = args.next() {
        if arg == "--config" {
            return args.next();
        }
        if let Some(value) = arg.to_str().and_then(|text| text.strip_prefix("--config=")) {
            return Some(value.into());
        }
    }
    None
}

pub(crate) fn with_defaults(mut command: Command, text: &str, path: &Path) -> Result<(Command, Vec<String>), String> {
    let shown = path.display();
    let table: Table = text.parse().map_err(|error| format!("{shown} is not TOML: {error}"))?;
    let mut settings = Vec::new();
    for (key, value) in table {
        let long = key.replace('_', "-");
        let values = words(&value).ok_or_else(|| format!("{shown}: {key} is a {}", value.type_str()))?;
        settings.push(long.clone());
        for name in COMMANDS {
            let args = command.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
            let known = args.into_iter().find(|arg| arg.get_long() == Some(&long) && long != "config");
            match known.map(|arg| arg.get_id().clone()) {
                Some(id) => {
                    let values = values.clone();
                    command = command
                        .mut_subcommand(name, |sub| sub.mut_arg(id, |arg| arg.required(false).default_values(values)));
                }
                None if name == COMMANDS[0] => {
                    return Err(format!("{shown}: there is no option {key}; `braid serve --help` lists them"));
                }
                None => {}
            }
        }
    }
    Ok((command, settings))
}

/// Returns a value as on the command line. Leaks the texts: clap keeps defaults by reference.
fn words(value: &Value) -> Option<Vec<&'static str>> {
    let word = |value: &Value| match value {
        Value::String(text) => Some(&*text.clone().leak()),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Some(&*value.to_string().leak()),
        _ => None,
    };
    match value {
        Value::Array(values) => values.iter().map(word).collect(),
        single => word(single).map(|word| vec![word]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory as _, FromArgMatches as _};
    use proptest::prelude::*;

    /// Returns the debug form of the settings from a command line and a file with defaults.
    fn parse(file: &str, args: &[&str]) -> Result<String, String> {
        let (command, _) = with_defaults(crate::Cli::command(), file, Path::new("braid.toml"))?;
        let matches = command.try_get_matches_from(args).map_err(|error| error.to_string())?;
        crate::Cli::from_arg_matches(&matches).map(|cli| format!("{cli:?}")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_file_stands_below_the_command_line_and_above_the_defaults() {
        let file = "rpc-url = [\"http://127.0.0.1:1\", \"ws://b:2\"]\nrate_limit = 7\nanonymous-quotes = true\napi-key = [\"a\", \"b\"]";
        let read = parse(file, &["braid", "serve"]).unwrap();
        for part in [
            "rpc_urls: [\"http://127.0.0.1:1\", \"ws://b:2\"]",
            "rate_limit: 7",
            "anonymous_quotes: true",
            "[\"a\", \"b\"]",
        ] {
            assert!(read.contains(part), "{part} is not in {read}");
        }
        assert!(read.contains("quote_ttl_s: 120"));
        let over = parse(file, &["braid", "serve", "--rate-limit", "8", "--api-key", "c"]).unwrap();
        assert!(over.contains("rate_limit: 8") && over.contains("[\"c\"]"), "{over}");
    }

    #[test]
    fn mistakes_in_the_file_are_named() {
        let fails = |file: &str| parse(file, &["braid", "serve", "--rpc-url", "http://127.0.0.1:1"]).unwrap_err();
        assert!(fails("ratelimit = 7").contains("no option ratelimit"));
        assert!(fails("rate-limit = {}").contains("rate-limit is a table"));
        assert!(fails("rate-limit = \"many\"").contains("invalid value 'many' for '--rate-limit"));
        assert!(fails("rate-limit").contains("not TOML"));
    }

    /// An amount of ether had to be written as a text.
    #[test]
    fn a_number_may_have_decimals() {
        let file = "rpc-url = \"http://127.0.0.1:1\"\nmin-ether = 0.5";
        assert!(parse(file, &["braid", "serve"]).unwrap().contains("min_ether: 0.5"));
        assert!(parse("rate-limit = 7.5", &["braid", "serve"]).unwrap_err().contains("invalid value '7.5'"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,60}(= ?\\PC{0,20}\n)?") {
            let _ = with_defaults(crate::Cli::command(), &text, Path::new("braid.toml"));
        }

        #[test]
        fn every_count_in_range_is_read_back(rate: u32, wait_ms in 0..=10_000u64) {
            let file = format!("rpc-url = \"http://127.0.0.1:1\"\nrate-limit = {rate}\nsolve_wait_ms = {wait_ms}");
            let read = parse(&file, &["braid", "serve"]).unwrap();
            let (rate, wait) = (format!("rate_limit: {rate},"), format!("solve_wait_ms: {wait_ms},"));
            prop_assert!(read.contains(&rate) && read.contains(&wait), "{}", read);
        }

        #[test]
        fn every_text_is_read_back(text in "[a-zA-Z0-9 ./:_-]{1,40}") {
            let file = format!("rpc-url = \"{text}\"");
            let read = parse(&file, &["braid", "serve"]).unwrap();
            let expected = format!("rpc_urls: [{text:?}]");
            prop_assert!(read.contains(&expected), "{}", read);
        }
    }

    #[test]
    fn the_file_is_found_on_the_command_line() {
        let find = |args: &[&str]| named_in(args.iter().map(OsString::from));
        assert_eq!(find(&["braid", "serve", "--config", "a.toml"]), Some("a.toml".into()));
        assert_eq!(find(&["braid", "serve", "--config=b.toml"]), Some("b.toml".into()));
        assert_eq!(find(&["braid", "serve", "--", "--config=b.toml"]), None);
    }
}
