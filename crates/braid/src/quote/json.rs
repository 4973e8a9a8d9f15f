//! Writes a quote as JSON, with the field names of the HTTP API.

use braid_primitives::{TokenId, U256};
use eyre::Result;
use serde_json::{Value, json};

use super::Quoted;

/// Returns the quote as JSON on several lines.
pub(super) fn text(quoted: &Quoted<'_>) -> Result<String> {
    Ok(serde_json::to_string_pretty(&value(quoted))?)
}

fn value(quoted: &Quoted<'_>) -> Value {
    let Quoted { market, request, solution, exact, impacts } = quoted;
    let block = market.block();
    let route = &solution.route;
    let address = |id: TokenId| market.tokens().get(id).map(|token| token.address.to_checksum(None));
    let steps = route.steps.iter().enumerate().map(|(index, step)| {
        let pool = market.pool(step.pool);
        json!({
            "id": format!("s{}", index + 1),
            "protocol": pool.map(|pool| pool.product.id()),
            "pool": pool.map(|pool| pool.key.to_string()),
            "token_in": address(step.token_in),
            "token_out": address(step.token_out),
            "amount_in": step.amount_in.to_string(),
            "amount_out": step.amount_out.to_string(),
            "gas_units": step.gas_units,
        })
    });
    let side = |id: TokenId, name: &str, amount: U256| {
        let token = market.tokens().get(id);
        json!({
            "token": address(id), "symbol": token.map(|token| &token.symbol), "decimals": token.map(|token| token.decimals),
            name: amount.to_string(),
        })
    };
    let outputs = quoted.received().zip(&impacts.outputs_bps).map(|((id, amount), impact_bps)| {
        let mut row = side(id, "expected_amount", amount);
        row["price_impact_bps"] = json!(impact_bps);
        row
    });
    json!({
        "block": {"number": block.number, "hash": block.hash, "timestamp": block.timestamp},
        "inputs": request.inputs.iter().map(|(id, amount)| side(*id, "amount", *amount)).collect::<Vec<_>>(),
        "estimated_outputs": outputs.collect::<Vec<_>>(),
        "exact_output": exact.map(|(amount, _)| json!({"amount": amount.to_string()})),
        "total_price_impact_bps": impacts.total_bps,
        "gas_units": route.gas_units(),
        "gas_price_wei": request.gas_price_wei,
        "steps": steps.collect::<Vec<_>>(),
        "certificate": solution.certificate.as_ref().ok().map(|certificate| json!({
            "upper_bound_value_wei": certificate.upper_bound_value_wei.to_string(),
            "achieved_value_wei": certificate.achieved_value_wei.to_string(),
            "gap_bps": certificate.gap_bps,
            "is_exceeded": certificate.is_exceeded,
            "pools_covered": certificate.pools_covered,
            "least_input": exact.and_then(|(_, least_in)| least_in).map(|amount| amount.to_string()),
        })),
    })
}
