//! One transaction, run as it would be sent.

use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256, is_native_ether};
use revm::context::result::{ExecutionResult, HaltReason};
use revm::database::CacheDB;
use revm::database_interface::Database;

use crate::evm::{Message, Overlay, RunError, run, view};
use crate::grant::{Granted, balanceOfCall, grant};
use crate::{Fork, Grant, SourceError};

sol! {
    function transfer(address to, uint256 amount) external returns (bool);
}

/// The transaction to simulate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Sender.
    pub from: Address,
    /// Contract called.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
    /// Ether sent, in wei.
    pub value_wei: U256,
    /// Gas limit, in gas units.
    pub gas_limit: u64,
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It would succeed, with this answer.
    Success(Bytes),
    /// It would revert, with this data.
    Reverted(Bytes),
    /// It would run out of gas, or break a rule of the EVM.
    Halted(String),
}

/// What a simulation found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Gas used by the whole transaction, refunds taken off, in gas units.
    pub gas_used: u64,
    /// Gas spent before refunds: what the gas limit must cover, in gas units.
    pub gas_spent: u64,
    /// What came of each grant, in the order given.
    pub grants: Vec<(Grant, Granted)>,
}

/// Why a simulation could not be made.
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

/// Runs a transaction on a fork, in the block after it, after making sure of `grants`.
///
/// # Errors
/// [`SimulationError`] when the state cannot be had or the transaction is not valid. A revert is not an error.
pub fn simulate(fork: &Fork, transaction: &Transaction, grants: &[Grant]) -> Result<Outcome, SimulationError> {
    let mut overlay: Overlay<'_> = CacheDB::new(fork);
    let mut granted = Vec::with_capacity(grants.len());
    for wanted in grants {
        granted.push((wanted.clone(), grant(&mut overlay, wanted)?));
    }
    let result = run(&mut overlay, &message(transaction), true)?;
    let gas_used = result.tx_gas_used();
    let gas_spent = result.gas().total_gas_spent().max(gas_used);
    Ok(Outcome { status: ended(result), gas_used, gas_spent, grants: granted })
}

/// A transaction, and what must be granted for it.
pub type Part = (Transaction, Vec<Grant>);

/// As [`simulate`]. Where the way of the transaction is not known yet, its `parts` are run as well, each for itself: what all of them touch is then
/// read together, and not what one touches after the other.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with_parts(
    fork: &Fork,
    transaction: &Transaction,
    grants: &[Grant],
    parts: &[Part],
) -> Result<Outcome, SimulationError> {
    let outcome = simulate(fork, transaction, grants);
    if fork.is_astray() {
        for (part, grants) in parts {
            fork.begin_part();
            // only what it touches counts
            let _ = simulate(fork, part, grants);
        }
    }
    outcome
}

fn ended(result: ExecutionResult<HaltReason>) -> Status {
    match result {
        ExecutionResult::Success { output, .. } => Status::Success(output.into_data()),
        ExecutionResult::Revert { output, .. } => Status::Reverted(output),
        ExecutionResult::Halt { reason, .. } => Status::Halted(format!("{reason:?}")),
    }
}

/// What a transfer of a token did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// How it ended.
    pub status: Status,
    /// What the sender has less, in atomic units.
    pub left: U256,
    /// What the receiver has more.
    pub came: U256,
}

/// Gas of a transfer: several times what the costliest tokens use.
const TRANSFER_GAS: u64 = 3_000_000;

/// Sends an amount of an ERC-20 on an overlay, which keeps what that changes.
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
    let message = Message { from, to: token, data, value_wei: U256::ZERO, gas_limit: TRANSFER_GAS };
    let status = ended(run(overlay, &message, true)?);
    let left = before[0].saturating_sub(balance(overlay, from, token)?);
    let came = balance(overlay, to, token)?.saturating_sub(before[1]);
    Ok(Transferred { status, left, came })
}

fn message(transaction: &Transaction) -> Message {
    Message {
        from: transaction.from,
        to: transaction.to,
        data: transaction.data.clone(),
        value_wei: transaction.value_wei,
        gas_limit: transaction.gas_limit,
    }
}

/// What an account holds of a token or of native ether; zero where the token does not say.
///
/// # Errors
/// As [`simulate`].
pub fn balance(overlay: &mut Overlay<'_>, owner: Address, token: Address) -> Result<U256, SimulationError> {
    if is_native_ether(token) {
        return Ok(overlay.basic(owner)?.map_or(U256::ZERO, |info| info.balance));
    }
    let output = view(overlay, token, balanceOfCall { owner }.abi_encode().into())?;
    Ok(output.filter(|bytes| bytes.len() >= 32).map_or(U256::ZERO, |bytes| U256::from_be_slice(&bytes[..32])))
}
