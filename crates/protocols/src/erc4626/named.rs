//! Vaults that somebody named, of which neither a list nor a factory tells what they are: their own answers do.

use alloy_primitives::{Address, Bytes};

use super::{Form, Listed, State, aave::WrappedReader, reader::VaultReader};
use crate::{DecodeError, Discovered, ReadProgress, StateReader, answers::Question};

/// Bytes of an ABI word.
const WORD_BYTES: usize = 32;

/// The forms that a vault's own contract tells whole. Each is known by its first question, which only vaults of its kind answer.
const SELF_DESCRIBING: [Form; 5] =
    [Form::YearnVault, Form::FraxSavings, Form::FraxStaking, Form::FalconStaking, Form::SparkSavings];

impl Form {
    /// The form in a word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Holdings => "holdings",
            Self::YearnVault => "unlocking",
            Self::FraxSavings => "distributing",
            Self::FraxStaking => "streaming",
            Self::FalconStaking => "vesting",
            Self::SparkSavings => "compounding",
            _ => "listed",
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
    /// Whether it is one of Aave's wrapped tokens is asked, by the first questions of such a one.
    IsWrapped(WrappedReader),
    /// Which form it has is asked.
    Which(Vec<(Form, Question)>),
    Wrapped(WrappedReader),
    Vault(VaultReader),
}

impl UnlistedReader {
    pub(super) fn new(pool: &Discovered) -> Self {
        let asset = pool.coins.first().copied().unwrap_or_default();
        Self { vault: pool.key.contract, asset, stage: Stage::IsWrapped(WrappedReader::new(pool)) }
    }

    /// A reader that knows what the vault is from an earlier reading.
    pub(super) fn again(pool: &Discovered, state: &State) -> Self {
        let fresh = Self::new(pool);
        let stage = match state.form {
            _ if state.reserve.is_some() => Stage::Wrapped(WrappedReader::again(pool, state)),
            Some(form) => Stage::Vault(fresh.of_form(form)),
            None => return fresh,
        };
        Self { stage, ..fresh }
    }

    const fn of_form(&self, form: Form) -> VaultReader {
        VaultReader::new(Listed { vault: self.vault, asset: self.asset, form })
    }

    /// Goes on as a reader of a vault that is none of Aave's: the questions by which the forms are known.
    fn ask_which(&mut self) -> ReadProgress {
        let hint = |form: Form| Some((form, form.known_by(self.vault, self.asset)?));
        let hints: Vec<_> = SELF_DESCRIBING.into_iter().filter_map(hint).collect();
        let calls = hints.iter().map(|(_, question)| question.call.clone()).collect();
        self.stage = Stage::Which(hints);
        ReadProgress::Calls(calls)
    }
}

impl StateReader for UnlistedReader {
    fn start(&mut self) -> ReadProgress {
        match &mut self.stage {
            Stage::IsWrapped(reader) | Stage::Wrapped(reader) => reader.start(),
            Stage::Vault(reader) => reader.start(),
            Stage::Which(_) => self.ask_which(),
        }
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        match &mut self.stage {
            Stage::Wrapped(reader) => reader.feed(answers),
            Stage::Vault(reader) => reader.feed(answers),
            // the first of Aave's questions is the vault's own
            Stage::IsWrapped(reader) if is_answered(answers.first()) => {
                let mut reader = reader.clone();
                let progress = reader.feed(answers);
                self.stage = Stage::Wrapped(reader);
                progress
            }
            Stage::IsWrapped(_) => Ok(self.ask_which()),
            Stage::Which(hints) => {
                let (expected, got) = (hints.len(), answers.len());
                if expected != got {
                    return Err(DecodeError::AnswerCount { expected, got });
                }
                let told = hints.iter().zip(answers).find(|(_, answer)| is_answered(Some(answer)));
                let form = told.map_or(Form::Holdings, |((form, _), _)| *form);
                let mut reader = self.of_form(form);
                let progress = reader.start();
                self.stage = Stage::Vault(reader);
                Ok(progress)
            }
        }
    }
}

/// Whether a view answered: with a word at the least.
fn is_answered(answer: Option<&Option<Bytes>>) -> bool {
    answer.and_then(Option::as_ref).is_some_and(|answer| answer.len() >= WORD_BYTES)
}
