//! Reads a pool of any kind, in one round or two: what it is and holds, then what it stands on.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::{SolCall, SolValue, sol};

use braid_primitives::NATIVE_ETHER;

use super::{
    crypto::Kind,
    evidence::Evidence,
    known::{self, Identity},
    pool::{Model, State},
    read::{CryptoReading, StableReading},
    stable::{self, BasePool, CachedPrice, MetaGeneration, MetaState, ProductRule, Rate, Rates, Rules},
};
use crate::{
    Call, DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader, answers::impossible, pool::MAX_COINS,
};

sol! {
    function decimals() external view returns (uint8);
    function totalSupply() external view returns (uint256);
    function stored_rates() external view returns (uint256[]);
    function base_virtual_price() external view returns (uint256);
    function base_cache_updated() external view returns (uint256);
    function token() external view returns (address);
    function version() external view returns (string);
    function offpeg_fee_multiplier() external view returns (uint256);
}

const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Reads one pool.
#[derive(Clone, Debug)]
pub(super) struct PoolReader {
    pool: Discovered,
    /// What the pool is, where that is known before it is asked.
    identity: Option<Identity>,
    second: Option<Second>,
}

/// What the second round is about.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one for each pool that is being read")]
enum Second {
    /// The base pool of a metapool, and the metapool itself.
    Base { base: Address, pool: Box<stable::State>, cached_price: Option<CachedPrice>, reading: StableReading },
    /// A CryptoSwap pool, once its share is known.
    Crypto(CryptoReading),
}

/// CryptoSwap pools of 2021 and their shares: asking for the number of shares along with the rest saves a round.
const SHARES: &[(Address, Address)] = &[
    (address!("D51a44d3FaE010294C616388b506AcdA1bfAAE46"), address!("c4AD29ba4B3c580e6D59105FFf484999997675Ff")),
    (address!("8301AE4fc9c624d1D396cbDAa1ed877821D7C511"), address!("Ed4064f376cB8d68F770FB1Ff088a3d0F3FF5c4d")),
    (address!("0f3159811670c117c372428D4E69AC32325e4D0F"), address!("6c38cE8984a890F5e46e6dF6117C26b3F1EcfC9C")),
];

fn word(answer: Option<&Option<Bytes>>) -> Option<U256> {
    U256::try_from_be_slice(answer?.as_ref()?.get(..32)?)
}

fn address_of(answer: Option<&Option<Bytes>>) -> Option<Address> {
    word(answer).filter(|word| word.bit_len() <= 160).map(|word| Address::from_word(word.into()))
}

impl PoolReader {
    pub(super) fn new(pool: &Discovered, was: Option<&State>) -> Self {
        let identity = was.map(Identity::of).or_else(|| known::by_hand(pool));
        Self { pool: pool.clone(), identity, second: None }
    }

    fn impossible(&self, what: &'static str) -> DecodeError {
        impossible(self.pool.key.contract, what)
    }

    /// Coins whose decimals are asked for: ether has no contract.
    fn asked_coins(&self) -> impl Iterator<Item = &Address> {
        self.pool.coins.iter().filter(|coin| **coin != NATIVE_ETHER)
    }

    /// What the product adds to the first round, before the pool's own questions.
    fn extra(&self) -> Vec<Call> {
        let to = self.pool.key.contract;
        let call = |data: Vec<u8>| Call { to, data: data.into() };
        match self.pool.product {
            Product::CurveStableswapNg => vec![call(stored_ratesCall {}.abi_encode())],
            Product::CurveMetapool if self.presumed().remembers_price => {
                vec![call(base_virtual_priceCall {}.abi_encode()), call(base_cache_updatedCall {}.abi_encode())]
            }
            Product::CurveStableswap | Product::CurveMetapool => Vec::new(),
            Product::CurveTricryptoNg | Product::CurveTwocryptoNg => vec![call(versionCall {}.abi_encode())],
            _ => vec![call(tokenCall {}.abi_encode())],
        }
    }

    fn is_crypto(&self) -> bool {
        !matches!(self.pool.product, Product::CurveStableswap | Product::CurveStableswapNg | Product::CurveMetapool)
    }

