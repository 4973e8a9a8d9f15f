//! The program `braid-lab` with its commands `vectors`, `market`, `bench`, `zoo`, `bench-http`, `bench-restart`,
//! `bench-stream`, `soak` and `load`.

mod bench;
mod bench_http;
mod bench_restart;
mod bench_stream;
mod check_vectors;
mod market;
mod measures;
mod out;
mod soak;
mod trade;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Braid, checks it against recorded swaps, and generates and converts markets for that.
#[derive(Debug, Parser)]
#[command(name = "braid-lab", version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Recompute recorded swaps of real pools, to the wei, and report where the numbers differ.
    Vectors(check_vectors::Args),
    /// Generate markets, and convert recorded ones.
    #[command(subcommand)]
    Market(MarketCommand),
    /// Measure the quality of routes and the time to find them.
    Bench(bench::BenchArgs),
    /// Measure the same on markets disturbed in ways that occur on mainnet, next to the undisturbed market.
    Zoo(bench::ZooArgs),
    /// Measure quotes per second over HTTP on a market file.
    BenchHttp(bench_http::Args),
    /// Measure what it costs to keep a market on disk, and how fast it is restored after a crash.
    BenchRestart(bench_restart::Args),
    /// Measure what it costs to publish a market on a Redis stream and to follow it there.
    BenchStream(bench_stream::Args),
    /// Send a running service 70% of the quotes that it can answer, and compare the beginning with the end.
    Soak(soak::Args),
    /// Send a running service five times as many quotes as it can answer.
    Load(soak::Args),
}

#[derive(Debug, Subcommand)]
enum MarketCommand {
    /// Generate a market with the structure of mainnet's and write it to a file.
    Generate(bench::GenerateArgs),
    /// Check a market file or a recorded market in JSON, and write it as a market file of this version.
    Load(market::LoadArgs),
    /// Write a market file as JSON, in the form of recorded markets.
    Export(market::ExportArgs),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Vectors(args) => return check_vectors::run(&args).unwrap_or_else(complain),
        Command::Market(MarketCommand::Generate(args)) => bench::generate(&args),
        Command::Market(MarketCommand::Load(args)) => market::load(&args),
        Command::Market(MarketCommand::Export(args)) => market::export(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Zoo(args) => bench::zoo(&args),
        Command::BenchHttp(args) => bench_http::run(&args),
        Command::BenchRestart(args) => bench_restart::run(&args),
        Command::BenchStream(args) => bench_stream::run(&args),
        Command::Soak(args) => soak::soak(&args),
        Command::Load(args) => soak::load(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(error),
    }
}

/// Prints why a command failed.
#[expect(clippy::needless_pass_by_value, reason = "it is what a failed command leaves")]
fn complain(error: eyre::Report) -> ExitCode {
    eprintln!("braid-lab: {error}");
    ExitCode::FAILURE
}
