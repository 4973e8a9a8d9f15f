//! From a planned flow to a route in integers, in the proxy's own order and arithmetic.
//!
//! Tokens are taken in an order in which every pool that pays a token comes before every pool that takes it. At each
//! token the balance at hand is split in the planned proportions, smallest first: each step takes
//! `floor(balance · share / 2³²)` of what is still there, and the largest takes all that is left (share 0). The pools'
//! exact arithmetic then computes the amounts, so that what is quoted is what the program pays
//! (`docs/internals/program.md`).

use braid_market::{Market, Tokens};
use braid_primitives::{PoolId, TokenId, U256};
use braid_protocols::SwapError;

use crate::machine::{Instruction, Machine, StepError};
use crate::prepare::index32;
use crate::problem::Flow;
use crate::tuning::Tuning;
use crate::{Prepared, Request, Route, Step};

/// 2³², the unit of shares.
const WHOLE_SHARE: f64 = 4_294_967_296.0;

/// Reasons why a plan does not replay.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlanError {
    /// The pool of a flow refuses the amount `offered`; it would take at most `at_most`, if its error states that.
    Refused { flow: Flow, offered: f64, at_most: Option<f64> },
    /// The flows form a cycle.
    Cycle,
    /// The market lacks a pool, a token, or a conversion of ether.
    Unknown,
    /// An output receives nothing.
    Nothing,
    /// Some of a token that is not an output is left: no flow spends it.
    StaysBehind,
}

/// The planned amounts, by node, that output tokens keep of their balance while the rest flows on.
pub(crate) type Kept = [(u32, f64)];

/// Computes the exact route of a planned flow.
pub(crate) fn replay(prepared: &Prepared, request: &Request, flows: &[Flow], kept: &Kept) -> Result<Route, PlanError> {
    let mut run = Replay::new(prepared, request)?;
    for token in topological_order(prepared, request, flows)? {
        run.share_out(token, flows, kept)?;
    }
    run.finish()
}

/// Returns the flow that a route runs.
pub(crate) fn flows_of(prepared: &Prepared, route: &Route) -> Vec<Flow> {
    let flow = |step: &Step| {
        let (pair, side) = prepared.pairs().find(step.pool, step.coin_in, step.coin_out)?;
        let [from, to] = [step.token_in, step.token_out].map(|token| index32(prepared.node(token)));
        (from != to).then(|| Flow { pair, side, from, to, amount_in: f64::from(step.amount_in) })
    };
    route.steps.iter().filter_map(flow).collect()
}

