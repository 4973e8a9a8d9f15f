//! Reads a buffer: its balances, the product of the vault behind it, and that vault by its product's own reader.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::sol;

use super::{super::VAULT, MINIMUM_WRAP, State};
use crate::{
    DecodeError, Discovered, ReadProgress, StateReader,
    answers::{Answers, Question, ask, calls, impossible},
    vault::{Kind, Vault, ask_kind, kind},
};

sol! {
    function getBufferBalance(address wrappedToken) external view returns (uint256 underlyingBalanceRaw, uint256 wrappedBalanceRaw);
    function areBuffersPaused() external view returns (bool);
    function getERC4626BufferAsset(address wrappedToken) external view returns (address asset);
    function getMinimumWrapAmount() external view returns (uint256);
    function asset() external view returns (address);
}

/// Reader of one buffer.
pub(super) struct BufferReader {
    pool: Discovered,
    asked: Vec<Question>,
    /// Kind of the vault behind, once known.
    kind: Option<Kind>,
    /// Vault of an earlier reading.
    was: Option<Vault>,
    behind: Option<Box<dyn StateReader>>,
    /// Number of this round's calls that belong to the vault's reader.
    asked_behind: usize,
    itself: Option<([U256; 2], bool)>,
}

impl BufferReader {
    pub(super) fn new(pool: &Discovered) -> Self {
        Self {
            pool: pool.clone(),
            asked: Vec::new(),
            kind: None,
            was: None,
            behind: None,
            asked_behind: 0,
            itself: None,
        }
    }

    /// Returns a reader that knows the kind of the vault.
    pub(super) fn again(pool: &Discovered, was: &State) -> Self {
        let kind = Some(Kind::of(&was.vault, was.wrapped));
        Self { kind, was: Some(was.vault.clone()), ..Self::new(pool) }
    }

    fn coins(&self) -> (Address, Address) {
        let coin = |place: usize| self.pool.coins.get(place).copied().unwrap_or_default();
        (coin(0), coin(1))
    }

    fn ask_itself(&self) -> Vec<Question> {
        let (asset, wrapped) = self.coins();
        let mut asked = vec![
            ask(VAULT, &getBufferBalanceCall { wrappedToken: wrapped }),
            ask(VAULT, &areBuffersPausedCall {}),
            ask(wrapped, &assetCall {}),
        ];
        if self.kind.is_none() {
            asked.push(ask(VAULT, &getERC4626BufferAssetCall { wrappedToken: wrapped }));
            asked.push(ask(VAULT, &getMinimumWrapAmountCall {}));
            asked.extend(ask_kind(wrapped, asset));
        }
        asked
    }

    fn hear_itself(&mut self, answers: &mut Answers<'_>) -> Result<(), DecodeError> {
        let (asset, wrapped) = self.coins();
        let odd = |what| Err(impossible(self.pool.key.contract, what));
        let held = answers.next::<getBufferBalanceCall>()?;
        let paused = answers.next::<areBuffersPausedCall>()?;
        if answers.next::<assetCall>()? != asset {
            return odd("another asset than the buffer was made for");
        }
        let held = [held.underlyingBalanceRaw, held.wrappedBalanceRaw];
        if held.iter().any(|held| held.bit_len() > 128) {
            return odd("more than 128 bits in a buffer");
        }
        if self.kind.is_none() {
            if answers.next::<getERC4626BufferAssetCall>()? != asset {
                return odd("another asset than announced");
            }
            if answers.next::<getMinimumWrapAmountCall>()? != U256::from(MINIMUM_WRAP) {
                return odd("another least amount than the vault of mainnet has");
            }
            self.kind = kind(wrapped, answers);
        }
        self.itself = Some((held, paused));
        Ok(())
    }

    /// Adds the calls of the vault's reader.
    fn proceed(&mut self, progress: ReadProgress) -> Result<ReadProgress, DecodeError> {
        match progress {
            ReadProgress::Calls(calls) => {
                self.asked_behind = calls.len();
                Ok(ReadProgress::Calls(calls))
            }
            ReadProgress::Done(state) => {
                let (Some((held, paused)), Some(kind)) = (self.itself, self.kind) else {
                    return Err(DecodeError::AnswerCount { expected: self.asked.len(), got: 0 });
                };
                let (_, wrapped) = self.coins();
                let vault = Vault { product: kind.product(), state };
                let state = State { wrapped, held, paused, vault };
                Ok(ReadProgress::Done(Arc::new(state).into()))
            }
        }
    }

    fn open(&mut self, kind: Kind) -> ReadProgress {
        let (asset, wrapped) = self.coins();
        self.behind.insert(kind.reader(wrapped, asset, self.was.as_ref())).start()
    }
}

impl StateReader for BufferReader {
    fn start(&mut self) -> ReadProgress {
        self.asked = self.ask_itself();
        let mut all = calls(&self.asked);
        if let Some(kind) = self.kind
            && let ReadProgress::Calls(behind) = self.open(kind)
        {
            self.asked_behind = behind.len();
            all.extend(behind);
        }
        ReadProgress::Calls(all)
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let got = answers.len();
        if got != asked.len() + self.asked_behind {
            return Err(DecodeError::AnswerCount { expected: asked.len() + self.asked_behind, got });
        }
        let (own, behind) = answers.split_at(asked.len());
        if !asked.is_empty() {
            let mut own = Answers::new(self.pool.key.contract, &asked, own)?;
            self.hear_itself(&mut own)?;
        }
        let progress = match (&mut self.behind, self.kind) {
            (Some(reader), _) => reader.feed(behind)?,
            (None, Some(kind)) => self.open(kind),
            (None, None) => return Err(DecodeError::AnswerCount { expected: asked.len(), got }),
        };
        self.proceed(progress)
    }
}
