//! Solves a request: finds its route, order and program. Nothing here waits for I/O.

use std::sync::Arc;
use std::time::Instant;

use braid_execution::gas::{self, Authorization};
use braid_execution::{Permit, permit2};
use braid_primitives::U256;
use braid_routing::{Route, SolveError};
use braid_simulation::WorkPool;

use crate::draft::{Draft, Found, ServiceExclusions, SolveInput};
use crate::measures::Measures;
use crate::problem::{Code, FieldCode, FieldError, Problem};
use crate::request::{DEFAULT_HOPS, MAX_HOPS, QuoteRequest};
use crate::resolve::{self, Tokens, Unknown};
use crate::search::{NoQuote, Search};
use crate::{costs, explain, purchase, sale};

/// Seconds for which the Permit2 message is valid after the quote expires: time to build, send and be included.
const PERMIT_GRACE_S: u64 = 600;

/// Limits of a quote's lifetime and of its route's length.
#[derive(Clone, Copy, Debug)]
pub struct SolveLimits {
    /// Lifetime of a quote whose request sets no `ttl_s`, in milliseconds.
    pub ttl_ms: u64,
    /// Most steps in a route.
    pub max_steps: u16,
}

/// Solves on threads for blocking work.
#[derive(Clone, Debug)]
pub struct Solver {
    /// The threads.
    pub threads: Arc<WorkPool>,
    /// Limits of a quote.
    pub limits: SolveLimits,
    /// Metrics of solves and certificates.
    pub measures: Measures,
}

