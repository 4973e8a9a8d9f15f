//! An answer worked out again from its receipt, by the same stages that made it.

use std::sync::Arc;
use std::time::Instant;

use braid_ethereum::{FeeData, Head};
use braid_execution::TokenAmount;
use braid_market::Market;
use braid_routing::{PoolFilter, Prepared};
use serde_json::{Value, to_value};

use super::document::Receipt;
use crate::draft::{Aside, Asked, Draft};
use crate::feed::Published;
use crate::json;
use crate::proxy::ProxyState;
use crate::request::{InputEntry, QuoteRequest, Request as _};
use crate::solve::{self, SolveLimits};
use crate::stored::Plan;
use crate::{answer, explain, reprice, resolve};

/// What an answer and its transaction come to.
#[derive(Debug)]
pub(super) struct Again {
    /// The answer.
    pub answer: Value,
    /// What the transaction is made of.
    pub plan: Value,
}

/// Runs the steps of the receipt's plan again: route, amounts, gas and program, without a search.
pub(super) fn of_route(receipt: &Receipt, market: Market) -> Result<Again, String> {
    let (asked, aside) = asked(receipt, market)?;
    let (market, order) = (Arc::clone(&asked.published.head.market), &receipt.plan.order);
    // a purchase sells what the plan says at most
    let same = |(input, entry): (&TokenAmount, &InputEntry)| {
        input.token == entry.token.address && entry.amount.is_none_or(|amount| amount == input.amount)
    };
    let sells = order.inputs.len() == asked.request.inputs.len();
    if !sells || !order.inputs.iter().zip(&asked.request.inputs).all(same) {
        return Err("the order sells something else than the request".into());
    }
    let sold = order.inputs.iter().map(|input| order.input_after_fee(input));
    let inputs: Vec<_> = asked.tokens.inputs.iter().copied().zip(sold).collect();
    let at = market.block().next();
    let steps = &receipt.plan.steps;
    let route = match receipt.plan.program.buys() {
        true => reprice::path(&market, steps),
        false => reprice::reprice(&market, &at, steps, &inputs, &asked.tokens.outputs),
    };
    let route = route.map_err(|error| error.to_string())?;
    let needed = receipt.quote["exact_output"]["needed_input"].as_str().and_then(|text| text.parse().ok());
    let draft =
        solve::along(asked, aside, limits(receipt), (needed.unwrap_or_default(), route, receipt.plan.program.buys()));
    written(receipt, draft.map_err(|problem| problem.detail)?)
}

/// Searches again from the request alone.
pub(super) fn of_market(receipt: &Receipt, market: Market) -> Result<Again, String> {
    let (asked, aside) = asked(receipt, market)?;
    written(receipt, solve::solve(asked, aside, limits(receipt)).map_err(|problem| problem.detail)?)
}

fn limits(receipt: &Receipt) -> SolveLimits {
    SolveLimits { ttl_ms: receipt.settings.ttl_ms, max_steps: receipt.settings.max_steps }
}

/// Reads the question of a receipt on a market, and what was left out of it.
fn asked(receipt: &Receipt, market: Market) -> Result<(Asked, Aside), String> {
    let body = json::parse(receipt.request.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let request = QuoteRequest::parse(&body).map_err(|problem| problem.detail)?;
    let tokens = resolve::tokens(&market, &request).map_err(|problem| problem.detail)?;
    let id = receipt.quote.get("quote_id").and_then(Value::as_str).and_then(|id| uuid::Uuid::parse_str(id).ok());
    let id = id.ok_or("the answer has no quote_id")?;
    // an id begins with the time at which it was given
    let (seconds, nanos) = id.get_timestamp().ok_or("the quote_id holds no time")?.to_unix();
    let created_at_ms = seconds.saturating_mul(1_000).saturating_add(u64::from(nanos / 1_000_000));
    let mut filter = PoolFilter::default();
    receipt.market.excluded_pools.iter().filter_map(|key| market.pool_id(*key)).for_each(|id| filter.exclude_pool(id));
    let aside = Aside {
        filter,
        pools: receipt.market.excluded_count,
        unchecked: receipt.market.unchecked_tokens.clone(),
        verifies_transfers: receipt.settings.verifies_transfers,
    };
    let fees = FeeData {
        next_base_fee_per_gas_wei: receipt.settings.next_base_fee_per_gas_wei,
        priority_fee_per_gas_wei: receipt.settings.priority_fee_per_gas_wei,
    };
    let market = Arc::new(market);
    let head = Head { market: Arc::clone(&market), fees, received_at: Instant::now() };
    let published = Arc::new(Published::new(Arc::new(head), Prepared::new(market)));
    Ok((Asked { published, request, tokens, id, created_at_ms }, aside))
}

/// Writes the answer of a draft, with what the chain alone knew when the receipt was made.
fn written(receipt: &Receipt, mut draft: Draft) -> Result<Again, String> {
    draft.permit.nonce = receipt.plan.permit.nonce;
    if let Some(measured) = receipt.measured_gas {
        explain::measured(&mut draft, measured.total_gas_units, measured.gas_limit);
    }
    let answer = answer::quote(&draft, ProxyState::Unknown, receipt.market.left_out);
    let answer = to_value(&answer).map_err(|error| error.to_string())?;
    let plan = to_value(Plan::of(&draft)).map_err(|error| error.to_string())?;
    Ok(Again { answer, plan })
}
