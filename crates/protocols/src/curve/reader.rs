//! Reads a pool of any kind in one or two rounds: first its identity and balances, then its base pool.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::sol;
use braid_primitives::NATIVE_ETHER;

use super::{
    arith::WAD,
    crypto::Kind,
    evidence::Evidence,
    known::{self, Identity},
    pool::{Model, State},
    presets::{is_of_aave, listed_rules},
    read::{CryptoReading, StableReading},
    stable::{BasePool, CachedPrice, MetaGeneration, MetaState, ProductRule, Rate, Rates, Rules},
};
use crate::{
    Discovered, Product,
    pool::MAX_COINS,
    reading::{Reading, Stop, all},
};

sol! {
    function stored_rates() external view returns (uint256[]);
    function version() external view returns (string);
    function offpeg_fee_multiplier() external view returns (uint256);
}

/// Reader of one pool.
#[derive(Clone, Debug)]
pub(super) struct PoolReader {
    pool: Discovered,
    /// Identity of the pool, if it is known before the reading.
    identity: Option<Identity>,
}

/// CryptoSwap pools of 2021 and their shares. Knowing the share saves a round.
const SHARES: &[(Address, Address)] = &[
    (address!("D51a44d3FaE010294C616388b506AcdA1bfAAE46"), address!("c4AD29ba4B3c580e6D59105FFf484999997675Ff")),
    (address!("8301AE4fc9c624d1D396cbDAa1ed877821D7C511"), address!("Ed4064f376cB8d68F770FB1Ff088a3d0F3FF5c4d")),
    (address!("0f3159811670c117c372428D4E69AC32325e4D0F"), address!("6c38cE8984a890F5e46e6dF6117C26b3F1EcfC9C")),
];

impl PoolReader {
    pub(super) fn new(pool: &Discovered, was: Option<&State>) -> Self {
        let identity = was.map(Identity::of).or_else(|| known::by_hand(pool));
        Self { pool: pool.clone(), identity }
    }

    fn is_crypto(&self) -> bool {
        !matches!(self.pool.product, Product::CurveStableswap | Product::CurveStableswapNg | Product::CurveMetapool)
    }

    /// Returns the reading of some coins of a pool, with rates that follow from decimals.
    fn of_coins(&self, pool: Address, rates: &[U256], rules: Rules) -> StableReading {
        let own = pool == self.pool.key.contract && self.pool.product == Product::CurveStableswapNg;
        let next_base = self.stands_on_next(pool);
        let rates = rates.iter().copied().take(MAX_COINS).collect();
        StableReading { pool, rates, rules, fee_moves: own || next_base || is_of_aave(pool) }
    }

    /// Tells whether a metapool's base pool is of the next generation: then its share is the pool itself.
    fn stands_on_next(&self, base: Address) -> bool {
        self.pool.product == Product::CurveMetapool && self.pool.coins.get(1) == Some(&base)
    }

    fn own_coins(&self) -> usize {
        if self.pool.product == Product::CurveMetapool { 2 } else { self.pool.coins.len() }
    }

    /// Returns the identity that determines the calls. All pools that are not identified yet get the same calls.
    fn presumed(&self) -> Identity {
        self.identity.unwrap_or_else(|| Identity::usual(&self.pool))
    }

    /// Returns the rate of one atomic unit of each coin by its decimals, `10^(36 − decimals)`. Ether has no contract.
    fn rates(&self, reading: &mut Reading) -> Result<Vec<U256>, Stop> {
        let rates = self.pool.coins.iter().map(|coin| {
            let decimals = if *coin == NATIVE_ETHER {
                U256::from(18)
            } else {
                reading.try_word(*coin, "decimals()")?.unwrap_or(U256::MAX)
            };
            let power = U256::from(36).checked_sub(decimals).filter(|power| *power >= U256::from(18));
            let rate = power.and_then(|power| U256::from(10).checked_pow(power));
            rate.ok_or(reading.impossible("a coin without decimals, or with more than 18"))
        });
        all(rates)
    }

