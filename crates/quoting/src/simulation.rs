//! Simulations of quotes and builds, on the state of the market's own block.

use std::sync::Arc;
use std::time::Duration;

use braid_execution::gas::MAX_GAS_LIMIT;
use braid_execution::{Order, Program, TokenAmount, calldata, encode_program, proxy};
use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, U256, WETH};
use braid_routing::{Route, Step};
use braid_simulation::{Caller, Grant, Kept, Part, Simulator, Terms, Transaction, Watched, simulate_with_parts};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::measures::Measures;
use crate::model::{self, Simulation, SimulationStatus, Warning};
use crate::proxy::{ProxyState, ProxyWatch};
use crate::shown::Shown;

mod told;

/// A simulation's answer, and what it measured.
#[derive(Debug)]
pub struct Simulated {
    /// As the answer shows it.
    pub answer: Simulation,
    /// Gas, where the transaction went through.
    pub gas: Option<MeasuredGas>,
    /// What a caller should know.
    pub warning: Option<Warning>,
}

/// Gas that a simulation used, in gas units.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredGas {
    /// After refunds: what the receipt would say.
    pub used: u64,
    /// Before refunds: what the limit must cover.
    pub spent: u64,
    /// What must be left beyond that for a partner that is offered ether.
    pub reserve: u64,
}

impl MeasuredGas {
    /// Returns a limit for the next blocks: a fifth more, since others trade in between, and since a call passes on
    /// only 63 of 64 parts of what is left.
    pub fn limit(self) -> u64 {
        let room = self.spent / 5 + 10_000;
        self.spent.saturating_add(room).saturating_add(self.reserve).min(MAX_GAS_LIMIT)
    }
}

/// Simulates what quotes and builds would send.
#[derive(Clone)]
pub struct Simulations {
    /// Runs them.
    pub simulator: Arc<Simulator>,
    /// Tells whether the proxy is on the chain: where it is not, the simulation of a quote puts its code there.
    pub proxy: Arc<ProxyWatch>,
    /// Longest time for one, whatever it waits for.
    pub longest: Duration,
    /// What is counted.
    pub measures: Measures,
}

/// Gas of one step that is run for itself: more than any takes.
const STEP_GAS: u64 = 2_000_000;

/// What a simulation is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// Who asks.
    pub caller: Caller,
    /// The market of the route.
    pub market: &'a Market,
    /// The route.
    pub route: &'a Route,
    /// How ether is shown.
    pub shown: Shown,
    /// The program of the route.
    pub program: &'a Program,
}

impl Asking<'_> {
    /// Returns the steps of the route, each as a swap for itself: they touch what the route touches.
    fn parts(&self, order: &Order, from: Address) -> Vec<Part> {
        self.route.steps.iter().filter_map(|step| self.part(step, order, from)).collect()
    }

    fn part(&self, step: &Step, order: &Order, from: Address) -> Option<Part> {
        let address = |token| self.market.tokens().get(token).map(|token| token.address);
        let (sold, amount) = (address(step.token_in)?, step.amount_in);
        let order = Order {
            inputs: vec![TokenAmount { token: sold, amount }],
            outputs: vec![TokenAmount { token: address(step.token_out)?, amount: U256::ONE }],
            recipient: from,
            partner_fee: None,
            ..order.clone()
        };
        let route = Route { steps: vec![Step { share: 0, ..step.clone() }], amounts_out: vec![step.amount_out] };
        let program = encode_program(self.market, &route, &order).ok()?;
        let transaction = Transaction { gas_limit: STEP_GAS, ..sent(&order, &program, from) };
        Some((transaction, granted(&order, from)))
    }

    /// Returns the accounts that the route touches.
    fn touched(&self, transaction: &Transaction, order: &Order) -> Vec<Address> {
        let pools = self.route.steps.iter().filter_map(|step| self.market.pool(step.pool));
        let contracts = pools.flat_map(|pool| [pool.key.contract, pool.holder()]);
        let tokens = self.route.steps.iter().flat_map(|step| [step.token_in, step.token_out]);
        let tokens = tokens.filter_map(|token| self.market.tokens().get(token)).map(|token| token.address);
        contracts.chain(tokens).chain([transaction.from, transaction.to, order.recipient, WETH]).collect()
    }
}

