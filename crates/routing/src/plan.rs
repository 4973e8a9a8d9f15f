//! From a planned flow to a route in integers, in the proxy's own order and arithmetic.
//!
//! Tokens are taken in an order in which every pool that pays a token comes before every pool that takes it. At a token the
//! balance at hand is shared out in the planned proportions, smallest first: each step takes
//! `floor(balance · share / 2³²)` of what is still there, and the largest takes all that is left (share 0). Amounts are then
//! replayed by the pools' exact arithmetic, so that what is quoted is what the program computes (`docs/program.md`).

use braid_market::{Market, Tokens};
use braid_primitives::{ExecutionBlock, PoolId, TokenId, U256};
use braid_protocols::{RouteState, Swap, SwapError};

use crate::prepare::{Pairs, index32, node};
use crate::problem::Flow;
use crate::{Prepared, Request, Route, Step};

/// 2³², the unit of shares.
const WHOLE_SHARE: f64 = 4_294_967_296.0;

/// Share of all ether that is left in the form that it has: to wrap or unwrap it costs a step.
const NOT_WORTH_A_STEP: f64 = 1e-6;

/// Why a plan does not replay.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlanError {
    /// A flow's pool refuses what was there for it; it would take at most this much, where it says.
    Refused { flow: Flow, offered: f64, at_most: Option<f64> },
    /// The flows form a cycle.
    Cycle,
    /// A pool or token that the market does not have, or a conversion of ether that it lacks.
    Unknown,
    /// Nothing arrives.
    Nothing,
    /// Something is left of a token that is no output: no flow takes it on.
    StaysBehind,
}

/// What each output token keeps of its balance while the rest flows on: planned amount by node.
pub(crate) type Kept = [(u32, f64)];

/// The exact route of a planned flow.
pub(crate) fn replay(prepared: &Prepared, request: &Request, flows: &[Flow], kept: &Kept) -> Result<Route, PlanError> {
    let mut run = Replay::new(prepared, request)?;
    for token in topological_order(request, flows)? {
        run.share_out(token, flows, kept)?;
    }
    run.finish()
}

/// Most pools of a flow whose route keeps within the steps that it may have: where ether may be needed beside wrapped ether, one
/// step is for the conversion.
pub(crate) fn most_pools(prepared: &Prepared, request: &Request) -> usize {
    let mut ends =
        request.inputs.iter().map(|(token, _)| *token).chain(request.outputs.iter().map(|(token, _)| *token));
    let of_ether = prepared.market().pools_of(Tokens::ETHER);
    let converts = ends.any(|token| token == Tokens::ETHER) || of_ether.len() > 1;
    usize::from(request.max_steps).saturating_sub(usize::from(converts)).max(1)
}

/// The flow that a route runs.
pub(crate) fn flows_of(prepared: &Prepared, route: &Route) -> Vec<Flow> {
    let flow = |step: &Step| {
        let (pair, side) = prepared.pairs().find(step.pool, step.coin_in, step.coin_out)?;
        let [from, to] = [step.token_in, step.token_out].map(|token| index32(node(token)));
        (from != to).then(|| Flow { pair, side, from, to, amount_in: f64::from(step.amount_in) })
    };
    route.steps.iter().filter_map(flow).collect()
}

struct Replay<'a> {
    pairs: &'a Pairs,
    market: &'a Market,
    request: &'a Request,
    at: ExecutionBlock,
    wrapper: Option<PoolId>,
    balances: Vec<(TokenId, U256)>,
    /// What the route did so far to the pools that it used.
    state: RouteState,
    steps: Vec<Step>,
}

impl<'a> Replay<'a> {
    fn new(prepared: &'a Prepared, request: &'a Request) -> Result<Self, PlanError> {
        let market: &'a Market = prepared.market();
        let mut wrappers = market.pools_of(Tokens::ETHER).iter().copied();
        let wrapper = wrappers.find(|id| market.pool(*id).is_some_and(|pool| pool.product.wraps_ether()));
        let wants_ether = request.outputs.iter().any(|(output, _)| *output == Tokens::ETHER);
        let touches_ether = wants_ether || request.inputs.iter().any(|(input, _)| *input == Tokens::ETHER);
        if touches_ether && wrapper.is_none() {
            return Err(PlanError::Unknown);
        }
        Ok(Self {
            pairs: prepared.pairs(),
            market,
            request,
            at: request.at,
            wrapper,
            balances: request.inputs.clone(),
            state: RouteState::default(),
            steps: Vec::new(),
        })
    }

    fn balance(&self, token: TokenId) -> U256 {
        self.balances.iter().find(|(known, _)| *known == token).map_or(U256::ZERO, |(_, amount)| *amount)
    }

    fn set_balance(&mut self, token: TokenId, amount: U256) {
        match self.balances.iter_mut().find(|(known, _)| *known == token) {
            Some((_, held)) => *held = amount,
            None => self.balances.push((token, amount)),
        }
    }

