//! Structured logs on standard error.

use std::io::IsTerminal;

use clap::ValueEnum;
use eyre::{Result, eyre};
use tracing_subscriber::EnvFilter;

/// How logs look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For a person.
    Text,
    /// One JSON object per line, for a machine.
    Json,
}

/// Log options, common to the commands that log.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// How logs look
    #[arg(long, env = "BRAID_LOG_FORMAT", value_enum, default_value = "text")]
    log_format: LogFormat,
    /// What is logged: a level (error, warn, info, debug, trace) or a list such as `info,braid_ethereum=debug`
    #[arg(long, env = "BRAID_LOG", value_name = "FILTER", default_value = "info")]
    log: String,
}

impl LogArgs {
    /// Starts logging.
    pub(crate) fn start(&self) -> Result<()> {
        let filter = EnvFilter::try_new(&self.log)
            .map_err(|error| eyre!("--log {:?} is not a level or a list of target=level: {error}", self.log))?;
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            // colours for eyes, plain text for files
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        let started = match self.log_format {
            LogFormat::Text => builder.with_target(false).try_init(),
            LogFormat::Json => builder.json().flatten_event(true).try_init(),
        };
        started.map_err(|error| eyre!("logging cannot start: {error}"))
    }
}
