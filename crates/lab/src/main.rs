//! The workshop's binary: `braid-lab vectors`, `market`, `bench`, `zoo`, `bench-http`, `bench-restart`, `bench-stream`, `soak`, `load`.

mod bench;
mod bench_http;
mod bench_restart;
mod bench_stream;
mod check_vectors;
mod market;
mod measures;
mod out;
mod soak;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Braid, holds it to recorded swaps, and makes and converts markets for that.
#[derive(Debug, Parser)]
#[command(name = "braid-lab", version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Recompute recorded swaps of real pools, to the wei, and say where the numbers differ.
    Vectors(check_vectors::Args),
    /// Make up markets, and convert recorded ones.
    #[command(subcommand)]
    Market(MarketCommand),
    /// Measure how good routes are and what they cost to find.
    Bench(bench::BenchArgs),
    /// Measure the same on markets that are disturbed as mainnet disturbs them, beside the undisturbed one.
    Zoo(bench::ZooArgs),
    /// Measure quotes per second over HTTP on a market file.
    BenchHttp(bench_http::Args),
    /// Measure what keeping a market on disk costs, and how fast it is back after a crash.
    BenchRestart(bench_restart::Args),
    /// Measure what publishing a market on a Redis stream costs, and following it there.
    BenchStream(bench_stream::Args),
    /// Ask a running service for quotes at 70% of what it can do, and compare the beginning with the end.
    Soak(soak::Args),
    /// Ask a running service for five times as many quotes as it can do.
    Load(soak::Args),
}

#[derive(Debug, Subcommand)]
enum MarketCommand {
    /// Make up a market like mainnet's in shape and write it to a file.
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

/// Says why a command failed.
#[expect(clippy::needless_pass_by_value, reason = "it is what a failed command leaves")]
fn complain(error: eyre::Report) -> ExitCode {
    eprintln!("braid-lab: {error}");
    ExitCode::FAILURE
}