impl Simulations {
    /// Runs a quote as its taker would send it, granting what the taker and the chain lack, in the place that was `kept`
    /// for it.
    pub async fn of_quote(&self, asking: Asking<'_>, kept: Option<Kept>, taker: Address, order: &Order) -> Simulated {
        let missing = self.proxy.state() == ProxyState::Missing;
        let code = missing.then(|| Grant::Code { account: proxy::address(), code: proxy::runtime_code().clone() });
        let mut parts = asking.parts(order, taker);
        parts.iter_mut().for_each(|(_, grants)| grants.extend(code.clone()));
        let grants = granted(order, taker).into_iter().chain(code).collect();
        self.run(asking, kept, (sent(order, asking.program, taker), grants), parts, order).await
    }

    /// Runs a transaction exactly as it would be sent, on a state that nothing is added to; only its gas price is left
    /// out.
    pub async fn of_build(&self, asking: Asking<'_>, built: &model::Transaction, order: &Order) -> Simulated {
        let transaction = Transaction {
            from: built.from.0,
            to: built.to.0,
            data: built.data.clone(),
            value_wei: built.value.0,
            gas_limit: MAX_GAS_LIMIT,
        };
        let parts = asking.parts(order, transaction.from);
        self.run(asking, None, (transaction, Vec::new()), parts, order).await
    }

    async fn run(
        &self,
        asking: Asking<'_>,
        kept: Option<Kept>,
        (transaction, grants): Part,
        parts: Vec<Part>,
        order: &Order,
    ) -> Simulated {
        let block = asking.market.block();
        let hints = asking.touched(&transaction, order);
        let terms = Terms { hints, kept, ..Terms::by(asking.caller, Instant::now() + self.longest) };
        let watched = watched(&asking, order, transaction.from);
        let job = move |fork: &_| simulate_with_parts(fork, &transaction, &grants, &watched, &parts);
        let (span, started) = (tracing::info_span!(target: "trace", "simulation"), std::time::Instant::now());
        let (simulated, messages) = self.simulator.run(block, terms, job).instrument(span).await;
        self.measures.simulated(started, simulated.is_ok(), messages);
        match simulated {
            Ok(outcome) => told::told(&asking, &outcome, order),
            Err(why) => {
                tracing::debug!(error = ?why, "a simulation could not be made");
                unavailable(&why.to_string())
            }
        }
    }
}

/// Returns the transaction by which an account pays an order from its allowances.
fn sent(order: &Order, program: &Program, from: Address) -> Transaction {
    let data = calldata(order, program);
    Transaction { from, to: proxy::address(), data, value_wei: order.value_wei(), gas_limit: MAX_GAS_LIMIT }
}

/// Returns what an account must have for that.
fn granted(order: &Order, owner: Address) -> Vec<Grant> {
    let mut grants = Vec::new();
    for input in &order.inputs {
        let (token, amount) = (input.token, input.amount);
        grants.push(Grant::Balance { token, owner, amount });
        if token != NATIVE_ETHER {
            grants.push(Grant::Allowance { token, owner, spender: proxy::address(), amount });
        }
    }
    grants
}

/// Returns the balances that tell what a path moved: its output at the recipient, then its input at the payer. The
/// proxy counts ether itself, and what the steps of a program pay.
fn watched(asking: &Asking<'_>, order: &Order, payer: Address) -> Vec<Watched> {
    if asking.program.path.is_none() {
        return Vec::new();
    }
    let outputs = order.outputs.iter().map(|output| (output.token, order.recipient));
    let all = outputs.chain(order.inputs.iter().map(|input| (input.token, payer)));
    all.filter(|(token, _)| *token != NATIVE_ETHER).map(|(token, owner)| Watched { token, owner }).collect()
}

fn unavailable(why: &str) -> Simulated {
    let answer = Simulation {
        status: SimulationStatus::Unavailable,
        block_number: None,
        gas_used: None,
        outputs: Vec::new(),
        overrides: Vec::new(),
        revert: None,
    };
    let warning = Warning { code: "SIMULATION_UNAVAILABLE", message: why.into() };
    Simulated { answer, gas: None, warning: Some(warning) }
}
