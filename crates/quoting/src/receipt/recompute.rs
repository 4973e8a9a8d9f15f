//! Recomputes an answer from its receipt, by the same stages that made it.

use std::sync::Arc;
use std::time::Instant;

use braid_ethereum::{FeeData, Head};
use braid_execution::TokenAmount;
use braid_market::Market;
use braid_routing::{PoolFilter, Prepared};
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, to_value};

use super::document::Receipt;
use crate::draft::{Draft, ServiceExclusions, SolveInput};
use crate::feed::Published;
use crate::json;
use crate::proxy::ProxyState;
use crate::request::{InputEntry, QuoteRequest, Request as _};
use crate::solve::{self, SolveLimits};
use crate::stored::Plan;
use crate::{answer, explain, reprice, resolve};

/// A recomputed answer.
#[derive(Debug)]
pub(super) struct Recomputed {
    /// The answer.
    pub answer: Value,
    /// The order, program, steps and terms of the Permit2 message.
    pub plan: Value,
}

/// Recomputes route, amounts, gas and program from the steps of the receipt's plan, without a search.
pub(super) fn from_route(receipt: &Receipt, market: Market) -> Result<Recomputed, String> {
    let (input, exclusions) = input(receipt, market)?;
    let (market, order) = (Arc::clone(&input.published.head.market), &receipt.plan.order);
    // the input of a purchase is the plan's maximum
    let same = |(input, entry): (&TokenAmount, &InputEntry)| {
        input.token == entry.token.address && entry.amount.is_none_or(|amount| amount == input.amount)
    };
    let sells = order.inputs.len() == input.request.inputs.len();
    if !sells || !order.inputs.iter().zip(&input.request.inputs).all(same) {
        return Err("the order's inputs differ from the request's".into());
    }
    let sold = order.inputs.iter().map(|input| order.input_after_fee(input));
    let inputs: Vec<_> = input.tokens.inputs.iter().copied().zip(sold).collect();
    let at = market.block().next();
    let steps = &receipt.plan.steps;
    let route = match receipt.plan.program.buys() {
        true => reprice::path(&market, steps),
        false => reprice::reprice(&market, &at, steps, &inputs, &input.tokens.outputs),
    };
    let route = route.map_err(|error| error.to_string())?;
    let needed = receipt.quote["exact_output"]["needed_input"].as_str().and_then(|text| text.parse().ok());
    let draft = solve::along(
        input,
        exclusions,
        limits(receipt),
        (needed.unwrap_or_default(), route, receipt.plan.program.buys()),
    );
    written(receipt, draft.map_err(|problem| problem.detail)?)
}

/// Recomputes everything from the request and the market, with a search.
pub(super) fn from_market(receipt: &Receipt, market: Market) -> Result<Recomputed, String> {
    let (input, exclusions) = input(receipt, market)?;
    written(receipt, solve::solve(input, exclusions, limits(receipt)).map_err(|problem| problem.detail)?)
}

fn limits(receipt: &Receipt) -> SolveLimits {
    SolveLimits { ttl_ms: receipt.settings.ttl_ms, max_steps: receipt.settings.max_steps }
}

/// Returns the input of a receipt's solve on a market, with the service's exclusions.
fn input(receipt: &Receipt, market: Market) -> Result<(SolveInput, ServiceExclusions), String> {
    let body = json::parse(receipt.request.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let request = QuoteRequest::parse(&body).map_err(|problem| problem.detail)?;
    let tokens = resolve::tokens(&market, &request).map_err(|problem| problem.detail)?;
    let id = receipt.quote.get("quote_id").and_then(Value::as_str).and_then(|id| uuid::Uuid::parse_str(id).ok());
    let id = id.ok_or("the answer has no quote_id")?;
    // a UUIDv7 begins with its time
    let (seconds, nanos) = id.get_timestamp().ok_or("the quote_id holds no time")?.to_unix();
    let created_at_ms = seconds.saturating_mul(1_000).saturating_add(u64::from(nanos / 1_000_000));
    let mut filter = PoolFilter::default();
    receipt.market.excluded_pools.iter().filter_map(|key| market.pool_id(*key)).for_each(|id| filter.exclude_pool(id));
    let exclusions = ServiceExclusions {
        filter,
        pool_count: receipt.market.excluded_count,
        unverified: receipt.market.unchecked_tokens.clone(),
        verifies_transfers: receipt.settings.verifies_transfers,
    };
    let fees = FeeData {
        next_base_fee_per_gas_wei: receipt.settings.next_base_fee_per_gas_wei,
        priority_fee_per_gas_wei: receipt.settings.priority_fee_per_gas_wei,
    };
    let market = Arc::new(market);
    let head = Head { market: Arc::clone(&market), fees, received_at: Instant::now() };
    let published = Arc::new(Published::new(Arc::new(head), Prepared::new(market), Counter::default()));
    Ok((SolveInput { published, request, tokens, id, created_at_ms }, exclusions))
}

/// Writes the answer of a draft. Takes the nonce and the measured gas from the receipt: only the chain knew them.
fn written(receipt: &Receipt, mut draft: Draft) -> Result<Recomputed, String> {
    draft.permit.nonce = receipt.plan.permit.nonce;
    if let Some(measured) = receipt.measured_gas {
        explain::use_measured_gas(&mut draft, measured.total_gas_units, measured.gas_limit);
    }
    let answer = answer::quote(&draft, ProxyState::Unknown, receipt.market.excluded_by_follower);
    let answer = to_value(&answer).map_err(|error| error.to_string())?;
    let plan = to_value(Plan::of(&draft)).map_err(|error| error.to_string())?;
    Ok(Recomputed { answer, plan })
}
