//! Metrics of the service's parts: market, follower, disk, audit, threads.

use std::fmt;
use std::sync::Arc;

use braid_audit::Audit;
use braid_ethereum::Phase;
use braid_quoting::StoredQuotes;
use braid_quoting::feed::{Freshness, Markets};
use braid_simulation::{Simulator, WorkPool};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::samples::Samples;

/// Reads the state of the service's parts.
pub(crate) struct StateCollector {
    pub(crate) markets: Markets,
    pub(crate) audit: Arc<Audit>,
    pub(crate) solves: Arc<WorkPool>,
    pub(crate) simulator: Arc<Simulator>,
    pub(crate) stored: StoredQuotes,
}

impl fmt::Debug for StateCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateCollector")
    }
}

impl Collector for StateCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut samples = Samples(encoder);
        self.market(&mut samples)?;
        self.follower(&mut samples)?;
        self.disk(&mut samples)?;
        self.audit(&mut samples)?;
        self.threads(&mut samples)
    }
}

impl StateCollector {
    fn market(&self, samples: &mut Samples<'_>) -> fmt::Result {
        let published = self.markets.feed.latest();
        let quotes = matches!(self.markets.freshness(), Freshness::Fresh | Freshness::Aging);
        samples.flag("quoting", "1 while quotes are answered", quotes)?;
        let Some(published) = published else { return Ok(()) };
        let (block, market) = (published.head.block(), &published.head.market);
        samples.gauge("market_block", "Height of the newest market", block.number)?;
        samples.gauge("market_timestamp_seconds", "Time of that block, by the chain", block.timestamp)?;
        let age = published.head.received_at.elapsed().as_secs_f64();
        samples.gauge("market_age_seconds", "Time since that block reached the service", age)?;
        samples.gauge("market_pools", "Pools in the newest market", market.pools().len() as u64)?;
        samples.gauge("market_tokens", "Tokens in the newest market", market.tokens().len() as u64)
    }

    fn follower(&self, samples: &mut Samples<'_>) -> fmt::Result {
        let status = self.markets.feed.status();
        samples.flag("following", "1 while blocks are followed one by one", status.phase == Phase::Following)?;
        samples.gauge("market_excluded_pools", "Known pools that quotes do not use", status.excluded as u64)?;
        samples.gauge("market_waiting_pools", "Known pools that are still to be read", status.waiting as u64)?;
        samples.counter("reorganisations", "Reorganisations of the chain", status.reorganisations)?;
        samples.counter("catch_ups", "Times that many missed blocks were caught up with at once", status.leaps)
    }

    fn disk(&self, samples: &mut Samples<'_>) -> fmt::Result {
        let status = self.markets.feed.status();
        let failing = "1 while the market cannot be written to disk";
        samples.flag("market_store_failing", failing, status.store_failing)?;
        let stored = status.stored_block.unwrap_or(0);
        samples.gauge("market_stored_block", "Height of the newest market on disk", stored)?;
        let failing = self.stored.replicas.as_ref().is_some_and(|replicas| !replicas.is_healthy());
        samples.flag("replicas_failing", "1 while the Redis server that services share does not answer", failing)?;
        let (quotes, bytes) = self.stored.store.waiting();
        samples.gauge("quotes_waiting", "Quotes that are in memory and not on disk yet", quotes as u64)?;
        let help = "Bytes of these quotes; from 64 MiB on quotes are refused";
        samples.gauge("quotes_waiting_bytes", help, bytes as u64)
    }

    fn audit(&self, samples: &mut Samples<'_>) -> fmt::Result {
        let audit = &self.audit;
        let quarantined = audit.quarantine.records().len() as u64;
        samples.gauge("quarantined_pools", "Pools that the self-audit excludes", quarantined)?;
        samples.counter("audit_messages", "Messages to the node that the self-audit took", audit.messages())?;
        let [agreed, differed, unknown] = audit.counts();
        samples.counters("audit_checks", "Swaps that the self-audit ran in the EVM, by result", |mut checks| {
            checks.counter(&[("verdict", "agreed")], agreed)?;
            checks.counter(&[("verdict", "differed")], differed)?;
            checks.counter(&[("verdict", "unknown")], unknown)
        })?;
        let tokens = audit.tokens.count() as u64;
        samples.gauge("audit_sound_tokens", "Tokens whose transfers were verified", tokens)?;
        let vaults = audit.vaults.count() as u64;
        samples.gauge("audit_proven_vaults", "Unlisted vaults that the EVM confirmed", vaults)
    }

    fn threads(&self, samples: &mut Samples<'_>) -> fmt::Result {
        let waits = "Waiting work: solves and simulations for a thread, simulations for others of the same caller";
        samples.gauges("work_waiting", waits, |mut waiting| {
            waiting.gauge(&[("line", "threads")], self.solves.waiting() as u64)?;
            waiting.gauge(&[("line", "callers")], self.simulator.waiting() as u64)
        })?;
        let help = "Quotes refused because too much work waited";
        samples.counter("work_turned_away", help, self.solves.turned_away())
    }
}
