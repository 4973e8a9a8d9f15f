//! Paths: the form of a program that is one chain of pools which their factories vouch for
//! (`docs/internals/program.md`, section 6).

use braid_primitives::{Address, Bytes, NATIVE_ETHER, WETH};
use braid_protocols::lido::STETH;
use braid_protocols::wrapped_ether::UNWRAP_OPCODE;

use super::leg::Leg;
use super::steps::{BUY, Destination, ProgramStep};
use crate::Order;

/// The first byte of a path along which exactly the input is sold.
const SELL: u8 = 0xff;
/// The fee of every pair that a path can name, in millionths.
const PAIR_FEE_BPS: [u8; 2] = 30u16.to_be_bytes();

/// Returns the path that does what the steps do, if there is one: one input, one output, no partner, and each step
/// spends all of what the one before paid, in pools that their factories vouch for; ether is wrapped before the first
/// and unwrapped after the last.
pub(super) fn encode(order: &Order, legs: &[Leg], steps: &[ProgramStep]) -> Option<Bytes> {
    let ([input], [output], None) = (order.inputs.as_slice(), order.outputs.as_slice(), order.partner_fee) else {
        return None;
    };
    // stETH arrives in shares, which only the steps look at
    if output.token == STETH {
        return None;
    }
    let (hops, last) = hops(legs, steps, output.token == NATIVE_ETHER)?;
    let (first, _) = hops.first()?;
    let begins = match first.wraps {
        Some(_) => input.token == NATIVE_ETHER,
        None => legs.get(first.route_step)?.token_in == input.token,
    };
    let expected = if output.token == NATIVE_ETHER { WETH } else { output.token };
    if !begins || last.token_out != expected {
        return None;
    }
    let mut bytes = vec![SELL];
    let mut came: Option<Address> = None;
    for (at, (place, leg)) in hops.iter().enumerate() {
        // the proxy pays a pair in advance, and every other pool out of its own
        let goes = match hops.get(at + 1) {
            Some((_, next)) if next.code.prepayable => Destination::NextPool,
            None if output.token != NATIVE_ETHER => Destination::Recipient,
            Some(_) | None => Destination::Proxy,
        };
        let chained = came.is_none_or(|token| token == leg.token_in);
        if place.destination != goes || leg.step.share != 0 || !chained || (at > 0 && place.wraps.is_some()) {
            return None;
        }
        if let Some(token) = came {
            bytes.extend_from_slice(token.as_slice());
        }
        write_hop(leg, &mut bytes)?;
        came = Some(leg.token_out);
    }
    Some(bytes.into())
}

/// Returns the path that buys along the pools of one that sells.
pub(super) fn buying(selling: &Bytes) -> Bytes {
    let hops = selling.iter().skip(1).copied();
    std::iter::once(BUY).chain(hops).collect()
}

/// Returns the steps but for the unwrapping at the end, with their legs, and the last of these.
fn hops<'a>(
    legs: &'a [Leg],
    steps: &'a [ProgramStep],
    unwraps: bool,
) -> Option<(Vec<(&'a ProgramStep, &'a Leg)>, &'a Leg)> {
    let mut hops: Vec<_> =
        steps.iter().map(|place| Some((place, legs.get(place.route_step)?))).collect::<Option<_>>()?;
    if unwraps {
        hops.pop().filter(|(_, leg)| leg.code.opcode == UNWRAP_OPCODE && leg.step.share == 0)?;
    }
    let last = hops.last()?.1;
    Some((hops, last))
}

/// Returns the factory, and the fee where it is part of the pool's address; none for a pair whose fee is not the one
/// that paths know.
fn write_hop(leg: &Leg, bytes: &mut Vec<u8>) -> Option<()> {
    let (factory, fee_pips) = leg.found_by?;
    bytes.push(factory);
    match fee_pips {
        Some(fee) => bytes.extend_from_slice(fee.to_be_bytes().get(1..)?),
        None => leg.code.operands.ends_with(&PAIR_FEE_BPS).then_some(())?,
    }
    Some(())
}
