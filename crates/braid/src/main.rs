//! The service's binary: `braid serve` and the commands around it. `docs/operate/command-line.md` explains them.

mod address;
mod api;
mod chain;
mod config_file;
mod data;
mod descriptors;
mod diff;
mod doctor;
mod exit;
mod first_head;
mod impact;
mod key;
mod keys;
mod local;
mod logging;
mod look;
mod manual;
mod market_source;
mod mcp;
mod moved;
mod node_only;
mod nodes;
mod offline;
mod out;
mod paths;
mod proxy;
mod quote;
mod rules;
mod secrets;
mod serve;
mod settings;
mod similar;
mod snapshot;
mod source;
mod swap;
mod sync;
mod tokens;
mod units;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Finds the best way to swap tokens on Ethereum and turns it into one unsigned transaction.
///
/// Start with `braid serve --rpc-url http://127.0.0.1:8545`: any Ethereum mainnet node is enough.
#[derive(Debug, Parser)]
#[command(name = "braid", version, propagate_version = true, max_term_width = 110, after_help = exit::TABLE)]
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
    /// Compute one quote and print it.
    Quote(quote::Args),
    /// Swap with a local key: quote, approve, simulate, and with `--send` sign, send and watch.
    Swap(Box<swap::Args>),
    /// Recompute a receipt of best execution, offline.
    Verify(verify::Args),
    /// List tokens of a market, the best known first.
    Tokens(look::TokensArgs),
    /// List the pools that hold a token, or all of several.
    #[command(
        after_help = "Example: braid pools --market now.market USDC WETH\n\nOn mainnet --rpc-url reads only the pools that this version lists, about 400."
    )]
    Pools(look::NamedArgs),
    /// Print the prices of tokens, in ether and dollars.
    #[command(
        after_help = "Example: braid prices --market now.market USDC WBTC\n\nOn mainnet --rpc-url reads only the pools that this version lists, about 400."
    )]
    Prices(look::NamedArgs),
    /// Create, list, rotate and revoke API keys, while the server runs or not.
    Keys(keys::Args),
    /// Check the settings of `braid serve`, and list them.
    Config(settings::Args),
    /// Check what a service needs (node, clock, proxy, data directory), and name the fix for each problem.
    Doctor(doctor::Args),
    /// Print the execution proxy's address, verify its code, or deploy it.
    Proxy(proxy::Args),
    /// Save, show and compare market files.
    #[command(subcommand)]
    Market(MarketCommand),
    /// Print the OpenAPI document of the service.
    Openapi,
    /// Serve the Model Context Protocol on standard input and output: read-only tools for an assistant, over a running
    /// service.
    Mcp(mcp::Args),
    /// Print a script that completes commands and options in a shell.
    Completions(manual::CompletionArgs),
    /// Print the manual page, or write those of all commands.
    Man(manual::ManArgs),
}

#[derive(Debug, Subcommand)]
enum MarketCommand {
    /// Print the contents of a market file.
    Show(offline::ShowArgs),
    /// Write the market of a node, or of a data directory, to a file.
    Save(offline::SaveArgs),
    /// List the pools in which two market files differ, and the fields of their states that differ.
    Diff(diff::Args),
}

/// Parses the command line as [`parsed`] does, without exiting on an error.
fn try_parsed() -> Result<Command, String> {
    let (command, _) = config_file::apply(Cli::command(), std::env::args_os())?;
    let matches = command.try_get_matches().map_err(|error| error.to_string())?;
    Cli::from_arg_matches(&matches).map(|cli| cli.command).map_err(|error| error.to_string())
}

/// Parses the command line. It takes precedence over the environment, then the configuration file, then the defaults.
fn parsed() -> Cli {
    let command = match config_file::apply(Cli::command(), std::env::args_os()) {
        Ok((command, _)) => command,
        Err(error) => Cli::command().error(clap::error::ErrorKind::Io, error).exit(),
    };
    Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(outcome) = moved::run(&args) {
        return outcome.unwrap_or_else(complain);
    }
    let outcome = match parsed().command {
        Command::Serve(args) => serve::run(&args),
        Command::Sync(args) => sync::run(&args),
        Command::Quote(args) => quote::run(&args),
        Command::Swap(args) => swap::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Tokens(args) => look::tokens(&args),
        Command::Pools(args) => look::pools(&args),
        Command::Prices(args) => look::prices(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Config(args) => settings::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Proxy(args) => proxy::run(&args),
        Command::Market(MarketCommand::Show(args)) => offline::show(&args),
        Command::Market(MarketCommand::Save(args)) => offline::save(&args),
        Command::Market(MarketCommand::Diff(args)) => diff::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Man(args) => manual::man(&args, Cli::command()),
        Command::Openapi => out::line(braid_server::openapi::text().trim_end()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(error),
    }
}

/// Prints the error of a command, and returns its exit code.
#[expect(clippy::needless_pass_by_value, reason = "it is what a failed command leaves")]
fn complain(error: eyre::Report) -> ExitCode {
    out::note(format_args!("braid: {}", source::plain_words(&error.to_string())));
    exit::code(&error)
}
