//! `braid-lab soak` and `braid-lab load`: send a running service on this machine a steady rate of quotes, limited in
//! number and time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use braid_primitives::{Address, U256};
use eyre::{Result, eyre};
use reqwest::{Client, Url};
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::trade::Trade;
use crate::{measures, out};

/// The number of tokens. Quotes are requested for every pair of them.
const TOKENS: usize = 12;

/// The number of connections that measure how many quotes the service can answer.
const PROBING: usize = 8;

/// The share of that rate that a service should receive in the long run.
const USUAL: f64 = 0.7;

/// The pause before a refused connection asks again.
const PAUSE: Duration = Duration::from_millis(5);

/// The duration of the measurement of capacity.
const PROBE: Duration = Duration::from_secs(10);

/// The tenth of the run from which memory should no longer grow, for a run of an hour. Each quote is kept for 17
/// minutes, and a file with the quotes of a minute is kept until its last quote expires.
const WARM: u32 = 4;

/// The maximum number of pending requests. Requests beyond it count as failed.
const MAX_IN_FLIGHT: usize = 4_096;

/// The maximum number of requests of a run.
const MAX_REQUESTS: u64 = 2_000_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The service, on this machine
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: Url,
    /// An API key of the service with limits high enough for the load
    #[arg(long, default_value = "demo-key")]
    key: String,
    /// Process id of the service, to measure its memory
    #[arg(long, value_name = "PID")]
    process: Option<u32>,
    /// Duration of the load
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(10..=86_400))]
    seconds: u64,
    /// Quotes per second; by default a share or a multiple of the rate that the service was measured to answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: Option<u32>,
    /// Request a simulation with every quote
    #[arg(long)]
    simulate: bool,
}

/// Runs a steady load below the service's capacity.
pub(crate) fn soak(args: &Args) -> Result<()> {
    run(args, &[USUAL])
}

/// Runs a steady load below the service's capacity, and then one of five times its capacity.
pub(crate) fn load(args: &Args) -> Result<()> {
    run(args, &[USUAL, 5.0])
}

fn run(args: &Args, loads: &[f64]) -> Result<()> {
    let is_here = args.url.host_str().is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host));
    if !is_here {
        return Err(eyre!("{} is another machine: this asks for all that a service can do", args.url));
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(args, loads))
}

async fn measure(args: &Args, loads: &[f64]) -> Result<()> {
    let asked = Arc::new(Asked::new(args, trades(args).await?)?);
    out::line(format_args!("{} requests; {}", asked.trades.len(), crate::bench::machine()))?;
    let mut capacity = 0.0;
    let mut alone = Duration::ZERO;
    for connections in [1, PROBING] {
        let took = probe(&asked, connections).await?;
        capacity = took.len() as f64 / PROBE.as_secs_f64();
        let (p50, p99) = (measures::ms(&took, 0.5), measures::ms(&took, 0.99));
        if connections == 1 {
            alone = measures::quantile(&took, 0.99);
        }
        out::line(format_args!(
            "{connections} connections, one quote after the other: {capacity:.0} quotes/s, p50 {p50:.1} ms, p99 {p99:.1} ms"
        ))?;
    }
    let length = Duration::from_secs(args.seconds);
    let before = block(args).await?;
    for times in loads {
        let rate = args.rate.map_or(times * capacity, f64::from).max(1.0);
        let mut samples = Samples { answers: Vec::new(), memory: Vec::new() };
        stream(&asked, rate, length, args.process, &mut samples).await?;
        samples.print(rate, length)?;
        let slower = samples.answered_p99().as_secs_f64() / alone.as_secs_f64();
        out::line(format_args!("p99 of those answered: {slower:.2} times that of one connection"))?;
    }
    out::line(format_args!("\nblocks {before} to {}", block(args).await?))
}

/// The requests, and the service that they are sent to.
struct Asked {
    client: Client,
    url: Url,
    key: String,
    trades: Vec<Trade>,
    /// The number of requests so far.
    sent: AtomicU64,
}

