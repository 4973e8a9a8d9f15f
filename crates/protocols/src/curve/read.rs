//! Calls that read a Curve pool's state, and the decoding of their answers. Pure: the caller makes the calls, all at
//! one block.
//!
//! A call that a pool's generation does not support reverts, which is an answer too.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::{SolCall, sol};
use arrayvec::ArrayVec;

use super::crypto::{self, AmpGamma, Kind, Repricing};
use super::stable::{Amplification, Rate, Rates, Rules, State};
use crate::pool::MAX_COINS;
use crate::{Call, DecodeError};

sol! {
    function balances(uint256 coin) external view returns (uint256);
    function A() external view returns (uint256);
    function A_precise() external view returns (uint256);
    function initial_A() external view returns (uint256);
    function future_A() external view returns (uint256);
    function initial_A_time() external view returns (uint256);
    function future_A_time() external view returns (uint256);
    function fee() external view returns (uint256);
    function admin_fee() external view returns (uint256);
    function offpeg_fee_multiplier() external view returns (uint256);
    function D() external view returns (uint256);
    function initial_A_gamma() external view returns (uint256);
    function future_A_gamma() external view returns (uint256);
    function initial_A_gamma_time() external view returns (uint256);
    function future_A_gamma_time() external view returns (uint256);
    function mid_fee() external view returns (uint256);
    function out_fee() external view returns (uint256);
    function fee_gamma() external view returns (uint256);
    function last_prices_timestamp() external view returns (uint256);
    function last_timestamp() external view returns (uint256);
    function ma_half_time() external view returns (uint256);
    function ma_time() external view returns (uint256);
    function xcp_profit() external view returns (uint256);
    function virtual_price() external view returns (uint256);
    function allowed_extra_profit() external view returns (uint256);
    function adjustment_step() external view returns (uint256);
    function totalSupply() external view returns (uint256);
    interface Three {
        function price_scale(uint256 k) external view returns (uint256);
        function price_oracle(uint256 k) external view returns (uint256);
        function last_prices(uint256 k) external view returns (uint256);
    }
    interface Two {
        function price_scale() external view returns (uint256);
        function price_oracle() external view returns (uint256);
        function last_prices() external view returns (uint256);
    }
    /// Interface of the first pools, whose coin positions have another type.
    interface First {
        function balances(int128 coin) external view returns (uint256);
    }
}

/// Answers of one round, taken one by one in the order of the calls.
struct Answers<'a> {
    pool: Address,
    rest: &'a [Option<Bytes>],
}

impl Answers<'_> {
    /// Returns the next word; `None` if the call reverted or returned less.
    fn word(&mut self) -> Option<U256> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        first.as_ref().filter(|bytes| bytes.len() >= 32).and_then(|bytes| U256::try_from_be_slice(bytes.get(..32)?))
    }

    fn need(&mut self, call: &'static str) -> Result<U256, DecodeError> {
        let got = "a revert, or no number";
        self.word().ok_or(DecodeError::Call { pool: self.pool, call, got })
    }

    fn need_u64(&mut self, call: &'static str) -> Result<u64, DecodeError> {
        let word = self.need(call)?;
        u64::try_from(word).map_err(|_| DecodeError::Call { pool: self.pool, call, got: "more than 64 bits" })
    }
}

fn expect(pool: Address, calls: usize, answers: &[Option<Bytes>]) -> Result<Answers<'_>, DecodeError> {
    if answers.len() == calls {
        Ok(Answers { pool, rest: answers })
    } else {
        Err(DecodeError::AnswerCount { expected: calls, got: answers.len() })
    }
}

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

impl StableReading {
    fn has_signed_positions(&self) -> bool {
        FIRST.contains(&self.pool)
    }

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

    fn questions(&self) -> usize {
        let ramp = if self.ramps() { 4 } else { 0 };
        3 + ramp + self.rates.len() + usize::from(self.is_precise()) + usize::from(self.fee_moves)
    }

