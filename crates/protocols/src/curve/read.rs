//! Readings of a Curve pool's state.
//!
//! A pool is asked only for what its generation supports, because a call that reverts is repeated alone.

use alloy_primitives::{Address, Bytes, U256, address};
use arrayvec::ArrayVec;

use super::crypto::{self, AmpGamma, ClassicTwo, Kind, Repricing};
use super::stable::{Amplification, Rates, Rules, State};
use crate::pool::MAX_COINS;
use crate::reading::{Reading, Stop, all};
use crate::{Call, DecodeError};

/// Properties of a StableSwap pool that never change and that the reading needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StableReading {
    /// The pool.
    pub pool: Address,
    /// Rate of one atomic unit of each coin, for a pool without an oracle: `10^(36 − decimals)`.
    pub rates: ArrayVec<U256, MAX_COINS>,
    /// Rounding rules.
    pub rules: Rules,
    /// Whether its fee is dynamic: that of the next generation, and of Aave's pools.
    pub fee_moves: bool,
}

/// Pools whose coin positions have another type. Source: their verified code.
const FIRST: [Address; 5] = [
    address!("A2B47E3D5c44877cca798226B7B8118F9BFb7A56"),
    address!("52EA46506B9CC5Ef470C5bf89f17Dc28bB35D85C"),
    address!("93054188d876f558f4a66B2EF1d97d16eDf0895B"),
    address!("7fC77b5c7614E1533320Ea6DDc2Eb61fa00A9714"),
    address!("A5407eAE9Ba41422680e2e00537571bcC53efBfD"),
];

/// Administrator's share of the fee of a pool without a view of it, in units of 10⁻¹⁰: half.
const USUAL_ADMIN_FEE: u64 = 5_000_000_000;

impl StableReading {
    /// Returns false for the pools from before the amplification had a precision: those whose loops return an unsettled
    /// value.
    const fn is_precise(&self) -> bool {
        !self.rules.gives_unsettled
    }

    /// Returns false for the pools from before there were ramps: those that keep nothing back and whose loops return an
    /// unsettled value.
    const fn ramps(&self) -> bool {
        self.rules.exchange_keeps_one || self.is_precise()
    }

    /// Reads the pool. One without ramp functions has no ramp.
    pub(super) fn read(&self, reading: &mut Reading) -> Result<State, Stop> {
        let pool = self.pool;
        let balance = if FIRST.contains(&pool) { "balances(int128)" } else { "balances(uint256)" };
        let balances = all((0..self.rates.len()).map(|coin| reading.word_at(pool, balance, coin)));
        let plain = reading.word(pool, "A()");
        let precise = if self.is_precise() { reading.try_word(pool, "A_precise()") } else { Ok(None) };
        let views = ["initial_A()", "future_A()", "initial_A_time()", "future_A_time()"];
        let ramp = all(views.into_iter().filter(|_| self.ramps()).map(|view| reading.try_word(pool, view)));
        let (fee, admin_fee) = (reading.word(pool, "fee()"), reading.try_word(pool, "admin_fee()"));
        let multiplier = if self.fee_moves { reading.word(pool, "offpeg_fee_multiplier()") } else { Ok(U256::ZERO) };

        let (plain, precise) = (plain?, precise?);
        let precision = if precise.is_some() { 100 } else { 1 };
        let amplification = match ramp?[..] {
            [Some(initial), Some(future), Some(start), Some(end)] => Amplification {
                initial,
                future,
                initial_time: start.saturating_to(),
                future_time: end.saturating_to(),
                precision,
            },
            _ => Amplification::constant(precise.unwrap_or(plain), precision),
        };
        Ok(State {
            balances: balances?.into_iter().collect(),
            rates: Rates::fixed(self.rates.iter().copied()),
            amplification,
            fee: reading.narrow(fee?)?,
            admin_fee: admin_fee?.map_or(USUAL_ADMIN_FEE, |fee| fee.saturating_to()),
            offpeg_fee_multiplier: reading.narrow(multiplier?)?,
            rules: self.rules,
        })
    }

    /// Returns the calls of the reading.
    pub fn calls(&self) -> Vec<Call> {
        Reading::calls_of(self.pool, |reading| self.read(reading))
    }

    /// Decodes the state from the answers to [`calls`](Self::calls).
    ///
    /// # Errors
    /// [`DecodeError`] if a pool of this kind would not have answered so.
    pub fn state(&self, answers: &[Option<Bytes>]) -> Result<State, DecodeError> {
        Reading::decode(self.pool, answers, |reading| self.read(reading))
    }
}

