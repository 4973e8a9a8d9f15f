//! An EVM that contains only what a test deploys.

use alloy_primitives::{Address, Bytes, Log, U256, address, keccak256};
use alloy_sol_types::{Revert, SolCall, SolError, SolValue};
use braid_protocols::{Call, DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader, storage};
use revm::{
    Context, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext, MainnetEvm,
    context::{BlockEnv, CfgEnv, TxEnv, result::ExecutionResult},
    database::{CacheDB, EmptyDB},
    primitives::{TxKind, hardfork::SpecId},
    state::{AccountInfo, Bytecode},
};

use super::bytecode;

/// The sender of every transaction and the owner of every factory.
pub const OWNER: Address = address!("00000000000000000000000000000000000a11ce");

/// The gas limit of a transaction: enough for a swap that searches every word of a bitmap. Osaka's cap on a
/// transaction's gas does not apply yet.
const GAS_LIMIT: u64 = 1_000_000_000;

type Evm = MainnetEvm<Context<BlockEnv, TxEnv, CfgEnv, CacheDB<EmptyDB>>>;

/// A chain in memory.
pub struct Chain {
    evm: Evm,
}

/// The result of a successful call.
#[derive(Clone, Debug)]
pub struct Done {
    pub output: Bytes,
    pub logs: Vec<Log>,
    /// The gas of the whole transaction, less refunds.
    pub gas_used: u64,
}

/// The reason of a revert; empty if the contract gave none.
pub type Reason = String;

impl Chain {
    pub fn new() -> Self {
        let mut cfg = CfgEnv::new_with_spec(SpecId::CANCUN);
        cfg.disable_nonce_check = true;
        cfg.disable_block_gas_limit = true;
        cfg.disable_base_fee = true;
        cfg.limit_contract_code_size = Some(usize::MAX);
        cfg.limit_contract_initcode_size = Some(usize::MAX);
        let block = BlockEnv { number: U256::from(1), timestamp: U256::from(1_700_000_000), ..Default::default() };
        let context = Context::mainnet().with_db(CacheDB::new(EmptyDB::new())).with_cfg(cfg).with_block(block);
        Self { evm: context.build_mainnet() }
    }

    /// Deploys a contract of the bundle. The constructor arguments are a tuple of static types.
    pub fn deploy(&mut self, name: &str, arguments: &impl SolValue) -> Address {
        self.deploy_with(name, &arguments.abi_encode())
    }

    /// Deploys a contract of the bundle with encoded constructor arguments.
    pub fn deploy_with(&mut self, name: &str, arguments: &[u8]) -> Address {
        let code = [bytecode::initcode(name).as_ref(), arguments].concat();
        let nonce = self.nonce(OWNER);
        let tx = TxEnv { kind: TxKind::Create, data: code.into(), nonce, ..transaction() };
        match self.evm.transact_commit(tx).unwrap() {
            ExecutionResult::Success { output, .. } => *output.address().unwrap(),
            other => panic!("{name} was not deployed: {other:?}"),
        }
    }

    fn nonce(&mut self, account: Address) -> u64 {
        self.evm.ctx.journaled_state.database.cache.accounts.get(&account).map_or(0, |account| account.info.nonce)
    }

    /// Makes a call and keeps the changes. Returns the reason if it reverts.
    pub fn send(&mut self, to: Address, call: &impl SolCall) -> Result<Done, Reason> {
        let tx = TxEnv { kind: TxKind::Call(to), data: call.abi_encode().into(), ..transaction() };
        done(self.evm.transact_commit(tx).unwrap())
    }

    /// Makes a call and discards the changes.
    pub fn try_call(&mut self, to: Address, call: &impl SolCall) -> Result<Done, Reason> {
        self.try_data(to, call.abi_encode().into())
    }

    /// Does the same as [`Self::try_call`], with calldata.
    pub fn try_data(&mut self, to: Address, data: Bytes) -> Result<Done, Reason> {
        let tx = TxEnv { kind: TxKind::Call(to), data, ..transaction() };
        done(self.evm.transact(tx).unwrap().result)
    }

    /// Returns the answer to a reader's call.
    pub fn answer(&mut self, call: Call) -> Option<Bytes> {
        match storage::slot_of(&call) {
            Some(slot) => Some(self.word(call.to, slot.into()).to_be_bytes::<32>().into()),
            None => self.try_data(call.to, call.data).ok().map(|done| done.output),
        }
    }

    /// Returns the result of a view.
    pub fn view<C: SolCall>(&mut self, to: Address, call: &C) -> C::Return {
        C::abi_decode_returns(&self.try_call(to, call).unwrap().output).unwrap()
    }

    /// Places a contract of the bundle at an address: its constructor runs there, and its return value becomes the
    /// code.
    pub fn place(&mut self, address: Address, name: &str, arguments: &[u8]) {
        self.construct(address, &bytecode::initcode(name), arguments);
    }

