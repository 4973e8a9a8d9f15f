//! Simulations of quotes and builds, on the state of the market's own block.

use std::sync::Arc;
use std::time::Duration;

use braid_execution::gas::{MAX_GAS_LIMIT, ether_fee_reserve};
use braid_execution::{Order, Program, TokenAmount, calldata, encode_program, proxy, received, revert};
use braid_market::Market;
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256, WETH};
use braid_routing::{Route, Step};
use braid_simulation::grant::Granted;
use braid_simulation::{
    Caller, Grant, Kept, Outcome, Part, Simulator, Status, Terms, Transaction, simulate_with_parts,
};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::measures::Measures;
use crate::model::{self, Revert, SimulatedOutput, Simulation, SimulationStatus, Warning};
use crate::path;
use crate::proxy::{ProxyState, ProxyWatch};
use crate::shown::Shown;

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
    /// Tells whether the proxy is on the chain: where it is not, a simulation puts its code there.
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
    /// Whether exactly the order's output is bought.
    pub buys: bool,
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
    /// Runs a quote as its taker would send it, granting what the taker lacks, in the place that was `kept` for it.
    pub async fn of_quote(
        &self,
        asking: Asking<'_>,
        kept: Option<Kept>,
        taker: Address,
        order: &Order,
        program: &Program,
    ) -> Simulated {
        self.run(asking, kept, sent(order, program, taker), granted(order, taker), order).await
    }

    /// Runs a transaction exactly as it would be sent; only its gas price is left out.
    pub async fn of_build(&self, asking: Asking<'_>, built: &model::Transaction, order: &Order) -> Simulated {
        let transaction = Transaction {
            from: built.from.0,
            to: built.to.0,
            data: built.data.clone(),
            value_wei: built.value.0,
            gas_limit: MAX_GAS_LIMIT,
        };
        self.run(asking, None, transaction, Vec::new(), order).await
    }

    async fn run(
        &self,
        asking: Asking<'_>,
        kept: Option<Kept>,
        transaction: Transaction,
        mut grants: Vec<Grant>,
        order: &Order,
    ) -> Simulated {
        let mut parts = asking.parts(order, transaction.from);
        if self.proxy.state() == ProxyState::Missing {
            let code = Grant::Code { account: proxy::address(), code: proxy::runtime_code().clone() };
            parts
                .iter_mut()
                .map(|(_, grants)| grants)
                .chain([&mut grants])
                .for_each(|grants| grants.push(code.clone()));
        }
        let block = asking.market.block();
        let hints = asking.touched(&transaction, order);
        let terms = Terms { hints, kept, ..Terms::by(asking.caller, Instant::now() + self.longest) };
        let job = move |fork: &_| simulate_with_parts(fork, &transaction, &grants, &parts);
        let (span, started) = (tracing::info_span!(target: "trace", "simulation"), std::time::Instant::now());
        let (simulated, messages) = self.simulator.run(block, terms, job).instrument(span).await;
        self.measures.simulated(started, simulated.is_ok(), messages);
        match simulated {
            Ok(outcome) => told(&asking, &outcome, order),
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

fn told(asking: &Asking<'_>, outcome: &Outcome, order: &Order) -> Simulated {
    let (block, shown) = (asking.market.block(), asking.shown);
    let (gains, revert) = match &outcome.status {
        // it answers with what it sold
        Status::Success(_) if asking.buys => (Some(order.outputs.iter().map(|output| output.amount).collect()), None),
        Status::Success(answer) => (Some(received(answer).unwrap_or_default()), None),
        Status::Reverted(data) => (None, Some(reverted(data))),
        Status::Halted(reason) => {
            let message = format!("the EVM stopped it: {reason}");
            (None, Some(Revert { selector: None, name: None, message, step: None }))
        }
    };
    let paid = |(output, gain): (&TokenAmount, U256)| SimulatedOutput {
        token: shown.token(output.token),
        amount: gain.into(),
    };
    let mut overrides = Vec::new();
    for (grant, granted) in &outcome.grants {
        let name = match grant {
            Grant::Code { .. } => "code",
            Grant::Balance { .. } => "balance",
            Grant::Allowance { .. } => "allowance",
        };
        if *granted == Granted::Overridden && !overrides.contains(&name) {
            overrides.push(name);
        }
    }
    let answer = Simulation {
        status: if gains.is_some() { SimulationStatus::Success } else { SimulationStatus::Reverted },
        block_number: Some(block.number),
        gas_used: Some(outcome.gas_used),
        outputs: order.outputs.iter().zip(gains.iter().flatten().copied()).map(paid).collect(),
        overrides,
        revert,
    };
    let reserve = ether_fee_reserve(order);
    let gas = gains.is_some().then_some(MeasuredGas { used: outcome.gas_used, spent: outcome.gas_spent, reserve });
    Simulated { answer, gas, warning: None }
}

fn reverted(data: &Bytes) -> Revert {
    let told = revert::decode(data);
    let step = told.step.and_then(|step| usize::try_from(step).ok());
    Revert {
        selector: told.selector.map(|selector| Bytes::from(selector).to_string()),
        name: told.name,
        message: told.message,
        step: step.map(path::step_id),
    }
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