    /// A reading of some coins at a pool; rates are those of decimals.
    fn reading(&self, pool: Address, rates: &[U256], rules: Rules) -> StableReading {
        let own = pool == self.pool.key.contract && self.pool.product == Product::CurveStableswapNg;
        let next_base = self.stands_on_next(pool);
        let rates = rates.iter().copied().take(MAX_COINS).collect();
        StableReading { pool, rates, rules, fee_moves: own || next_base || known::is_of_aave(pool) }
    }

    /// Whether a metapool's base pool is of the next generation: its share is the pool itself.
    fn stands_on_next(&self, base: Address) -> bool {
        self.pool.product == Product::CurveMetapool && self.pool.coins.get(1) == Some(&base)
    }

    fn own_coins(&self) -> usize {
        if self.pool.product == Product::CurveMetapool { 2 } else { self.pool.coins.len() }
    }

    /// What the pool is as far as questions go: pools that have yet to show what they are all take the same.
    fn presumed(&self) -> Identity {
        self.identity.unwrap_or_else(|| Identity::usual(&self.pool))
    }

    /// What shows what the pool is, where that is not known.
    fn evidence(&self) -> Vec<Call> {
        if self.identity.is_some() { Vec::new() } else { Evidence::questions(&self.pool) }
    }

    fn first_round(&self) -> Vec<Call> {
        let decimals = |coin: &Address| Call { to: *coin, data: decimalsCall {}.abi_encode().into() };
        let mut calls: Vec<Call> = self.asked_coins().map(decimals).collect();
        calls.extend(self.evidence());
        calls.extend(self.extra());
        if !self.is_crypto() {
            let rates = vec![WAD; self.own_coins()];
            calls.extend(self.reading(self.pool.key.contract, &rates, self.presumed().rules).calls());
        }
        calls.extend(self.guessed());
        calls
    }

    /// What a second round would ask, where it is known in advance what that will be about.
    fn guessed(&self) -> Vec<Call> {
        if let Some(reading) = self.guessed_crypto() {
            return reading.calls();
        }
        if self.pool.product != Product::CurveMetapool || self.pool.coins.get(1) != Some(&known::THREE_CRV) {
            return Vec::new();
        }
        self.base_calls(&self.reading(known::THREE_POOL, &[WAD; 3], known::rules(known::THREE_POOL)), self.presumed())
    }

    fn guessed_crypto(&self) -> Option<CryptoReading> {
        let pool = self.pool.key.contract;
        let (kind, shares) = match self.pool.product {
            Product::CurveTricryptoNg => (Kind::TricryptoNg, pool),
            Product::CurveTwocryptoNg => (Kind::TwocryptoNg, pool),
            Product::CurveTricrypto => (Kind::Tricrypto, self.listed_share()?),
            Product::CurveCryptoswap => (Kind::Cryptoswap(self.presumed().two), self.listed_share()?),
            _ => return None,
        };
        Some(CryptoReading { pool, shares, kind, precisions: [U256::ONE; 3] })
    }

    fn listed_share(&self) -> Option<Address> {
        SHARES.iter().find(|(pool, _)| *pool == self.pool.key.contract).map(|(_, share)| *share)
    }

    /// The base pool's questions, how many shares it has, and what only metapools of the next generation know.
    fn base_calls(&self, reading: &StableReading, identity: Identity) -> Vec<Call> {
        let mut calls = reading.calls();
        let share = self.pool.coins.get(1).copied().unwrap_or_default();
        calls.push(Call { to: share, data: totalSupplyCall {}.abi_encode().into() });
        if identity.next {
            let own = [offpeg_fee_multiplierCall {}.abi_encode(), stored_ratesCall {}.abi_encode()];
            calls.extend(own.map(|data| Call { to: self.pool.key.contract, data: data.into() }));
        }
        calls
    }

