//! `POST /v1/quote`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use braid_execution::fees::Fees;
use braid_execution::gas::{self, Authorization, GasEstimate};
use braid_execution::{Order, Permit, Program, TokenAmount, encode_program, minimum_amount, permit2};
use braid_primitives::{Address, NATIVE_ETHER, TokenId, U256};
use braid_routing::{PoolFilter, Solution, SolveError, Step};
use serde_json::value::to_raw_value;
use uuid::Uuid;

use super::accounts::{self, Holdings};
use super::answer;
use super::costs;
use super::explain;
use super::first_use;
use super::nonces;
use super::reprice::StoredStep;
use super::resolve::{self, Shown, Tokens};
use super::simulation::{self, Simulated};
use super::stored::{self, Plan, StoredQuote};
use crate::app::App;
use crate::audit::Probe;
use crate::feed::Published;
use crate::http::Data;
use crate::http::auth::MayQuote;
use crate::http::body::read_json;
use crate::model::{Explanation, QuoteAnswer};
use crate::openapi::QuoteProblems;
use crate::openapi::requests::QuoteBody;
use crate::problem::{Code, FieldCode, FieldError, Problem};
use crate::request::QuoteRequest;

/// How much longer than the quote its Permit2 message is good for, in seconds: time to build, send and be included.
const PERMIT_GRACE_S: u64 = 600;

/// Everything that is known of a quote when its answer is written.
#[derive(Debug)]
pub struct Draft {
    /// Names the quote.
    pub id: Uuid,
    /// Unix milliseconds.
    pub created_at_ms: u64,
    /// Unix milliseconds.
    pub expires_at_ms: u64,
    /// What was asked.
    pub request: QuoteRequest,
    /// The market.
    pub published: Arc<Published>,
    /// The request's tokens.
    pub tokens: Tokens,
    /// Names that no protocol has.
    pub unknown_protocols: Vec<String>,
    /// What is left out.
    pub aside: Aside,
    /// The route.
    pub solution: Solution,
    /// What each output pays after fees.
    pub expected: Vec<U256>,
    /// What the proxy enforces.
    pub order: Order,
    /// What the proxy runs.
    pub program: Program,
    /// The terms of the Permit2 message.
    pub permit: Permit,
    /// Units of gas.
    pub gas: GasEstimate,
    /// Wei per unit.
    pub fees: Fees,
    /// What the taker holds, where asked for.
    pub holdings: Option<Holdings>,
    /// What a simulation saw, where asked for.
    pub simulated: Option<Simulated>,
    /// Why this route, where asked for.
    pub explanation: Option<Explanation>,
}

/// What is left out of a quote whatever it asks for.
#[derive(Clone, Debug)]
pub struct Aside {
    /// The pools.
    pub filter: PoolFilter,
    /// How many they are.
    pub pools: u32,
    /// Tokens that could not be checked, and why.
    pub unchecked: Vec<(Address, String)>,
}

/// What a solve is of.
#[derive(Debug)]
pub struct Asked {
    published: Arc<Published>,
    request: QuoteRequest,
    tokens: Tokens,
    id: Uuid,
    created_at_ms: u64,
}

impl Draft {
    /// The question again, for another answer.
    pub fn into_asked(self) -> Asked {
        let Self { published, request, tokens, id, created_at_ms, .. } = self;
        Asked { published, request, tokens, id, created_at_ms }
    }
}

/// The handler.
///
/// # Errors
/// Every problem that a quote can have.
#[utoipa::path(post, operation_id = "quote", path = "/v1/quote", tag = "swap", summary = "Find a route", security(("api_key" = [])),
    request_body = QuoteBody, responses((status = 200, description = "A quote.", body = Data<QuoteAnswer>), QuoteProblems))]
pub async fn post(_: MayQuote, State(app): State<Arc<App>>, body: Request<Body>) -> Result<Response, Problem> {
    let body = read_json(body, app.config.body_limit_bytes).await?;
    let request = QuoteRequest::read(&body, &app.rules())?;
    let draft = draft(&app, request).await?;
    let answer = to_raw_value(&answer::quote(&app, &draft)).map_err(Problem::internal)?;
    let response = stored::data(answer.get());
    let quote = StoredQuote { expires_at_ms: draft.expires_at_ms, plan: plan(&draft), answer };
    stored::keep(&app, draft.id, &quote)?;
    Ok(response)
}

