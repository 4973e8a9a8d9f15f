//! Simulations of quotes and builds, on the state of the market's own block.

use std::sync::Arc;

use braid_execution::gas::{GasEstimate, MAX_GAS_LIMIT};
use braid_execution::{Order, Program, execute_calldata, proxy, revert};
use braid_primitives::{Address, Block, Bytes, NATIVE_ETHER, U256};
use braid_simulation::grant::Granted;
use braid_simulation::{Grant, Outcome, Simulator, Status, Transaction, simulate};

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

/// Simulates what quotes and builds would send.
#[derive(Clone)]
pub struct Simulations {
    /// Runs them.
    pub simulator: Arc<Simulator>,
    /// Tells whether the proxy is on the chain: where it is not, a simulation puts its code there.
    pub proxy: Arc<ProxyWatch>,
}

impl Simulations {
    /// Runs a quote as its taker would send it, granting what the taker lacks.
    pub async fn of_quote(
        &self,
        block: &Block,
        taker: Address,
        order: &Order,
        program: &Program,
        shown: Shown,
    ) -> Simulated {
        let mut grants = Vec::new();
        for input in &order.inputs {
            let (token, owner, amount) = (input.token, taker, input.amount);
            grants.push(Grant::Balance { token, owner, amount });
            if token != NATIVE_ETHER {
                grants.push(Grant::Allowance { token, owner, spender: proxy::address(), amount });
            }
        }
        let transaction = Transaction {
            from: taker,
            to: proxy::address(),
            data: execute_calldata(order, &program.bytes),
            value_wei: order.value_wei(),
            gas_limit: MAX_GAS_LIMIT,
        };
        self.run(block, transaction, grants, order, shown).await
    }

    /// Runs a transaction exactly as it would be sent; only its gas price is left out.
    pub async fn of_build(&self, block: &Block, built: &model::Transaction, order: &Order, shown: Shown) -> Simulated {
        let transaction = Transaction {
            from: built.from.0,
            to: built.to.0,
            data: built.data.clone(),
            value_wei: built.value.0,
            gas_limit: MAX_GAS_LIMIT,
        };
        self.run(block, transaction, Vec::new(), order, shown).await
    }

    async fn run(
        &self,
        block: &Block,
        transaction: Transaction,
        mut grants: Vec<Grant>,
        order: &Order,
        shown: Shown,
    ) -> Simulated {
        if self.proxy.state() == ProxyState::Missing {
            grants.push(Grant::Code { account: proxy::address(), code: proxy::runtime_code().clone() });
        }
        let watched: Vec<Address> = order.outputs.iter().map(|output| output.token).collect();
        let recipient = order.recipient;
        let job = move |fork: &_| simulate(fork, &transaction, &grants, recipient, &watched);
        match self.simulator.run(block, job).await {
            Ok(Ok(outcome)) => told(block, &outcome, shown),
            Ok(Err(error)) => {
                tracing::warn!(%error, "a simulation could not be made");
                unavailable("the node did not serve the state that the simulation needs")
            }
            Err(reason) => unavailable(&reason.to_string()),
        }
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
