//! Solves one request and compares the result with simpler routers.

use std::time::Duration;

use braid_primitives::U256;
use braid_routing::{
    PoolFilter, Prepared, Request, Route, SimplePlan, SolveError, Uncertified, explain, many_chunks, solve,
};

use super::clock::thread_time;
use super::requests::Asked;
use super::witness;

/// Simpler routers on the same pools: their names in tables and their plans.
pub(crate) const BASELINES: [(&str, SimplePlan); 4] = [
    ("best single path", SimplePlan::SinglePath),
    ("5% grid, disjoint", SimplePlan::Grid),
    ("20 chunks, 4 paths", SimplePlan::Chunks),
    ("100 chunks", SimplePlan::FineChunks),
];

/// The settings that all requests of a run share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) max_hops: u8,
    pub(crate) max_steps: u16,
    /// The gas price of requests that state none.
    pub(crate) gas_price_wei: u64,
    /// True if this gas price also replaces those that requests state.
    pub(crate) same_gas_price: bool,
    pub(crate) baselines: bool,
    /// True to run a split by 400 chunks too.
    pub(crate) many_chunks: bool,
    /// True to record each certificate's dual prices.
    pub(crate) witness: bool,
}

/// The result of one request.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) id: String,
    /// Processor time of this thread for the first solution, and for the same request again right afterwards, with warm
    /// caches.
    pub(crate) solve_us: f64,
    pub(crate) again_us: Option<f64>,
    pub(crate) outcome: Result<Answer, SolveError>,
}

/// A solved request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The output amounts, in the order of the request.
    pub(crate) amounts_out: Vec<U256>,
    pub(crate) gas_units: u64,
    pub(crate) steps: usize,
    pub(crate) pools_visited: u32,
    /// Values in wei; `None` without a reference price.
    pub(crate) gross_value_wei: Option<f64>,
    pub(crate) net_value_wei: Option<f64>,
    pub(crate) upper_bound_value_wei: Option<U256>,
    pub(crate) gap_bps: Option<f64>,
    /// Whether the route itself is worth more than its bound.
    pub(crate) is_exceeded: bool,
    /// The reason for which there is no certificate; `None` if there is one.
    pub(crate) uncertified: Option<Uncertified>,
    /// Value by which each baseline is worth less, in basis points of the gross value; empty if none ran.
    pub(crate) losses_bps: Vec<Option<f64>>,
    /// The same for a split by 400 chunks.
    pub(crate) many_chunks_loss_bps: Option<f64>,
    /// The input of `scripts/bound.py`, if it was requested and there is a certificate.
    pub(crate) witness: Option<serde_json::Value>,
}

/// Solves one request and, if requested, the same with simpler routers.
#[allow(clippy::cast_precision_loss, reason = "values, not amounts")]
pub(crate) fn run(prepared: &Prepared, asked: &Asked, settings: Settings) -> Row {
    let own = asked.gas_price_wei.filter(|_| !settings.same_gas_price);
    let gas_price_wei = own.unwrap_or(settings.gas_price_wei);
    let request = Request {
        inputs: asked.inputs.clone(),
        outputs: asked.outputs.clone(),
        max_hops: settings.max_hops,
        filter: PoolFilter::default(),
        gas_price_wei,
        max_steps: settings.max_steps,
        at: prepared.market().block().next(),
    };
    let started = thread_time();
    let solved = if settings.witness {
        explain(prepared, &request)
    } else {
        solve(prepared, &request).map(|solution| (solution, None))
    };
    let since = |started: Duration| thread_time().saturating_sub(started).as_secs_f64() * 1e6;
    let solve_us = since(started);
    let again_us = (!settings.witness).then(|| {
        let started = thread_time();
        // The result is the same as above, because nothing in it depends on the time of the request.
        let _ = std::hint::black_box(solve(prepared, &request));
        since(started)
    });
    let outcome = solved.map(|(solution, duals)| {
        let gross_value_wei = |route: &Route| -> Option<f64> {
            let values = asked.outputs.iter().zip(&route.amounts_out);
            values.map(|((token, _), amount)| prepared.value_wei(*token, *amount)).sum()
        };
        let net_value_wei =
            |route: &Route| Some(gross_value_wei(route)? - route.gas_units() as f64 * gas_price_wei as f64);
        let (gross, net) = (gross_value_wei(&solution.route), net_value_wei(&solution.route));
        let baselines: &[(&str, SimplePlan)] = if settings.baselines { &BASELINES } else { &[] };
        let loss = |other: Option<Route>| Some((net? - net_value_wei(&other?)?) / gross? * 1e4);
        Answer {
            amounts_out: solution.route.amounts_out.clone(),
            gas_units: solution.route.gas_units(),
            steps: solution.route.steps.len(),
            pools_visited: solution.pools_visited,
            gross_value_wei: gross,
            net_value_wei: net,
            upper_bound_value_wei: solution.certificate.as_ref().ok().map(|c| c.upper_bound_value_wei),
            uncertified: solution.certificate.as_ref().err().copied(),
            gap_bps: solution.certificate.as_ref().ok().map(|c| c.gap_bps),
            is_exceeded: solution.certificate.as_ref().is_ok_and(|c| c.is_exceeded),
            losses_bps: baselines.iter().map(|(_, plan)| loss(plan.route(prepared, &request))).collect(),
            many_chunks_loss_bps: settings.many_chunks.then(|| loss(many_chunks(prepared, &request))).flatten(),
            witness: solution.certificate.as_ref().ok().zip(duals.as_ref()).and_then(|(certificate, duals)| {
                witness::line(prepared.market(), asked, gas_price_wei, certificate, duals)
            }),
        }
    });
    Row { id: asked.id.clone(), solve_us, again_us, outcome }
}
