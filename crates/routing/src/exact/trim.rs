//! Stops pools of a flow earlier, so that its route uses less gas.
//!
//! An amount beyond the market's liquidity crosses many ticks for next to nothing: the last ones of each pool cost most of
//! the gas and pay least. Stops are tried one after the other in floating point, each time the one that loses least for
//! the gas that it saves.

use super::repair::amount_for;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// A flow in which pools take no more than a limit each.
#[derive(Clone, Debug)]
struct Trimmed {
    flows: Vec<Flow>,
    /// Most that each pool takes.
    limits: Vec<f64>,
    /// Value of what arrives, net of gas.
    net: f64,
    gas_units: f64,
}

/// A stop of one pool.
#[derive(Clone, Copy, Debug)]
struct Stop {
    flow: usize,
    amount_in: f64,
    /// Value lost per unit of gas saved, as last computed, and after how many stops that was; it is below every other
    /// before it was ever computed.
    loss: f64,
    computed_after: Option<usize>,
}

/// Returns a pair's flows with pools stopped earlier, so that they use no more than `most_gas_units`. `order` is that of
/// the flows' tokens, each before those that it leads to. `None` if stops do not save as much.
///
/// What a stop loses is computed again only where it was least: it grows as other pools are stopped.
pub(crate) fn trimmed(problem: &Problem<'_>, flows: &[Flow], order: &[u32], most_gas_units: f64) -> Option<Vec<Flow>> {
    let capacity = |flow: &Flow| problem.direction(flow.pair, flow.side).map_or(0.0, |(_, d)| d.capacity_in());
    let limits = flows.iter().map(|flow| capacity(flow) * Tuning::CAPACITY_FILLED).collect();
    let mut best = sent(problem, flows, order, limits)?;
    let mut stops: Vec<Stop> = (0..flows.len()).flat_map(|at| earlier_stops(problem, &best.flows, at)).collect();
    let mut taken = 0;
    for _ in 0..Tuning::TRIM_TRIALS {
        if best.gas_units <= most_gas_units {
            best.flows.retain(|flow| flow.amount_in > 0.0);
            return Some(best.flows);
        }
        let least = (0..stops.len()).min_by(|a, b| stops[*a].loss.total_cmp(&stops[*b].loss))?;
        let stop = stops[least];
        let mut limits = best.limits.clone();
        limits[stop.flow] = stop.amount_in.min(limits[stop.flow]);
        let stopped = sent(problem, &best.flows, order, limits);
        // Counts no more gas than has to be saved.
        let excess = best.gas_units - most_gas_units;
        let saved = stopped.as_ref().map_or(0.0, |stopped| (best.gas_units - stopped.gas_units).min(excess));
        let Some(stopped) = stopped.filter(|_| saved > 0.0) else {
            stops.swap_remove(least);
            continue;
        };
        let loss = (best.net - stopped.net) / saved;
        if stop.computed_after != Some(taken) && stops.iter().any(|other| other.loss < loss) {
            stops[least] = Stop { loss, computed_after: Some(taken), ..stop };
            continue;
        }
        taken += 1;
        stops.retain(|other| other.flow != stop.flow);
        stops.extend(earlier_stops(problem, &stopped.flows, stop.flow));
        let has_grown = |at: &usize| stopped.flows[*at].amount_in > best.flows[*at].amount_in;
        for at in (0..flows.len()).filter(|at| *at != stop.flow).filter(has_grown) {
            // The other stops of the pool are still good.
            let last = earlier_stops(problem, &stopped.flows, at).into_iter().next();
            let is_new = |last: &Stop| stops.iter().all(|s| s.flow != at || s.amount_in < last.amount_in);
            stops.extend(last.filter(is_new));
        }
        best = stopped;
    }
    None
}

