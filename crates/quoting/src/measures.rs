//! What is measured of the work behind quotes, for whoever watches the service.

use std::time::Instant;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use braid_routing::{Certificate, Uncertified};

/// Upper bounds of times, in seconds: from the fastest solve to the longest request.
pub const SECONDS: [f64; 15] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Upper bounds of certificates' gaps, in basis points.
const GAPS_BPS: [f64; 10] = [0.0001, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 20.0, 100.0, 1_000.0];

/// Upper bounds of messages that one simulation takes. The first is for those that found all state in memory.
const MESSAGES: [f64; 7] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// Returns a histogram of times.
pub fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

/// How a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum Ended {
    /// It ran, whatever the transaction did.
    Ran,
    /// It could not be made.
    Unavailable,
}

/// Labels of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct SimulationLabels {
    /// How it ended.
    ended: Ended,
}

/// Solves, certificates and simulations, counted. Clones count together.
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
    /// Names the measures in a registry.
    pub fn register(&self, registry: &mut Registry) {
        let solve = "Time of a solve, without the wait for a thread, in seconds";
        registry.register("solve_seconds", solve, self.solve_seconds.clone());
        let gap = "How much better a route could be at most by its certificate, in basis points";
        registry.register("certificate_gap_bps", gap, self.gap_bps.clone());
        registry.register("uncertified_quotes", "Quotes without a certificate", self.uncertified.clone());
        let simulation = "Time of a simulation with all that it waits for, in seconds";
        registry.register("simulation_seconds", simulation, self.simulation_seconds.clone());
        let messages = "Messages to the node that a simulation took; 0 where all state was in memory";
        registry.register("simulation_messages", messages, self.simulation_messages.clone());
    }

    /// Counts a solve that began then.
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

    /// Counts a simulation that began then and took so many messages.
    pub(crate) fn simulated(&self, started: Instant, ran: bool, messages: u32) {
        let ended = if ran { Ended::Ran } else { Ended::Unavailable };
        let seconds = self.simulation_seconds.get_or_create(&SimulationLabels { ended });
        seconds.observe(started.elapsed().as_secs_f64());
        self.simulation_messages.observe(f64::from(messages));
    }
}
