//! Simulates transactions and token transfers.

use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256, is_native_ether};
use revm::context::result::{ExecutionResult, HaltReason};
use revm::database::CacheDB;
use revm::database_interface::Database;

use crate::evm::{Overlay, RunError, Transaction, run, view};
use crate::grant::{Granted, balanceOfCall, grant};
use crate::{Fork, Grant, SourceError};

sol! {
    function transfer(address to, uint256 amount) external returns (bool);
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It would succeed and return this data.
    Success(Bytes),
    /// It would revert with this data.
    Reverted(Bytes),
    /// It would run out of gas, or break a rule of the EVM.
    Halted(String),
}

impl From<ExecutionResult<HaltReason>> for Status {
    fn from(result: ExecutionResult<HaltReason>) -> Self {
        match result {
            ExecutionResult::Success { output, .. } => Self::Success(output.into_data()),
            ExecutionResult::Revert { output, .. } => Self::Reverted(output),
            ExecutionResult::Halt { reason, .. } => Self::Halted(format!("{reason:?}")),
        }
    }
}

/// Result of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Gas used by the whole transaction after refunds, in gas units.
    pub gas_used: u64,
    /// Gas spent before refunds, in gas units: the gas limit must cover it.
    pub gas_spent: u64,
    /// Outcome of each grant, in the order given.
    pub grants: Vec<(Grant, Granted)>,
    /// Code of the called account before it runs.
    pub called_code: Bytes,
    /// Each watched balance before and after it, in the order given.
    pub balances: Vec<[U256; 2]>,
}

/// A balance that is compared before and after a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The token.
    pub token: Address,
    /// The holder.
    pub owner: Address,
}

/// Why a simulation could not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// The node did not serve the state of the block.
    #[error(transparent)]
    Unavailable(#[from] SourceError),
    /// No block could hold this transaction (for example a gas limit above EIP-7825's).
    #[error("the transaction is invalid: {0}")]
    Invalid(String),
}

impl From<RunError> for SimulationError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Database(source) => Self::Unavailable(source),
            other => Self::Invalid(other.to_string()),
        }
    }
}

/// Applies `grants`, then runs a transaction in the block after the fork's.
///
/// # Errors
/// [`SimulationError`] when the state could not be read or the transaction is invalid. A revert is not an error.
pub fn simulate(fork: &Fork, transaction: &Transaction, grants: &[Grant]) -> Result<Outcome, SimulationError> {
    simulate_watching(fork, transaction, grants, &[])
}

fn simulate_watching(
    fork: &Fork,
    transaction: &Transaction,
    grants: &[Grant],
    watched: &[Watched],
) -> Result<Outcome, SimulationError> {
    let mut overlay: Overlay<'_> = CacheDB::new(fork);
    let mut granted = Vec::with_capacity(grants.len());
    for wanted in grants {
        granted.push((wanted.clone(), grant(&mut overlay, wanted)?));
    }
    let called = overlay.basic(transaction.to)?.and_then(|info| info.code);
    let called_code = called.map(|code| code.original_bytes()).unwrap_or_default();
    let before = balances(&mut overlay, watched)?;
    let result = run(&mut overlay, transaction, true)?;
    let gas_used = result.tx_gas_used();
    let gas_spent = result.gas().total_gas_spent().max(gas_used);
    let after = balances(&mut overlay, watched)?;
    let balances = before.into_iter().zip(after).map(|(before, after)| [before, after]).collect();
    Ok(Outcome { status: result.into(), gas_used, gas_spent, grants: granted, called_code, balances })
}

fn balances(overlay: &mut Overlay<'_>, watched: &[Watched]) -> Result<Vec<U256>, SimulationError> {
    watched.iter().map(|Watched { token, owner }| balance(overlay, *owner, *token)).collect()
}

/// A part of a transaction that can run by itself, and its grants.
pub type Part = (Transaction, Vec<Grant>);

/// Simulates a transaction as [`simulate`] does, and compares the `watched` balances. If it met state that was never read before, runs its `parts` too, each
/// by itself, so that the state which all of them touch is read at once instead of one part after the other.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with_parts(
    fork: &Fork,
    transaction: &Transaction,
    grants: &[Grant],
    watched: &[Watched],
    parts: &[Part],
) -> Result<Outcome, SimulationError> {
    let outcome = simulate_watching(fork, transaction, grants, watched);
    if fork.may_have_diverged() {
        for (part, grants) in parts {
            fork.begin_part();
            // Only the state that it touches is of interest.
            let _ = simulate(fork, part, grants);
        }
    }
    outcome
}

/// Result of a token transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// How it ended.
    pub status: Status,
    /// Decrease of the sender's balance, in atomic units.
    pub sent: U256,
    /// Increase of the receiver's balance, in atomic units.
    pub received: U256,
}

/// Gas limit of a transfer, in gas units: several times what the costliest tokens use.
const TRANSFER_GAS: u64 = 3_000_000;

/// Transfers an ERC-20 on an overlay, and keeps the changes there.
///
/// # Errors
/// As [`simulate`].
pub fn transfer(
    overlay: &mut Overlay<'_>,
    token: Address,
    [from, to]: [Address; 2],
    amount: U256,
) -> Result<Transferred, SimulationError> {
    let before = [balance(overlay, from, token)?, balance(overlay, to, token)?];
    let data = Bytes::from(transferCall { to, amount }.abi_encode());
    let transaction = Transaction { from, to: token, data, value_wei: U256::ZERO, gas_limit: TRANSFER_GAS };
    let status = run(overlay, &transaction, true)?.into();
    let sent = before[0].saturating_sub(balance(overlay, from, token)?);
    let received = balance(overlay, to, token)?.saturating_sub(before[1]);
    Ok(Transferred { status, sent, received })
}

/// Returns an account's balance of a token in atomic units, or of native ether in wei; zero if the token does not
/// answer.
///
/// # Errors
/// As [`simulate`].
pub fn balance(overlay: &mut Overlay<'_>, owner: Address, token: Address) -> Result<U256, SimulationError> {
    if is_native_ether(token) {
        return Ok(overlay.basic(owner)?.map_or(U256::ZERO, |info| info.balance));
    }
    let output = view(overlay, token, balanceOfCall { owner }.abi_encode().into())?;
    Ok(output.and_then(|output| U256::try_from_be_slice(output.get(..32)?)).unwrap_or_default())
}