/// An answer: when it was due, how long it took, and its status, or 0 if there was none.
#[derive(Clone, Copy)]
struct Answer {
    at: Duration,
    took: Duration,
    status: u16,
}

struct Samples {
    answers: Vec<Answer>,
    /// The time and the resident memory in KiB.
    memory: Vec<(Duration, u64)>,
}

impl Asked {
    fn new(args: &Args, trades: Vec<Trade>) -> Result<Self> {
        let client = Client::builder().pool_max_idle_per_host(PROBING).timeout(Duration::from_secs(30)).build()?;
        Ok(Self { client, url: args.url.join("/v1/quote")?, key: args.key.clone(), trades, sent: AtomicU64::new(0) })
    }

    /// Asks for the next trade. In each turn amounts are one atomic unit larger.
    async fn ask(&self) -> u16 {
        let (sent, count) = (self.sent.fetch_add(1, Ordering::Relaxed), self.trades.len() as u64);
        let trade = sent.checked_rem(count).and_then(|at| self.trades.get(usize::try_from(at).ok()?));
        let Some(trade) = trade else { return 0 };
        self.ask_for(trade.body(sent / count)).await
    }

    async fn ask_for(&self, body: String) -> u16 {
        let call = self.client.post(self.url.clone()).header("x-api-key", &self.key);
        let call = call.header("content-type", "application/json").body(body);
        let Ok(response) = call.send().await else { return 0 };
        let status = response.status().as_u16();
        // A truncated answer counts as none.
        if response.bytes().await.is_ok() { status } else { 0 }
    }
}

#[derive(Deserialize)]
struct Listed {
    data: Tokens,
}

#[derive(Deserialize)]
struct Tokens {
    tokens: Vec<Token>,
}

#[derive(Deserialize)]
struct Token {
    address: Address,
    decimals: u8,
}

/// Returns trades between the service's best known tokens, of those that it has a route for.
async fn trades(args: &Args) -> Result<Vec<Trade>> {
    let mut url = args.url.join("/v1/tokens")?;
    url.set_query(Some(&format!("limit={TOKENS}")));
    let tokens = reqwest::get(url).await?.error_for_status()?.json::<Listed>().await?.data.tokens;
    let pairs = tokens.iter().flat_map(|from| tokens.iter().map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from.address != to.address);
    let trades = pairs.map(|(from, to)| Trade {
        sold: from.address,
        amount: U256::from(10).saturating_pow(U256::from(from.decimals)),
        bought: to.address,
        simulate: args.simulate,
    });
    let asked = Asked::new(args, Vec::new())?;
    let mut answered = Vec::new();
    for trade in trades {
        match asked.ask_for(trade.body(0)).await {
            200 => answered.push(trade),
            401 => return Err(eyre!("the service does not know the key: name one of its with --key")),
            429 => return Err(eyre!("the key's limit is too low: start the service with --rate-limit 4294967295")),
            _ => {}
        }
    }
    if answered.is_empty() { Err(eyre!("the service has no quote for any pair of its tokens")) } else { Ok(answered) }
}

async fn block(args: &Args) -> Result<u64> {
    let ready: serde_json::Value = reqwest::get(args.url.join("/ready")?).await?.json().await?;
    ready["block"]["number"].as_u64().ok_or_else(|| eyre!("the service has no market yet"))
}

/// Returns the sorted latencies of quotes when each connection waits for an answer before it sends the next request.
async fn probe(asked: &Arc<Asked>, connections: usize) -> Result<Vec<Duration>> {
    let mut workers = JoinSet::new();
    let until = Instant::now() + PROBE;
    for _ in 0..connections {
        let asked = Arc::clone(asked);
        workers.spawn(async move {
            let mut took = Vec::new();
            while Instant::now() < until {
                let begun = Instant::now();
                match asked.ask().await {
                    200 => took.push(begun.elapsed()),
                    _ => tokio::time::sleep(PAUSE).await,
                }
            }
            took
        });
    }
    let mut all = workers.join_all().await.concat();
    all.sort_unstable();
    if all.is_empty() { Err(eyre!("the service answered no quote")) } else { Ok(all) }
}

