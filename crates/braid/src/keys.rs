//! `braid keys`: manages API keys, also of a running server.

use braid_quoting::clock::{Clock as _, SystemClock, rfc3339};
use braid_store::{ApiKey, KeyRecord, KeyState, KeyStore, KeyTerms, Replicas, SharedKeys, StoreError};
use clap::Subcommand;
use eyre::{Result, eyre};

use crate::config_file::ConfigFile;
use crate::exit::usage;
use crate::out;
use crate::paths::DataDir;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid keys --data-dir /var/lib/braid create bot --rate 1200 --expires 90d
  braid keys --data-dir /var/lib/braid list
  braid keys --data-dir /var/lib/braid rotate ID --keep-old 15m
  braid keys --data-dir /var/lib/braid revoke ID")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    _config: ConfigFile,
    #[command(flatten)]
    data: DataDir,
    /// A Redis-compatible server whose services share their keys, as `braid serve --redis` names it: the keys of all of
    /// them
    #[arg(long, env = "BRAID_REDIS", value_name = "URL", hide_env_values = true, global = true)]
    redis: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key and print it: the only time that it can be seen
    Create {
        /// Tells the key from others: who or what uses it
        name: String,
        /// Calls a minute with this key. By default what `braid serve --rate-limit` says
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        rate: Option<u32>,
        /// Calls with this key in each window of one second. By default what `braid serve --burst-limit` says
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        burst: Option<u32>,
        /// When the key ends: a time such as 2027-01-31T00:00:00Z, or a span from now such as 90d or 12h. By default
        /// never
        #[arg(long, value_name = "WHEN", value_parser = when)]
        expires: Option<When>,
    },
    /// List every key, without the keys themselves
    List,
    /// Replace a key's secret and print the new one; id, name and limits stay
    Rotate {
        /// The key's id, as `braid keys list` shows it
        id: String,
        /// How long the old secret still works: a span such as 15m or 2d. By default it ends at once
        #[arg(long, value_name = "SPAN", value_parser = seconds)]
        keep_old: Option<u64>,
    },
    /// Revoke a key: the next request with it is refused
    Revoke {
        /// The key's id, as `braid keys list` shows it
        id: String,
    },
}

/// A time, or a span from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Unix seconds.
    At(u64),
    /// Seconds from now.
    In(u64),
}

impl When {
    fn unix_s(self, now_s: u64) -> u64 {
        match self {
            Self::At(unix_s) => unix_s,
            Self::In(seconds) => now_s.saturating_add(seconds),
        }
    }
}

fn when(text: &str) -> Result<When, String> {
    match text.parse::<jiff::Timestamp>() {
        Ok(time) => u64::try_from(time.as_second()).map(When::At).map_err(|_| "a time before 1970".into()),
        Err(_) => seconds(text).map(When::In),
    }
}

/// Parses a span such as `1h30m` or `90d` to seconds; a day has 24 hours.
fn seconds(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is neither a span such as 90d, 12h or 15m nor a time such as 2027-01-31T00:00:00Z");
    let span: jiff::Span = text.parse().map_err(|_| wrong())?;
    let length = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    u64::try_from(length.as_secs()).ok().filter(|seconds| *seconds > 0).ok_or_else(wrong)
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let now_s = SystemClock.now_s();
    let Some(url) = &args.redis else {
        let dir = &args.data.data_dir;
        if matches!(args.command, Command::Create { .. }) {
            braid_store::prepare_dir(dir)?;
        } else if !dir.exists() {
            return Err(usage(format!(
                "there is no data directory {}: name that of `braid serve` with --data",
                dir.display()
            )));
        }
        let done = execute(args, &KeyStore::open(dir)?, now_s).map_err(with_help)?;
        return print_result(done, &format!("in {}", dir.display()), now_s);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let keys = SharedKeys::of(Replicas::connect(url).await?);
        // not the system's directory for temporary files, to which other users can write
        let scratch = args.data.data_dir.join(format!("shared-keys-{}", std::process::id()));
        braid_store::prepare_dir(&scratch)?;
        let done = keys.change(&scratch, |keys| execute(args, keys, now_s)).await;
        let _ = std::fs::remove_dir_all(&scratch);
        done.map_err(with_help)?.ok_or_else(|| eyre!("the Redis server does not answer: nothing was changed"))
    })?;
    print_result(done, "on the Redis server", now_s)
}

/// Result of a command.
enum Done {
    Created(ApiKey, KeyRecord),
    Listed(Vec<KeyRecord>),
    Rotated(ApiKey, KeyRecord),
    Revoked(KeyRecord),
}

