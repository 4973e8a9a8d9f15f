//! Vaults that somebody named, of which neither a list nor a factory tells what they are: their own answers do.

use alloy_primitives::{Address, Bytes};

use super::{Accrual, Form, Listed, State, aave::WrappedReader, reader::VaultReader};
use crate::{DecodeError, Discovered, Pool, PoolState, ReadProgress, StateReader, answers::Question};

/// Bytes of an ABI word.
const WORD_BYTES: usize = 32;

/// The forms that a vault's own contract tells whole. Each is known by its first question, which only vaults of its kind answer.
const TOLD_BY_THEMSELVES: [Form; 5] =
    [Form::YearnVault, Form::FraxSavings, Form::FraxStaking, Form::FalconStaking, Form::SparkSavings];

impl Form {
    /// The form of a vault that was named, by what was made of its answers.
    const fn of(state: &State) -> Self {
        match state.accrual {
            Accrual::Unlocking { .. } => Self::YearnVault,
            Accrual::Distributing { .. } => Self::FraxSavings,
            Accrual::Streaming { .. } => Self::FraxStaking,
            Accrual::Vesting { .. } => Self::FalconStaking,
            Accrual::Compounding { .. } => Self::SparkSavings,
            _ => Self::Holdings,
        }
    }

    /// The question by which a form is known.
    fn known_by(self, vault: Address, asset: Address) -> Option<Question> {
        self.questions(vault, asset).into_iter().next()
    }
}

/// Reads a vault that is on no list: one of Aave's wrapped tokens, or one that somebody named.
#[derive(Clone, Debug)]
pub(super) struct UnlistedReader {
    vault: Address,
    asset: Address,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    /// What it is is asked: by Aave's questions, of which there are so many, and by those of the forms.
    Asking {
        wrapped: WrappedReader,
        aave: usize,
        hints: Vec<(Form, Question)>,
    },
    Wrapped(WrappedReader),
    Vault(VaultReader),
}

impl UnlistedReader {
    pub(super) fn new(pool: &Discovered) -> Self {
        let asset = pool.coins.first().copied().unwrap_or_default();
        let hint = |form: Form| Some((form, form.known_by(pool.address, asset)?));
        let hints = TOLD_BY_THEMSELVES.into_iter().filter_map(hint).collect();
        let stage = Stage::Asking { wrapped: WrappedReader::new(pool), aave: 0, hints };
        Self { vault: pool.address, asset, stage }
    }

    /// A reader that knows what the vault is from an earlier reading.
    pub(super) fn again(pool: &Discovered, was: &Pool) -> Self {
        let fresh = Self::new(pool);
        let stage = match &was.state {
            PoolState::Erc4626(state) if state.reserve.is_some() => Stage::Wrapped(WrappedReader::again(pool, was)),
            PoolState::Erc4626(state) => Stage::Vault(fresh.of_form(Form::of(state))),
            _ => return fresh,
        };
        Self { stage, ..fresh }
    }

    const fn of_form(&self, form: Form) -> VaultReader {
        VaultReader::new(Listed { vault: self.vault, asset: self.asset, form })
    }

    /// What the vault is, by the first answers, and what is asked next.
    fn settle(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let Stage::Asking { wrapped, aave, hints } = &mut self.stage else { return Ok(self.start()) };
        let expected = *aave + hints.len();
        if answers.len() != expected {
            return Err(DecodeError::AnswerCount { expected, got: answers.len() });
        }
        let (of_aave, of_hints) = answers.split_at(*aave);
        // the first of Aave's questions is the vault's own
        if answered(of_aave.first()) {
            let mut wrapped = wrapped.clone();
            let progress = wrapped.feed(of_aave);
            self.stage = Stage::Wrapped(wrapped);
            return progress;
        }
        let told = hints.iter().zip(of_hints).find(|(_, answer)| answered(Some(answer)));
        let form = told.map_or(Form::Holdings, |((form, _), _)| *form);
        let mut reader = self.of_form(form);
        let progress = reader.start();
        self.stage = Stage::Vault(reader);
        Ok(progress)
    }
}

impl StateReader for UnlistedReader {
    fn start(&mut self) -> ReadProgress {
        match &mut self.stage {
            Stage::Wrapped(reader) => reader.start(),
            Stage::Vault(reader) => reader.start(),
            Stage::Asking { wrapped, aave, hints } => {
                let mut calls = match wrapped.start() {
                    ReadProgress::Calls(calls) => calls,
                    ReadProgress::Done(_) => Vec::new(),
                };
                *aave = calls.len();
                calls.extend(hints.iter().map(|(_, question)| question.call.clone()));
                ReadProgress::Calls(calls)
            }
        }
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        match &mut self.stage {
            Stage::Wrapped(reader) => reader.feed(answers),
            Stage::Vault(reader) => reader.feed(answers),
            Stage::Asking { .. } => self.settle(answers),
        }
    }
}

/// Whether a view answered: with a word at the least.
fn answered(answer: Option<&Option<Bytes>>) -> bool {
    answer.and_then(Option::as_ref).is_some_and(|answer| answer.len() >= WORD_BYTES)
}
