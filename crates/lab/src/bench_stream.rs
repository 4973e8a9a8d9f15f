//! `braid-lab bench-stream`: measures what it costs to publish a market on a Redis stream, and to follow it there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_store::replicas::stream::{Appended, Findings, Lease, MarketStream, StreamState};
use eyre::{Result, eyre};

use crate::bench::{self, CHANGED};
use crate::out;

/// The number of blocks that are published.
const BLOCKS: u64 = 20;

/// The number of reads that find nothing new.
const LOOKS: u32 = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Pools of the generated market
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pools: u32,
    /// A Redis-compatible server without any market; the data written there is not removed
    #[arg(long, value_name = "URL", default_value = "redis://127.0.0.1")]
    redis: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure(args))
}

async fn measure(args: &Args) -> Result<()> {
    let mut market = Arc::new(bench::generated_market(args.pools as usize, 1)?);
    let (tips, findings) = ([1, 2, 3, 4], Arc::new(Findings::default()));
    out::line(format_args!("{} pools; {}", market.pools().len(), bench::machine()))?;
    let mut stream = MarketStream::open(&args.redis)?;
    let lease = Duration::from_secs(60);
    let Lease::Ours { token, head, .. } = stream.hold(&"0".repeat(32), lease).await? else {
        return Err(eyre!("a service publishes its market on this server: name one of your own with --redis"));
    };
    if head.is_some() {
        return Err(eyre!("there is a market on this server already: name another one with --redis"));
    }

    let begun = Instant::now();
    let mut told = StreamState::new(Arc::clone(&market), tips, Arc::clone(&findings), Duration::ZERO)?;
    let snapshot = told.to_snapshot(place(0))?;
    let made = begun.elapsed();
    let number = market.block().number;
    let appended = stream.append(&token, "", (&place(0), number), &[], &snapshot).await?;
    let written = begun.elapsed().saturating_sub(made);
    if appended != Appended::Done {
        return Err(eyre!("the lease is gone"));
    }
    out::line(format_args!("whole: {} kB; made in {made:?}, written in {written:?}", snapshot.len() / 1_000))?;
    let begun = Instant::now();
    let bytes = stream.snapshot().await?;
    let over = begun.elapsed();
    let (mut follower, _) = StreamState::from_snapshot(&bytes)?;
    out::line(format_args!("joining: over in {over:?}, a market after {:?}", begun.elapsed()))?;

    let mut times: [Vec<Duration>; 3] = Default::default();
    let (mut largest, mut last) = (0, newest(&mut stream, "0-0").await?);
    for number in 1..=BLOCKS {
        market = bench::rewritten(&market)?;
        let begun = Instant::now();
        let (next, entry) = told.next(Arc::clone(&market), tips, Arc::clone(&findings), Duration::ZERO)?;
        let made = begun.elapsed();
        let at = (&*place(number), market.block().number);
        stream.append(&token, &place(number - 1), at, &entry, &[]).await?;
        let appended = begun.elapsed().saturating_sub(made);
        let read = stream.read(&last).await?;
        let entry = read.entries.last().ok_or_else(|| eyre!("the entry is not there"))?;
        let begun = Instant::now();
        follower = follower.after(&entry.entry)?;
        for (times, took) in times.iter_mut().zip([made, appended, begun.elapsed()]) {
            times.push(took);
        }
        last.clone_from(&entry.id);
        (told, largest) = (next, largest.max(entry.entry.len()));
    }
    if follower.market.digest()? != market.digest()? {
        return Err(eyre!("the markets differ"));
    }
    let [made, appended, applied] = times.map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    });
    out::line(format_args!(
        "a block that changes {CHANGED} pools: {} kB at most; made in {made:?}, appended in {appended:?}, applied in {applied:?} (medians)",
        largest / 1_000
    ))?;
    let begun = Instant::now();
    for _ in 0..LOOKS {
        stream.read(&last).await?;
    }
    out::line(format_args!(
        "looking whether there is something new: {:?}; ten times a second a service",
        begun.elapsed() / LOOKS
    ))?;
    stream.release(&token).await?;
    Ok(())
}

fn place(number: u64) -> String {
    format!("{}:{number}", "0".repeat(32))
}

/// Returns the id of the newest entry.
async fn newest(stream: &mut MarketStream, after: &str) -> Result<String> {
    let mut last = after.to_owned();
    while let Some(entry) = stream.read(&last).await?.entries.last() {
        last.clone_from(&entry.id);
    }
    Ok(last)
}
