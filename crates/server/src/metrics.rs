//! `GET /metrics`: what a Prometheus server reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use braid_audit::Audit;
use braid_ethereum::NodeReport;
use braid_quoting::accounts::Accounts;
use braid_quoting::feed::Markets;
use braid_quoting::{MarketFeed, StoredQuotes};
use braid_simulation::{Simulator, WorkPool};

use crate::problems::PlainProblems;

/// Upper bounds of the latency histogram, in microseconds.
const BOUNDS_US: [u64; 10] = [500, 1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 100_000, 500_000, 2_000_000];

/// Requests by route and status, with how long they took.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<BTreeMap<(String, u16), Series>>);

/// One route's answers of one status.
#[derive(Clone, Copy, Debug, Default)]
struct Series {
    count: u64,
    sum_us: u64,
    buckets: [u64; BOUNDS_US.len()],
}

impl Metrics {
    /// Counts an answer. `route` is the route's template, never what a client wrote, so that the number of series is bounded.
    pub fn count(&self, route: &str, status: u16, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let series = all.entry((route.to_owned(), status)).or_default();
        series.count += 1;
        series.sum_us = series.sum_us.saturating_add(took_us);
        for (bucket, bound) in series.buckets.iter_mut().zip(BOUNDS_US) {
            *bucket += u64::from(took_us <= bound);
        }
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        writeln!(
            text,
            "# HELP braid_http_request_seconds Time to answer.\n# TYPE braid_http_request_seconds histogram"
        )?;
        for ((route, status), series) in &all {
            let labels = format!("route=\"{route}\",status=\"{status}\"");
            for (bound_us, count) in BOUNDS_US.iter().zip(series.buckets) {
                let bound = seconds(*bound_us);
                writeln!(text, "braid_http_request_seconds_bucket{{{labels},le=\"{bound}\"}} {count}")?;
            }
            writeln!(text, "braid_http_request_seconds_bucket{{{labels},le=\"+Inf\"}} {}", series.count)?;
            writeln!(text, "braid_http_request_seconds_sum{{{labels}}} {}", seconds(series.sum_us))?;
            writeln!(text, "braid_http_request_seconds_count{{{labels}}} {}", series.count)?;
        }
        Ok(())
    }
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}

/// The handler.
#[utoipa::path(get, operation_id = "metrics", path = "/metrics", tag = "service", summary = "Metrics", security(()),
    responses((status = 200, description = "For a Prometheus server.", body = String, content_type = "text/plain"), PlainProblems))]