struct Replay<'a> {
    prepared: &'a Prepared,
    market: &'a Market,
    request: &'a Request,
    wrapper: Option<PoolId>,
    machine: Machine<'a>,
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
        let machine = Machine::new(market, request.at, &request.inputs);
        Ok(Self { prepared, market, request, wrapper, machine, steps: Vec::new() })
    }

    fn at_hand(&self, token: TokenId) -> U256 {
        self.machine.ledger().at_hand(token)
    }

    /// Runs one step, and keeps it.
    fn run(&mut self, instruction: Instruction) -> Result<(), StepError> {
        self.steps.push(self.machine.run(instruction)?);
        Ok(())
    }

    /// Converts all or a share of ether into wrapped ether, or back.
    fn convert(&mut self, from: TokenId, share: u32) -> Result<(), PlanError> {
        let to = if from == Tokens::ETHER { Tokens::WETH } else { Tokens::ETHER };
        let wrapper = self.wrapper.ok_or(PlanError::Unknown)?;
        let pool = self.market.pool(wrapper).ok_or(PlanError::Unknown)?;
        let (Some(coin_in), Some(coin_out)) = (pool.coin_index(from), pool.coin_index(to)) else {
            return Err(PlanError::Unknown);
        };
        self.run(Instruction { pool: wrapper, coin_in, coin_out, share }).map_err(|_| PlanError::Unknown)
    }

    /// Runs every step that takes a token.
    fn share_out(&mut self, token: u32, flows: &[Flow], kept: &Kept) -> Result<(), PlanError> {
        let mut leaving: Vec<&Flow> = flows.iter().filter(|flow| flow.from == token && flow.amount_in > 0.0).collect();
        leaving.sort_by(|a, b| a.amount_in.total_cmp(&b.amount_in).then(a.pair.cmp(&b.pair)));
        // Lets a flow that stakes or unwraps stETH wait for the pools that pay it, which may depend on the other flows.
        if let Some(at) = leaving.iter().position(|flow| self.pays_shares_kept_by_its_pool(flow)) {
            leaving[at..].rotate_left(1);
        }
        let stays = kept.iter().find(|(known, _)| *known == token).map_or(0.0, |(_, amount)| *amount);
        match self.prepared.token(token) {
            Tokens::WETH => self.share_out_ether(&leaving, stays),
            token => self.share(token, &leaving, stays),
        }
    }

    /// Runs the same for ether, which is one token in the graph and two in pools: the balance is wrapped or unwrapped
    /// once, so that the pools of each form, and what stays in each form, get their part.
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

    /// Wraps or unwraps the amount after which ether and wrapped ether are in the proportion of two planned amounts.
    fn balance_ether(&mut self, ether: f64, wrapped: f64) -> Result<(), PlanError> {
        let [has_ether, has_wrapped] = [Tokens::ETHER, Tokens::WETH].map(|token| self.at_hand(token));
        let all = f64::from(has_ether) + f64::from(has_wrapped);
        let missing = all * ether / (ether + wrapped) - f64::from(has_ether);
        let (from, has, moves) = match missing > 0.0 {
            true => (Tokens::WETH, has_wrapped, missing),
            false => (Tokens::ETHER, has_ether, -missing),
        };
        let leaves_nothing = if from == Tokens::ETHER { ether <= 0.0 } else { wrapped <= 0.0 };
        if has.is_zero() || moves.is_nan() || (!leaves_nothing && moves <= Tuning::ETHER_LEFT_SHARE * all) {
            return Ok(());
        }
        self.convert(from, if leaves_nothing { 0 } else { share_of(moves / f64::from(has)) })
    }

    /// Splits the balance of a token at hand in the planned proportions.
    fn share(&mut self, token: TokenId, leaving: &[&Flow], stays: f64) -> Result<(), PlanError> {
        let mut planned = leaving.iter().map(|flow| flow.amount_in).sum::<f64>() + stays;
        for (k, flow) in leaving.iter().enumerate() {
            if self.at_hand(token).is_zero() {
                break;
            }
            let last = k + 1 == leaving.len() && stays <= 0.0;
            let share = if last { 0 } else { share_of(flow.amount_in / planned) };
            planned -= flow.amount_in;
            let pair = self.prepared.pairs().get(flow.pair);
            let (coin_in, coin_out) = pair.in_and_out(flow.side);
            match self.run(Instruction { pool: pair.pool, coin_in, coin_out, share }) {
                Ok(()) | Err(StepError::NothingAtHand) => {}
                // Leaves a small amount that buys nothing to the larger branches.
                Err(StepError::Refused { error: SwapError::ZeroOutput, .. }) if !last => {}
                Err(StepError::Refused { amount_in, error }) => {
                    let (flow, offered) = (**flow, f64::from(amount_in));
                    return Err(PlanError::Refused { flow, offered, at_most: at_most(&error) });
                }
                Err(StepError::Unknown) => return Err(PlanError::Unknown),
            }
        }
        Ok(())
    }

    /// Returns whether a flow's pool takes ether. Ether and wrapped ether are one node in the graph; a pool has one or
    /// the other.
    fn takes_ether(&self, flow: &Flow) -> bool {
        let pair = self.prepared.pairs().get(flow.pair);
        let (coin_in, _) = pair.in_and_out(flow.side);
        let pool = self.market.pool(pair.pool);
        pool.and_then(|pool| pool.coins.get(usize::from(coin_in))) == Some(&Tokens::ETHER)
    }

    /// Returns whether a flow's pool pays a token that counts in shares and keeps their worth.
    fn pays_shares_kept_by_its_pool(&self, flow: &Flow) -> bool {
        let pair = self.prepared.pairs().get(flow.pair);
        let (_, coin_out) = pair.in_and_out(flow.side);
        let pool = self.market.pool(pair.pool);
        pool.is_some_and(|pool| pool.coins.get(usize::from(coin_out)).is_some_and(|coin| pool.keeps_shares_of(*coin)))
    }

    /// Returns the route, once all flows ran.
    fn finish(self) -> Result<Route, PlanError> {
        let amounts_out: Vec<U256> = self.request.outputs.iter().map(|(token, _)| self.at_hand(*token)).collect();
        if amounts_out.iter().any(U256::is_zero) {
            return Err(PlanError::Nothing);
        }
        let is_wanted = |token: TokenId| self.request.outputs.iter().any(|(output, _)| *output == token);
        if self.machine.ledger().unspent().any(|(token, _)| !is_wanted(token)) {
            return Err(PlanError::StaysBehind);
        }
        Ok(Route { steps: self.steps, amounts_out })
    }
}

/// Converts a proportion to the proxy's form: in units of 2⁻³², never 0, which means all.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range before")]
fn share_of(proportion: f64) -> u32 {
    (proportion * WHOLE_SHARE).round().clamp(1.0, WHOLE_SHARE - 1.0) as u32
}

/// Returns how much a pool takes, as far as its error says so: some errors of a pool that takes less than it was offered
/// state zero.
fn at_most(error: &SwapError) -> Option<f64> {
    match error {
        SwapError::InsufficientLiquidity { consumed, .. } => Some(f64::from(*consumed)).filter(|most| *most > 0.0),
        SwapError::LimitExceeded { limit, .. } => Some(f64::from(*limit)),
        _ => None,
    }
}

/// Sorts tokens such that flows only lead forwards; by number where several orders are possible.
pub(crate) fn topological_order(prepared: &Prepared, request: &Request, flows: &[Flow]) -> Result<Vec<u32>, PlanError> {
    let mut tokens: Vec<u32> = request.inputs.iter().map(|(token, _)| index32(prepared.node(*token))).collect();
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
