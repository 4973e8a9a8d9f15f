//! `braid keys`: API keys, live in a running server at once.

use braid_server::clock::{Clock as _, SystemClock, rfc3339};
use braid_store::{KeyRecord, KeyStore};
use clap::Subcommand;
use eyre::Result;

use crate::out;
use crate::paths::DataDir;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    data: DataDir,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key and print it: the only time that it can be seen
    Create {
        /// Tells the key from others: who or what uses it
        name: String,
    },
    /// List every key, without the keys themselves
    List,
    /// Revoke a key: the next request with it is refused
    Revoke {
        /// The key's id, as `braid keys list` shows it
        id: String,
    },
}

pub(crate) fn run(args: &Args) -> Result<()> {
    braid_store::prepare_dir(&args.data.data_dir)?;
    let keys = KeyStore::open(&args.data.data_dir)?;
    let now_s = SystemClock.now_s();
    match &args.command {
        Command::Create { name } => {
            let (key, record) = keys.create(name, now_s)?;
            eprintln!("made {} for {name:?}; keep the key, it is not shown again:", record.id.0);
            out::line(format_args!("{}", key.reveal()))?;
        }
        Command::List => {
            out::line(format_args!("{:<18} {:<24} {:<24} NAME", "ID", "CREATED", "REVOKED"))?;
            keys.list()?.iter().try_for_each(print)?;
        }
        Command::Revoke { id } => {
            let record = keys.revoke(id, now_s)?;
            eprintln!("revoked {} ({:?})", record.id.0, record.name);
        }
    }
    Ok(())
}

fn print(record: &KeyRecord) -> Result<()> {
    let time = |seconds: u64| rfc3339(seconds.saturating_mul(1_000));
    let revoked = record.revoked_at_s.map_or_else(|| "-".into(), time);
    out::line(format_args!("{:<18} {:<24} {:<24} {}", record.id.0, time(record.created_at_s), revoked, record.name))
}
