//! `braid sync`: searches the chain for pools and stores them, with a progress bar.

use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::{Follower, Phase, SyncStatus};
use eyre::{Result, eyre};
use indicatif::{ProgressBar, ProgressStyle};

use crate::config_file::ConfigFile;
use crate::logging::LogArgs;
use crate::nodes::NodeArgs;
use crate::paths::DataDir;
use crate::rules::RuleArgs;
use crate::snapshot::SnapshotArgs;
use crate::{data, out};

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    _config: ConfigFile,
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    data: DataDir,
    #[command(flatten)]
    snapshot: SnapshotArgs,
    #[command(flatten)]
    log: LogArgs,
    // must be last: its heading applies to all later options
    #[command(flatten)]
    rules: RuleArgs,
}

const EXAMPLES: &str =
    "Searches every factory's history for pools, reads their states, and keeps all of it in the data directory, where
`braid serve` takes it up. Ctrl-C stops it at any time; the next run goes on where it stopped. `braid serve` does
the same behind its answers: `braid sync` is for having it done before.

Examples:
  braid sync --rpc-url http://127.0.0.1:8545
  braid sync --rpc-url /var/run/geth.ipc --data /var/lib/braid --min-ether 5 --log warn";

pub(crate) fn run(args: &Args) -> Result<()> {
    let _logging = args.log.start()?;
    let mut config = args.rules.follower()?;
    // refuse before the data directory is made
    args.nodes.urls()?;
    let (store, saved) = data::open_market(&args.data)?;
    config.snapshot = args.snapshot.load(saved.as_ref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let node = args.nodes.connect().await?;
        let limits = node.keep_limits_in(&args.data.data_dir);
        args.snapshot.check(&node, config.snapshot.as_ref()).await?;
        let mut follower = Follower::spawn_with(node.clone(), config, Some((Arc::clone(&store), saved)));
        let bar = ProgressBar::no_length();
        bar.enable_steady_tick(Duration::from_millis(200));
        let stopped = tokio::select! {
            done = until_done(&mut follower.status, &bar) => { done?; false }
            _ = tokio::signal::ctrl_c() => true,
        };
        bar.finish_and_clear();
        let status = follower.status.borrow().clone();
        follower.shutdown().await;
        limits.keep(&node).await;
        store.flush()?;
        if !store.is_healthy() {
            return Err(eyre!("the market could not be written to {}", store.path().display()));
        }
        let traffic = node.traffic();
        out::line(format_args!(
            "{}: {} pools and {} tokens at block {}, {} pools excluded, in {} ({} calls of the node)",
            if stopped { "stopped" } else { "done" },
            status.pools,
            status.tokens,
            status.market_block.unwrap_or_default(),
            status.excluded,
            store.path().display(),
            traffic.calls,
        ))
    })
}

/// Shows the status until the search is done and the market is at the head.
async fn until_done(status: &mut tokio::sync::watch::Receiver<SyncStatus>, bar: &ProgressBar) -> Result<()> {
    let mut shown = None;
    loop {
        let now = status.borrow_and_update().clone();
        show(bar, &now, &mut shown);
        if now.phase == Phase::Following && now.discovery.is_none() && now.waiting == 0 && now.market_block.is_some() {
            return Ok(());
        }
        status.changed().await.map_err(|_| eyre!("the follower ended"))?;
    }
}

/// Unit of the progress bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Blocks,
    Pools,
    Nothing,
}

fn show(bar: &ProgressBar, status: &SyncStatus, shown: &mut Option<Shown>) {
    let kind = match (status.discovery, status.waiting) {
        (Some(_), _) => Shown::Blocks,
        (None, 1..) => Shown::Pools,
        (None, 0) => Shown::Nothing,
    };
    if shown.replace(kind) != Some(kind) {
        bar.set_style(style(kind));
        bar.reset();
        if let Some(progress) = status.discovery {
            bar.set_position(progress.next_block.saturating_sub(progress.from_block));
            bar.reset_elapsed();
        }
    }
    if let Some(progress) = status.discovery {
        bar.set_length(progress.to_block.saturating_sub(progress.from_block).saturating_add(1));
        bar.set_position(progress.next_block.saturating_sub(progress.from_block));
    } else {
        bar.set_length((status.pools + status.waiting) as u64);
        bar.set_position(status.pools as u64);
    }
    let trouble = status.last_error.as_deref().map_or(String::new(), |error| format!(" · {error}"));
    let message = format!("{} pools, {} to read, {} excluded{trouble}", status.pools, status.waiting, status.excluded);
    bar.set_message(message);
}

fn style(kind: Shown) -> ProgressStyle {
    let template = match kind {
        Shown::Blocks => {
            "searching {bar:30} {percent:>3}% {human_pos}/{human_len} blocks, {per_sec}, {eta} left · {wide_msg}"
        }
        Shown::Pools => {
            "reading   {bar:30} {percent:>3}% {human_pos}/{human_len} pools, {per_sec}, {eta} left · {wide_msg}"
        }
        Shown::Nothing => "{spinner} {wide_msg}",
    };
    // an invalid template only costs the style
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
