//! Granting a sender what it lacks: ether, token balances, allowances, whatever the token's storage layout.
//!
//! The slot of a balance or an allowance is found by watching which words the token reads while it answers
//! `balanceOf` or `allowance`, then trying each: the right one makes the answer the wanted amount. No layout is assumed, so
//! proxies, Vyper tokens and balances packed with flags work alike.

use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256, is_native_ether};
use revm::DatabaseRef;
use revm::Inspector;
use revm::bytecode::Bytecode;
use revm::bytecode::opcode::SLOAD;
use revm::database_interface::Database;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::interpreter::{Interpreter, interpreter::EthInterpreter};

use crate::evm::{EvmContext, Message, Overlay, RunError, VIEW_GAS, run_inspected, view};

sol! {
    function balanceOf(address owner) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
}

/// Something to grant before a simulation runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// This code at an account.
    Code {
        /// The account.
        account: Address,
        /// Runtime code.
        code: Bytes,
    },
    /// At least this balance of a token, or of native ether in wei.
    Balance {
        /// The token.
        token: Address,
        /// Who shall hold it.
        owner: Address,
        /// Atomic units.
        amount: U256,
    },
    /// At least this allowance.
    Allowance {
        /// The token.
        token: Address,
        /// Who allows.
        owner: Address,
        /// Who may spend.
        spender: Address,
        /// Atomic units.
        amount: U256,
    },
}

/// What came of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// The owner had enough already.
    NotNeeded,
    /// The state was overridden.
    Overridden,
    /// No storage word was found that decides the answer.
    NotFound,
}

/// Makes sure of a grant on an overlay.
///
/// # Errors
/// [`RunError`] when the state could not be read.
pub fn grant(overlay: &mut Overlay<'_>, grant: &Grant) -> Result<Granted, RunError> {
    match *grant {
        Grant::Code { account, ref code } => grant_code(overlay, account, code),
        Grant::Balance { token, owner, amount } if is_native_ether(token) => grant_ether(overlay, owner, amount),
        Grant::Balance { token, owner, amount } => {
            let ask = |owner| Bytes::from(balanceOfCall { owner }.abi_encode());
            grant_word(overlay, token, [ask(owner), ask(SOMEBODY_ELSE)], amount)
        }
        Grant::Allowance { token, owner, spender, amount } => {
            let ask = |owner| Bytes::from(allowanceCall { owner, spender }.abi_encode());
            grant_word(overlay, token, [ask(owner), ask(SOMEBODY_ELSE)], amount)
        }
    }
}

fn grant_code(overlay: &mut Overlay<'_>, account: Address, code: &Bytes) -> Result<Granted, RunError> {
    let mut info = overlay.basic(account).map_err(RunError::Database)?.unwrap_or_default();
    let wanted = Bytecode::new_raw(code.clone());
    if info.code_hash == wanted.hash_slow() {
        return Ok(Granted::NotNeeded);
    }
    info.code_hash = wanted.hash_slow();
    info.code = Some(wanted);
    overlay.insert_account_info(account, info);
    overlay.db.grants_code(account, code);
    Ok(Granted::Overridden)
}

fn grant_ether(overlay: &mut Overlay<'_>, owner: Address, amount: U256) -> Result<Granted, RunError> {
    let mut info = overlay.basic(owner).map_err(RunError::Database)?.unwrap_or_default();
    if info.balance >= amount {
        return Ok(Granted::NotNeeded);
    }
    info.balance = amount;
    overlay.insert_account_info(owner, info);
    Ok(Granted::Overridden)
}

/// Somebody who is not who is granted anything.
const SOMEBODY_ELSE: Address = Address::repeat_byte(0x57);

/// Overrides the word that decides the first question's answer. What is also read for the second, the same of somebody else, is everybody's: the
/// rate of a token that counts in shares is left alone.
fn grant_word(
    overlay: &mut Overlay<'_>,
    token: Address,
    [question, of_somebody_else]: [Bytes; 2],
    amount: U256,
) -> Result<Granted, RunError> {
    let Some(held) = answer(overlay, token, &question)? else { return Ok(Granted::NotFound) };
    if held >= amount {
        return Ok(Granted::NotNeeded);
    }
    let everybodys = words_read(overlay, token, &of_somebody_else)?;
    let read = words_read(overlay, token, &question)?;
    for (account, slot) in read.into_iter().filter(|word| !everybodys.contains(word)) {
        let before = overlay.storage_ref(account, slot).map_err(RunError::Database)?;
        for candidate in candidates(before, held, amount) {
            overlay.insert_account_storage(account, slot, candidate).map_err(RunError::Database)?;
            if answer(overlay, token, &question)?.is_some_and(|now| now >= amount) {
                overlay.db.grants_word(account, slot, candidate);
                return Ok(Granted::Overridden);
            }
        }
        overlay.insert_account_storage(account, slot, before).map_err(RunError::Database)?;
    }
    Ok(Granted::NotFound)
}

/// Words that might mean `amount`: the plain amount; the amount in the low bits under the flags that are there; and a
/// scaled amount, twice as large as proportion says, for tokens whose answer is a share of the word (rebasing tokens).
fn candidates(before: U256, held: U256, amount: U256) -> impl Iterator<Item = U256> {
    let low_bits = |bits: usize| {
        let mask = (U256::from(1) << bits) - U256::from(1);
        (amount <= mask).then(|| (before & !mask) | amount)
    };
    let scaled = (!held.is_zero())
        .then(|| {
            before.checked_mul(amount).and_then(|x| x.checked_div(held)).and_then(|x| x.checked_mul(U256::from(2)))
        })
        .flatten();
    let doubled = amount.checked_mul(U256::from(2));
    [Some(amount), low_bits(255), low_bits(128), low_bits(112), low_bits(96), scaled, doubled].into_iter().flatten()
}

fn answer(overlay: &mut Overlay<'_>, token: Address, question: &Bytes) -> Result<Option<U256>, RunError> {
    let output = view(overlay, token, question.clone())?;
    Ok(output.filter(|bytes| bytes.len() >= 32).map(|bytes| U256::from_be_slice(&bytes[..32])))
}

/// The storage words read while a view answers, the last ones first: balances are read after proxies and flags.
fn words_read(overlay: &mut Overlay<'_>, token: Address, question: &Bytes) -> Result<Vec<(Address, U256)>, RunError> {
    let message =
        Message { from: Address::ZERO, to: token, data: question.clone(), value_wei: U256::ZERO, gas_limit: VIEW_GAS };
    let mut reads = StorageReads::default();
    run_inspected(overlay, &message, false, &mut reads)?;
    let mut words = Vec::new();
    for word in reads.words.into_iter().rev() {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.truncate(MOST_WORDS_TRIED);
    Ok(words)
}

/// A view that reads more words than this is not a token whose balance lies in one of them.
const MOST_WORDS_TRIED: usize = 64;

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
