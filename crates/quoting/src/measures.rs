//! Metrics of solves, certificates and simulations.

use std::time::Instant;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use braid_routing::{Certificate, Uncertified};

/// Histogram bounds of times, in seconds: from the fastest solve to the longest request.
pub const SECONDS: [f64; 15] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Histogram bounds of certificates' gaps, in basis points.
const GAPS_BPS: [f64; 10] = [0.0001, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 20.0, 100.0, 1_000.0];

/// Histogram bounds of the messages to the node for one simulation; 0 counts simulations with all state in memory.
const MESSAGES: [f64; 7] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// Returns a histogram of times.
pub fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

/// Result of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum Ended {
    /// The transaction ran, successful or not.
    Ran,
    /// There was no simulation.
    Unavailable,
}

/// Labels of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct SimulationLabels {
    /// Its result.
    ended: Ended,
}

/// Metrics of solves, certificates and simulations. Clones share the counts.
#[derive(Clone, Debug)]
pub struct Measures {
    solve_seconds: Histogram,
    gap_bps: Histogram,
    uncertified: Counter,
    simulation_seconds: Family<SimulationLabels, Histogram, fn() -> Histogram>,
    simulation_messages: Histogram,
}

impl Default for Measures {
    fn default() -> Self {
        Self {
            solve_seconds: seconds(),
            gap_bps: Histogram::new(GAPS_BPS),
            uncertified: Counter::default(),
            simulation_seconds: Family::new_with_constructor(seconds),
            simulation_messages: Histogram::new(MESSAGES),
        }
    }
}

impl Measures {
    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        let solve = "Time of a solve, or to find its known solution, without the wait for a thread, in seconds";
        registry.register("solve_seconds", solve, self.solve_seconds.clone());
        let gap = "How much better a route could be at most by its certificate, in basis points";
        registry.register("certificate_gap_bps", gap, self.gap_bps.clone());
        registry.register("uncertified_quotes", "Quotes without a certificate", self.uncertified.clone());
        let simulation = "Time of a simulation with all that it waits for, in seconds";
        registry.register("simulation_seconds", simulation, self.simulation_seconds.clone());
        let messages = "Messages to the node that a simulation took; 0 where all state was in memory";
        registry.register("simulation_messages", messages, self.simulation_messages.clone());
    }

    /// Counts a solve that began at `started`.
    pub(crate) fn solved(&self, started: Instant) {
        self.solve_seconds.observe(started.elapsed().as_secs_f64());
    }

    /// Counts the certificate of an answer.
    pub(crate) fn certified(&self, certificate: &Result<Certificate, Uncertified>) {
        match certificate {
            Ok(certificate) if certificate.gap_bps.is_finite() => self.gap_bps.observe(certificate.gap_bps.max(0.0)),
            _ => drop(self.uncertified.inc()),
        }
    }

    /// Counts a simulation that began at `started`, with its number of messages to the node.
    pub(crate) fn simulated(&self, started: Instant, ran: bool, messages: u32) {
        let ended = if ran { Ended::Ran } else { Ended::Unavailable };
        let seconds = self.simulation_seconds.get_or_create(&SimulationLabels { ended });
        seconds.observe(started.elapsed().as_secs_f64());
        self.simulation_messages.observe(f64::from(messages));
    }
}