    /// Ether to wrapped ether or back.
    fn convert(&mut self, from: TokenId, share: u32, amount: U256) -> Result<(), PlanError> {
        let to = if from == Tokens::ETHER { Tokens::WETH } else { Tokens::ETHER };
        let wrapper = self.wrapper.ok_or(PlanError::Unknown)?;
        let pool = self.market.pool(wrapper).ok_or(PlanError::Unknown)?;
        let (Some(coin_in), Some(coin_out)) = (pool.coin_index(from), pool.coin_index(to)) else {
            return Err(PlanError::Unknown);
        };
        let edge = Edge { pool: wrapper, coin_in, coin_out, from, to };
        self.step(&edge, share, amount).map_err(|_| PlanError::Unknown)
    }

    fn step(&mut self, edge: &Edge, share: u32, amount_in: U256) -> Result<(), SwapError> {
        let swap = self.swap(edge, amount_in)?;
        if let Some(pool) = self.market.pool(edge.pool) {
            self.state.record(pool, swap.after);
        }
        self.set_balance(edge.from, self.balance(edge.from).saturating_sub(amount_in));
        let held = self.balance(edge.to);
        let total = held.checked_add(swap.amount_out).ok_or(SwapError::Overflow { amount_in })?;
        self.set_balance(edge.to, total);
        self.steps.push(Step {
            pool: edge.pool,
            coin_in: edge.coin_in,
            coin_out: edge.coin_out,
            token_in: edge.from,
            token_out: edge.to,
            share,
            amount_in,
            amount_out: swap.amount_out,
            gas_units: swap.gas_units,
        });
        Ok(())
    }

    /// Runs every step that takes a token.
    fn share_out(&mut self, token: u32, flows: &[Flow], kept: &Kept) -> Result<(), PlanError> {
        let mut leaving: Vec<&Flow> = flows.iter().filter(|flow| flow.from == token && flow.amount_in > 0.0).collect();
        leaving.sort_by(|a, b| a.amount_in.total_cmp(&b.amount_in).then(a.pair.cmp(&b.pair)));
        let stays = kept.iter().find(|(known, _)| *known == token).map_or(0.0, |(_, amount)| *amount);
        if TokenId(token) == Tokens::WETH {
            self.share_out_ether(&leaving, stays)
        } else {
            self.share(TokenId(token), &leaving, stays)
        }
    }

    /// The same for ether, which the graph takes for one token and pools for two: what is at hand is wrapped or unwrapped once, so
    /// that pools of either, and what stays of either, have their part.
    fn share_out_ether(&mut self, leaving: &[&Flow], stays: f64) -> Result<(), PlanError> {
        let (of_ether, of_wrapped): (Vec<&Flow>, Vec<&Flow>) = leaving.iter().partition(|flow| self.takes_ether(flow));
        let ratio = |token| self.request.outputs.iter().find(|o| o.0 == token).map_or(0.0, |o| f64::from(o.1));
        let (ether, wrapped) = (ratio(Tokens::ETHER), ratio(Tokens::WETH));
        let unit = if leaving.is_empty() { 1.0 } else { stays } / (ether + wrapped).max(1.0);
        let (ether, wrapped) = (ether * unit, wrapped * unit);
        let part = |flows: &[&Flow], stays: f64| flows.iter().map(|flow| flow.amount_in).sum::<f64>() + stays;
        self.balance_ether(part(&of_ether, ether), part(&of_wrapped, wrapped))?;
        self.share(Tokens::ETHER, &of_ether, ether)?;
        self.share(Tokens::WETH, &of_wrapped, wrapped)
    }

    /// Wraps or unwraps what makes ether and wrapped ether stand in the proportion of two planned amounts.
    fn balance_ether(&mut self, ether: f64, wrapped: f64) -> Result<(), PlanError> {
        let [has_ether, has_wrapped] = [Tokens::ETHER, Tokens::WETH].map(|token| self.balance(token));
        let all = f64::from(has_ether) + f64::from(has_wrapped);
        let missing = all * ether / (ether + wrapped) - f64::from(has_ether);
        let (from, has, moves) = match missing > 0.0 {
            true => (Tokens::WETH, has_wrapped, missing),
            false => (Tokens::ETHER, has_ether, -missing),
        };
        let leaves_nothing = if from == Tokens::ETHER { ether <= 0.0 } else { wrapped <= 0.0 };
        if has.is_zero() || moves.is_nan() || (!leaves_nothing && moves <= NOT_WORTH_A_STEP * all) {
            return Ok(());
        }
        let share = if leaves_nothing { 0 } else { share_of(moves / f64::from(has)) };
        let amount = if leaves_nothing { has } else { taken(has, share) };
        self.convert(from, share, amount)
    }

