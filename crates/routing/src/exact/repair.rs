//! Repairs of a plan in which a pool refuses its amount.

use braid_protocols::continuous::Direction;

use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// Moves the part of a flow that its pool refuses to the other flows out of the same token. If there are none, less is
/// sent to the token instead; `None` if that is impossible. A plan for an amount beyond the market's liquidity may name
/// smaller amounts than are there: all flows out of the token are first scaled up to what is there.
pub(crate) fn shift(
    problem: &Problem<'_>,
    flows: &mut Vec<Flow>,
    refused: &Flow,
    offered: f64,
    at_most: Option<f64>,
) -> Option<()> {
    let keep = at_most.map_or(0.0, |most| (most * Tuning::CAPACITY_FILLED).min(offered * Tuning::OFFERED_AGAIN_SHARE));
    let scale = offered / refused.amount_in;
    let others: f64 =
        flows.iter().filter(|f| f.from == refused.from && f.pair != refused.pair).map(|f| f.amount_in).sum();
    if others <= 0.0 {
        return hold_back(problem, flows, refused.from, keep / offered, problem.hops);
    }
    if !scale.is_finite() {
        return None;
    }
    let factor = scale + (offered - keep) / others;
    for flow in flows.iter_mut().filter(|flow| flow.from == refused.from) {
        flow.amount_in = if flow.pair == refused.pair { keep } else { flow.amount_in * factor };
    }
    flows.retain(|flow| flow.amount_in > 0.0);
    Some(())
}

/// Reduces what flows bring to a token to a share. The amount that they no longer take goes to the other flows out of
/// the tokens that they come from. If there are none, less is sent to those tokens in turn, over at most `pools`.
fn hold_back(problem: &Problem<'_>, flows: &mut Vec<Flow>, token: u32, share: f64, pools: usize) -> Option<()> {
    let is_supplied = problem.terms.supplies.iter().any(|(input, _)| *input == token);
    if is_supplied || pools == 0 || !(0.0..1.0).contains(&share) {
        return None;
    }
    let mut origins: Vec<u32> = flows.iter().filter(|flow| flow.to == token).map(|flow| flow.from).collect();
    origins.sort_unstable();
    origins.dedup();
    for origin in origins {
        let is_other = |flow: &&mut Flow| flow.from == origin && flow.to != token;
        let others: f64 = flows.iter_mut().filter(is_other).map(|flow| flow.amount_in).sum();
        let (before, after) = pay_less(problem, flows, origin, token, share, others <= 0.0)?;
        if others > 0.0 {
            let factor = 1.0 + (before - after) / others;
            flows.iter_mut().filter(is_other).for_each(|flow| flow.amount_in *= factor);
        } else if after < before {
            hold_back(problem, flows, origin, after / before, pools - 1)?;
        }
    }
    flows.retain(|flow| flow.amount_in > 0.0);
    Some(())
}

/// Removes the flow that pays least to a token whose onward pools are full, and every flow that led only to it; `None`
/// if none of them can be sent another way.
pub(crate) fn drop_least(problem: &Problem<'_>, flows: &mut Vec<Flow>, token: u32) -> Option<()> {
    let paid = |flow: &Flow| problem.paid(flow);
    let mut coming: Vec<Flow> = flows.iter().filter(|flow| flow.to == token).copied().collect();
    coming.sort_by(|a, b| paid(a).total_cmp(&paid(b)).then(a.pair.cmp(&b.pair)));
    coming.into_iter().find_map(|least| {
        let mut rest = flows.clone();
        remove(problem, &mut rest, least, problem.hops)?;
        *flows = rest;
        Some(())
    })
}

/// Removes a flow. The other flows out of its token take its amount; if there are none, the flows into that token are
/// removed as well, over at most `pools`.
fn remove(problem: &Problem<'_>, flows: &mut Vec<Flow>, flow: Flow, pools: usize) -> Option<()> {
    flows.retain(|known| known.pair != flow.pair);
    let others: f64 = flows.iter().filter(|other| other.from == flow.from).map(|other| other.amount_in).sum();
    if others > 0.0 {
        let factor = 1.0 + flow.amount_in / others;
        flows.iter_mut().filter(|other| other.from == flow.from).for_each(|other| other.amount_in *= factor);
        return Some(());
    }
    let is_supplied = problem.terms.supplies.iter().any(|(input, _)| *input == flow.from);
    if is_supplied || pools == 0 {
        return None;
    }
    let coming: Vec<Flow> = flows.iter().filter(|known| known.to == flow.from).copied().collect();
    coming.into_iter().try_for_each(|known| remove(problem, flows, known, pools - 1))
}

