//! Coins that are contracts with numbers of their own: read along with the pool, so that what they are worth is known for the next
//! block. Vaults of the list, whose shares a pool of the next generation asks for their worth; and stETH, which moves as shares.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use braid_primitives::ExecutionBlock;

use super::{
    pool::{Model, State},
    reader::PoolReader,
    stable::{Rate, VaultRate},
};
use crate::{
    Call, DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader, answers::impossible, erc4626,
};

/// What a coin that is stETH needs.
pub(super) use crate::lido::{STETH, State as StethRate, WSTETH};

/// Tells whether a coin is a vault's share whose worth follows from the vault.
pub(super) fn is_listed_share(coin: Address) -> bool {
    erc4626::LISTED.iter().any(|listed| listed.vault == coin)
}

sol! {
    function decimals() external view returns (uint8);
    function getCurrentBlockTimestamp() external view returns (uint256);
}

/// A reader of a pool and of the coins that have numbers of their own. What never changes is taken from an earlier state.
pub(super) fn reader(pool: &Discovered, was: Option<&State>) -> Box<dyn StateReader> {
    let own = PoolReader::new(pool, was);
    let partners: Vec<Partner> =
        pool.coins.iter().enumerate().filter_map(|(coin, token)| Partner::of(pool, coin, *token)).collect();
    if partners.is_empty() {
        return Box::new(own);
    }
    Box::new(WithPartners { pool: pool.key.contract, own, own_calls: 0, state: None, partners, clock: None })
}

/// A coin and the reader of its contract.
struct Partner {
    coin: usize,
    reader: Box<dyn StateReader>,
    /// How many of the round's answers are its own.
    calls: usize,
    state: Option<PoolState>,
    token: Address,
    /// A vault's share and asset, whose decimals are asked for, and the answers.
    tokens: Option<[Address; 2]>,
    decimals: Option<[u8; 2]>,
}

impl Partner {
    fn of(pool: &Discovered, coin: usize, token: Address) -> Option<Self> {
        let read = |product: Product, coins: Vec<Address>| {
            let discovered = Discovered { key: token.into(), product, coins, fee_pips: 0, tick_spacing: 0 };
            product.reader(&discovered)
        };
        let vault = erc4626::LISTED.iter().find(|listed| listed.vault == token);
        let (reader, tokens) = match (pool.product, vault) {
            (Product::CurveStableswapNg, Some(listed)) => {
                let tokens = [listed.vault, listed.asset];
                (read(Product::Erc4626, vec![listed.asset, listed.vault]), Some(tokens))
            }
            _ if token == STETH => (read(Product::LidoSteth, vec![token]), None),
            _ => return None,
        };
        Some(Self { coin, reader, calls: 0, state: None, token, tokens, decimals: None })
    }

