//! The one binary: `braid serve`, `braid quote`, `braid keys`, `braid market`, `braid bench`.
#![allow(clippy::print_stdout, reason = "a command's answer belongs on standard output")]

mod keys;
mod logging;
mod paths;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Finds the best way to swap tokens on Ethereum and turns it into one unsigned transaction.
///
/// Start with `braid serve --rpc-url http://127.0.0.1:8545`: any Ethereum mainnet node is enough.
#[derive(Debug, Parser)]
#[command(name = "braid", version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Follow a node and answer quotes and builds over HTTP.
    Serve(Box<serve::Args>),
    /// Make, list and revoke API keys, while the server runs or not.
    Keys(keys::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => serve::run(&args),
        Command::Keys(args) => keys::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("braid: {error}");
            ExitCode::FAILURE
        }
    }
}
