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
    /// It would succeed.
    Success,
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
    /// What the receiver gained of each watched token, in the order asked for; zero after a revert.
    pub gains: Vec<(Address, U256)>,
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

/// Runs a transaction on a fork, in the block after it, after making sure of `grants`, and says what `receiver` gained of
/// the tokens in `watched`.
///
/// # Errors
/// [`SimulationError`] when the state cannot be had or the transaction is not valid. A revert is not an error.
pub fn simulate(
    fork: &Fork,
    transaction: &Transaction,
    grants: &[Grant],
    receiver: Address,
    watched: &[Address],
) -> Result<Outcome, SimulationError> {
    let mut overlay: Overlay<'_> = CacheDB::new(fork);
    let mut granted = Vec::with_capacity(grants.len());
    for wanted in grants {
        granted.push((wanted.clone(), grant(&mut overlay, wanted)?));
    }
    let before = balances(&mut overlay, receiver, watched)?;
    let result = run(&mut overlay, &message(transaction), true)?;
    let after = balances(&mut overlay, receiver, watched)?;
    let gas_used = result.tx_gas_used();
    let gas_spent = result.gas().total_gas_spent().max(gas_used);
    let status = ended(result);
    let gains = watched.iter().zip(before.into_iter().zip(after)).map(|(token, (b, a))| (*token, a.saturating_sub(b)));
    Ok(Outcome { status, gas_used, gas_spent, gains: gains.collect(), grants: granted })
}

fn ended(result: ExecutionResult<HaltReason>) -> Status {
    match result {
        ExecutionResult::Success { .. } => Status::Success,
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

/// What a view answers once a transaction has run; `None` where the view reverts. Whether the transaction goes through makes
/// no difference: what it failed to do shows in the answer.
///
/// # Errors
/// As [`simulate`].
pub fn view_after(
    fork: &Fork,
    first: &Transaction,
    to: Address,
    question: Bytes,
) -> Result<Option<Bytes>, SimulationError> {
    let mut overlay: Overlay<'_> = CacheDB::new(fork);
    run(&mut overlay, &message(first), true)?;
    Ok(view(&mut overlay, to, question)?)
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

fn balances(overlay: &mut Overlay<'_>, owner: Address, tokens: &[Address]) -> Result<Vec<U256>, SimulationError> {
    tokens.iter().map(|token| balance(overlay, owner, *token)).collect()
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