    /// Identifies the pool.
    fn identify(&self, reading: &mut Reading) -> Result<Identity, Stop> {
        if let Some(known) = self.identity {
            return Ok(known);
        }
        let shown = reading.calls(Evidence::questions(&self.pool))?;
        Evidence::identify(&self.pool, &shown).map_err(|what| reading.impossible(what))
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

    /// Reads the pool.
    pub(super) fn read(&self, reading: &mut Reading) -> Result<State, Stop> {
        let model = if self.is_crypto() { self.crypto(reading) } else { self.stable(reading) };
        let (model, base_pool, has_oracle) = model?;
        let ether = self.pool.coins.iter().position(|coin| *coin == NATIVE_ETHER);
        let ether_coin = ether.and_then(|coin| u8::try_from(coin).ok());
        let state = State { model, ether_coin, base_pool, has_oracle, steth: None };
        state.validate().map_err(|what| reading.impossible(what))?;
        if state.coins() != self.pool.coins.len() {
            return Err(reading.impossible("balances for other coins"));
        }
        Ok(state)
    }

    /// Reads a plain pool or a metapool; returns also its base pool, and whether a coin has a rate of its own.
    fn stable(&self, reading: &mut Reading) -> Result<(Model, Option<Address>, bool), Stop> {
        let (address, product) = (self.pool.key.contract, self.pool.product);
        let (rates, identity) = (self.rates(reading), self.identify(reading));
        let stored_rates =
            (product == Product::CurveStableswapNg).then(|| reading.try_ask(address, &stored_ratesCall {}));
        let remembers = product == Product::CurveMetapool && self.presumed().remembers_price;
        let price = remembers.then(|| {
            let value = reading.try_word(address, "base_virtual_price()");
            (value, reading.try_word(address, "base_cache_updated()"))
        });
        let presumed = self.of_coins(address, &vec![WAD; self.own_coins()], self.presumed().rules);
        let _ = presumed.read(reading);
        if product == Product::CurveMetapool && self.pool.coins.get(1) == Some(&known::THREE_CRV) {
            // this base pool is known in advance, so it is read in the same round
            let base = self.of_coins(known::THREE_POOL, &[WAD; 3], listed_rules(known::THREE_POOL));
            drop(self.base(base, self.presumed(), reading));
        }
        let (rates, identity) = (rates?, identity?);
        let own = rates.get(..self.own_coins()).unwrap_or(&rates);
        let mut pool = self.of_coins(address, own, identity.rules).read(reading)?;
        if let Some(said) = stored_rates {
            let said = said?.filter(|said| said.len() == rates.len());
            let said = said.ok_or(reading.impossible("stored rates that do not fit its coins"))?;
            pool.rates = Rates::fixed(said.iter().copied());
            return Ok((Model::Stable(pool), None, said != rates));
        }
        if product != Product::CurveMetapool {
            return Ok((Model::Stable(pool), None, false));
        }
        let base = identity.base.ok_or(reading.impossible("an unknown base pool"))?;
        let cached_price = match price {
            Some((Ok(Some(value)), Ok(Some(updated)))) => Some(CachedPrice { value, updated: updated.saturating_to() }),
            _ if identity.remembers_price => return Err(reading.impossible("no answer for the price of shares")),
            _ => None,
        };
        if let Some(rate) = pool.rates.0.get_mut(1) {
            *rate = Rate::Fixed(WAD);
        }
        let next = Rules::standard(ProductRule::Whole);
        let rules = if self.stands_on_next(base) { next } else { listed_rules(base) };
        let of_base = self.of_coins(base, rates.get(2..).unwrap_or_default(), rules);
        let (of_base, next) = self.base(of_base, identity, reading)?;
        if let Some((offpeg_fee_multiplier, rate)) = next {
            pool.offpeg_fee_multiplier = offpeg_fee_multiplier;
            if rate.as_ref() != pool.rates.0.first() {
                return Err(reading.impossible("a coin with a rate of its own"));
            }
        }
        let generation = if identity.next { MetaGeneration::Next } else { MetaGeneration::Classic };
        let meta = MetaState { pool, base: of_base, cached_price, generation };
        Ok((Model::Meta(meta), Some(base), false))
    }

    /// Reads the base pool and its total supply. For a metapool of the next generation it also reads the dynamic fee,
    /// and the rate of its own coin, which must follow from its decimals.
    #[allow(clippy::type_complexity, reason = "two things of the next generation")]
    fn base(
        &self,
        of_base: StableReading,
        identity: Identity,
        reading: &mut Reading,
    ) -> Result<(BasePool, Option<(u64, Option<Rate>)>), Stop> {
        let share = self.pool.coins.get(1).copied().unwrap_or_default();
        let (state, supply) = (of_base.read(reading), reading.try_word(share, "totalSupply()"));
        let next = identity.next.then(|| {
            let multiplier = reading.try_word(self.pool.key.contract, "offpeg_fee_multiplier()");
            (multiplier, reading.try_ask(self.pool.key.contract, &stored_ratesCall {}))
        });
        let (state, supply) = (state?, supply?);
        let total_supply = supply.ok_or(reading.impossible("a base pool without shares"))?;
        let base = BasePool { state, total_supply };
        let Some((multiplier, rates)) = next else { return Ok((base, None)) };
        let multiplier = multiplier?.and_then(|multiplier| u64::try_from(multiplier).ok());
        let multiplier = multiplier.ok_or(reading.impossible("a dynamic fee without its multiplier"))?;
        Ok((base, Some((multiplier, rates?.and_then(|rates| rates.first().copied()).map(Rate::Fixed)))))
    }

    /// Identifies and reads a CryptoSwap pool; in one round if its share is known.
    fn crypto(&self, reading: &mut Reading) -> Result<(Model, Option<Address>, bool), Stop> {
        let address = self.pool.key.contract;
        let (rates, identity) = (self.rates(reading), self.identify(reading));
        let tells_version = matches!(self.pool.product, Product::CurveTricryptoNg | Product::CurveTwocryptoNg);
        let version = tells_version.then(|| reading.try_ask(address, &versionCall {}));
        let token = (!tells_version).then(|| reading.try_word(address, "token()"));
        if let Some(guessed) = self.guessed_crypto() {
            let _ = guessed.read(reading);
        }
        let (rates, identity, version) = (rates?, identity?, version.transpose()?.flatten());
        let kind = match (self.pool.product, version.as_deref()) {
            (Product::CurveTricrypto, _) => Some(Kind::Tricrypto),
            (Product::CurveCryptoswap, _) => Some(Kind::Cryptoswap(identity.two)),
            (Product::CurveTricryptoNg, Some("v2.0.0")) => Some(Kind::TricryptoNg),
            (Product::CurveTwocryptoNg, Some("v2.0.0" | "v2.1.0" | "v2.1.1")) => Some(Kind::TwocryptoNg),
            (Product::CurveTwocryptoNg, Some("v2.1.0d")) => Some(Kind::TwocryptoStable),
            _ => None,
        };
        let kind = kind.ok_or(reading.impossible("a version with unknown rounding or fee"))?;
        let shares = match token.transpose()? {
            None => Some(address),
            Some(token) => token.filter(|word| word.bit_len() <= 160).map(|word| Address::from_word(word.into())),
        };
        let shares = shares.ok_or(reading.impossible("a pool without shares"))?;
        if rates.len() != kind.coins() {
            return Err(reading.impossible("a wrong number of coins for its kind"));
        }
        let mut precisions = [U256::ZERO; 3];
        precisions.iter_mut().zip(rates).for_each(|(precision, rate)| *precision = rate / WAD);
        let of_pool = CryptoReading { pool: address, shares, kind, precisions };
        Ok((Model::Crypto(of_pool.read(reading)?), None, false))
    }
}
