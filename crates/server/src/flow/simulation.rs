//! Simulations of quotes and builds, on the state of the market's own block.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use braid_ethereum::Node;
use braid_execution::gas::{GasEstimate, MAX_GAS_LIMIT};
use braid_execution::{Order, execute_calldata, proxy, revert};
use braid_primitives::{Address, Block, Bytes, NATIVE_ETHER, U256};
use braid_simulation::grant::Granted;
use braid_simulation::{Fork, Grant, NodeState, Outcome, Status, Transaction, simulate};
use tokio::runtime::Handle;

use super::quote::Draft;
use super::resolve::Shown;
use crate::app::App;
use crate::feed::Published;
use crate::model::{self, Revert, SimulatedOutput, Simulation, SimulationStatus, Warning};
use crate::proxy::ProxyState;

/// How many blocks' states are kept for further simulations.
const FORKS_KEPT: usize = 3;

/// Blocks' states, shared by all simulations of a block.
#[derive(Default)]
pub struct Forks(Mutex<VecDeque<Arc<Fork>>>);

impl Forks {
    /// The state of a block: the one in use already, or a new one.
    pub fn of(&self, node: &Node, block: &Block) -> Arc<Fork> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fork) = kept.iter().find(|fork| fork.block().hash == block.hash) {
            return Arc::clone(fork);
        }
        let source = NodeState::new(node.clone(), block.hash, Handle::current());
        let fork = Arc::new(Fork::new(*block, Box::new(source)));
        kept.push_back(Arc::clone(&fork));
        if kept.len() > FORKS_KEPT {
            kept.pop_front();
        }
        fork
    }
}

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
}

impl MeasuredGas {
    /// A model's estimate with what was measured in its place; the parts of the steps stay modelled.
    pub fn in_place_of(self, modelled: GasEstimate) -> GasEstimate {
        GasEstimate { total_gas_units: self.used, gas_limit: self.limit(), ..modelled }
    }

    /// A limit for the next blocks: a fifth more, since others trade in between, and since a call passes on only 63 of 64
    /// parts of what is left.
    pub fn limit(self) -> u64 {
        self.spent.saturating_add(self.spent / 5).saturating_add(10_000).min(MAX_GAS_LIMIT)
    }
}

/// Runs a quote as its taker would send it, granting what the taker lacks.
pub async fn of_quote(app: &App, draft: &Draft) -> Simulated {
    let taker = draft.request.taker;
    let mut grants = Vec::new();
    for input in &draft.order.inputs {
        let (token, owner, amount) = (input.token, taker, input.amount);
        grants.push(Grant::Balance { token, owner, amount });
        if token != NATIVE_ETHER {
            grants.push(Grant::Allowance { token, owner, spender: proxy::address(), amount });
        }
    }
    let transaction = Transaction {
        from: taker,
        to: proxy::address(),
        data: execute_calldata(&draft.order, &draft.program.bytes),
        value_wei: draft.order.value_wei(),
        gas_limit: MAX_GAS_LIMIT,
    };
    run(app, draft.published.head.block(), transaction, grants, &draft.order, Shown::by(&draft.request)).await
}

/// Runs a transaction exactly as it would be sent; only its gas price is left out.
pub async fn of_build(
    app: &App,
    published: &Published,
    built: &model::Transaction,
    order: &Order,
    shown: Shown,
) -> Simulated {
    let transaction = Transaction {
        from: built.from.0,
        to: built.to.0,
        data: built.data.clone(),
        value_wei: built.value.0,
        gas_limit: MAX_GAS_LIMIT,
    };
    run(app, published.head.block(), transaction, Vec::new(), order, shown).await
}

async fn run(
    app: &App,
    block: &Block,
    transaction: Transaction,
    mut grants: Vec<Grant>,
    order: &Order,
    shown: Shown,
) -> Simulated {
    let Some(node) = &app.node else { return unavailable("there is no node to take the state from") };
    if app.proxy.state() == ProxyState::Missing {
        grants.push(Grant::Code { account: proxy::address(), code: proxy::runtime_code().clone() });
    }
    let fork = app.forks.of(node, block);
    let watched: Vec<Address> = order.outputs.iter().map(|output| output.token).collect();
    let recipient = order.recipient;
    let job = move || simulate(&fork, &transaction, &grants, recipient, &watched);
    match app.simulating.run(job).await {
        Ok(Ok(outcome)) => told(block, &outcome, shown),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a simulation could not be made");
            unavailable("the node did not serve the state that the simulation needs")
        }
        Err(problem) => unavailable(&problem.detail),
    }
}

fn told(block: &Block, outcome: &Outcome, shown: Shown) -> Simulated {
    let (status, revert) = match &outcome.status {
        Status::Success => (SimulationStatus::Success, None),
        Status::Reverted(data) => (SimulationStatus::Reverted, Some(reverted(data))),
        Status::Halted(reason) => {
            let message = format!("the EVM stopped it: {reason}");
            (SimulationStatus::Reverted, Some(Revert { selector: None, name: None, message, step: None }))
        }
    };
    let succeeded = status == SimulationStatus::Success;
    let paid = |(token, gain): &(Address, U256)| SimulatedOutput { token: shown.token(*token), amount: (*gain).into() };
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
        status,
        block_number: Some(block.number),
        gas_used: Some(outcome.gas_used),
        outputs: if succeeded { outcome.gains.iter().map(paid).collect() } else { Vec::new() },
        overrides,
        revert,
    };
    let gas = succeeded.then_some(MeasuredGas { used: outcome.gas_used, spent: outcome.gas_spent });
    Simulated { answer, gas, warning: None }
}

fn reverted(data: &Bytes) -> Revert {
    let told = revert::decode(data);
    let step = told.step.and_then(|step| usize::try_from(step).ok());
    Revert {
        selector: told.selector.map(|selector| Bytes::from(selector).to_string()),
        name: told.name,
        message: told.message,
        step: step.map(super::path::step_id),
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
