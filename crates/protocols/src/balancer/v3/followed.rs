//! Rates that follow from a vault. A coin of a boosted pool is the share of an ERC-4626 vault, and its rate provider
//! returns the redemption value of a number of shares. If that vault is modelled, the rate is computed for the block of
//! execution, instead of the block of the reading.

use alloy_primitives::{Address, Bytes, U256, uint};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use crate::{
    Call, DecodeError, ReadProgress, RouteState, StateReader,
    answers::{Answers, Question, ask, calls},
    vault::{Kind, Vault, ask_kind, kind},
};

sol! {
    function asset() external view returns (address);
}

/// Maximum difference between the decimals of a share and of its asset.
const MOST_DECIMALS_APART: u64 = 12;

/// A coin whose rate follows from a vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// Position of the coin.
    pub coin: u8,
    /// The coin, which is also the vault's address.
    pub token: Address,
    /// Asset of the vault.
    pub asset: Address,
    /// Number of shares in the provider's request.
    pub shares: U256,
    /// The vault.
    pub vault: Vault,
}

impl Followed {
    /// Computes the provider's answer in a block, after a route's trades with vaults; `None` if it reverts.
    pub fn rate(&self, at: &ExecutionBlock, route: &RouteState) -> Option<U256> {
        self.vault.rate(at, route.before(self.token)).ok()?.down(false, self.shares)
    }

    /// Finds the number of shares in the provider's request from its answer at a time.
    fn identify(mut self, rate: U256, timestamp: u64) -> Result<Self, Mismatch> {
        let at = ExecutionBlock { number: 0, timestamp };
        let of = |apart: u64| U256::from(10).pow(U256::from(18 + apart));
        let mut mismatch = Mismatch::Complete;
        for shares in (0..=MOST_DECIMALS_APART).map(of) {
            self.shares = shares;
            match self.rate(&at, &RouteState::default()).map(|said| said.abs_diff(rate)) {
                Some(U256::ZERO) => return Ok(self),
                Some(apart) if apart > ROUNDING && apart <= rate / NEAR => mismatch = Mismatch::Slight,
                _ => {}
            }
        }
        Err(mismatch)
    }
}

/// How the provider's answer differs from the vault's conversion of any number of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mismatch {
    /// By as much as rates of two blocks do.
    Slight,
    Complete,
}

/// Limits of such differences: rates within the first differ by rounding, rates within one part in the second by the
/// block.
const ROUNDING: U256 = uint!(2_U256);
const NEAR: U256 = uint!(10_000_U256);

/// A coin that may be a vault's share, during identification.
#[derive(Default)]
struct Candidate {
    coin: u8,
    token: Address,
    asset: Option<Address>,
    was: Option<Vault>,
    reader: Option<Box<dyn StateReader>>,
    kind: Option<Kind>,
    asked: usize,
    vault: Option<Vault>,
    /// Whether its vault could not be read once already.
    failed: bool,
}

impl Candidate {
    /// Starts reading the vault, if it is not read yet.
    fn open(&mut self) -> Vec<Call> {
        let (Some(kind), Some(asset), None) = (self.kind, self.asset, &self.vault) else { return Vec::new() };
        let mut reader = kind.reader(self.token, asset, self.was.as_ref());
        let ReadProgress::Calls(calls) = reader.start() else { return Vec::new() };
        (self.reader, self.asked) = (Some(reader), calls.len());
        calls
    }

    /// Continues the reading, and returns the next calls.
    fn read_on(&mut self, answers: &[Option<Bytes>]) -> Vec<Call> {
        let Some(reader) = &mut self.reader else { return Vec::new() };
        let progress = reader.feed(answers);
        if let Ok(ReadProgress::Calls(calls)) = progress {
            self.asked = calls.len();
            return calls;
        }
        (self.reader, self.asked) = (None, 0);
        match (progress, self.kind) {
            (Ok(ReadProgress::Done(state)), Some(kind)) => self.vault = Some(Vault { product: kind.product(), state }),
            // calls of several rounds may be from two blocks
            (Err(_), _) if self.was.is_none() && !self.failed => {
                self.failed = true;
                return self.open();
            }
            _ => {}
        }
        Vec::new()
    }

    /// Returns the coin with its vault, if its provider agrees with the vault.
    fn followed(&self, rate: Option<U256>, timestamp: u64) -> Result<Followed, Mismatch> {
        let parts = (self.vault.clone(), self.asset, rate);
        let (Some(vault), Some(asset), Some(rate)) = parts else { return Err(Mismatch::Complete) };
        let Self { coin, token, .. } = *self;
        Followed { coin, token, asset, shares: U256::ZERO, vault }.identify(rate, timestamp)
    }
}

