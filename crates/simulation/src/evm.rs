//! Runs transactions and read-only calls in the EVM, on an overlay over a fork.

use braid_primitives::{Address, Bytes, CHAIN_ID, ExecutionBlock, U256};
use revm::context::result::{EVMError, ExecutionResult, HaltReason};
use revm::context::{BlockEnv, CfgEnv, TxEnv};
use revm::database::CacheDB;
use revm::inspector::NoOpInspector;
use revm::primitives::TxKind;
use revm::primitives::hardfork::SpecId;
use revm::{Context, DatabaseCommit, InspectEvm, Inspector, MainBuilder, MainContext};

use crate::{Fork, SourceError};

/// Hard fork whose rules apply: mainnet's newest.
const HARD_FORK: SpecId = SpecId::OSAKA;

/// Gas limit of a read-only call, in gas units: far more than a view needs, less than a hostile token could waste.
pub const VIEW_GAS: u64 = 5_000_000;

/// State of a fork with the changes of one simulation on top.
pub type Overlay<'a> = CacheDB<&'a Fork>;

/// A transaction or a call. Its gas price is zero, so that the sender needs no ether for gas.
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

impl Transaction {
    /// A read-only call, from the zero address.
    pub(crate) const fn view(to: Address, data: Bytes) -> Self {
        Self { from: Address::ZERO, to, data, value_wei: U256::ZERO, gas_limit: VIEW_GAS }
    }
}

/// Why the EVM could not run a transaction at all.
pub type RunError = EVMError<SourceError>;

/// Context that inspectors see.
pub type EvmContext<'o, 'f> = Context<BlockEnv, TxEnv, CfgEnv, &'o mut Overlay<'f>>;

/// Runs a transaction in the block after the fork's; keeps its changes only if `commit`.
///
/// # Errors
/// [`RunError`] when the state could not be read, or when no block could hold the transaction.
pub fn run(
    overlay: &mut Overlay<'_>,
    transaction: &Transaction,
    commit: bool,
) -> Result<ExecutionResult<HaltReason>, RunError> {
    let next = overlay.db.block().next();
    run_at(overlay, transaction, commit, NoOpInspector {}, next)
}

/// Returns the output of a read-only call in the block after the fork's; `None` if it reverts.
///
/// # Errors
/// As [`run`].
pub fn view(overlay: &mut Overlay<'_>, to: Address, data: Bytes) -> Result<Option<Bytes>, RunError> {
    let next = overlay.db.block().next();
    view_at(overlay, to, data, next)
}

/// Returns the output of a read-only call in a later block, as if no transaction came before it; `None` if it reverts.
///
/// # Errors
/// As [`run`].
pub fn view_at(
    overlay: &mut Overlay<'_>,
    to: Address,
    data: Bytes,
    at: ExecutionBlock,
) -> Result<Option<Bytes>, RunError> {
    let result = run_at(overlay, &Transaction::view(to, data), false, NoOpInspector {}, at)?;
    Ok(result.is_success().then(|| result.into_output()).flatten())
}

/// Runs a read-only call in the block after the fork's while an inspector watches.
pub(crate) fn inspect_view<'o, 'f, I>(
    overlay: &'o mut Overlay<'f>,
    to: Address,
    data: Bytes,
    inspector: I,
) -> Result<(), RunError>
where
    I: Inspector<EvmContext<'o, 'f>>,
{
    let next = overlay.db.block().next();
    run_at(overlay, &Transaction::view(to, data), false, inspector, next).map(drop)
}

/// Runs a transaction in a block at or after the fork's next one.
fn run_at<'o, 'f, I>(
    overlay: &'o mut Overlay<'f>,
    transaction: &Transaction,
    commit: bool,
    inspector: I,
    at: ExecutionBlock,
) -> Result<ExecutionResult<HaltReason>, RunError>
where
    I: Inspector<EvmContext<'o, 'f>>,
{
    let fork: &Fork = overlay.db;
    fork.check().map_err(EVMError::Database)?;
    let mut cfg = CfgEnv::new_with_spec(HARD_FORK);
    cfg.chain_id = CHAIN_ID;
    cfg.disable_base_fee = true;
    cfg.disable_nonce_check = true;
    cfg.disable_eip3607 = true;
    cfg.disable_block_gas_limit = true;
    let block = BlockEnv {
        number: U256::from(at.number),
        timestamp: U256::from(at.timestamp),
        gas_limit: fork.block().gas_limit,
        basefee: fork.block().next_base_fee_per_gas_wei(),
        prevrandao: Some(fork.block().hash),
        ..Default::default()
    };
    let tx = TxEnv {
        caller: transaction.from,
        kind: TxKind::Call(transaction.to),
        data: transaction.data.clone(),
        value: transaction.value_wei,
        gas_limit: transaction.gas_limit,
        gas_price: 0,
        chain_id: Some(CHAIN_ID),
        ..Default::default()
    };
    let context = Context::mainnet().with_db(overlay).with_cfg(cfg).with_block(block);
    let mut evm = context.build_mainnet_with_inspector(inspector);
    let unseen_before = fork.unseen();
    let output = evm.inspect_tx(tx);
    if fork.unseen() > unseen_before {
        fork.note_diverged(transaction);
    }
    let output = output?;
    fork.spend(output.result.gas().total_gas_spent());
    if commit {
        evm.ctx.journaled_state.database.commit(output.state);
    }
    Ok(output.result)
}
