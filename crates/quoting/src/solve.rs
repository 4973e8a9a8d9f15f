//! From the question to the route, its order and its program: everything between the market and the answer that needs
//! no waiting.

use std::sync::Arc;
use std::time::Instant;

use braid_execution::gas::{self, Authorization};
use braid_execution::{Permit, permit2};
use braid_primitives::U256;
use braid_routing::{Route, SolveError};
use braid_simulation::WorkPool;

use crate::draft::{Aside, Asked, Draft, Found};
use crate::measures::Measures;
use crate::problem::{Code, FieldCode, FieldError, Problem};
use crate::request::QuoteRequest;
use crate::resolve::{self, Tokens};
use crate::way::{NoQuote, Way};
use crate::{costs, explain, purchase, sale};

/// How much longer than the quote its Permit2 message is good for, in seconds: time to build, send and be included.
const PERMIT_GRACE_S: u64 = 600;

/// How long quotes live and how long their routes may be.
#[derive(Clone, Copy, Debug)]
pub struct SolveLimits {
    /// How long a quote can be built that asks for no time of its own, in milliseconds.
    pub ttl_ms: u64,
    /// Most steps in a route.
    pub max_steps: u16,
}

/// Solves on threads that may be kept busy.
#[derive(Clone, Debug)]
pub struct Solver {
    /// The threads.
    pub threads: Arc<WorkPool>,
    /// What bounds a quote.
    pub limits: SolveLimits,
    /// What is counted.
    pub measures: Measures,
}

impl Solver {
    /// Solves on a thread that may be kept busy, and keeps the place for the simulation where one is asked for.
    ///
    /// # Errors
    /// As a solve, or that there is too much to do.
    pub(crate) async fn solve(&self, asked: Asked, aside: Aside) -> Result<Draft, Problem> {
        let (limits, measures, simulates) = (self.limits, self.measures.clone(), asked.request.simulate);
        let span = tracing::info_span!(target: "trace", "solve", pools_visited = tracing::field::Empty);
        let job = move || {
            let (_entered, started) = (span.enter(), Instant::now());
            let solved = solve(asked, aside, limits);
            measures.solved(started);
            if let Ok(draft) = &solved {
                measures.certified(&draft.found.solution.certificate);
                span.record("pools_visited", draft.found.solution.pools_visited);
            }
            solved
        };
        if !simulates {
            return self.threads.run(job).await?;
        }
        let (draft, kept) = self.threads.run_and_keep(job).await?;
        Ok(Draft { kept: Some(kept), ..draft? })
    }
}

/// Searches for the route of a question, and finishes it.
///
/// # Errors
/// Every problem of a request that the router cannot answer.
pub(crate) fn solve(asked: Asked, aside: Aside, limits: SolveLimits) -> Result<Draft, Problem> {
    let (way, unknown_protocols) = way(&asked, &aside, limits);
    let found = match asked.request.exact_output() {
        Some(amount) => purchase::buy(way, amount),
        None => sale::sell(way),
    };
    let found = found.map_err(|error| refused(error, &asked))?;
    let mut draft = finish(asked, aside, unknown_protocols, found, limits)?;
    if draft.asked.request.explain {
        draft.explanation = Some(explain::explain(&draft));
    }
    Ok(draft)
}

/// Finishes a route that is known, without a search and a certificate. Of a purchase, `needed_in` is what it sells for
/// exactly the amount, and `buys` tells whether the program buys exactly.
///
/// # Errors
/// As [`solve`].
pub(crate) fn along(
    asked: Asked,
    aside: Aside,
    limits: SolveLimits,
    (needed_in, route, buys): (U256, Route, bool),
) -> Result<Draft, Problem> {
    let (way, unknown_protocols) = way(&asked, &aside, limits);
    let found = match asked.request.exact_output() {
        Some(amount) => purchase::again(way, amount, buys, (needed_in, &route)),
        None => sale::along(way, route),
    };
    let found = found.map_err(|error| refused(error, &asked))?;
    finish(asked, aside, unknown_protocols, found, limits)
}