    /// Takes the round's answers; a contract that answers oddly is left alone.
    fn feed(&mut self, answers: &[Option<Bytes>]) -> Vec<Call> {
        match self.reader.feed(answers) {
            Ok(ReadProgress::Calls(calls)) => calls,
            Ok(ReadProgress::Done(state)) => {
                self.state = Some(state);
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// The worth of a vault's share, as the pool works it out.
    fn rate(&self) -> Option<VaultRate> {
        let (Some(PoolState::Erc4626(vault)), Some([share, asset])) = (&self.state, self.decimals) else { return None };
        let power = |exponent: u8| U256::from(10).checked_pow(U256::from(exponent));
        Some(VaultRate {
            multiplier: power(36_u8.checked_sub(share)?)?,
            whole_share: power(share)?,
            asset_scale: power(18_u8.checked_sub(asset)?)?,
            address: self.token,
            vault: **vault,
        })
    }
}

struct WithPartners {
    pool: Address,
    own: PoolReader,
    own_calls: usize,
    state: Option<PoolState>,
    partners: Vec<Partner>,
    /// When the pool was read, unix seconds.
    clock: Option<u64>,
}

fn small<T: TryFrom<U256>>(answer: Option<&Option<Bytes>>) -> Option<T> {
    U256::try_from_be_slice(answer?.as_ref()?.get(..32)?).and_then(|word| T::try_from(word).ok())
}

impl WithPartners {
    /// Questions that come with the first round only.
    fn first_round(&self) -> Vec<Call> {
        let clock = getCurrentBlockTimestampCall {}.abi_encode();
        let mut calls = vec![Call { to: crate::answers::MULTICALL3, data: clock.into() }];
        for token in self.partners.iter().filter_map(|partner| partner.tokens).flatten() {
            calls.push(Call { to: token, data: decimalsCall {}.abi_encode().into() });
        }
        calls
    }

    fn done(&mut self) -> Result<ReadProgress, DecodeError> {
        let Some(PoolState::Curve(state)) = self.state.take() else {
            return Err(impossible(self.pool, "no pool of Curve's"));
        };
        let mut state = std::sync::Arc::unwrap_or_clone(state);
        for partner in &self.partners {
            if let Some(PoolState::Lido(lido)) = &partner.state {
                state.steth = u8::try_from(partner.coin).ok().map(|coin| (coin, *lido));
            } else if partner.tokens.is_none() {
                return Err(impossible(self.pool, "stETH without a rate"));
            }
            let (Some(rate), Model::Stable(pool), Some(timestamp)) = (partner.rate(), &mut state.model, self.clock)
            else {
                continue;
            };
            let Some(said) = pool.rates.0.get_mut(partner.coin) else { continue };
            // the pool may not ask the vault at all
            let (now, rate) = (ExecutionBlock { number: 0, timestamp }, Rate::Vault(Box::new(rate)));
            if rate.at(&now) == said.at(&now) {
                *said = rate;
            }
        }
        Ok(ReadProgress::Done(PoolState::Curve(state.into())))
    }
}

impl StateReader for WithPartners {
    fn start(&mut self) -> ReadProgress {
        let mut calls = self.first_round();
        if let ReadProgress::Calls(own) = self.own.start() {
            self.own_calls = own.len();
            calls.extend(own);
        }
        for partner in &mut self.partners {
            if let ReadProgress::Calls(theirs) = partner.reader.start() {
                partner.calls = theirs.len();
                calls.extend(theirs);
            }
        }
        ReadProgress::Calls(calls)
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let extra = if self.clock.is_none() { self.first_round().len() } else { 0 };
        let expected = extra + self.own_calls + self.partners.iter().map(|partner| partner.calls).sum::<usize>();
        if answers.len() != expected {
            return Err(DecodeError::AnswerCount { expected, got: answers.len() });
        }
        let (first, rest) = answers.split_at(extra);
        if let Some((clock, decimals)) = first.split_first() {
            let clock = small(Some(clock)).ok_or(impossible(self.pool, "no time of the block"))?;
            self.clock = Some(clock);
            let vaults = self.partners.iter_mut().filter(|partner| partner.tokens.is_some());
            for (partner, pair) in vaults.zip(decimals.chunks(2)) {
                let pair: Vec<u8> = pair.iter().filter_map(|answer| small(Some(answer))).collect();
                partner.decimals = pair.try_into().ok();
            }
        }
        let (own, mut rest) = rest.split_at(self.own_calls);
        let mut calls = Vec::new();
        if self.own_calls > 0 {
            self.own_calls = 0;
            match self.own.feed(own)? {
                ReadProgress::Calls(own) => {
                    self.own_calls = own.len();
                    calls.extend(own);
                }
                ReadProgress::Done(state) => self.state = Some(state),
            }
        }
        for partner in self.partners.iter_mut().filter(|partner| partner.calls > 0) {
            let (theirs, others) = rest.split_at(partner.calls);
            rest = others;
            let next = partner.feed(theirs);
            partner.calls = next.len();
            calls.extend(next);
        }
        if calls.is_empty() { self.done() } else { Ok(ReadProgress::Calls(calls)) }
    }
}
