//! From a planned flow to a route in integers, in the proxy's own order and arithmetic.
//!
//! Tokens are taken in an order in which every pool that pays a token comes before every pool that takes it. At a token the
//! balance at hand is shared out in the planned proportions, smallest first: each step takes
//! `floor(balance · share / 2³²)` of what is still there, and the largest takes all that is left (share 0). Amounts are then
//! replayed by the pools' exact arithmetic, so that what is quoted is what the program computes (`docs/program.md`).

use braid_market::{Market, Tokens};
use braid_primitives::{Address, ExecutionBlock, PoolId, TokenId, U256};
use braid_protocols::{After, Pool, Product, Swap, SwapError};

use crate::prepare::{Pairs, index32, node};
use crate::problem::Flow;
use crate::{Prepared, Request, Route, Step};

/// 2³², the unit of shares.
const WHOLE_SHARE: f64 = 4_294_967_296.0;

/// Why a plan does not replay.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlanError {
    /// A flow's pool refuses; it would take at most this much, where it says.
    Refused { flow: Flow, at_most: Option<f64> },
    /// The flows form a cycle.
    Cycle,
    /// A pool or token that the market does not have, or a conversion of ether that it lacks.
    Unknown,
    /// Nothing arrives.
    Nothing,
}

/// What each output token keeps of its balance while the rest flows on: planned amount by node.
pub(crate) type Kept = [(u32, f64)];

/// The exact route of a planned flow.
pub(crate) fn replay(prepared: &Prepared, request: &Request, flows: &[Flow], kept: &Kept) -> Result<Route, PlanError> {
    let mut run = Replay::new(prepared, request)?;
    run.wrap_inputs(flows)?;
    for token in topological_order(request, flows)? {
        run.share_out(token, flows, kept)?;
    }
    run.finish()
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
    /// Whether ether is among the outputs, and wrapped ether too.
    wants: (bool, bool),
    balances: Vec<(TokenId, U256)>,
    /// What the route did so far to the pools that it used.
    used: Vec<(Address, After)>,
    steps: Vec<Step>,
}

