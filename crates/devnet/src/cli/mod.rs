//! The command line.

mod chain;
mod signals;

use clap::Parser;

/// A local Ethereum chain with the real protocol contracts, and the demo on it.
#[derive(Debug, Parser)]
#[command(name = "braid-devnet", version)]
pub(crate) enum Command {
    /// Starts the chain alone and stays until Ctrl-C.
    Chain(chain::Args),
}

impl Command {
    pub(crate) async fn run(self) -> eyre::Result<()> {
        match self {
            Self::Chain(args) => chain::run(args).await,
        }
    }
}