pub async fn get(
    State(metrics): State<Arc<Metrics>>,
    State(accounts): State<Accounts>,
    State(markets): State<Markets>,
    State(audit): State<Arc<Audit>>,
    State(solves): State<Arc<WorkPool>>,
    State(simulator): State<Arc<Simulator>>,
    State(stored): State<StoredQuotes>,
) -> Response {
    let mut text = String::new();
    let reports = accounts.node.map(|node| node.report());
    let waiting = [solves.waiting(), simulator.waiting()];
    // writing to a string does not fail
    let _ =
        metrics.write(&mut text).and_then(|()| reports.map_or(Ok(()), |reports| nodes(&reports, &mut text))).and_then(
            |()| market(&markets.feed, &audit, (waiting, solves.turned_away()), stored.store.waiting(), &mut text),
        );
    let mut response = text.into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// One series per node and figure; nodes have names that show no more than their host.
fn nodes(reports: &[NodeReport], text: &mut String) -> std::fmt::Result {
    let mut series = |name: &str, kind: &str, help: &str, value: fn(&NodeReport) -> Option<f64>| -> std::fmt::Result {
        writeln!(text, "# HELP braid_node_{name} {help}\n# TYPE braid_node_{name} {kind}")?;
        for report in reports {
            if let Some(value) = value(report) {
                writeln!(text, "braid_node_{name}{{node=\"{}\"}} {value}", report.name)?;
            }
        }
        Ok(())
    };
    series("score", "gauge", "How good the node is, 0 to 100.", |node| Some(f64::from(node.score)))?;
    series("leads", "gauge", "1 for the node that is asked first.", |node| Some(f64::from(u8::from(node.leads))))?;
    series("block", "gauge", "Height of the newest block that the node reported.", |node| Some(node.head? as f64))?;
    series("asked_total", "counter", "Questions put to the node.", |node| Some(node.asked as f64))?;
    series("failed_total", "counter", "Questions that the node failed to answer.", |node| Some(node.failed as f64))?;
    series("hedged_total", "counter", "Questions put to the node because another was slow.", |node| {
        Some(node.hedged as f64)
    })?;
    series("latency_p95_seconds", "gauge", "What 95% of its answers to calls took at most.", |node| {
        Some(node.latency_p95?.as_secs_f64())
    })?;
    let text = &mut *text;
    writeln!(text, "# HELP braid_node_fault 1 for what is the matter with a node.\n# TYPE braid_node_fault gauge")?;
    for report in reports {
        if let Some(fault) = &report.fault {
            writeln!(text, "braid_node_fault{{node=\"{}\",fault=\"{}\"}} 1", report.name, fault.name())?;
        }
    }
    Ok(())
}

fn market(
    feed: &MarketFeed,
    audit: &Audit,
    ([solves, simulations], turned_away): ([usize; 2], u64),
    (quotes, quote_bytes): (usize, usize),
    text: &mut String,
) -> std::fmt::Result {
    let mut gauge = |name: &str, help: &str, value: f64| {
        writeln!(text, "# HELP braid_{name} {help}\n# TYPE braid_{name} gauge\nbraid_{name} {value}")
    };
    let status = feed.status();
    gauge("market_left_out_pools", "Known pools that quotes do not use.", status.left_out as f64)?;
    gauge("reorganisations", "Reorganisations since the start.", status.reorganisations as f64)?;
    gauge(
        "catch_ups",
        "Times since the start that many missed blocks were caught up with at once.",
        status.leaps as f64,
    )?;
    gauge(
        "market_store_failing",
        "1 while the market cannot be written to disk.",
        f64::from(u8::from(status.store_failing)),
    )?;
    gauge("market_stored_block", "Height of the newest market on disk.", status.stored_block.unwrap_or(0) as f64)?;
    gauge("quotes_waiting", "Quotes that are in memory and not on disk yet.", quotes as f64)?;
    gauge("quotes_waiting_bytes", "Memory that they take; at 64 MiB quotes are refused.", quote_bytes as f64)?;
    gauge("audit_messages", "Messages to the node that the self-audit took.", audit.messages() as f64)?;
    gauge("quarantined_pools", "Pools that the self-audit set aside.", audit.quarantine.records().len() as f64)?;
    let [agreed, differed, unknown] = audit.counts();
    gauge("audit_agreed", "Checks since the start in which the EVM paid what the model says.", agreed as f64)?;
    gauge("audit_differed", "Checks since the start in which it did not.", differed as f64)?;
    gauge("audit_unknown", "Checks since the start that could not be made.", unknown as f64)?;
    gauge("audit_sound_tokens", "Tokens that were found to move as amounts say.", audit.tokens.count() as f64)?;
    let proven = audit.guessed.count() as f64;
    gauge("audit_proven_vaults", "Vaults that were named and do what their models say.", proven)?;
    gauge("solves_waiting", "Solves and simulations that wait for a thread.", solves as f64)?;
    gauge("simulations_waiting", "Simulations that wait for others of their callers.", simulations as f64)?;
    gauge("solves_turned_away", "Quotes turned away because too much waited.", turned_away as f64)?;
    let Some(published) = feed.latest() else { return Ok(()) };
    let head = &published.head;
    gauge("market_block", "Height of the newest market.", head.block().number as f64)?;
    gauge("market_age_seconds", "Time since that block reached us.", head.received_at.elapsed().as_secs_f64())?;
    gauge("market_pools", "Pools in the newest market.", head.market.pools().len() as f64)?;
    gauge("market_tokens", "Tokens in the newest market.", head.market.tokens().len() as f64)
}