impl Solver {
    /// Solves on a thread for blocking work. If the request wants a simulation, keeps the thread's slot for it.
    ///
    /// # Errors
    /// Those of [`solve`], and `OVERLOADED`.
    pub(crate) async fn solve(&self, input: SolveInput, exclusions: ServiceExclusions) -> Result<Draft, Problem> {
        let (limits, measures, simulates) = (self.limits, self.measures.clone(), input.request.simulate);
        let span = tracing::info_span!(target: "trace", "solve", pools_visited = tracing::field::Empty);
        let job = move || {
            let (_entered, started) = (span.enter(), Instant::now());
            let solved = solve(input, exclusions, limits);
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

/// Searches for a route, and completes the quote.
///
/// # Errors
/// The problem of a request that has no quote.
pub(crate) fn solve(input: SolveInput, exclusions: ServiceExclusions, limits: SolveLimits) -> Result<Draft, Problem> {
    let (search, unknown) = search_input(&input, &exclusions, limits);
    let found = match input.request.exact_output() {
        Some(amount) => purchase::buy(search, amount),
        None => sale::sell(search),
    };
    let found = found.map_err(|error| refused(error, &input, limits))?;
    let mut draft = finish(input, exclusions, unknown, found, limits)?;
    if draft.input.request.explain {
        draft.explanation = Some(explain::explain(&draft));
    }
    Ok(draft)
}

/// Completes the quote of a known route, without a search and a certificate. For a purchase, `needed_in` is the input
/// before fees that buys exactly the amount, and `buys` tells whether the program buys exactly.
///
/// # Errors
/// As [`solve`].
pub(crate) fn along(
    input: SolveInput,
    exclusions: ServiceExclusions,
    limits: SolveLimits,
    (needed_in, route, buys): (U256, Route, bool),
) -> Result<Draft, Problem> {
    let (search, unknown) = search_input(&input, &exclusions, limits);
    let found = match input.request.exact_output() {
        Some(amount) => purchase::along(search, amount, buys, (needed_in, &route)),
        None => sale::along(search, route),
    };
    let found = found.map_err(|error| refused(error, &input, limits))?;
    finish(input, exclusions, unknown, found, limits)
}

/// Returns the input of a search, and what the request's filter names that does not exist.
fn search_input<'a>(
    input: &'a SolveInput,
    exclusions: &ServiceExclusions,
    limits: SolveLimits,
) -> (Search<'a>, Unknown) {
    let SolveInput { published, request, tokens, created_at_ms, .. } = input;
    let market = &published.head.market;
    let (filter, unknown) = resolve::filter(market, request, exclusions.filter.clone());
    let (head_s, ttl_s) = (market.block().timestamp, request.ttl_ms(limits.ttl_ms) / 1_000);
    let deadline_s = (created_at_ms / 1_000).max(head_s).saturating_add(ttl_s).saturating_add(PERMIT_GRACE_S);
    let trade = braid_routing::Request {
        inputs: tokens.inputs.iter().map(|id| (*id, U256::ZERO)).collect(),
        outputs: tokens.outputs.iter().zip(&request.outputs).map(|(id, entry)| (*id, entry.share_bps())).collect(),
        max_hops: request.max_hops,
        filter,
        gas_price_wei: costs::fees(&published.head, request.gas_priority).expected_per_gas(),
        max_steps: request.max_steps.map_or(limits.max_steps, |steps| steps.min(limits.max_steps)),
        at: market.block().next(),
    };
    (Search { published, request, trade, deadline_s, verifies_transfers: exclusions.verifies_transfers }, unknown)
}

/// Returns the problem of a request that has no quote: misspelt names in `include_protocols` if they left no route,
/// otherwise [`no_route`].
fn refused(error: NoQuote, input: &SolveInput, limits: SolveLimits) -> Problem {
    match error {
        NoQuote::Solve(SolveError::NoRoute(_) | SolveError::InsufficientLiquidity) => resolve::misspelt(&input.request),
        _ => None,
    }
    .unwrap_or_else(|| no_route(error, &input.request, &input.tokens, limits))
}

/// Completes the quote of a found route: gas, fees, expiry and the terms of the Permit2 message.
fn finish(
    input: SolveInput,
    exclusions: ServiceExclusions,
    unknown: Unknown,
    found: Found,
    limits: SolveLimits,
) -> Result<Draft, Problem> {
    let (head, request) = (&input.published.head, &input.request);
    let fees = costs::fees(head, request.gas_priority);
    // only the taker may send a transaction with its signature
    let nonce = permit2::fresh_nonce(input.id.as_bytes());
    let permit = Permit { owner: request.taker, nonce, deadline: found.order.deadline, sender: request.taker };
    let Found { solution, order, program, .. } = &found;
    let gas = gas::estimate(&head.market, &solution.route, order, program, request.taker, Authorization::Allowance)
        .map_err(Problem::internal)?;
    Ok(Draft {
        expires_at_ms: input.created_at_ms.saturating_add(request.ttl_ms(limits.ttl_ms)),
        input,
        unknown,
        exclusions,
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

/// Returns what to do if the market does not take an amount, with the limits of the request that may be the obstacle. Several
/// inputs or outputs may need more pools on a path than each pair does, because their paths meet.
fn limited(request: &QuoteRequest, less: &str, limits: SolveLimits) -> String {
    let QuoteRequest { max_hops, max_steps, .. } = request;
    let is_basket = request.inputs.len() > 1 || request.outputs.len() > 1;
    let (mut within, mut ways) = (Vec::new(), vec![less.to_owned()]);
    // more than the service's limit counts as the limit
    if let Some(most) = max_steps.filter(|most| *most < limits.max_steps) {
        within.push(format!("max_steps ({most})"));
        ways.push("allow more steps".into());
    }
    if *max_hops < if is_basket { MAX_HOPS } else { DEFAULT_HOPS } {
        within.push(format!("max_hops ({max_hops})"));
        ways.push("allow more hops".into());
    }
    if is_basket {
        ways.push("ask for fewer tokens at once".into());
    }
    let within =
        if within.is_empty() { String::new() } else { format!(" along a route within {}", within.join(" and ")) };
    format!("{within}: {}", ways.join(", or "))
}

/// Returns the problem that an error of the search is to a client.
fn no_route(error: NoQuote, request: &QuoteRequest, tokens: &Tokens, limits: SolveLimits) -> Problem {
    let error = match error {
        NoQuote::Solve(error) => error,
        NoQuote::Encode(error) => return Problem::internal(error),
        NoQuote::BeyondSlippage => {
            let detail = "the market cannot take the maximum input, the cost of the amount plus slippage_tolerance_bps: lower slippage_tolerance_bps or the amount";
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
                    let detail = "no path through allowed pools, within max_hops and max_steps, leads from this input to an output";
                    (format!("/inputs/{at}/address"), detail)
                }
                None => {
                    (pointer(id), "no path through allowed pools, within max_hops and max_steps, leads to this output")
                }
            };
            Problem::field(Code::NoRouteFound, FieldError::new(pointer, FieldCode::NoRouteFound, detail))
        }
        SolveError::InsufficientLiquidity => {
            let (cannot, less) = match request.exact_output() {
                Some(_) => ("the market cannot pay the whole amount of the output", "ask for less"),
                None => ("the market cannot take the whole amount", "sell less"),
            };
            Problem::new(Code::InsufficientLiquidity, format!("{cannot}{}", limited(request, less, limits)))
        }
        SolveError::AmountTooSmall => {
            Problem::new(Code::AmountTooSmall, "an output would round to zero: use a larger amount")
        }
        SolveError::NoReferencePrice(id) => {
            let detail =
                "this output has no reference price, which a quote with several outputs needs: ask for it alone";
            let error = FieldError::new(pointer(id), FieldCode::OutputPriceUnavailable, detail);
            Problem::field(Code::OutputPriceUnavailable, error)
        }
    }
}