/// Next round for all candidates.
#[derive(Clone, Copy)]
enum Stage {
    /// The assets of the coins.
    Assets,
    /// The factories of the vaults.
    Kinds,
    /// The vaults themselves.
    Vaults,
}

/// Reads the vaults of a pool's coins. A vault that cannot be read does not exclude the pool: the provider's answer is
/// then used as the rate.
pub(super) struct FollowedReader {
    candidates: Vec<Candidate>,
    stage: Stage,
    asked: Vec<Question>,
}

impl FollowedReader {
    /// Returns a reader for all coins.
    pub(super) fn new(coins: &[Address]) -> Self {
        let candidate = |(coin, token): (u8, &Address)| Candidate { coin, token: *token, ..Candidate::default() };
        let candidates = (0_u8..).zip(coins).map(candidate).collect();
        Self { candidates, stage: Stage::Assets, asked: Vec::new() }
    }

    /// Returns a reader for the coins whose rates followed at the earlier reading. Vaults known to be unchanged are not
    /// read.
    pub(super) fn again(coins: &[Address], was: &[Followed], stands: impl Fn(&Vault) -> bool) -> Self {
        let mut all = Self { stage: Stage::Vaults, ..Self::new(coins) };
        all.candidates.retain_mut(|candidate| {
            let Some(before) = was.iter().find(|followed| followed.coin == candidate.coin) else { return false };
            candidate.asset = Some(before.asset);
            candidate.kind = Some(Kind::of(&before.vault, candidate.token));
            candidate.was = Some(before.vault.clone());
            candidate.vault = Some(before.vault.clone()).filter(&stands);
            true
        });
        all
    }

    /// Returns the first calls.
    pub(super) fn start(&mut self) -> Vec<Call> {
        if matches!(self.stage, Stage::Vaults) {
            return self.open();
        }
        self.asked = self.candidates.iter().map(|candidate| ask(candidate.token, &assetCall {})).collect();
        calls(&self.asked)
    }

    /// Takes the answers, and returns the next calls; none at the end. Coins without a provider are ignored.
    ///
    /// # Errors
    /// [`DecodeError::AnswerCount`].
    pub(super) fn feed(
        &mut self,
        pool: Address,
        answers: &[Option<Bytes>],
        rated: impl Fn(u8) -> bool,
    ) -> Result<Vec<Call>, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        match self.stage {
            Stage::Assets => {
                let mut answers = Answers::new(pool, &asked, answers)?;
                self.candidates.retain_mut(|candidate| {
                    candidate.asset = answers.try_next::<assetCall>();
                    candidate.asset.is_some() && rated(candidate.coin)
                });
                let kinds = self.candidates.iter().flat_map(|one| ask_kind(one.token, one.asset.unwrap_or_default()));
                self.asked = kinds.collect();
                self.stage = Stage::Kinds;
                Ok(calls(&self.asked))
            }
            Stage::Kinds => {
                let mut answers = Answers::new(pool, &asked, answers)?;
                self.candidates.retain_mut(|candidate| {
                    candidate.kind = kind(candidate.token, &mut answers);
                    candidate.kind.is_some_and(Kind::is_verified)
                });
                self.stage = Stage::Vaults;
                Ok(self.open())
            }
            Stage::Vaults => Ok(self.read_on(answers)),
        }
    }

    fn open(&mut self) -> Vec<Call> {
        self.candidates.iter_mut().flat_map(Candidate::open).collect()
    }

    fn read_on(&mut self, answers: &[Option<Bytes>]) -> Vec<Call> {
        let mut rest = answers;
        let next = |candidate: &mut Candidate| {
            let (own, others) = rest.split_at_checked(candidate.asked).unwrap_or((rest, &[]));
            rest = others;
            candidate.read_on(own)
        };
        self.candidates.iter_mut().flat_map(next).collect()
    }

    /// Returns the coins whose providers agree with their vaults, from the rates and the block's time.
    ///
    /// # Errors
    /// If a rate that followed no longer does, or one is close to the vault's conversion. The answers are then of two
    /// blocks, and another reading may agree.
    pub(super) fn followed(
        &self,
        rate: impl Fn(u8) -> Option<U256>,
        timestamp: u64,
    ) -> Result<Vec<Followed>, &'static str> {
        let mut all = Vec::new();
        for candidate in &self.candidates {
            match candidate.followed(rate(candidate.coin), timestamp) {
                Ok(followed) => all.push(followed),
                Err(mismatch) if candidate.was.is_some() || mismatch == Mismatch::Slight => {
                    return Err("a rate that differs from its vault's in this block");
                }
                Err(_) => {}
            }
        }
        Ok(all)
    }
}
