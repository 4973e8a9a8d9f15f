//! Simulates quotes and builds on the state of their market's block.

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

mod outcome;

/// Result of a simulation.
#[derive(Debug)]
pub struct Simulated {
    /// The result as the answer shows it.
    pub answer: Simulation,
    /// Measured gas; `None` unless the transaction succeeded.
    pub gas: Option<MeasuredGas>,
    /// Warning to the caller.
    pub warning: Option<Warning>,
}

/// Gas that a simulation used, in gas units.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredGas {
    /// Gas after refunds, as in a transaction receipt.
    pub used: u64,
    /// Gas before refunds, which the limit must cover.
    pub spent: u64,
    /// Further gas that must remain for the payment of ether to a partner: the proxy refuses to run with less.
    pub reserve: u64,
}

impl MeasuredGas {
    /// Returns a gas limit for the next blocks: a fifth more than spent, since the state can change before the
    /// transaction runs, and since a call passes on at most 63/64 of the remaining gas (EIP-150).
    pub fn limit(self) -> u64 {
        let margin = self.spent / 5 + 10_000;
        self.spent.saturating_add(margin).saturating_add(self.reserve).min(MAX_GAS_LIMIT)
    }
}

/// Simulates the transactions of quotes and builds.
#[derive(Clone)]
pub struct Simulations {
    /// The EVM.
    pub simulator: Arc<Simulator>,
    /// State of the proxy's address: if the proxy is not deployed, the simulation of a quote places its code there.
    pub proxy: Arc<ProxyWatch>,
    /// Longest time for one simulation, waiting included.
    pub timeout: Duration,
    /// Metrics of simulations.
    pub measures: Measures,
}

/// Gas limit of a step that is run alone, in gas units: more than any step takes.
const STEP_GAS_LIMIT: u64 = 2_000_000;

/// Input of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct SimulationInput<'a> {
    /// The caller, for limits.
    pub caller: Caller,
    /// The market of the route.
    pub market: &'a Market,
    /// The route.
    pub route: &'a Route,
    /// Address that stands for ether in the answer.
    pub shown: Shown,
    /// The program of the route.
    pub program: &'a Program,
}

impl SimulationInput<'_> {
    /// Returns each step of the route as a swap of its own. Together they access the state that the route accesses.
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
        let transaction = Transaction { gas_limit: STEP_GAS_LIMIT, ..sent(&order, &program, from) };
        Some((transaction, grants(&order, from)))
    }

    /// Returns the accounts that the route accesses.
    fn accessed(&self, transaction: &Transaction, order: &Order) -> Vec<Address> {
        let pools = self.route.steps.iter().filter_map(|step| self.market.pool(step.pool));
        let contracts = pools.flat_map(|pool| [pool.key.contract, pool.holder()]);
        let tokens = self.route.steps.iter().flat_map(|step| [step.token_in, step.token_out]);
        let tokens = tokens.filter_map(|token| self.market.tokens().get(token)).map(|token| token.address);
        contracts.chain(tokens).chain([transaction.from, transaction.to, order.recipient, WETH]).collect()
    }
}

impl Simulations {
    /// Simulates a quote as its taker would send it, in its `kept` slot. Grants what the taker and the chain lack: balance,
    /// allowance, the proxy's code.
    pub async fn of_quote(
        &self,
        input: SimulationInput<'_>,
        kept: Option<Kept>,
        taker: Address,
        order: &Order,
    ) -> Simulated {
        let missing = self.proxy.state() == ProxyState::Missing;
        let code = missing.then(|| Grant::Code { account: proxy::address(), code: proxy::runtime_code().clone() });
        let mut parts = input.parts(order, taker);
        parts.iter_mut().for_each(|(_, grants)| grants.extend(code.clone()));
        let grants = grants(order, taker).into_iter().chain(code).collect();
        self.run(input, kept, (sent(order, input.program, taker), grants), parts, order).await
    }

    /// Simulates a transaction as it would be sent, on the unchanged state. Only its gas price is zero.
    pub async fn of_build(&self, input: SimulationInput<'_>, built: &model::Transaction, order: &Order) -> Simulated {
        let transaction = Transaction {
            from: built.from.0,
            to: built.to.0,
            data: built.data.clone(),
            value_wei: built.value.0,
            gas_limit: MAX_GAS_LIMIT,
        };
        let parts = input.parts(order, transaction.from);
        self.run(input, None, (transaction, Vec::new()), parts, order).await
    }

    async fn run(
        &self,
        input: SimulationInput<'_>,
        kept: Option<Kept>,
        (transaction, grants): Part,
        parts: Vec<Part>,
        order: &Order,
    ) -> Simulated {
        let block = input.market.block();
        let hints = input.accessed(&transaction, order);
        let terms = Terms { hints, kept, ..Terms::by(input.caller, Instant::now() + self.timeout) };
        let watched = watched(&input, order, transaction.from);
        let job = move |fork: &_| simulate_with_parts(fork, &transaction, &grants, &watched, &parts);
        let (span, started) = (tracing::info_span!(target: "trace", "simulation"), std::time::Instant::now());
        let (simulated, messages) = self.simulator.run(block, terms, job).instrument(span).await;
        self.measures.simulated(started, simulated.is_ok(), messages);
        match simulated {
            Ok(outcome) => outcome::simulated(&input, &outcome, order),
            Err(why) => {
                tracing::debug!(error = ?why, "a simulation failed");
                unavailable(&why.to_string())
            }
        }
    }
}

/// Returns the transaction in which an account runs an order from its allowances.
fn sent(order: &Order, program: &Program, from: Address) -> Transaction {
    let data = calldata(order, program);
    Transaction { from, to: proxy::address(), data, value_wei: order.value_wei(), gas_limit: MAX_GAS_LIMIT }
}

/// Returns the balances and allowances that an account needs for that.
fn grants(order: &Order, owner: Address) -> Vec<Grant> {
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

/// Returns the balances that show what a path moved: its output at the recipient, then its input at the payer. None for
/// ether and for other programs: the proxy measures those itself.
fn watched(input: &SimulationInput<'_>, order: &Order, payer: Address) -> Vec<Watched> {
    if input.program.path.is_none() {
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