    /// Returns the calls, in the order in which [`Self::state`] takes their answers. It includes none that such a pool
    /// does not support, because a reverted call is repeated alone.
    pub fn calls(&self) -> Vec<Call> {
        let call = |data: Vec<u8>| Call { to: self.pool, data: data.into() };
        let mut calls = Vec::with_capacity(self.questions());
        for coin in 0..u8::try_from(self.rates.len()).unwrap_or(u8::MAX) {
            let first = First::balancesCall { coin: i128::from(coin) }.abi_encode();
            let later = balancesCall { coin: U256::from(coin) }.abi_encode();
            calls.push(call(if self.has_signed_positions() { first } else { later }));
        }
        calls.push(call(ACall {}.abi_encode()));
        if self.is_precise() {
            calls.push(call(A_preciseCall {}.abi_encode()));
        }
        if self.ramps() {
            calls.push(call(initial_ACall {}.abi_encode()));
            calls.push(call(future_ACall {}.abi_encode()));
            calls.push(call(initial_A_timeCall {}.abi_encode()));
            calls.push(call(future_A_timeCall {}.abi_encode()));
        }
        calls.push(call(feeCall {}.abi_encode()));
        calls.push(call(admin_feeCall {}.abi_encode()));
        if self.fee_moves {
            calls.push(call(offpeg_fee_multiplierCall {}.abi_encode()));
        }
        calls
    }

    /// Decodes the state. A pool without ramp functions has no ramp; a pool without a fixed administrator fee takes
    /// half of the fee.
    ///
    /// # Errors
    /// [`DecodeError`] if a pool of this kind would not have answered so.
    pub fn state(&self, answers: &[Option<Bytes>]) -> Result<State, DecodeError> {
        let mut answers = expect(self.pool, self.questions(), answers)?;
        let mut balances = ArrayVec::new();
        for _ in 0..self.rates.len() {
            balances.push(answers.need("balances")?);
        }
        let plain = answers.need("A")?;
        let precise = if self.is_precise() { answers.word() } else { None };
        let mut word = || if self.ramps() { answers.word() } else { None };
        let ramp = [word(), word(), word(), word()];
        let precision = if precise.is_some() { 100 } else { 1 };
        let amplification = match ramp {
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
            balances,
            rates: Rates(self.rates.iter().copied().map(Rate::Fixed).collect()),
            amplification,
            fee: answers.need_u64("fee")?,
            admin_fee: answers.word().map_or(5_000_000_000, |fee| fee.saturating_to()),
            offpeg_fee_multiplier: if self.fee_moves { answers.need_u64("offpeg_fee_multiplier")? } else { 0 },
            rules: self.rules,
        })
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
    fn coins(&self) -> u8 {
        if self.kind.coins() == 3 { 3 } else { 2 }
    }

    /// Returns the calls, in the order in which [`Self::state`] takes their answers.
    pub fn calls(&self) -> Vec<Call> {
        let call = |data: Vec<u8>| Call { to: self.pool, data: data.into() };
        let mut calls = Vec::new();
        for coin in 0..self.coins() {
            calls.push(call(balancesCall { coin: U256::from(coin) }.abi_encode()));
        }
        for k in 0..self.coins() - 1 {
            let k = U256::from(k);
            let three = [
                Three::price_scaleCall { k }.abi_encode(),
                Three::price_oracleCall { k }.abi_encode(),
                Three::last_pricesCall { k }.abi_encode(),
            ];
            let two = [
                Two::price_scaleCall {}.abi_encode(),
                Two::price_oracleCall {}.abi_encode(),
                Two::last_pricesCall {}.abi_encode(),
            ];
            calls.extend(if self.kind.coins() == 3 { three } else { two }.map(call));
        }
        let words = [
            DCall {}.abi_encode(),
            initial_A_gammaCall {}.abi_encode(),
            future_A_gammaCall {}.abi_encode(),
            initial_A_gamma_timeCall {}.abi_encode(),
            future_A_gamma_timeCall {}.abi_encode(),
            mid_feeCall {}.abi_encode(),
            out_feeCall {}.abi_encode(),
            fee_gammaCall {}.abi_encode(),
            if self.packs_times() {
                last_timestampCall {}.abi_encode()
            } else {
                last_prices_timestampCall {}.abi_encode()
            },
            if self.stores_half_time() { ma_half_timeCall {}.abi_encode() } else { ma_timeCall {}.abi_encode() },
            xcp_profitCall {}.abi_encode(),
            virtual_priceCall {}.abi_encode(),
            allowed_extra_profitCall {}.abi_encode(),
            adjustment_stepCall {}.abi_encode(),
        ];
        calls.extend(words.map(call));
        calls.push(Call { to: self.shares, data: totalSupplyCall {}.abi_encode().into() });
        calls
    }