async fn draft(app: &Arc<App>, request: QuoteRequest) -> Result<Draft, Problem> {
    let published = app.feed.current(&app.config)?;
    let tokens = resolve::tokens(&published.head.market, &request)?;
    resolve::check_faults(&app.audit.quarantine, &request)?;
    resolve::check_amounts(&request)?;
    let block_hash = published.head.block().hash;
    let wanted: Vec<_> = request.inputs.iter().map(|entry| entry.token.address).collect();
    let reads = request.check_allowances;
    let taker = request.taker;
    let now_ms = app.clock.now_ms();
    let id = new_id(now_ms);
    let signs = request.include_permit2 && wanted.iter().any(|token| *token != NATIVE_ETHER);
    let wanted = if reads { wanted } else { Vec::new() };
    let aside = first_use::aside(app, &published);
    let at_hand = Arc::clone(&published);
    let asked_for: Vec<TokenId> = tokens.inputs.iter().chain(&tokens.outputs).copied().collect();
    let solving = solve_apart(app, Asked { published, request, tokens, id, created_at_ms: now_ms }, aside);
    let reading = async {
        let asked = if signs { nonces::candidates(id.as_bytes()) } else { Vec::new() };
        if reads || signs { Some(accounts::read(app, block_hash, taker, &wanted, &asked).await) } else { None }
    };
    let (draft, seen) = tokio::join!(solving, reading);
    let draft = draft.map_err(|problem| first_use::with_unproven(problem, app, &at_hand, &asked_for))?;
    let mut draft = first_use::settle(app, draft).await?;
    note_use(app, &draft);
    if let Some(seen) = seen.as_ref().filter(|_| signs) {
        let (now_s, until_s) = (now_ms / 1_000, draft.permit.deadline);
        draft.permit.nonce = app.nonces.give(taker, id.as_bytes(), &seen.nonce_words, now_s, until_s);
    }
    draft.holdings = seen.filter(|_| reads);
    if draft.request.simulate {
        let simulated = simulation::of_quote(app, &draft).await;
        if let Some(measured) = simulated.gas {
            draft.gas = measured.in_place_of(draft.gas);
            draft.explanation = draft.explanation.take().map(|explanation| explain::with_gas_of(&draft, explanation));
        }
        draft.simulated = Some(simulated);
    }
    Ok(draft)
}

/// Tells the self-audit which pools quotes use.
fn note_use(app: &App, draft: &Draft) {
    for step in &draft.solution.route.steps {
        if let Some(pool) = draft.published.head.market.pool(step.pool) {
            let Step { coin_in, coin_out, amount_in, .. } = *step;
            app.audit.used(Probe { pool: pool.key.contract, coin_in, coin_out, amount_in });
        }
    }
}

/// Solves on a thread that may be kept busy.
///
/// # Errors
/// As a solve, or that there is too much to do.
pub async fn solve_apart(app: &Arc<App>, asked: Asked, aside: Aside) -> Result<Draft, Problem> {
    let (ttl_ms, max_steps) = (app.config.quote_ttl_ms, app.config.max_steps);
    app.work.run(move || solve(asked, aside, ttl_ms, max_steps)).await?
}

/// Everything between the market and the answer that needs no waiting.
fn solve(asked: Asked, aside: Aside, ttl_ms: u64, max_steps: u16) -> Result<Draft, Problem> {
    let Asked { published, request, tokens, id, created_at_ms } = asked;
    let market = &published.head.market;
    let (filter, unknown_protocols) = resolve::filter(market, &request, aside.filter.clone());
    let fees = costs::fees(&published.head, request.gas_priority);
    let partner_fee = request.partner_fee;
    let net_input = |amount: U256| partner_fee.map_or(amount, |fee| fee.after_input(amount));
    let question = braid_routing::Request {
        inputs: tokens.inputs.iter().zip(&request.inputs).map(|(id, entry)| (*id, net_input(entry.amount))).collect(),
        outputs: tokens.outputs.iter().zip(&request.outputs).map(|(id, entry)| (*id, entry.ratio_bps)).collect(),
        max_hops: request.max_hops,
        filter,
        gas_price_wei: fees.expected_per_gas(),
        max_steps,
        at: market.block().next(),
    };
    let solved = if request.explain {
        braid_routing::explain(&published.prepared, &question)
    } else {
        braid_routing::solve(&published.prepared, &question).map(|solution| (solution, None))
    };
    let (solution, witness) = solved.map_err(|error| no_route(&error, &tokens))?;
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
    let program = encode_program(market, &solution.route, &order).map_err(Problem::internal)?;
    let permit = Permit { owner: request.taker, nonce: permit2::fresh_nonce(id.as_bytes()), deadline };
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
        partner_fee: request.partner_fee,
    }
}

/// A UUIDv7 of the service's own clock.
fn new_id(now_ms: u64) -> Uuid {
    let nanos = u32::try_from(now_ms % 1_000 * 1_000_000).unwrap_or(0);
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, now_ms / 1_000, nanos))
}

fn plan(draft: &Draft) -> Plan {
    let market = &draft.published.head.market;
    let stored = |step: &braid_routing::Step| {
        let pool = market.pool(step.pool)?.key.contract;
        Some(StoredStep { pool, coin_in: step.coin_in, coin_out: step.coin_out, share: step.share })
    };
    Plan {
        taker: draft.request.taker,
        order: draft.order.clone(),
        permit: draft.permit,
        program: draft.program.clone(),
        steps: draft.solution.route.steps.iter().filter_map(stored).collect(),
        gas_priority: draft.request.gas_priority,
        check_allowances: draft.request.check_allowances,
        ether_shown_as: Shown::by(&draft.request).ether(),
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
                    let detail = "no chain of allowed pools, within max_hops, leads from this input to an output";
                    (format!("/inputs/{at}/address"), detail)
                }
                None => (pointer(*id), "no chain of allowed pools, within max_hops, leads to this output"),
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
