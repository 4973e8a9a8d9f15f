//! The command line.

mod chain;
mod demo;
mod ending;
mod service;
mod swap;
mod wallet;

use std::io::Write;

use clap::Parser;

/// A local Ethereum chain with the real protocol contracts, and the demo on it.
#[derive(Debug, Parser)]
#[command(name = "braid-devnet", version)]
pub(crate) enum Command {
    /// Starts the chain alone and stays until Ctrl-C.
    Chain(chain::ChainArgs),
    /// Starts the chain and the service on it, and stays until Ctrl-C.
    Demo(demo::Args),
    /// Swaps on the running demo: quote, approve, build, sign, send, receipt; fails unless the amounts are equal to the
    /// wei.
    Swap(swap::Args),
}

impl Command {
    pub(crate) async fn run(self) -> eyre::Result<()> {
        match self {
            Self::Chain(args) => chain::run(args).await,
            Self::Demo(args) => demo::run(args).await,
            Self::Swap(args) => swap::run(args).await,
        }
    }
}

/// Prints a line. Ignores a failed write, because a reader that has gone away is no reason to stop.
fn say(line: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Command::command().debug_assert();
    }
}