    /// What the second round says of a metapool of the next generation: its own coin has no rate but that of its decimals.
    fn next_of(&self, pool: &mut stable::State, answers: &[Option<Bytes>]) -> Result<(), DecodeError> {
        let multiplier = word(answers.first()).and_then(|multiplier| u64::try_from(multiplier).ok());
        pool.offpeg_fee_multiplier =
            multiplier.ok_or_else(|| self.impossible("a fee that does not say how it moves"))?;
        let said = answers.get(1).and_then(Option::as_ref).and_then(|said| Vec::<U256>::abi_decode(said).ok());
        let said = said.and_then(|said| said.first().copied()).map(Rate::Fixed);
        if said.as_ref() != pool.rates.0.first() {
            return Err(self.impossible("a coin with a rate of its own"));
        }
        Ok(())
    }

    /// What one atomic unit of each coin is worth by its decimals, `10^(36 − decimals)`.
    fn rates(&self, answers: &[Option<Bytes>]) -> Result<Vec<U256>, DecodeError> {
        let mut answers = answers.iter();
        let rate = |coin: &Address| {
            let decimals = if *coin == NATIVE_ETHER { Some(U256::from(18)) } else { word(answers.next()) };
            let power = U256::from(36).checked_sub(decimals.filter(|decimals| *decimals <= U256::from(18))?)?;
            U256::from(10).checked_pow(power)
        };
        let rates: Option<Vec<U256>> = self.pool.coins.iter().map(rate).collect();
        rates.ok_or_else(|| self.impossible("a coin without decimals, or with more than 18"))
    }

    fn state(&self, model: Model) -> State {
        let ether = self.pool.coins.iter().position(|coin| *coin == NATIVE_ETHER);
        let base_pool = match &self.second {
            Some(Second::Base { base, .. }) => Some(*base),
            _ => None,
        };
        let ether_coin = ether.and_then(|coin| u8::try_from(coin).ok());
        State { model, ether_coin, base_pool, has_oracle: false, steth: None }
    }

    fn done(&self, state: State) -> Result<ReadProgress, DecodeError> {
        state.validate().map_err(|what| self.impossible(what))?;
        if state.coins() != self.pool.coins.len() {
            return Err(self.impossible("balances for other coins"));
        }
        Ok(ReadProgress::Done(PoolState::Curve(state.into())))
    }

    fn understand(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let (of_coins, rest) = answers.split_at(self.asked_coins().count().min(answers.len()));
        let rates = self.rates(of_coins)?;
        let (evidence, rest) = rest.split_at(self.evidence().len().min(rest.len()));
        let (extra, rest) = rest.split_at(self.extra().len().min(rest.len()));
        let (of_pool, guessed) = rest.split_at(rest.len().saturating_sub(self.guessed().len()));
        let address = self.pool.key.contract;
        if self.identity.is_none() {
            let shown = Evidence::understand(&self.pool, evidence).map_err(|what| self.impossible(what))?;
            self.identity = Some(shown);
        }
        let identity = self.presumed();
        if self.is_crypto() {
            return self.ask_crypto(&rates, extra, guessed);
        }
        let own = rates.get(..self.own_coins()).unwrap_or(&rates);
        let mut pool = self.reading(address, own, identity.rules).state(of_pool)?;
        match self.pool.product {
            Product::CurveStableswapNg => {
                let said = extra.first().and_then(Option::as_ref).and_then(|said| Vec::<U256>::abi_decode(said).ok());
                let said = said.filter(|said| said.len() == rates.len());
                let said = said.ok_or_else(|| self.impossible("stored rates that do not fit its coins"))?;
                pool.rates = Rates::fixed(said.iter().copied());
                let mut state = self.state(Model::Stable(pool));
                state.has_oracle = said != rates;
                self.done(state)
            }
            Product::CurveMetapool => {
                let base = identity.base.ok_or_else(|| self.impossible("a base pool that is not known"))?;
                let cached_price = match (word(extra.first()), word(extra.get(1))) {
                    (Some(value), Some(updated)) => Some(CachedPrice { value, updated: updated.saturating_to() }),
                    _ if identity.remembers_price => return Err(self.impossible("a price of shares that is not told")),
                    _ => None,
                };
                if let Some(rate) = pool.rates.0.get_mut(1) {
                    *rate = Rate::Fixed(WAD);
                }
                let next = Rules::standard(ProductRule::Whole);
                let rules = if self.stands_on_next(base) { next } else { known::rules(base) };
                let reading = self.reading(base, rates.get(2..).unwrap_or_default(), rules);
                let calls = self.base_calls(&reading, identity);
                self.second = Some(Second::Base { base, pool: Box::new(pool), cached_price, reading });
                let answered = base == known::THREE_POOL && guessed.len() == calls.len();
                if answered { self.feed(guessed) } else { Ok(ReadProgress::Calls(calls)) }
            }
            _ => self.done(self.state(Model::Stable(pool))),
        }
    }

