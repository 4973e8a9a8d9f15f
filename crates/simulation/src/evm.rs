//! Calls on an overlay over a fork.

use braid_primitives::{Address, Bytes, ExecutionBlock, U256};
use revm::context::result::{EVMError, ExecutionResult, HaltReason};
use revm::context::{BlockEnv, CfgEnv, TxEnv};
use revm::database::CacheDB;
use revm::inspector::NoOpInspector;
use revm::primitives::TxKind;
use revm::primitives::hardfork::SpecId;
use revm::{Context, DatabaseCommit, InspectEvm, Inspector, MainBuilder, MainContext};

use crate::{Fork, SourceError};

/// The rules that transactions run under: mainnet's newest fork.
pub const RULES: SpecId = SpecId::OSAKA;

/// Gas of a read-only call: far above what a view needs, below what a hostile token could waste.
pub const VIEW_GAS: u64 = 5_000_000;

/// State of a fork with the changes of one simulation on top.
pub type Overlay<'a> = CacheDB<&'a Fork>;

/// A transaction or a call, as the EVM sees it. The gas price is zero: nobody's ether pays for it.
#[derive(Clone, Debug)]
pub struct Message {
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

/// What the EVM cannot be asked to run.
pub type RunError = EVMError<SourceError>;

/// Context that inspectors see.
pub type EvmContext<'o, 'f> = Context<BlockEnv, TxEnv, CfgEnv, &'o mut Overlay<'f>>;

/// Runs a message in the block after the fork's, with an inspector watching; keeps its changes only if `commit`.
///
/// # Errors
/// [`RunError`] when the state could not be read or the message is not one that a block could hold.
pub fn run_inspected<'o, 'f, I>(
    overlay: &'o mut Overlay<'f>,
    message: &Message,
    commit: bool,
    inspector: I,
) -> Result<ExecutionResult<HaltReason>, RunError>
where
    I: Inspector<EvmContext<'o, 'f>>,
{
    let next = overlay.db.block().next();
    run_in(overlay, message, commit, inspector, next)
}

/// Runs a message in a block that may come any time after the fork's.
fn run_in<'o, 'f, I>(
    overlay: &'o mut Overlay<'f>,
    message: &Message,
    commit: bool,
    inspector: I,
    at: ExecutionBlock,
) -> Result<ExecutionResult<HaltReason>, RunError>
where
    I: Inspector<EvmContext<'o, 'f>>,
{
    let fork: &Fork = overlay.db;
    fork.check().map_err(EVMError::Database)?;
    let base_fee = fork.block().next_base_fee_per_gas_wei();
    let mut cfg = CfgEnv::new_with_spec(RULES);
    cfg.chain_id = braid_primitives::CHAIN_ID;
    cfg.disable_base_fee = true;
    cfg.disable_nonce_check = true;
    cfg.disable_eip3607 = true;
    cfg.disable_block_gas_limit = true;
    let block = BlockEnv {
        number: U256::from(at.number),
        timestamp: U256::from(at.timestamp),
        gas_limit: fork.block().gas_limit,
        basefee: base_fee,
        prevrandao: Some(fork.block().hash),
        ..Default::default()
    };
    let tx = TxEnv {
        caller: message.from,
        kind: TxKind::Call(message.to),
        data: message.data.clone(),
        value: message.value_wei,
        gas_limit: message.gas_limit,
        gas_price: 0,
        chain_id: Some(braid_primitives::CHAIN_ID),
        ..Default::default()
    };
    let context = Context::mainnet().with_db(overlay).with_cfg(cfg).with_block(block);
    let mut evm = context.build_mainnet_with_inspector(inspector);
    let unseen = fork.unseen();
    let output = evm.inspect_tx(tx);
    if fork.unseen() > unseen {
        fork.went_astray(message);
    }
    let output = output?;
    fork.spend(output.result.gas().total_gas_spent());
    if commit {
        evm.ctx.journaled_state.database.commit(output.state);
    }
    Ok(output.result)
}

/// Runs a message in the block after the fork's; keeps its changes only if `commit`.
///
/// # Errors
/// As [`run_inspected`].
pub fn run(
    overlay: &mut Overlay<'_>,
    message: &Message,
    commit: bool,
) -> Result<ExecutionResult<HaltReason>, RunError> {
    run_inspected(overlay, message, commit, NoOpInspector {})
}

/// The output of a read-only call, or `None` if it reverts.
///
/// # Errors
/// As [`run_inspected`].
pub fn view(overlay: &mut Overlay<'_>, to: Address, data: Bytes) -> Result<Option<Bytes>, RunError> {
    let next = overlay.db.block().next();
    view_in(overlay, to, data, next)
}

/// The output of a read-only call in a block that may come any time after the fork's, as if nothing happened until then; `None` if it
/// reverts.
///
/// # Errors
/// As [`run_inspected`].
pub fn view_in(
    overlay: &mut Overlay<'_>,
    to: Address,
    data: Bytes,
    at: ExecutionBlock,
) -> Result<Option<Bytes>, RunError> {
    let message = Message { from: Address::ZERO, to, data, value_wei: U256::ZERO, gas_limit: VIEW_GAS };
    let result = run_in(overlay, &message, false, NoOpInspector {}, at)?;
    Ok(result.is_success().then(|| result.into_output()).flatten())
}
