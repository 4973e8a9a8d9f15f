//! `braid config`: prints the settings of `braid serve` with their sources, and a file with all of them.
//!
//! Takes names, help texts and defaults from the options of `braid serve`, the only list of settings.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use eyre::{Result, eyre};

use crate::exit::usage;
use crate::{config_file, out};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid config example > braid.toml
  braid config check --config braid.toml")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    /// Check a configuration and the files that it names, without starting anything, and say what each setting is and
    /// where it comes from.
    Check(CheckArgs),
    /// Print a configuration file with every setting, its meaning and its default.
    Example,
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// Options as `braid serve` would get them, such as `--config FILE`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SERVE OPTIONS")]
    options: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        ConfigCommand::Check(args) => check(args),
        ConfigCommand::Example => out::line(example().trim_end()),
    }
}

/// Reads the settings as `braid serve` would, and lists them.
fn check(args: &CheckArgs) -> Result<()> {
    let words = ["braid", "serve"].into_iter().map(OsString::from).chain(args.options.iter().cloned());
    let words: Vec<OsString> = words.collect();
    let (command, in_file) = config_file::apply(crate::Cli::command(), words.iter().cloned()).map_err(usage)?;
    let matches = command.try_get_matches_from(&words).unwrap_or_else(|error| error.exit());
    let cli = crate::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let mut warning = None;
    if let crate::Command::Serve(args) = &cli.command {
        args.check()?;
        args.check_files()?;
        warning = args.warning_of_start()?;
    }
    // a command without the file has its options in the order of the help text
    let plain = crate::Cli::command();
    let serve = plain.find_subcommand("serve").ok_or_else(|| eyre!("there is no command serve"))?;
    let matches = matches.subcommand_matches("serve").ok_or_else(|| eyre!("there is no command serve"))?;
    let rows: Vec<[String; 3]> = settings(serve).map(|arg| row(arg, matches, &in_file)).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (names, values) = (width(0), width(1).min(60));
    for [name, value, source] in &rows {
        out::line(format!("{name:names$}  {value:values$}  {source}"))?;
    }
    warning.iter().for_each(|warning| out::note(format_args!("warning: {warning}")));
    out::line(
        "\nThe configuration is good. Not checked: whether the ports are free, and whether nodes and Redis server answer.",
    )
}

/// Returns the options that a configuration file may hold.
fn settings(serve: &Command) -> impl Iterator<Item = &Arg> {
    let is_setting = |arg: &&Arg| arg.get_long().is_some_and(|long| !["config", "help", "version"].contains(&long));
    serve.get_arguments().filter(is_setting)
}

/// Returns a setting's name, value and source, without secrets.
fn row(arg: &Arg, matches: &ArgMatches, in_file: &[String]) -> [String; 3] {
    let (name, id) = (arg.get_long().unwrap_or_default(), arg.get_id().as_str());
    let source = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => "command line".into(),
        Some(ValueSource::EnvVariable) => format!("environment, {}", variable(arg)),
        _ if in_file.iter().any(|key| key == name) => "file".into(),
        _ => "default".into(),
    };
    let values = matches.get_raw(id).into_iter().flatten().map(|value| value.to_string_lossy().into_owned());
    let values: Vec<String> = values.filter(|value| !value.is_empty()).collect();
    let value = match values.len() {
        0 => "not set".into(),
        count if arg.is_hide_env_values_set() => format!("{count} set, not shown"),
        _ => values.join(", "),
    };
    [name.into(), value, source]
}

/// Returns a file with every setting as a comment.
fn example() -> String {
    let mut text = String::from(
        "# Settings of `braid serve`. Each line that begins with a setting is its default; take the # away to change it.\n\
         # A setting without a default has a sample value, and the line above says so.\n\
         # The environment stands above this file, the command line above both. `braid config check --config FILE` reads it.\n",
    );
    let command = crate::Cli::command();
    let Some(serve) = command.find_subcommand("serve") else { return text };
    for arg in settings(serve) {
        text.push('\n');
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        for line in wrapped(&help, 110) {
            text.push_str(&format!("# {line}\n"));
        }
        let (long, variable) = (arg.get_long().unwrap_or_default(), variable(arg));
        text.push_str(&format!("# Environment: {variable}\n"));
        let value = default_of(arg).unwrap_or_else(|| {
            text.push_str("# No default; this is a sample:\n");
            sample(long).to_owned()
        });
        text.push_str(&format!("#{long} = {value}\n"));
    }
    text
}

/// Returns the default as TOML, if there is one.
fn default_of(arg: &Arg) -> Option<String> {
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let many = matches!(arg.get_action(), clap::ArgAction::Append);
    Some(match (&*defaults, many) {
        (_, true) => format!("[{}]", defaults.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ")),
        ([], _) if matches!(arg.get_action(), clap::ArgAction::SetTrue) => "false".into(),
        ([one], _) if one.parse::<f64>().is_ok() || one == "true" || one == "false" => one.clone(),
        ([one, ..], _) => format!("{one:?}"),
        ([], _) => return None,
    })
}

/// Returns a sample, as TOML, of a setting without a default.
fn sample(long: &str) -> &'static str {
    match long {
        "rpc-url-file" => "\"/etc/braid/node-urls\"",
        "api-key-file" => "\"/etc/braid/api-keys\"",
        "redis" => "\"redis://127.0.0.1\"",
        "snapshot" => "\"/var/lib/braid/mainnet.snapshot\"",
        "snapshot-sha256" => "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
        "metrics-listen" => "\"127.0.0.1:9100\"",
        "burst-limit" => "20",
        "solve-threads" => "2",
        "start-block" => "10000835",
        _ => "\"\"",
    }
}

fn variable(arg: &Arg) -> String {
    arg.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Wraps a text to lines of at most `width` characters.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= most => line.push_str(&format!(" {word}")),
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Every setting must have a line in the example that `braid serve` takes without its #, and must have a help text
    /// and a variable. Settings without a default had an empty text there, which no start took.
    #[test]
    fn the_example_names_every_setting_and_is_read_as_the_defaults() {
        let text = example();
        let command = crate::Cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        for arg in settings(serve) {
            let long = arg.get_long().unwrap();
            let line =
                text.lines().find(|line| line.starts_with(&format!("#{long} = "))).unwrap_or_else(|| panic!("{long}"));
            let table: toml::Table = line[1..].parse().unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(table.len(), 1, "{line}");
            let read = config_file::with_defaults(crate::Cli::command(), &line[1..], Path::new("braid.toml"));
            let matches = read.unwrap().0.try_get_matches_from(["braid", "serve"]);
            let taken = matches.and_then(|matches| crate::Cli::from_arg_matches(&matches));
            assert!(taken.is_ok() && !line.ends_with("\"\""), "{line}: {taken:?}");
            assert!(arg.get_help().is_some(), "{long} has no help");
            assert!(!variable(arg).is_empty(), "{long} has no variable");
        }
    }
}