    /// Shares what is at hand of a token out in the planned proportions.
    fn share(&mut self, token: TokenId, leaving: &[&Flow], stays: f64) -> Result<(), PlanError> {
        let mut planned = leaving.iter().map(|flow| flow.amount_in).sum::<f64>() + stays;
        for (k, flow) in leaving.iter().enumerate() {
            let edge = self.coins(flow).ok_or(PlanError::Unknown)?;
            let have = self.balance(token);
            if have.is_zero() {
                break;
            }
            let last = k + 1 == leaving.len() && stays <= 0.0;
            let share = if last { 0 } else { share_of(flow.amount_in / planned) };
            planned -= flow.amount_in;
            let amount = if last { have } else { taken(have, share) };
            if amount.is_zero() {
                continue;
            }
            match self.step(&edge, share, amount) {
                Ok(()) => {}
                // A crumb that buys nothing stays with the larger branches.
                Err(SwapError::ZeroOutput) if !last => {}
                Err(error) => {
                    let (flow, offered) = (**flow, f64::from(amount));
                    return Err(PlanError::Refused { flow, offered, at_most: at_most(&error) });
                }
            }
        }
        Ok(())
    }

    fn takes_ether(&self, flow: &Flow) -> bool {
        self.coins(flow).is_some_and(|edge| edge.from == Tokens::ETHER)
    }

    /// The pool and coins of a flow. The graph knows ether and wrapped ether as one; a pool has the one or the other.
    fn coins(&self, flow: &Flow) -> Option<Edge> {
        let pair = self.pairs.get(flow.pair);
        let (coin_in, coin_out) = pair.in_and_out(flow.side);
        let coins = &self.market.pool(pair.pool)?.coins;
        let (from, to) = (*coins.get(usize::from(coin_in))?, *coins.get(usize::from(coin_out))?);
        Some(Edge { pool: pair.pool, coin_in, coin_out, from, to })
    }

    /// What a pool pays as the route has left it.
    fn swap(&self, edge: &Edge, amount_in: U256) -> Result<Swap, SwapError> {
        let unknown = SwapError::UnknownCoin { coin_in: edge.coin_in, coin_out: edge.coin_out };
        let pool = self.market.pool(edge.pool).ok_or(unknown)?;
        self.state.swap(pool, &self.at, edge.coin_in, edge.coin_out, amount_in)
    }

    fn finish(self) -> Result<Route, PlanError> {
        let amounts_out: Vec<U256> = self.request.outputs.iter().map(|(token, _)| self.balance(*token)).collect();
        if amounts_out.iter().any(U256::is_zero) {
            return Err(PlanError::Nothing);
        }
        let is_wanted = |token: TokenId| self.request.outputs.iter().any(|(output, _)| *output == token);
        if self.balances.iter().any(|(token, amount)| !amount.is_zero() && !is_wanted(*token)) {
            return Err(PlanError::StaysBehind);
        }
        Ok(Route { steps: self.steps, amounts_out })
    }
}

struct Edge {
    pool: PoolId,
    coin_in: u8,
    coin_out: u8,
    from: TokenId,
    to: TokenId,
}

/// A proportion as the proxy writes it: in units of 2⁻³², never 0 (which means all).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range before")]
fn share_of(proportion: f64) -> u32 {
    (proportion * WHOLE_SHARE).round().clamp(1.0, WHOLE_SHARE - 1.0) as u32
}

/// `floor(balance · share / 2³²)`, without overflow for any balance.
pub(crate) fn taken(balance: U256, share: u32) -> U256 {
    let share = U256::from(share);
    let low = balance & U256::from(u32::MAX);
    let high: U256 = balance >> 32;
    high * share + ((low * share) >> 32)
}

fn at_most(error: &SwapError) -> Option<f64> {
    match error {
        SwapError::InsufficientLiquidity { consumed, .. } => Some(f64::from(*consumed)),
        SwapError::LimitExceeded { limit, .. } => Some(f64::from(*limit)),
        _ => None,
    }
}

/// Tokens in an order in which flows only lead forwards; by number where the order is free.
fn topological_order(request: &Request, flows: &[Flow]) -> Result<Vec<u32>, PlanError> {
    let mut tokens: Vec<u32> = request.inputs.iter().map(|(token, _)| index32(crate::prepare::node(*token))).collect();
    tokens.extend(flows.iter().flat_map(|flow| [flow.from, flow.to]));
    tokens.sort_unstable();
    tokens.dedup();
    let mut waiting: Vec<usize> =
        tokens.iter().map(|token| flows.iter().filter(|flow| flow.to == *token).count()).collect();
    let mut order = Vec::with_capacity(tokens.len());
    let mut done = vec![false; tokens.len()];
    while order.len() < tokens.len() {
        let ready = (0..tokens.len()).find(|&at| !done[at] && waiting[at] == 0).ok_or(PlanError::Cycle)?;
        done[ready] = true;
        order.push(tokens[ready]);
        for flow in flows.iter().filter(|flow| flow.from == tokens[ready]) {
            if let Ok(at) = tokens.binary_search(&flow.to) {
                waiting[at] -= 1;
            }
        }
    }
    Ok(order)
}