/// Runs a command on the keys of a directory.
fn execute(args: &Args, keys: &KeyStore, now_s: u64) -> Result<Done, StoreError> {
    Ok(match &args.command {
        Command::Create { name, rate, burst, expires } => {
            let expires_at_s = expires.map(|when| when.unix_s(now_s));
            let (key, record) = keys.create(name, KeyTerms { per_min: *rate, burst: *burst, expires_at_s }, now_s)?;
            Done::Created(key, record)
        }
        Command::List => Done::Listed(keys.list()?),
        Command::Rotate { id, keep_old } => {
            let (key, record) = keys.rotate(id, keep_old.unwrap_or(0), now_s)?;
            Done::Rotated(key, record)
        }
        Command::Revoke { id } => Done::Revoked(keys.revoke(id, now_s)?),
    })
}

/// Prints the result of a command on the keys at a place.
fn print_result(done: Done, place: &str, now_s: u64) -> Result<()> {
    match done {
        Done::Created(key, record) => show(&format!("made {} for {:?} {place}", record.id.0, record.name), &key),
        Done::Listed(records) => {
            let head = ["ID", "STATE", "CREATED", "ROTATED", "EXPIRES", "A MINUTE", "A SECOND", "NAME"];
            out::line(row(head))?;
            records.iter().try_for_each(|record| print(record, now_s))
        }
        Done::Rotated(key, record) => {
            let old = match record.retiring {
                Some(old) => format!("the old secret works until {}", time(old.until_s)),
                None => "the old secret has ended".into(),
            };
            show(&format!("rotated {} ({:?}); {old}", record.id.0, record.name), &key)
        }
        Done::Revoked(record) => {
            out::note(format_args!("revoked {} ({:?})", record.id.0, record.name));
            Ok(())
        }
    }
}

fn with_help(error: StoreError) -> eyre::Report {
    match error {
        StoreError::BadKeyTerms(_) | StoreError::BadKeyName(_) => usage(error.to_string()),
        StoreError::UnknownKey(_) => eyre!("{error}; `braid keys list` shows the ids"),
        other => other.into(),
    }
}

/// Prints a key to standard output, and everything else to standard error, for scripts.
fn show(what: &str, key: &ApiKey) -> Result<()> {
    out::note(format_args!("{what}; keep the key, it is not shown again:"));
    out::line(format_args!("{}", key.reveal()))
}

fn time(unix_s: u64) -> String {
    // whole seconds
    rfc3339(unix_s.saturating_mul(1_000)).replace(".000Z", "Z")
}

fn row([id, state, created, rotated, expires, per_min, burst, name]: [&str; 8]) -> String {
    format!("{id:<18} {state:<8} {created:<21} {rotated:<21} {expires:<21} {per_min:<9} {burst:<9} {name}")
}

fn print(record: &KeyRecord, now_s: u64) -> Result<()> {
    let KeyRecord { id, name, created_at_s, rotated_at_s, terms, .. } = record;
    let state = match record.state(now_s) {
        KeyState::Active => "active",
        KeyState::Expired => "expired",
        KeyState::Revoked => "revoked",
    };
    let moment = |unix_s: Option<u64>| unix_s.map_or_else(|| "-".into(), time);
    let count = |calls: Option<u32>| calls.map_or_else(|| "default".into(), |calls| calls.to_string());
    let (created, rotated, expires) = (time(*created_at_s), moment(*rotated_at_s), moment(terms.expires_at_s));
    out::line(row([&id.0, state, &created, &rotated, &expires, &count(terms.per_min), &count(terms.burst), name]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_makes_the_reader_of_ends_panic(text in "\\PC{0,40}") {
            let _ = when(&text);
        }

        #[test]
        fn every_span_and_time_is_read_back(days in 1..10_000u64, hours in 0..24u64, unix_s in 0..253_000_000_000u64) {
            prop_assert_eq!(when(&format!("{days}d{hours}h")), Ok(When::In(days * 86_400 + hours * 3_600)));
            prop_assert_eq!(when(&time(unix_s)), Ok(When::At(unix_s)));
        }
    }

    #[test]
    fn an_end_is_a_time_or_a_span() {
        assert_eq!(when("2027-01-31T00:00:00Z"), Ok(When::At(1_801_353_600)));
        assert_eq!(when("90d"), Ok(When::In(90 * 86_400)));
        assert_eq!(when("1h 30m").map(|when| when.unix_s(10)), Ok(5_410));
        for wrong in ["", "soon", "-1d", "0s", "90", "1 month"] {
            assert!(when(wrong).is_err(), "{wrong:?}");
        }
    }
}