/// Returns what the router is asked, and the names in the request that no protocol has.
fn way<'a>(asked: &'a Asked, aside: &Aside, limits: SolveLimits) -> (Way<'a>, Vec<String>) {
    let Asked { published, request, tokens, created_at_ms, .. } = asked;
    let market = &published.head.market;
    let (filter, unknown_protocols) = resolve::filter(market, request, aside.filter.clone());
    let (head_s, ttl_s) = (market.block().timestamp, request.ttl_ms(limits.ttl_ms) / 1_000);
    let deadline = (created_at_ms / 1_000).max(head_s).saturating_add(ttl_s).saturating_add(PERMIT_GRACE_S);
    let question = braid_routing::Request {
        inputs: tokens.inputs.iter().map(|id| (*id, U256::ZERO)).collect(),
        outputs: tokens.outputs.iter().zip(&request.outputs).map(|(id, entry)| (*id, entry.share_bps())).collect(),
        max_hops: request.max_hops,
        filter,
        gas_price_wei: costs::fees(&published.head, request.gas_priority).expected_per_gas(),
        max_steps: request.max_steps.map_or(limits.max_steps, |asked| asked.min(limits.max_steps)),
        at: market.block().next(),
    };
    (Way { published, request, question, deadline, verifies_transfers: aside.verifies_transfers }, unknown_protocols)
}

/// Returns the problem of a request that has no quote: where there is no route since a name is misspelt, that is what
/// is wrong.
fn refused(error: NoQuote, asked: &Asked) -> Problem {
    match error {
        NoQuote::Solve(SolveError::NoRoute(_) | SolveError::InsufficientLiquidity) => resolve::misspelt(&asked.request),
        _ => None,
    }
    .unwrap_or_else(|| no_route(error, &asked.request, &asked.tokens))
}

/// Everything that is known of a quote once its route is found.
fn finish(
    asked: Asked,
    aside: Aside,
    unknown_protocols: Vec<String>,
    found: Found,
    limits: SolveLimits,
) -> Result<Draft, Problem> {
    let (head, request) = (&asked.published.head, &asked.request);
    let fees = costs::fees(head, request.gas_priority);
    // the taker sends the transaction itself: nobody else can use its signature
    let nonce = permit2::fresh_nonce(asked.id.as_bytes());
    let permit = Permit { owner: request.taker, nonce, deadline: found.order.deadline, sender: request.taker };
    let Found { solution, order, program, .. } = &found;
    let gas = gas::estimate(&head.market, &solution.route, order, program, request.taker, Authorization::Allowance)
        .map_err(Problem::internal)?;
    Ok(Draft {
        expires_at_ms: asked.created_at_ms.saturating_add(request.ttl_ms(limits.ttl_ms)),
        asked,
        unknown_protocols,
        aside,
        found,
        permit,
        gas,
        fees,
        holdings: None,
        simulated: None,
        explanation: None,
        kept: None,
    })
}

/// Returns the problem of a request that has no quote.
fn no_route(error: NoQuote, request: &QuoteRequest, tokens: &Tokens) -> Problem {
    let error = match error {
        NoQuote::Solve(error) => error,
        NoQuote::Encode(error) => return Problem::internal(error),
        NoQuote::BeyondSlippage => {
            let detail = "the market cannot take the maximum input, which is what the amount costs plus slippage_tolerance_bps: lower that";
            return Problem::new(Code::InsufficientLiquidity, detail);
        }
    };
    let output = |id| tokens.outputs.iter().position(|output| *output == id).unwrap_or(0);
    let pointer = |id| format!("/outputs/{}/address", output(id));
    let input = |id| tokens.inputs.iter().position(|input| *input == id);
    match error {
        SolveError::NoRoute(id) => {
            let (pointer, detail) = match input(id) {
                Some(at) => {
                    let detail =
                        "no chain of allowed pools, within max_hops and max_steps, leads from this input to an output";
                    (format!("/inputs/{at}/address"), detail)
                }
                None => (pointer(id), "no chain of allowed pools, within max_hops and max_steps, leads to this output"),
            };
            Problem::field(Code::NoRouteFound, FieldError::new(pointer, FieldCode::NoRouteFound, detail))
        }
        SolveError::InsufficientLiquidity => {
            let detail = match request.exact_output() {
                Some(_) => "the market cannot pay the whole amount of the output",
                None => "the market cannot take the whole amount",
            };
            Problem::new(Code::InsufficientLiquidity, detail)
        }
        SolveError::AmountTooSmall => {
            Problem::new(Code::AmountTooSmall, "the amount is so small that an output would round to zero")
        }
        SolveError::NoReferencePrice(id) => {
            let detail = "this output has no reference price, without which a quote of several outputs cannot be made: ask for it alone";
            let error = FieldError::new(pointer(id), FieldCode::OutputPriceUnavailable, detail);
            Problem::field(Code::OutputPriceUnavailable, error)
        }
    }
}
