//! Rates that follow from a vault. A coin of a boosted pool is the share of an ERC-4626 vault, and its rate provider says what so many
//! shares redeem for: where that vault is understood, the rate is that of the block's second, and not of the block that was read.

use alloy_primitives::{Address, Bytes, U256, uint};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use crate::{
    Call, DecodeError, PoolState, Product, ReadProgress, StateReader,
    answers::{Answers, Question, ask, calls},
    vault::{Kind, Trades, Vault, ask_kind, kind},
};

sol! {
    function asset() external view returns (address);
}

/// How many more decimals than its asset a share may have.
const MOST_DECIMALS_APART: u64 = 12;

/// A coin whose rate follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// Its position.
    pub coin: u8,
    /// What the vault holds.
    pub asset: Address,
    /// How many shares the provider asks about.
    pub shares: U256,
    /// The vault whose share the coin is.
    pub vault: Vault,
}

impl Followed {
    /// What the provider says in a block; `None` where it reverts.
    pub fn rate(&self, at: &ExecutionBlock) -> Option<U256> {
        self.vault.rate(at, &Trades::default()).ok()?.down(false, self.shares)
    }

    /// The vault of a coin whose provider said a rate at a time, if that is what it says of some shares.
    fn understood(coin: u8, asset: Address, vault: Vault, rate: U256, timestamp: u64) -> Result<Self, Unlike> {
        let at = ExecutionBlock { number: 0, timestamp };
        let of = |apart: u64| U256::from(10).pow(U256::from(18 + apart));
        let mut followed = Self { coin, asset, shares: U256::ZERO, vault };
        let mut unlike = Unlike::Altogether;
        for shares in (0..=MOST_DECIMALS_APART).map(of) {
            followed.shares = shares;
            match followed.rate(&at).map(|said| said.abs_diff(rate)) {
                Some(U256::ZERO) => return Ok(followed),
                Some(apart) if apart > ROUNDING && apart <= rate / NEAR => unlike = Unlike::ByLittle,
                _ => {}
            }
        }
        Err(unlike)
    }
}

/// How what a provider said differs from what the vault says of any number of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unlike {
    /// As rates of two blocks do.
    ByLittle,
    Altogether,
}

/// Rates that are no further apart differ by their rounding; those within one part of so many by the block.
const ROUNDING: U256 = uint!(2_U256);
const NEAR: U256 = uint!(10_000_U256);

/// A coin that may be a vault's share, while it is found out.
struct Candidate {
    coin: u8,
    share: Address,
    asset: Option<Address>,
    was: Option<Vault>,
    reader: Option<Box<dyn StateReader>>,
    kind: Option<Kind>,
    asked: usize,
    vault: Option<Vault>,
}

/// What is asked next of all candidates at once.
#[derive(Clone, Copy)]
enum Stage {
    /// What each coin is a share of.
    Assets,
    /// Who made those vaults.
    Kinds,
    /// The vaults themselves.
    Vaults,
}

/// Reads the vaults of a pool's coins. A vault that cannot be read is no reason to leave the pool out: its rate is then what it was told.
pub(super) struct FollowedReader {
    candidates: Vec<Candidate>,
    stage: Stage,
    asked: Vec<Question>,
}

impl FollowedReader {
    /// Of all coins.
    pub(super) fn new(coins: &[Address]) -> Self {
        let candidate = |(coin, share): (u8, &Address)| Candidate {
            coin,
            share: *share,
            asset: None,
            was: None,
            reader: None,
            kind: None,
            asked: 0,
            vault: None,
        };
        let candidates = (0_u8..).zip(coins).map(candidate).collect();
        Self { candidates, stage: Stage::Assets, asked: Vec::new() }
    }

    /// Of those that followed when the pool was read before.
    pub(super) fn again(coins: &[Address], was: &[Followed]) -> Self {
        let mut all = Self { stage: Stage::Vaults, ..Self::new(coins) };
        all.candidates.retain_mut(|candidate| {
            let Some(before) = was.iter().find(|followed| followed.coin == candidate.coin) else { return false };
            candidate.asset = Some(before.asset);
            candidate.kind = Some(Kind::of(&before.vault, candidate.share));
            candidate.was = Some(before.vault.clone());
            true
        });
        all
    }

