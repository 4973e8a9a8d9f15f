//! From the question to the route, its order and its program: everything between the market and the answer that needs no waiting.

use std::sync::Arc;

use braid_execution::gas::{self, Authorization};
use braid_execution::{Order, Permit, TokenAmount, encode_program, minimum_amount, permit2};
use braid_primitives::{TokenId, U256};
use braid_routing::SolveError;
use braid_simulation::WorkPool;

use crate::draft::{Aside, Asked, Draft};
use crate::problem::{Code, FieldCode, FieldError, Problem};
use crate::request::QuoteRequest;
use crate::resolve::{self, Tokens};
use crate::{costs, explain};

/// How much longer than the quote its Permit2 message is good for, in seconds: time to build, send and be included.
const PERMIT_GRACE_S: u64 = 600;

/// How long quotes live and how long their routes may be.
#[derive(Clone, Copy, Debug)]
pub struct SolveLimits {
    /// How long a quote can be built, in milliseconds.
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
}

impl Solver {
    /// Solves on a thread that may be kept busy.
    ///
    /// # Errors
    /// As a solve, or that there is too much to do.
    pub async fn solve(&self, asked: Asked, aside: Aside) -> Result<Draft, Problem> {
        let limits = self.limits;
        self.threads.run(move || solve(asked, aside, limits)).await?
    }
}

fn solve(asked: Asked, aside: Aside, limits: SolveLimits) -> Result<Draft, Problem> {
    let SolveLimits { ttl_ms, max_steps } = limits;
    let Asked { published, request, tokens, id, created_at_ms } = asked;
    let market = &published.head.market;
    let (filter, unknown_protocols) = resolve::filter(market, &request, aside.filter.clone());
    let fees = costs::fees(&published.head, request.gas_priority);
    let partner_fee = request.fee();
    let net_input = |amount: U256| partner_fee.map_or(amount, |fee| fee.after_input(amount));
    let question = braid_routing::Request {
        inputs: tokens.inputs.iter().zip(&request.inputs).map(|(id, entry)| (*id, net_input(entry.amount))).collect(),
        outputs: tokens.outputs.iter().zip(&request.outputs).map(|(id, entry)| (*id, entry.ratio_bps)).collect(),
        max_hops: request.max_hops,
        filter,
        gas_price_wei: fees.expected_per_gas(),
        max_steps: request.max_steps.map_or(max_steps, |asked| asked.min(max_steps)),
        at: market.block().next(),
    };
    let solved = if request.explain {
        braid_routing::explain(&published.prepared, &question)
    } else {
        braid_routing::solve(&published.prepared, &question).map(|solution| (solution, None))
    };
    // where there is no route since a name is misspelt, that is what is wrong
    let refused = |error| {
        match error {
            SolveError::NoRoute(_) | SolveError::InsufficientLiquidity => resolve::misspelt(&request),
            _ => None,
        }
        .unwrap_or_else(|| no_route(&error, &tokens))
    };
    let (solution, witness) = solved.map_err(refused)?;
    let net_output = |amount: &U256| partner_fee.map_or(*amount, |fee| fee.after_output(*amount));
    let arrives = |(token, amount): (&TokenId, &U256)| {
        braid_routing::arrives(market, &solution.route, &question.at, *token, (*amount, net_output(amount)))
    };
    let expected: Vec<U256> = tokens.outputs.iter().zip(&solution.route.amounts_out).map(arrives).collect();
    if expected.iter().any(U256::is_zero) {
        return Err(too_small());
    }
    let head_s = market.block().timestamp;
    let deadline = (created_at_ms / 1_000).max(head_s).saturating_add(ttl_ms / 1_000).saturating_add(PERMIT_GRACE_S);
    let order = order(&request, &expected, deadline);
    let mut program = encode_program(market, &solution.route, &order).map_err(Problem::internal)?;
    if !aside.verifies_transfers {
        // a path does not look at what arrives: a token that taxes transfers would arrive below the minimum
        program.path = None;
    }
    // the taker sends the transaction itself: nobody else can use its signature
    let nonce = permit2::fresh_nonce(id.as_bytes());
    let permit = Permit { owner: request.taker, nonce, deadline, sender: request.taker };
    let gas = gas::estimate(market, &solution.route, &order, &program, request.taker, Authorization::Allowance)
        .map_err(Problem::internal)?;
    let mut draft = Draft {
        id,
        created_at_ms,
        expires_at_ms: created_at_ms.saturating_add(ttl_ms),
        request,
        tokens,
        unknown_protocols,
        aside,
        solution,
        expected,
        order,
        program,
        permit,
        gas,
        fees,
        holdings: None,
        simulated: None,
        explanation: None,
        published,
    };
    if draft.request.explain {
        draft.explanation = Some(explain::explain(&draft, &question, witness.as_ref()));
    }
    Ok(draft)
}

/// What the proxy enforces. It refuses a minimum of zero, so that the least minimum is one atomic unit.
fn order(request: &QuoteRequest, expected: &[U256], deadline: u64) -> Order {
    let slippage = request.slippage_tolerance_bps;
    let minimum = |amount: &U256| minimum_amount(*amount, slippage).max(U256::ONE);
    let inputs = request.inputs.iter().map(|entry| TokenAmount { token: entry.token.address, amount: entry.amount });
    let outputs = request.outputs.iter().zip(expected);
    Order {
        inputs: inputs.collect(),
        outputs: outputs
            .map(|(entry, amount)| TokenAmount { token: entry.token.address, amount: minimum(amount) })
            .collect(),
        recipient: request.recipient,
        deadline,
        partner_fee: request.fee(),
    }
}

fn too_small() -> Problem {
    Problem::new(Code::AmountTooSmall, "the amount is so small that an output would round to zero")
}

/// The problem of a request that the router cannot answer.
fn no_route(error: &SolveError, tokens: &Tokens) -> Problem {
    let output = |id| tokens.outputs.iter().position(|output| *output == id).unwrap_or(0);
    let pointer = |id| format!("/outputs/{}/address", output(id));
    let input = |id| tokens.inputs.iter().position(|input| *input == id);
    match error {
        SolveError::NoRoute(id) => {
            let (pointer, detail) = match input(*id) {
                Some(at) => {
                    let detail =
                        "no chain of allowed pools, within max_hops and max_steps, leads from this input to an output";
                    (format!("/inputs/{at}/address"), detail)
                }
                None => {
                    (pointer(*id), "no chain of allowed pools, within max_hops and max_steps, leads to this output")
                }
            };
            Problem::field(Code::NoRouteFound, FieldError::new(pointer, FieldCode::NoRouteFound, detail))
        }
        SolveError::InsufficientLiquidity => {
            Problem::new(Code::InsufficientLiquidity, "the market cannot take the whole amount")
        }
        SolveError::AmountTooSmall => too_small(),
        SolveError::NoReferencePrice(id) => {
            let detail = "this output has no reference price, which several outputs need each";
            let error = FieldError::new(pointer(*id), FieldCode::OutputPriceUnavailable, detail);
            Problem::field(Code::OutputPriceUnavailable, error)
        }
    }
}
