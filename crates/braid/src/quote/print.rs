//! Prints a quote as text.

use braid_primitives::{Address, TokenId, U256};
use braid_quoting::picture;
use braid_routing::Step;
use eyre::Result;

use super::{Quoted, tree};
use crate::out;
use crate::units::format_units;

/// Prints the amounts, the route as a tree, and what it costs.
pub(super) fn print(quoted: &Quoted<'_>) -> Result<()> {
    let Quoted { market, request, solution, exact, .. } = quoted;
    let address = |id: TokenId| market.tokens().get(id).map(|token| token.address).unwrap_or_default();
    let inputs: Vec<_> = request.inputs.iter().map(|(id, amount)| (address(*id), *amount)).collect();
    let outputs: Vec<_> = quoted.received().map(|(id, amount)| (address(id), amount)).collect();
    let tree_step = |step: &Step| tree::TreeStep {
        token_in: address(step.token_in),
        token_out: address(step.token_out),
        amount_in: step.amount_in,
        amount_out: step.amount_out,
        pool: market.pool(step.pool).map_or_else(String::new, |pool| format!("{} {}", pool.product.name(), pool.key)),
    };
    let steps: Vec<_> = solution.route.steps.iter().map(tree_step).collect();
    let amount = |token: Address, amount: U256| match market.tokens().id(token) {
        Some(id) => quoted.amount(id, amount),
        None => amount.to_string(),
    };
    tree::print(&tree::TreeRoute { inputs: &inputs, outputs: &outputs, steps: &steps, amount: &amount })?;
    let route = &solution.route;
    let cost_wei = U256::from(route.gas_units()).saturating_mul(U256::from(request.gas_price_wei));
    out::line(format_args!(
        "block {}, {} gas units in {}, {} ETH",
        market.block().number,
        route.gas_units(),
        picture::steps(route.steps.len()),
        format_units(cost_wei, 18)
    ))?;
    let impact = quoted.impact();
    out::line(format_args!("price impact {}", impact.text()))?;
    impact.warning().map_or(Ok(()), |warning| out::line(format_args!("warning: {warning}")))?;
    if let Some((_, Some(least_in))) = exact
        && let Some((id, _)) = request.inputs.first()
    {
        out::line(format_args!("no route buys it for less than {}", quoted.amount(*id, *least_in)))?;
    }
    match &solution.certificate {
        Ok(certificate) if certificate.is_exceeded => {
            out::line("no bound: several trades with one pool gain from each other, and another route may pay more")
        }
        Ok(certificate) => {
            let covered = match certificate.pools_covered {
                1 => "1 pool allows".to_owned(),
                covered => format!("{covered} pools allow"),
            };
            out::line(format_args!(
                "at most {} bps below the best that {covered}",
                picture::gap_bps(certificate.gap_bps)
            ))
        }
        Err(why) => out::line(format_args!("no certificate: {why}")),
    }
}
