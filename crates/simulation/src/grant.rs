//! Grants a sender what it lacks: code, ether, token balances and allowances, whatever the token's storage layout.
//!
//! The storage word of a balance or an allowance is found by recording which words the token reads while it answers
//! `balanceOf` or `allowance`, and overriding one after another until the answer is large enough. No layout is assumed,
//! so that proxies, Vyper tokens and balances packed with flags all work.

use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256, is_native_ether};
use revm::DatabaseRef;
use revm::Inspector;
use revm::bytecode::Bytecode;
use revm::bytecode::opcode::SLOAD;
use revm::database_interface::Database;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::interpreter::{Interpreter, interpreter::EthInterpreter};

use crate::evm::{EvmContext, Overlay, RunError, inspect_view, view};

sol! {
    function balanceOf(address owner) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
}

/// Most storage words that are overridden in search of the one that decides an answer.
const MOST_WORDS_TRIED: usize = 64;

/// An account that is granted nothing, to compare with.
const OTHER_ACCOUNT: Address = Address::repeat_byte(0x57);

/// Something to grant before a simulation runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Code at an account.
    Code {
        /// The account.
        account: Address,
        /// Runtime code.
        code: Bytes,
    },
    /// At least this balance of a token, or of native ether.
    Balance {
        /// The token.
        token: Address,
        /// The holder.
        owner: Address,
        /// Atomic units; wei for native ether.
        amount: U256,
    },
    /// At least this allowance.
    Allowance {
        /// The token.
        token: Address,
        /// The holder.
        owner: Address,
        /// The account that may spend.
        spender: Address,
        /// Atomic units.
        amount: U256,
    },
}

/// Outcome of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// The owner had enough already.
    NotNeeded,
    /// The state was overridden.
    Overridden,
    /// No storage word was found that decides the token's answer.
    NotFound,
}

/// Applies a grant to an overlay.
///
/// # Errors
/// [`RunError`] when the state could not be read.
pub fn grant(overlay: &mut Overlay<'_>, grant: &Grant) -> Result<Granted, RunError> {
    match *grant {
        Grant::Code { account, ref code } => grant_code(overlay, account, code),
        Grant::Balance { token, owner, amount } if is_native_ether(token) => grant_ether(overlay, owner, amount),
        Grant::Balance { token, owner, amount } => {
            grant_word(overlay, token, owner, amount, |owner| balanceOfCall { owner }.abi_encode().into())
        }
        Grant::Allowance { token, owner, spender, amount } => {
            grant_word(overlay, token, owner, amount, |owner| allowanceCall { owner, spender }.abi_encode().into())
        }
    }
}

fn grant_code(overlay: &mut Overlay<'_>, account: Address, code: &Bytes) -> Result<Granted, RunError> {
    let mut info = overlay.basic(account).map_err(RunError::Database)?.unwrap_or_default();
    let wanted = Bytecode::new_raw(code.clone());
    let code_hash = wanted.hash_slow();
    if info.code_hash == code_hash {
        return Ok(Granted::NotNeeded);
    }
    (info.code_hash, info.code) = (code_hash, Some(wanted));
    overlay.insert_account_info(account, info);
    overlay.db.note_granted_code(account, code);
    Ok(Granted::Overridden)
}

fn grant_ether(overlay: &mut Overlay<'_>, owner: Address, amount_wei: U256) -> Result<Granted, RunError> {
    let mut info = overlay.basic(owner).map_err(RunError::Database)?.unwrap_or_default();
    if info.balance >= amount_wei {
        return Ok(Granted::NotNeeded);
    }
    info.balance = amount_wei;
    overlay.insert_account_info(owner, info);
    Ok(Granted::Overridden)
}

/// Overrides the word that decides what a token answers to `calldata(owner)`. Words that it also reads for another
/// account are shared, such as the rate of a token that counts in shares, and are left alone.
fn grant_word(
    overlay: &mut Overlay<'_>,
    token: Address,
    owner: Address,
    amount: U256,
    calldata: impl Fn(Address) -> Bytes,
) -> Result<Granted, RunError> {
    let own = calldata(owner);
    let Some(held) = answer(overlay, token, &own)? else { return Ok(Granted::NotFound) };
    if held >= amount {
        return Ok(Granted::NotNeeded);
    }
    let shared = words_read(overlay, token, calldata(OTHER_ACCOUNT))?;
    let read = words_read(overlay, token, own.clone())?;
    for (account, slot) in read.into_iter().filter(|word| !shared.contains(word)) {
        let before = overlay.storage_ref(account, slot).map_err(RunError::Database)?;
        for candidate in candidates(before, held, amount) {
            overlay.insert_account_storage(account, slot, candidate).map_err(RunError::Database)?;
            if answer(overlay, token, &own)?.is_some_and(|now| now >= amount) {
                overlay.db.note_granted_word(account, slot, candidate);
                return Ok(Granted::Overridden);
            }
        }
        overlay.insert_account_storage(account, slot, before).map_err(RunError::Database)?;
    }
    Ok(Granted::NotFound)
}

/// Returns words that might encode `amount`: the amount in the low bits, below what else is there, such as a blacklist
/// flag; the amount itself; the word scaled by twice the proportion, for rebasing tokens whose answer is a share of it;
/// and twice the amount.
fn candidates(before: U256, held: U256, amount: U256) -> impl Iterator<Item = U256> {
    let two = U256::from(2);
    let low_bits = |bits: usize| {
        let mask = (U256::from(1) << bits) - U256::from(1);
        (amount <= mask).then(|| (before & !mask) | amount)
    };
    let scaled = before.checked_mul(amount).and_then(|product| product.checked_div(held)?.checked_mul(two));
    let doubled = amount.checked_mul(two);
    [low_bits(96), low_bits(112), low_bits(128), low_bits(255), Some(amount), scaled, doubled].into_iter().flatten()
}

/// Returns the first word of a view's answer; `None` if it reverts or answers less than a word.
fn answer(overlay: &mut Overlay<'_>, token: Address, calldata: &Bytes) -> Result<Option<U256>, RunError> {
    let output = view(overlay, token, calldata.clone())?;
    Ok(output.and_then(|output| U256::try_from_be_slice(output.get(..32)?)))
}

/// Returns the storage words that a view reads, the last ones first: tokens read balances after proxies and flags.
fn words_read(overlay: &mut Overlay<'_>, token: Address, calldata: Bytes) -> Result<Vec<(Address, U256)>, RunError> {
    let mut reads = StorageReads::default();
    inspect_view(overlay, token, calldata, &mut reads)?;
    let mut words = Vec::new();
    for word in reads.words.into_iter().rev() {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.truncate(MOST_WORDS_TRIED);
    Ok(words)
}

/// Records each storage word that is read, by contract and slot.
#[derive(Default)]
struct StorageReads {
    words: Vec<(Address, U256)>,
}

impl<'o, 'f> Inspector<EvmContext<'o, 'f>, EthInterpreter> for StorageReads {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut EvmContext<'o, 'f>) {
        if interpreter.bytecode.opcode() == SLOAD
            && let Ok(slot) = interpreter.stack.peek(0)
        {
            self.words.push((interpreter.input.target_address(), slot));
        }
    }
}