/// Reduces the flows from one token to another so that together they pay a share of their present output. Returns their
/// total input before and after. With `keeps`, one of several flows takes all that the others no longer take, if it pays
/// little enough for that: the one that would pay least for everything.
fn pay_less(
    problem: &Problem<'_>,
    flows: &mut [Flow],
    from: u32,
    to: u32,
    share: f64,
    keeps: bool,
) -> Option<(f64, f64)> {
    let mut group: Vec<(&Direction, &mut Flow)> = Vec::new();
    for flow in flows.iter_mut().filter(|flow| flow.from == from && flow.to == to) {
        group.push((problem.direction(flow.pair, flow.side)?.1, flow));
    }
    let before: f64 = group.iter().map(|(_, flow)| flow.amount_in).sum();
    let wanted = share * group.iter().map(|(direction, flow)| direction.quote(flow.amount_in).0).sum::<f64>();
    let for_all = |(direction, _): &(&Direction, &mut Flow)| direction.quote(before).0;
    let least = (0..group.len()).min_by(|a, b| for_all(&group[*a]).total_cmp(&for_all(&group[*b])));
    if let Some(keeper) = least.filter(|at| keeps && group.len() > 1 && for_all(&group[*at]) < wanted) {
        group.swap(0, keeper);
        let others: f64 = group[1..].iter().map(|(_, flow)| flow.amount_in).sum();
        let paid = |kept: f64| {
            let others_paid = group[1..].iter().map(|(direction, flow)| direction.quote(flow.amount_in * kept).0);
            others_paid.sum::<f64>() + group[0].0.quote(before - others * kept).0
        };
        let kept = last_within(1.0, |kept| paid(kept) <= wanted);
        group[0].1.amount_in = before - others * kept;
        group[1..].iter_mut().for_each(|(_, flow)| flow.amount_in *= kept);
        return Some((before, before));
    }
    for (direction, flow) in &mut group {
        flow.amount_in = amount_for(direction, flow.amount_in, share);
    }
    Some((before, group.iter().map(|(_, flow)| flow.amount_in).sum()))
}

/// Computes the input for which a pool pays a share of its output for another, approached from below.
pub(crate) fn amount_for(direction: &Direction, amount_in: f64, share: f64) -> f64 {
    let wanted = direction.quote(amount_in).0 * share;
    last_within(amount_in, |amount_in| direction.quote(amount_in).0 <= wanted)
}

/// Returns about the last number from zero to `most` at which a condition holds that holds at zero and not at `most`.
fn last_within(most: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..Tuning::HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::prepare::index32;
    use crate::testing::{prepared, problem, token};

    const UNIT: u128 = 10_u128.pow(18);

    /// Of 100 units of token 1 most go by way of token 2 to token 0, the rest directly there. Pair 0 is the wrapper of
    /// ether.
    #[test]
    fn what_a_lone_pool_refuses_is_sent_another_way_before_it_arrives() {
        let market = prepared(&[((1, 2), [1_000 * UNIT; 2]), ((2, 0), [1_000 * UNIT; 2]), ((1, 0), [1_000 * UNIT; 2])]);
        let problem = problem(&market, token(1), U256::from(100 * UNIT), token(0));
        let node = |at: u32| index32(market.node(token(at)));
        let flow = |pair: u32, from: u32, to: u32, amount_in: f64| {
            let side = u8::from(market.graph().ends(pair)[0] != node(from));
            Flow { pair, side, from: node(from), to: node(to), amount_in }
        };
        let unit = 1e18;
        let mut flows = vec![flow(1, 1, 2, 80.0 * unit), flow(2, 2, 0, 74.0 * unit), flow(3, 1, 0, 20.0 * unit)];
        let paid = |flow: &Flow| problem.paid(flow);
        let offered = paid(&flows[0]);
        let refused = flows[1];
        assert!(shift(&problem, &mut flows, &refused, offered, Some(offered / 2.0)).is_some());
        assert!((paid(&flows[0]) / offered - 0.5).abs() < 1e-8, "half arrives");
        assert!(((flows[0].amount_in + flows[2].amount_in) / (100.0 * unit) - 1.0).abs() < 1e-12, "all is sold");

        // If there is no other way, the plan does not run.
        let mut lone = vec![flow(1, 1, 2, 100.0 * unit), flow(2, 2, 0, 90.0 * unit)];
        let refused = lone[1];
        assert!(shift(&problem, &mut lone, &refused, offered, Some(offered / 2.0)).is_none());
    }

    #[test]
    fn the_least_flow_to_a_full_token_is_removed_and_what_it_took_is_sold_elsewhere() {
        let market = prepared(&[
            ((1, 2), [1_000 * UNIT; 2]),
            ((1, 3), [1_000 * UNIT; 2]),
            ((3, 2), [1_000 * UNIT; 2]),
            ((2, 0), [1_000 * UNIT; 2]),
        ]);
        let problem = problem(&market, token(1), U256::from(100 * UNIT), token(0));
        let node = |at: u32| index32(market.node(token(at)));
        let flow = |pair: u32, from: u32, to: u32, amount_in: f64| {
            let side = u8::from(market.graph().ends(pair)[0] != node(from));
            Flow { pair, side, from: node(from), to: node(to), amount_in: amount_in * 1e18 }
        };
        // Token 2 gets most directly from token 1, and some by way of token 3. Pair 0 is the wrapper of ether.
        let mut flows = vec![flow(1, 1, 2, 70.0), flow(2, 1, 3, 30.0), flow(3, 3, 2, 29.0), flow(4, 2, 0, 94.0)];
        assert!(drop_least(&problem, &mut flows, node(2)).is_some());
        let left: Vec<(u32, f64)> = flows.iter().map(|flow| (flow.pair, (flow.amount_in / 1e18).round())).collect();
        assert_eq!(left, [(1, 100.0), (4, 94.0)], "what led to the removed flow alone went with it");

        // The only way in stays.
        let mut lone = vec![flow(1, 1, 2, 100.0), flow(4, 2, 0, 90.0)];
        assert!(drop_least(&problem, &mut lone, node(2)).is_none());
        assert_eq!(lone.len(), 2);
    }
}