impl<'a> Replay<'a> {
    fn new(prepared: &'a Prepared, request: &'a Request) -> Result<Self, PlanError> {
        let market: &'a Market = prepared.market();
        let mut wrappers = market.pools_of(Tokens::ETHER).iter().copied();
        let wrapper = wrappers.find(|id| market.pool(*id).is_some_and(|pool| pool.product == Product::WrappedEther));
        let wants = |token| request.outputs.iter().any(|(output, _)| *output == token);
        let touches_ether = wants(Tokens::ETHER) || request.inputs.iter().any(|(input, _)| *input == Tokens::ETHER);
        if touches_ether && wrapper.is_none() {
            return Err(PlanError::Unknown);
        }
        Ok(Self {
            pairs: prepared.pairs(),
            market,
            request,
            at: request.at,
            wrapper,
            wants: (wants(Tokens::ETHER), wants(Tokens::WETH)),
            balances: request.inputs.clone(),
            used: Vec::new(),
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

    /// Wraps the ether that came in, unless nothing joins it: then pools that take ether itself are served first.
    fn wrap_inputs(&mut self, flows: &[Flow]) -> Result<(), PlanError> {
        let joined = flows.iter().any(|flow| flow.to == Tokens::WETH.0);
        let wraps = joined || self.balances.iter().any(|(token, _)| *token == Tokens::WETH);
        if wraps { self.wrap_all() } else { Ok(()) }
    }

    /// Wraps all ether at hand.
    fn wrap_all(&mut self) -> Result<(), PlanError> {
        let amount = self.balance(Tokens::ETHER);
        match self.wrapper {
            Some(wrapper) if !amount.is_zero() => self.convert(wrapper, Tokens::ETHER, 0, amount),
            _ => Ok(()),
        }
    }

    /// Ether to wrapped ether or back.
    fn convert(&mut self, wrapper: PoolId, from: TokenId, share: u32, amount: U256) -> Result<(), PlanError> {
        let to = if from == Tokens::ETHER { Tokens::WETH } else { Tokens::ETHER };
        let pool = self.market.pool(wrapper).ok_or(PlanError::Unknown)?;
        let (Some(coin_in), Some(coin_out)) = (pool.coin_index(from), pool.coin_index(to)) else {
            return Err(PlanError::Unknown);
        };
        let edge = Edge { pool: wrapper, coin_in, coin_out, from, to };
        self.step(&edge, share, amount).map_err(|_| PlanError::Unknown)
    }

    fn step(&mut self, edge: &Edge, share: u32, amount_in: U256) -> Result<(), SwapError> {
        let swap = self.swap(edge, amount_in)?;
        match self.known(edge.pool).and_then(|at| self.used.get_mut(at)) {
            Some((_, after)) => *after = swap.after,
            None => self.used.extend(self.place(edge.pool).map(|place| (place, swap.after))),
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
        let id = TokenId(token);
        let mut leaving: Vec<&Flow> = flows.iter().filter(|flow| flow.from == token && flow.amount_in > 0.0).collect();
        leaving.sort_by(|a, b| a.amount_in.total_cmp(&b.amount_in).then(a.pair.cmp(&b.pair)));
        if id == Tokens::WETH && !self.balance(Tokens::ETHER).is_zero() {
            // Ether that was not wrapped yet goes to the pools that take ether itself, before the rest is wrapped.
            leaving.sort_by_key(|flow| self.coins(flow).is_none_or(|edge| edge.from != Tokens::ETHER));
        }
        let stays = kept.iter().find(|(known, _)| *known == token).map_or(0.0, |(_, amount)| *amount);
        let mut planned = leaving.iter().map(|flow| flow.amount_in).sum::<f64>() + stays;
        for (k, flow) in leaving.iter().enumerate() {
            let edge = self.coins(flow).ok_or(PlanError::Unknown)?;
            if edge.from != Tokens::ETHER && id == Tokens::WETH {
                self.wrap_all()?;
            }
            let ether = edge.from == Tokens::ETHER && !self.balance(Tokens::ETHER).is_zero();
            let have = self.balance(if ether { Tokens::ETHER } else { id });
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
            match self.trade(&edge, share, amount) {
                Ok(()) => {}
                // A crumb that buys nothing stays with the larger branches.
                Err(SwapError::ZeroOutput) if !last => {}
                Err(error) => return Err(PlanError::Refused { flow: **flow, at_most: at_most(&error) }),
            }
            if edge.to == Tokens::ETHER && !self.stays_ether(flows) {
                self.wrap_all()?;
            }
        }
        if id != Tokens::WETH {
            return Ok(());
        }
        if !self.wants.0 {
            self.wrap_all()?;
        }
        self.unwrap_outputs()
    }

    /// Whether ether that a pool pays stays ether: as all of an output, or to go on to a pool that takes ether, where nothing joins
    /// it. Wrapped, it could not be unwrapped again: see [`Replay::trade`].
    fn stays_ether(&self, flows: &[Flow]) -> bool {
        let mut leaving = flows.iter().filter(|flow| flow.from == Tokens::WETH.0 && flow.amount_in > 0.0);
        if self.wants.0 {
            return !self.wants.1 && leaving.next().is_none();
        }
        let joining = flows.iter().filter(|flow| flow.to == Tokens::WETH.0 && flow.amount_in > 0.0).count();
        let alone = joining == 1 && self.balance(Tokens::WETH).is_zero();
        alone && leaving.any(|flow| self.coins(flow).is_some_and(|edge| edge.from == Tokens::ETHER))
    }

    /// The pool and coins of a flow. The graph knows ether and wrapped ether as one; a pool has the one or the other.
    fn coins(&self, flow: &Flow) -> Option<Edge> {
        let pair = self.pairs.get(flow.pair);
        let (coin_in, coin_out) = pair.in_and_out(flow.side);
        let coins = &self.market.pool(pair.pool)?.coins;
        let (from, to) = (*coins.get(usize::from(coin_in))?, *coins.get(usize::from(coin_out))?);
        Some(Edge { pool: pair.pool, coin_in, coin_out, from, to })
    }

    /// A step, after unwrapping what it takes where it takes ether and none is at hand. Refused where ether would be made again
    /// after some was spent.
    fn trade(&mut self, edge: &Edge, share: u32, amount_in: U256) -> Result<(), SwapError> {
        let unwraps = edge.from == Tokens::ETHER && self.balance(Tokens::ETHER).is_zero();
        if (unwraps || edge.to == Tokens::ETHER) && self.steps.iter().any(|step| step.token_in == Tokens::ETHER) {
            // In a program every step that makes a token comes before those that spend it, and ether was spent.
            return Err(SwapError::Closed);
        }
        let Some(wrapper) = self.wrapper.filter(|_| unwraps) else { return self.step(edge, share, amount_in) };
        // Nothing is unwrapped for a pool that refuses.
        self.swap(edge, amount_in)?;
        let unwrapped = self.convert(wrapper, Tokens::WETH, share, amount_in);
        unwrapped.map_err(|_| SwapError::UnknownCoin { coin_in: edge.coin_in, coin_out: edge.coin_out })?;
        self.step(edge, 0, amount_in)
    }

    /// Where a pool's state lies, which others may share.
    fn place(&self, pool: PoolId) -> Option<Address> {
        self.market.pool(pool).map(Pool::shares_state_at)
    }

    fn known(&self, pool: PoolId) -> Option<usize> {
        let place = self.place(pool)?;
        self.used.iter().position(|(used, _)| *used == place)
    }

    /// What a pool pays as the route has left it.
    fn swap(&self, edge: &Edge, amount_in: U256) -> Result<Swap, SwapError> {
        let unknown = SwapError::UnknownCoin { coin_in: edge.coin_in, coin_out: edge.coin_out };
        let pool = self.market.pool(edge.pool).ok_or(unknown)?;
        let before =
            self.known(edge.pool).and_then(|at| self.used.get(at)).map_or(&After::Unchanged, |(_, after)| after);
        pool.swap_after(&self.at, before, edge.coin_in, edge.coin_out, amount_in)
    }

    fn unwrap_outputs(&mut self) -> Result<(), PlanError> {
        let have = self.balance(Tokens::WETH);
        let (Some(wrapper), true, false) = (self.wrapper, self.wants.0, have.is_zero()) else { return Ok(()) };
        if !self.wants.1 {
            return self.convert(wrapper, Tokens::WETH, 0, have);
        }
        let ratio = |token| self.request.outputs.iter().find(|o| o.0 == token).map_or(0.0, |o| f64::from(o.1));
        let (ether, wrapped) = (ratio(Tokens::ETHER), ratio(Tokens::WETH));
        let share = share_of(ether / (ether + wrapped));
        self.convert(wrapper, Tokens::WETH, share, taken(have, share))
    }

    fn finish(self) -> Result<Route, PlanError> {
        let amounts_out: Vec<U256> = self.request.outputs.iter().map(|(token, _)| self.balance(*token)).collect();
        if amounts_out.iter().any(U256::is_zero) {
            return Err(PlanError::Nothing);
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