    /// Does the same as [`Self::place`], with creation code.
    pub fn construct(&mut self, address: Address, initcode: &Bytes, arguments: &[u8]) {
        self.set_code(address, [initcode.as_ref(), arguments].concat().into());
        let tx = TxEnv { kind: TxKind::Call(address), nonce: self.nonce(OWNER), ..transaction() };
        let runtime = done(self.evm.transact_commit(tx).unwrap()).unwrap().output;
        self.set_code(address, runtime);
    }

    /// Sets the code at an address.
    pub fn set_code(&mut self, address: Address, code: Bytes) {
        let info = AccountInfo::from_bytecode(Bytecode::new_raw(code));
        let nonce = self.nonce(address).max(1);
        self.evm.ctx.journaled_state.database.insert_account_info(address, AccountInfo { nonce, ..info });
    }

    /// Sets the number and the timestamp of the block that calls run in.
    pub fn set_block(&mut self, number: u64, timestamp: u64) {
        self.evm.ctx.block.number = U256::from(number);
        self.evm.ctx.block.timestamp = U256::from(timestamp);
    }

    /// Writes a word of a contract's storage.
    pub fn set_word(&mut self, contract: Address, slot: U256, value: U256) {
        self.evm.ctx.journaled_state.database.insert_account_storage(contract, slot, value).unwrap();
    }

    /// Returns a word of a contract's storage.
    pub fn word(&mut self, contract: Address, slot: U256) -> U256 {
        revm::Database::storage(&mut self.evm.ctx.journaled_state.database, contract, slot).unwrap()
    }

    /// Does the same as [`Self::set_word`], for a small slot number.
    pub fn set_storage(&mut self, contract: Address, slot: u64, value: U256) {
        self.set_word(contract, U256::from(slot), value);
    }

    /// Does the same as [`Self::send`], with calldata.
    pub fn send_data(&mut self, to: Address, data: Bytes) -> Result<Done, Reason> {
        let tx = TxEnv { kind: TxKind::Call(to), data, ..transaction() };
        done(self.evm.transact_commit(tx).unwrap())
    }

    /// Does the same as [`Self::send`], with ether, which the sender receives first.
    pub fn send_ether(&mut self, to: Address, call: &impl SolCall, value: U256) -> Result<Done, Reason> {
        self.give_ether();
        let tx = TxEnv { kind: TxKind::Call(to), data: call.abi_encode().into(), value, ..transaction() };
        done(self.evm.transact_commit(tx).unwrap())
    }

    /// Does the same as [`Self::send_ether`], and discards the changes.
    pub fn try_ether(&mut self, to: Address, call: &impl SolCall, value: U256) -> Result<Done, Reason> {
        self.give_ether();
        let tx = TxEnv { kind: TxKind::Call(to), data: call.abi_encode().into(), value, ..transaction() };
        done(self.evm.transact(tx).unwrap().result)
    }

    fn give_ether(&mut self) {
        let nonce = self.nonce(OWNER);
        let info = AccountInfo { balance: U256::MAX >> 8, nonce, ..Default::default() };
        self.evm.ctx.journaled_state.database.insert_account_info(OWNER, info);
    }

    /// Sets the balance of an account in a test coin, whose mapping of balances is at slot 0.
    pub fn set_balance(&mut self, coin: Address, holder: Address, amount: U256) {
        let slot = U256::from_be_bytes(keccak256((holder, U256::ZERO).abi_encode()).0);
        self.evm.ctx.journaled_state.database.insert_account_storage(coin, slot, amount).unwrap();
    }
}

fn transaction() -> TxEnv {
    TxEnv { caller: OWNER, gas_limit: GAS_LIMIT, gas_price: 0, chain_id: Some(1), ..Default::default() }
}

fn done(result: ExecutionResult) -> Result<Done, Reason> {
    match result {
        ExecutionResult::Success { output, logs, gas, .. } => {
            Ok(Done { output: output.into_data(), logs, gas_used: gas.tx_gas_used() })
        }
        ExecutionResult::Revert { output, .. } => {
            Err(Revert::abi_decode(&output).map(|revert| revert.reason).unwrap_or_default())
        }
        ExecutionResult::Halt { reason, .. } => panic!("a contract halted: {reason:?}"),
    }
}

/// Reads a pool's state with its product's reader, with answers of this chain.
pub fn read_state(chain: &mut Chain, record: Product, pool: &Discovered) -> PoolState {
    try_read_state(chain, record, pool).unwrap()
}

/// Does the same for a pool that the reader may exclude.
pub fn try_read_state(chain: &mut Chain, record: Product, pool: &Discovered) -> Result<PoolState, DecodeError> {
    read_with(chain, record.reader(pool))
}

/// Does the same with a reader.
pub fn read_with(chain: &mut Chain, mut reader: Box<dyn StateReader>) -> Result<PoolState, DecodeError> {
    let mut progress = reader.start();
    loop {
        match progress {
            ReadProgress::Done(state) => return Ok(state),
            ReadProgress::Calls(calls) => {
                let answers: Vec<_> = calls.into_iter().map(|call| chain.answer(call)).collect();
                progress = reader.feed(&answers)?;
            }
        }
    }
}
