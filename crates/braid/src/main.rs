//! The one binary: `braid serve`, `braid sync`, `braid quote`, `braid keys`, `braid proxy`, `braid market`,
//! `braid vectors`, `braid bench`.

mod bench;
mod bench_http;
mod bench_restart;
mod config_file;
mod data;
mod diff;
mod keys;
mod logging;
mod nodes;
mod offline;
mod out;
mod paths;
mod proxy;
mod rules;
mod serve;
mod sync;
mod units;
mod vectors;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    /// Search the chain for pools and keep what is found, with a progress bar.
    Sync(Box<sync::Args>),
    /// Work out one quote and print it for a person.
    Quote(offline::QuoteArgs),
    /// Make, list, rotate and revoke API keys, while the server runs or not.
    Keys(keys::Args),
    /// Say where the execution proxy is, check that it is there, deploy it.
    Proxy(proxy::Args),
    /// Look at and keep markets.
    #[command(subcommand)]
    Market(MarketCommand),
    /// Recompute recorded swaps of real pools, to the wei, and say where the numbers differ.
    Vectors(vectors::Args),
    /// Print the OpenAPI document of the service.
    Openapi,
    /// Measure how good routes are and what they cost to find.
    Bench(bench::BenchArgs),
    /// Measure quotes per second over HTTP on a market file.
    BenchHttp(bench_http::Args),
    /// Measure what keeping a market on disk costs, and how fast it is back after a crash.
    BenchRestart(bench_restart::Args),
}

#[derive(Debug, Subcommand)]
enum MarketCommand {
    /// Say what a market file holds.
    Show(offline::ShowArgs),
    /// Write the market of a node, or of a data directory, to a file.
    Save(offline::SaveArgs),
    /// Write a market file as JSON, in the form of recorded markets.
    Export(offline::ExportArgs),
    /// Check a market file or a recorded market in JSON, and write it as a market file of this version.
    Load(offline::LoadArgs),
    /// Say in which pools, and in which words of them, two market files differ.
    Diff(diff::Args),
    /// Make up a market like mainnet's in shape and write it to a file.
    Generate(bench::GenerateArgs),
}

/// The command line, over the environment, over the configuration file, over the defaults.
fn parsed() -> Cli {
    let command = match config_file::apply(Cli::command()) {
        Ok(command) => command,
        Err(error) => Cli::command().error(clap::error::ErrorKind::Io, error).exit(),
    };
    Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

fn main() -> ExitCode {
    let outcome = match parsed().command {
        Command::Serve(args) => serve::run(&args),
        Command::Sync(args) => sync::run(&args),
        Command::Quote(args) => offline::quote(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Vectors(args) => return vectors::run(&args).unwrap_or_else(complain),
        Command::Proxy(args) => proxy::run(&args),
        Command::Market(MarketCommand::Show(args)) => offline::show(&args),
        Command::Market(MarketCommand::Save(args)) => offline::save(&args),
        Command::Market(MarketCommand::Export(args)) => offline::export(&args),
        Command::Market(MarketCommand::Load(args)) => offline::load(&args),
        Command::Market(MarketCommand::Diff(args)) => diff::run(&args),
        Command::Openapi => out::line(braid_server::openapi::text().trim_end()),
        Command::Market(MarketCommand::Generate(args)) => bench::generate(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::BenchHttp(args) => bench_http::run(&args),
        Command::BenchRestart(args) => bench_restart::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(error),
    }
}

/// Says why a command failed.
#[expect(clippy::needless_pass_by_value, reason = "it is what a failed command leaves")]
fn complain(error: eyre::Report) -> ExitCode {
    eprintln!("braid: {error}");
    ExitCode::FAILURE
}