/// Returns stops of a flow's pool at amounts at which it has crossed fewer ticks, and at zero. What they lose is not known
/// yet.
fn earlier_stops(problem: &Problem<'_>, flows: &[Flow], at: usize) -> Vec<Stop> {
    let flow = &flows[at];
    let Some((_, direction)) = problem.direction(flow.pair, flow.side).filter(|_| flow.amount_in > 0.0) else {
        return Vec::new();
    };
    let before = |amount_in: &f64| Some(direction.before_last_gas(*amount_in)? * Tuning::CAPACITY_FILLED);
    let ticks: Vec<f64> = std::iter::successors(before(&flow.amount_in), before).collect();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a count"
    )]
    let after = |share: &f64| ticks.len().checked_sub(1).map(|last| ticks[(last as f64 * share) as usize]);
    let mut amounts: Vec<f64> = Tuning::TRIM_SHARES.iter().filter_map(after).chain([0.0]).collect();
    amounts.dedup();
    let stop = |amount_in| Stop { flow: at, amount_in, loss: f64::NEG_INFINITY, computed_after: None };
    amounts.into_iter().map(stop).collect()
}

/// Sends the whole amount through the flows again, with limits to what pools take: the others of the same token take the
/// rest. If there are none, less is sent to the token; `None` if that is impossible.
fn sent(problem: &Problem<'_>, flows: &[Flow], order: &[u32], mut limits: Vec<f64>) -> Option<Trimmed> {
    let mut sent = flows.to_vec();
    for _ in 0..Tuning::TRIM_PASSES {
        let mut is_over = false;
        for token in order.iter().filter(|token| **token as usize != problem.target) {
            let supplied = if *token as usize == problem.source { problem.amount } else { 0.0 };
            let arrives = supplied + sent.iter().filter(|f| f.to == *token).map(|f| problem.paid(f)).sum::<f64>();
            let left = fill(flows, &mut sent, &limits, *token, arrives);
            if left > arrives * Tuning::TRIM_LEFT_SHARE {
                if supplied > 0.0 {
                    return None;
                }
                is_over = true;
                let share = 1.0 - left / arrives;
                for at in (0..sent.len()).filter(|at| sent[*at].to == *token) {
                    let (_, direction) = problem.direction(sent[at].pair, sent[at].side)?;
                    limits[at] = amount_for(direction, sent[at].amount_in, share);
                }
            }
        }
        if !is_over {
            return Some(valued(problem, sent, limits));
        }
    }
    None
}

/// Shares an amount among the flows out of a token, in the proportions of `planned` and within limits. Returns what no
/// flow takes.
fn fill(planned: &[Flow], sent: &mut [Flow], limits: &[f64], token: u32, arrives: f64) -> f64 {
    let mut open: Vec<usize> = (0..planned.len()).filter(|at| planned[*at].from == token).collect();
    let mut left = arrives;
    loop {
        let sum: f64 = open.iter().map(|at| planned[*at].amount_in).sum();
        if sum <= 0.0 {
            open.iter().for_each(|at| sent[*at].amount_in = 0.0);
            return left;
        }
        let factor = left / sum;
        let is_full = |at: &usize| planned[*at].amount_in * factor > limits[*at];
        let full: Vec<usize> = open.iter().copied().filter(is_full).collect();
        if full.is_empty() {
            open.iter().for_each(|at| sent[*at].amount_in = planned[*at].amount_in * factor);
            return 0.0;
        }
        for at in &full {
            sent[*at].amount_in = limits[*at];
            left -= limits[*at];
        }
        open.retain(|at| !full.contains(at));
    }
}

/// Computes the value and the gas of flows.
fn valued(problem: &Problem<'_>, flows: Vec<Flow>, limits: Vec<f64>) -> Trimmed {
    let (mut paid, mut gas_units) = (0.0, 0.0);
    for flow in flows.iter().filter(|flow| flow.amount_in > 0.0) {
        let Some((curve, direction)) = problem.direction(flow.pair, flow.side) else { continue };
        let (out, on_the_way) = direction.quote(flow.amount_in);
        gas_units += curve.gas_units + on_the_way;
        paid += if flow.to as usize == problem.target { out } else { 0.0 };
    }
    Trimmed { flows, limits, net: paid * problem.price_out - gas_units * problem.gas_price, gas_units }
}