    /// The first calls.
    pub(super) fn start(&mut self) -> Vec<Call> {
        if matches!(self.stage, Stage::Vaults) {
            return self.open();
        }
        self.asked = self.candidates.iter().map(|candidate| ask(candidate.share, &assetCall {})).collect();
        calls(&self.asked)
    }

    /// Takes the answers of the calls before, and asks on; no calls are the end. Coins without a provider do not matter.
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
                let kinds = self.candidates.iter().flat_map(|one| ask_kind(one.share, one.asset.unwrap_or_default()));
                self.asked = kinds.collect();
                self.stage = Stage::Kinds;
                Ok(calls(&self.asked))
            }
            Stage::Kinds => {
                let mut answers = Answers::new(pool, &asked, answers)?;
                // what takes one round at every block
                let one_round = |kind: Kind| matches!(kind.product(), Product::Erc4626 | Product::FluidFToken);
                self.candidates.retain_mut(|candidate| {
                    let kind = kind(candidate.share, &mut answers);
                    candidate.kind = Some(kind);
                    kind.is_vouched() && one_round(kind)
                });
                self.stage = Stage::Vaults;
                Ok(self.open())
            }
            Stage::Vaults => Ok(self.read_on(answers)),
        }
    }

    fn open(&mut self) -> Vec<Call> {
        let mut all = Vec::new();
        for candidate in &mut self.candidates {
            let (Some(kind), Some(asset)) = (candidate.kind, candidate.asset) else { continue };
            let mut reader = kind.reader(candidate.share, asset, candidate.was.as_ref());
            if let ReadProgress::Calls(calls) = reader.start() {
                candidate.asked = calls.len();
                all.extend(calls);
                candidate.reader = Some(reader);
            }
        }
        all
    }

    fn read_on(&mut self, answers: &[Option<Bytes>]) -> Vec<Call> {
        let (mut rest, mut all) = (answers, Vec::new());
        for candidate in &mut self.candidates {
            let (own, others) = rest.split_at_checked(candidate.asked).unwrap_or((rest, &[]));
            rest = others;
            let Some(reader) = &mut candidate.reader else { continue };
            match reader.feed(own) {
                Ok(ReadProgress::Calls(calls)) => {
                    candidate.asked = calls.len();
                    all.extend(calls);
                    continue;
                }
                Ok(ReadProgress::Done(state)) => candidate.vault = candidate.kind.map(|kind| of(kind, state)),
                Err(_) => {}
            }
            (candidate.reader, candidate.asked) = (None, 0);
        }
        all
    }

    /// The coins whose providers said what their vaults say, given the rates and the time of the block.
    ///
    /// # Errors
    /// Where a rate that followed does so no more, or one is next to what its vault says: the answers are of two blocks, and read
    /// once more they may fit.
    pub(super) fn followed(
        &self,
        rate: impl Fn(u8) -> Option<U256>,
        timestamp: u64,
    ) -> Result<Vec<Followed>, &'static str> {
        let mut all = Vec::new();
        for candidate in &self.candidates {
            let parts = (candidate.vault.clone(), candidate.asset, rate(candidate.coin));
            let understood = match parts {
                (Some(vault), Some(asset), Some(rate)) => {
                    Followed::understood(candidate.coin, asset, vault, rate, timestamp)
                }
                _ => Err(Unlike::Altogether),
            };
            match understood {
                Ok(followed) => all.push(followed),
                Err(unlike) if candidate.was.is_some() || unlike == Unlike::ByLittle => {
                    return Err("a rate that is not what its vault says in this block");
                }
                Err(_) => {}
            }
        }
        Ok(all)
    }
}

fn of(kind: Kind, state: PoolState) -> Vault {
    Vault { product: kind.product(), state }
}