    /// Decodes the state. Private variables are unknown: whether a move of the price scale is in progress in a pool of
    /// 2021, and the stored average of pools whose getter advances it to the block of the call.
    ///
    /// # Errors
    /// [`DecodeError`] if a pool of this kind would not have answered so.
    pub fn state(&self, answers: &[Option<Bytes>]) -> Result<crypto::State, DecodeError> {
        let coins = self.kind.coins();
        let mut answers = expect(self.pool, coins + 3 * (coins - 1) + 15, answers)?;
        let (mut balances, mut price_scale) = ([U256::ZERO; 3], [U256::ZERO; 2]);
        let (mut oracle, mut last_prices) = ([U256::ZERO; 2], [U256::ZERO; 2]);
        for balance in balances.iter_mut().take(coins) {
            *balance = answers.need("balances")?;
        }
        for k in 0..coins - 1 {
            price_scale[k] = answers.need("price_scale")?;
            oracle[k] = answers.need("price_oracle")?;
            last_prices[k] = answers.need("last_prices")?;
        }
        let d = answers.need("D")?;
        let amp_gamma = self.amp_gamma(&mut answers)?;
        let (mid_fee, out_fee) = (answers.need_u64("mid_fee")?, answers.need_u64("out_fee")?);
        let fee_gamma = answers.need("fee_gamma")?;
        let (stamp, time) = (answers.need("the time of prices")?, answers.need_u64("ma_time")?);
        let repricing = Repricing {
            price_oracle: self.stores_what_it_shows().then_some(oracle),
            last_prices,
            // Twocrypto stores two times in one word; that of prices is the lower half
            last_prices_timestamp: stamp.as_limbs()[0],
            averaging_seconds: time,
            xcp_profit: answers.need("xcp_profit")?,
            virtual_price: answers.need("virtual_price")?,
            allowed_extra_profit: answers.need("allowed_extra_profit")?,
            adjustment_step: answers.need("adjustment_step")?,
            total_supply: answers.need("totalSupply")?,
            not_adjusted: None,
        };
        Ok(crypto::State {
            kind: self.kind,
            balances,
            precisions: self.precisions,
            price_scale,
            d,
            amp_gamma,
            mid_fee,
            out_fee,
            fee_gamma,
            repricing: Some(repricing),
        })
    }

    const fn packs_times(&self) -> bool {
        matches!(self.kind, Kind::TwocryptoNg | Kind::TwocryptoStable)
    }

    const fn stores_half_time(&self) -> bool {
        matches!(self.kind, Kind::Cryptoswap(_) | Kind::Tricrypto)
    }

    /// Tells whether `price_oracle` returns the stored value: only in the pools of 2021 before the factory.
    const fn stores_what_it_shows(&self) -> bool {
        matches!(self.kind, Kind::Tricrypto | Kind::Cryptoswap(crypto::ClassicTwo::Early))
    }

    /// Decodes amplification and gamma, the upper and the lower half of one word.
    fn amp_gamma(&self, answers: &mut Answers<'_>) -> Result<AmpGamma, DecodeError> {
        let halves = |word: U256| (word >> 128, word & U256::from(u128::MAX));
        let initial = halves(answers.need("initial_A_gamma")?);
        let future = halves(answers.need("future_A_gamma")?);
        let initial_time = answers.need_u64("initial_A_gamma_time")?;
        let future_time = answers.need_u64("future_A_gamma_time")?;
        Ok(AmpGamma { initial, future, initial_time, future_time })
    }
}
