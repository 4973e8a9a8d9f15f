//! Which step pays whom, and in which order the steps run.

use braid_primitives::NATIVE_ETHER;
use braid_protocols::step::Receivers;
use braid_protocols::wrapped_ether::WRAP_OPCODE;

use super::leg::Leg;
use super::steps::{Destination, ProgramStep};
use crate::Order;

/// Returns the steps in the order in which the proxy runs them, with their destinations.
///
/// A step is prepaid when it is the only one that spends its token, one step alone makes that token, the order has
/// neither to sell nor to buy of it, and its pool can be paid in advance. Such a step moves up to directly after the
/// one that pays it. That changes no amount: nothing between the two touches its token, and what spends its output
/// comes later still. Where the step before is the wrapping of ether, it is left out, and the step that it feeds spends
/// the ether.
pub(super) fn arrange(order: &Order, legs: &[Leg]) -> Vec<ProgramStep> {
    let fed: Vec<Option<usize>> = (0..legs.len()).map(|at| fed_step(order, legs, at)).collect();
    let mut steps = Vec::with_capacity(legs.len());
    for at in (0..legs.len()).filter(|at| !fed.contains(&Some(*at))) {
        let mut current = Some(at);
        let mut prepaid = false;
        let mut wraps = None;
        while let Some(route_step) = current {
            let next = fed.get(route_step).copied().flatten();
            current = next;
            if next.is_some() && legs.get(route_step).is_some_and(|leg| leg.code.opcode == WRAP_OPCODE) {
                wraps = Some(route_step);
                continue;
            }
            let destination = match (next, legs.get(route_step)) {
                (Some(_), _) => Destination::NextPool,
                (None, Some(leg)) => final_destination(order, legs, leg),
                (None, None) => Destination::Proxy,
            };
            steps.push(ProgramStep { route_step, destination, prepaid, wraps: wraps.take() });
            prepaid = destination == Destination::NextPool;
        }
    }
    move_last(legs, &mut steps);
    steps
}

/// Moves each step that [runs last](braid_protocols::StepCode::runs_last) behind the others that pay its token, unless a
/// step between them touches the token that it spends. Steps that run last keep their order among each other.
///
/// The proxy counts stETH of a pool by the growth of its balance. Counted from nothing, that is the worth of the shares.
/// An unwrapping counts up to one share too much. So the sum needs no more shares than there are if the pools come first.
fn move_last(legs: &[Leg], steps: &mut [ProgramStep]) {
    let leg = |place: &ProgramStep| legs.get(place.route_step);
    for from in (0..steps.len()).rev() {
        let Some(moved) = steps.get(from).and_then(leg).filter(|moved| moved.code.runs_last) else { continue };
        let pays = |other: &Leg| other.token_out == moved.token_out && !other.code.runs_last;
        let behind = steps.iter().rposition(|place| leg(place).is_some_and(pays)).filter(|to| *to > from);
        let Some(between) = behind.and_then(|to| steps.get_mut(from..=to)) else { continue };
        let touches =
            |at: usize| legs.get(at).is_some_and(|other| [other.token_in, other.token_out].contains(&moved.token_in));
        let mut others = between.iter().skip(1).flat_map(|place| [Some(place.route_step), place.wraps]).flatten();
        if !others.any(touches) {
            between.rotate_left(1);
        }
    }
}

/// Returns the step that this one alone feeds: one whose pool it can pay in advance, or, if this one wraps ether, one
/// that can do so by itself.
fn fed_step(order: &Order, legs: &[Leg], at: usize) -> Option<usize> {
    let leg = legs.get(at)?;
    let wraps = leg.code.opcode == WRAP_OPCODE;
    let token = leg.token_out;
    if !(wraps || leg.code.receivers != Receivers::Proxy)
        || token == NATIVE_ETHER
        || order.tokens().any(|listed| listed == token)
        || legs.iter().filter(|l| l.token_out == token).count() != 1
    {
        return None;
    }
    let mut spenders = legs.iter().enumerate().filter(|(_, other)| other.token_in == token);
    let (fed, next) = spenders.next()?;
    let alone = spenders.next().is_none();
    // a pool met twice must be met in the route's order
    let met_once = legs.iter().filter(|other| other.step.pool == next.step.pool).count() == 1;
    let able = if wraps { next.code.begins_straight } else { next.code.prepayable };
    (alone && met_once && next.step.share == 0 && able).then_some(fed)
}

/// Picks the recipient, where the output is final and whole; else the proxy. Ether passes through the proxy, which
/// counts it.
fn final_destination(order: &Order, legs: &[Leg], leg: &Leg) -> Destination {
    let is_output = order.outputs.iter().any(|output| output.token == leg.token_out);
    let is_spent = legs.iter().any(|other| other.token_in == leg.token_out);
    let comes_by = leg.token_out == NATIVE_ETHER || order.has_output_fee();
    if leg.may_pay(order.recipient) && is_output && !is_spent && !comes_by {
        Destination::Recipient
    } else {
        Destination::Proxy
    }
}
