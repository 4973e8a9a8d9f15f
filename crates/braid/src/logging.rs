//! Structured logs on standard error.

use std::io::IsTerminal;

use clap::ValueEnum;
use eyre::{Result, eyre};
use tracing_subscriber::{Layer as _, filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _};

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
        let filter = self
            .log
            .parse::<Targets>()
            .map_err(|error| eyre!("--log {:?} is not a level or a list of target=level: {error}", self.log))?;
        let lines = tracing_subscriber::fmt::layer()
            // colours for eyes, plain text for files
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr);
        let lines = match self.log_format {
            LogFormat::Text => lines.with_target(false).boxed(),
            LogFormat::Json => lines.json().flatten_event(true).boxed(),
        };
        tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .try_init()
            .map_err(|error| eyre!("logging cannot start: {error}"))
    }
}