    /// Asks a CryptoSwap pool for all that it holds, unless it was asked already.
    fn ask_crypto(
        &mut self,
        rates: &[U256],
        extra: &[Option<Bytes>],
        guessed: &[Option<Bytes>],
    ) -> Result<ReadProgress, DecodeError> {
        let address = self.pool.key.contract;
        let said = || extra.first().and_then(Option::as_ref).and_then(|said| String::abi_decode(said).ok());
        let kind = match self.pool.product {
            Product::CurveTricrypto => Some(Kind::Tricrypto),
            Product::CurveCryptoswap => Some(Kind::Cryptoswap(self.presumed().two)),
            Product::CurveTricryptoNg => (said().as_deref() == Some("v2.0.0")).then_some(Kind::TricryptoNg),
            Product::CurveTwocryptoNg => match said().as_deref() {
                Some("v2.0.0" | "v2.1.0" | "v2.1.1") => Some(Kind::TwocryptoNg),
                Some("v2.1.0d") => Some(Kind::TwocryptoStable),
                _ => None,
            },
            _ => None,
        };
        let kind = kind.ok_or_else(|| self.impossible("a version whose rounding or fee is not known"))?;
        let own_share = matches!(kind, Kind::TricryptoNg | Kind::TwocryptoNg | Kind::TwocryptoStable);
        let shares = if own_share { Some(address) } else { address_of(extra.first()) };
        let shares = shares.ok_or_else(|| self.impossible("a pool without shares"))?;
        if rates.len() != kind.coins() {
            return Err(self.impossible("another number of coins than its kind has"));
        }
        let mut precisions = [U256::ZERO; 3];
        precisions.iter_mut().zip(rates).for_each(|(precision, rate)| *precision = *rate / WAD);
        let reading = CryptoReading { pool: address, shares, kind, precisions };
        let calls = reading.calls();
        self.second = Some(Second::Crypto(reading));
        let answered = guessed.len() == calls.len() && (own_share || self.listed_share() == Some(shares));
        if answered { self.feed(guessed) } else { Ok(ReadProgress::Calls(calls)) }
    }
}

impl StateReader for PoolReader {
    fn start(&mut self) -> ReadProgress {
        ReadProgress::Calls(self.first_round())
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        match &self.second {
            None => {
                let expected = self.first_round().len();
                if answers.len() != expected {
                    return Err(DecodeError::AnswerCount { expected, got: answers.len() });
                }
                self.understand(answers)
            }
            Some(Second::Crypto(reading)) => self.done(self.state(Model::Crypto(reading.state(answers)?))),
            Some(Second::Base { pool, cached_price, reading, .. }) => {
                let identity = self.presumed();
                let expected = self.base_calls(reading, identity).len();
                let of_base = reading.calls().len();
                let Some((of_base, rest)) = answers.split_at_checked(of_base).filter(|_| answers.len() == expected)
                else {
                    return Err(DecodeError::AnswerCount { expected, got: answers.len() });
                };
                let supply = word(rest.first()).ok_or_else(|| self.impossible("a base pool without shares"))?;
                let base = BasePool { state: reading.state(of_base)?, total_supply: supply };
                let mut pool = (**pool).clone();
                if identity.next {
                    self.next_of(&mut pool, rest.get(1..).unwrap_or_default())?;
                }
                let generation = if identity.next { MetaGeneration::Next } else { MetaGeneration::Classic };
                let meta = MetaState { pool, base, cached_price: *cached_price, generation };
                self.done(self.state(Model::Meta(meta)))
            }
        }
    }
}