/// Properties of a CryptoSwap pool that never change and that the reading needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptoReading {
    /// The pool.
    pub pool: Address,
    /// Its share token; in the next generation the pool itself.
    pub shares: Address,
    /// Kind of contract.
    pub kind: Kind,
    /// Factor that scales each coin to 18 decimals.
    pub precisions: [U256; 3],
}

impl CryptoReading {
    /// Reads the pool. Private variables are unknown: whether a move of the price scale is in progress in a pool of
    /// 2021, and the stored average of pools whose getter advances it to the block of the call.
    pub(super) fn read(&self, reading: &mut Reading) -> Result<crypto::State, Stop> {
        let (pool, coins) = (self.pool, self.kind.coins());
        let held = all((0..coins).map(|coin| reading.word_at(pool, "balances(uint256)", coin)));
        let mut prices = |of_two: &'static str, of_three: &'static str| {
            all((0..coins - 1).map(|place| match coins {
                3 => reading.word_at(pool, of_three, place),
                _ => reading.word(pool, of_two),
            }))
        };
        let scale = prices("price_scale()", "price_scale(uint256)");
        let oracle = prices("price_oracle()", "price_oracle(uint256)");
        let last = prices("last_prices()", "last_prices(uint256)");
        let stamp = if self.packs_times() { "last_timestamp()" } else { "last_prices_timestamp()" };
        let average = if self.kind.is_classic() { "ma_half_time()" } else { "ma_time()" };
        let ramp = ["initial_A_gamma()", "future_A_gamma()", "initial_A_gamma_time()", "future_A_gamma_time()"];
        let ramp = reading.words(pool, ramp);
        let fees = reading.words(pool, ["mid_fee()", "out_fee()", "fee_gamma()"]);
        let views = ["D()", stamp, average, "xcp_profit()", "virtual_price()"];
        let numbers = reading.words(pool, views);
        let steps = reading.words(pool, ["allowed_extra_profit()", "adjustment_step()"]);
        let total_supply = reading.word(self.shares, "totalSupply()")?;

        let [d, stamp, averaging_seconds, xcp_profit, virtual_price] = numbers?;
        let ([mid_fee, out_fee, fee_gamma], [allowed_extra_profit, adjustment_step]) = (fees?, steps?);
        let [initial, future, initial_time, future_time] = ramp?;
        // the upper half of the word is the amplification, the lower is gamma
        let halves = |word: U256| (word >> 128, word & U256::from(u128::MAX));
        let amp_gamma = AmpGamma {
            initial: halves(initial),
            future: halves(future),
            initial_time: reading.narrow(initial_time)?,
            future_time: reading.narrow(future_time)?,
        };
        let repricing = Repricing {
            price_oracle: Some(padded(oracle?)).filter(|_| self.stores_what_it_shows()),
            last_prices: padded(last?),
            // Twocrypto stores two times in one word; that of prices is the lower half
            last_prices_timestamp: stamp.as_limbs()[0],
            averaging_seconds: reading.narrow(averaging_seconds)?,
            xcp_profit,
            virtual_price,
            allowed_extra_profit,
            adjustment_step,
            total_supply,
            not_adjusted: None,
        };
        Ok(crypto::State {
            kind: self.kind,
            balances: padded(held?),
            precisions: self.precisions,
            price_scale: padded(scale?),
            d,
            amp_gamma,
            mid_fee: reading.narrow(mid_fee)?,
            out_fee: reading.narrow(out_fee)?,
            fee_gamma,
            repricing: Some(repricing),
        })
    }

    /// Returns the calls of the reading.
    pub fn calls(&self) -> Vec<Call> {
        Reading::calls_of(self.pool, |reading| self.read(reading))
    }

    /// Decodes the state from the answers to [`calls`](Self::calls).
    ///
    /// # Errors
    /// [`DecodeError`] if a pool of this kind would not have answered so.
    pub fn state(&self, answers: &[Option<Bytes>]) -> Result<crypto::State, DecodeError> {
        Reading::decode(self.pool, answers, |reading| self.read(reading))
    }

    const fn packs_times(&self) -> bool {
        matches!(self.kind, Kind::TwocryptoNg | Kind::TwocryptoStable)
    }

    /// Tells whether `price_oracle` returns the stored value: only in the pools of 2021 before the factory.
    const fn stores_what_it_shows(&self) -> bool {
        matches!(self.kind, Kind::Tricrypto | Kind::Cryptoswap(ClassicTwo::Early))
    }
}

/// Fills a list with zeros.
fn padded<const N: usize>(values: Vec<U256>) -> [U256; N] {
    let mut padded = [U256::ZERO; N];
    padded.iter_mut().zip(values).for_each(|(place, value)| *place = value);
    padded
}