/// Sends requests at a steady rate, whatever the answers, and samples the memory.
async fn stream(
    asked: &Arc<Asked>,
    rate: f64,
    length: Duration,
    process: Option<u32>,
    samples: &mut Samples,
) -> Result<()> {
    let begun = Instant::now();
    let mut under_way = JoinSet::new();
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(1.0 / rate));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    for _ in 0..MAX_REQUESTS {
        // The latency is counted from the time at which the request was due.
        let at = ticks.tick().await.into_std().saturating_duration_since(begun);
        if at >= length {
            break;
        }
        if samples.memory.last().is_none_or(|(last, _)| at.saturating_sub(*last) >= length / 100) {
            let kib = process.map_or(Some(0), |process| measures::resident_kib(&process.to_string()));
            samples
                .memory
                .push((at, kib.ok_or_else(|| eyre!("the service's process does not tell how much memory it uses"))?));
        }
        while let Some(answer) = under_way.try_join_next() {
            samples.answers.push(answer?);
        }
        if under_way.len() >= MAX_IN_FLIGHT {
            samples.answers.push(Answer { at, took: Duration::ZERO, status: 0 });
            continue;
        }
        let asked = Arc::clone(asked);
        under_way.spawn(async move {
            let status = asked.ask().await;
            Answer { at, took: begun.elapsed().saturating_sub(at), status }
        });
    }
    samples.answers.extend(under_way.join_all().await);
    Ok(())
}

impl Samples {
    fn print(&self, rate: f64, length: Duration) -> Result<()> {
        out::line(format_args!("\n{rate:.0} quotes/s for {} s", length.as_secs()))?;
        out::line(
            "\n| tenth | asked | answered | turned away | failed | p50 ms | p99 ms | turned away: p99 ms | memory MiB |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        )?;
        let part = |number: u32| move |at: Duration| at >= length * (number - 1) / 10 && at < length * number / 10;
        for number in 1..=10 {
            self.row(&number.to_string(), part(number))?;
        }
        self.row("all", |_| true)?;
        let (warm, end) = (self.memory_mib(part(WARM)), self.memory_mib(part(10)));
        if warm > 0.0 {
            let grown = (end / warm - 1.0) * 100.0;
            out::line(format_args!("\nmemory, last tenth over tenth {WARM}: {grown:+.1}%"))?;
        }
        Ok(())
    }

    /// Returns the mean over a part of the run, because the memory rises and falls as the allocator returns pages.
    fn memory_mib(&self, belongs: impl Fn(Duration) -> bool) -> f64 {
        let part: Vec<f64> =
            self.memory.iter().filter(|(at, _)| belongs(*at)).map(|(_, kib)| *kib as f64 / 1024.0).collect();
        if part.is_empty() { 0.0 } else { part.iter().sum::<f64>() / part.len() as f64 }
    }

    fn answered_p99(&self) -> Duration {
        measures::quantile(&times(&self.answers, 200), 0.99)
    }

    fn row(&self, name: &str, belongs: impl Fn(Duration) -> bool) -> Result<()> {
        let memory = self.memory_mib(&belongs);
        let part: Vec<Answer> = self.answers.iter().filter(|answer| belongs(answer.at)).copied().collect();
        let (answered, away) = (times(&part, 200), times(&part, 503));
        let failed = part.len() - answered.len() - away.len();
        out::line(format_args!(
            "| {name} | {} | {} | {} | {failed} | {:.1} | {:.1} | {:.1} | {memory:.0} |",
            part.len(),
            answered.len(),
            away.len(),
            measures::ms(&answered, 0.5),
            measures::ms(&answered, 0.99),
            measures::ms(&away, 0.99)
        ))
    }
}

/// Returns the sorted latencies of the answers with a status.
fn times(answers: &[Answer], status: u16) -> Vec<Duration> {
    let of_it = answers.iter().filter(|answer| answer.status == status);
    let mut times: Vec<Duration> = of_it.map(|answer| answer.took).collect();
    times.sort_unstable();
    times
}
