//! Metapools: one coin against the shares of a base pool, and through them against each of its coins.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{Balances, BaseAfter, BasePool, Rate, State};
use crate::SwapError;
use crate::curve::arith::{FEE_WHOLE, Maths, WAD, add, int, mul_div, sub};

/// How long a classic metapool trusts its remembered price of the base pool's shares.
pub const CACHE_SECONDS: u64 = 600;

/// The price of the base pool's shares that a classic metapool remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedPrice {
    /// `base_virtual_price()`, 18 decimals.
    pub value: U256,
    /// `base_cache_updated()`, unix seconds.
    pub updated: u64,
}

/// Which views a metapool has; the swaps are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetaGeneration {
    /// Its view estimates a deposit into the base pool without the fee, and takes half the base fee off.
    Classic,
    /// Its view follows the swap.
    Next,
}

/// What a metapool's swap depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaState {
    /// The pool of two: its own coin, and the base pool's shares, whose rate here is not used.
    pub pool: State,
    /// The base pool.
    pub base: BasePool,
    /// The remembered price of shares; `None` where the pool asks each time (the factories' pools).
    pub cached_price: Option<CachedPrice>,
    /// Which views it has.
    pub generation: MetaGeneration,
}

/// A metapool after a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaAfter {
    /// The pool's own balances.
    pub balances: Balances,
    /// The base pool, where the swap went through it.
    pub base: BaseAfter,
    /// The remembered price, refreshed if it had run out.
    pub cached_price: Option<CachedPrice>,
}

/// What a metapool pays, and what is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaSwap {
    /// Paid out, in atomic units.
    pub amount_out: U256,
    /// Afterwards; `None` where only the coins know.
    pub after: Option<MetaAfter>,
}

impl MetaState {
    /// The pool as an earlier swap of the same route left it.
    #[must_use]
    pub fn with(&self, after: &MetaAfter) -> Self {
        Self {
            pool: State { balances: after.balances.clone(), ..self.pool.clone() },
            base: self.base.with(&after.base),
            cached_price: after.cached_price,
            generation: self.generation,
        }
    }

    /// The pool as earlier swaps of the same route left it, where some were its own, and its base pool.
    #[must_use]
    pub(in crate::curve) fn among(&self, own: Option<&MetaAfter>, base: &BaseAfter) -> Self {
        self.with(&MetaAfter {
            balances: own.map_or_else(|| self.pool.balances.clone(), |after| after.balances.clone()),
            base: base.clone(),
            cached_price: own.map_or(self.cached_price, |after| after.cached_price),
        })
    }

    /// What the pool takes a share of the base pool to be worth: remembered while it is at most [`CACHE_SECONDS`] old.
    pub(crate) fn share_price(&self, at: &ExecutionBlock) -> Maths<U256> {
        match self.cached_price {
            Some(cached) if at.timestamp <= cached.updated.saturating_add(CACHE_SECONDS) => Ok(cached.value),
            _ => self.base.virtual_price(at),
        }
    }

    /// Whether a swap in this block asks the base pool for its shares' price.
    pub(crate) fn asks_base(&self, at: &ExecutionBlock) -> bool {
        self.cached_price.is_none_or(|cached| at.timestamp > cached.updated.saturating_add(CACHE_SECONDS))
    }

    fn rates(&self, at: &ExecutionBlock) -> Maths<Balances> {
        let mut rates = self.pool.rates.at(at)?;
        rates[1] = self.share_price(at)?;
        Ok(rates)
    }

    fn cache_after(&self, at: &ExecutionBlock, price: U256) -> Option<CachedPrice> {
        let cached = self.cached_price?;
        let expired = at.timestamp > cached.updated.saturating_add(CACHE_SECONDS);
        Some(if expired { CachedPrice { value: price, updated: at.timestamp } } else { cached })
    }

    fn check(&self, coin_in: u8, coin_out: u8, coins: usize, amount_in: U256) -> Result<(), SwapError> {
        if usize::from(coin_in) >= coins || usize::from(coin_out) >= coins || coin_in == coin_out {
            return Err(SwapError::UnknownCoin { coin_in, coin_out });
        }
        if amount_in.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        let whole = self.pool.is_whole() && self.base.state.is_whole() && self.pool.balances.len() == 2;
        if whole { Ok(()) } else { Err(SwapError::Closed) }
    }

    /// What `exchange` pays between the pool's own coin (0) and the base pool's shares (1).
    ///
    /// # Errors
    /// As [`State::swap`].
    ///
    /// Source: `exchange` of Curve's metapools, classic, of the factories and of the next generation.
    pub fn swap(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<MetaSwap, SwapError> {
        self.check(coin_in, coin_out, 2, amount_in)?;
        paid(self.exchange(at, usize::from(coin_in), usize::from(coin_out), amount_in), amount_in)
    }

    /// What `exchange_underlying` pays: coin 0 is the pool's own, coin `k` the base pool's coin `k − 1`.
    ///
    /// A coin of the base pool is first deposited, shares are withdrawn at the end, each with the base pool's own fee.
    /// Between two coins of the base pool it is a swap of that pool.
    ///
    /// # Errors
    /// As [`State::swap`].
    pub fn swap_underlying(
        &self,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<MetaSwap, SwapError> {
        self.check(coin_in, coin_out, 1 + self.base.state.balances.len(), amount_in)?;
        paid(self.exchange_underlying(at, usize::from(coin_in), usize::from(coin_out), amount_in), amount_in)
    }

    fn base_now(&self) -> BaseAfter {
        BaseAfter { balances: self.base.state.balances.clone(), total_supply: self.base.total_supply }
    }

    fn exchange(&self, at: &ExecutionBlock, i: usize, j: usize, amount_in: U256) -> Maths<MetaSwap> {
        let rates = self.rates(at)?;
        let swap = self.pool.exchange(at, &rates, i, j, amount_in)?;
        let after = swap.balances.map(|balances| MetaAfter {
            balances,
            base: self.base_now(),
            cached_price: self.cache_after(at, rates[1]),
        });
        Ok(MetaSwap { amount_out: swap.amount_out, after })
    }

    fn exchange_underlying(&self, at: &ExecutionBlock, i: usize, j: usize, amount_in: U256) -> Maths<MetaSwap> {
        if i > 0 && j > 0 {
            return self.exchange_in_base(at, i - 1, j - 1, amount_in);
        }
        // the pool fixes its rates before it touches the base pool
        let rates = self.rates(at)?;
        let (shares_in, mut base) =
            if i == 0 { (amount_in, self.base_now()) } else { self.base.deposit(at, i - 1, amount_in)? };
        let swap = self.pool.exchange(at, &rates, i.min(1), j.min(1), shares_in)?;
        let mut amount_out = swap.amount_out;
        if j > 0 {
            (amount_out, base) = self.base.with(&base).withdraw(at, j - 1, amount_out)?;
        }
        let cached_price = self.cache_after(at, rates[1]);
        let after = swap.balances.map(|balances| MetaAfter { balances, base, cached_price });
        Ok(MetaSwap { amount_out, after })
    }

    fn exchange_in_base(&self, at: &ExecutionBlock, i: usize, j: usize, amount_in: U256) -> Maths<MetaSwap> {
        let base = &self.base.state;
        let swap = base.exchange(at, &base.rates.at(at)?, i, j, amount_in)?;
        let cached_price = match self.cached_price {
            Some(_) => self.cache_after(at, self.share_price(at)?),
            None => None,
        };
        let after = swap.balances.map(|balances| MetaAfter {
            balances: self.pool.balances.clone(),
            base: BaseAfter { balances, total_supply: self.base.total_supply },
            cached_price,
        });
        Ok(MetaSwap { amount_out: swap.amount_out, after })
    }

    /// What the pool's `get_dy` says.
    ///
    /// # Errors
    /// As [`State::view`].
    pub fn view(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<U256, SwapError> {
        self.check(coin_in, coin_out, 2, amount_in)?;
        self.priced(at)
            .and_then(|pool| pool.get_dy(at, usize::from(coin_in), usize::from(coin_out), amount_in))
            .map_err(|fault| fault.refusal(amount_in))
    }

    /// What StableSwap-NG's `get_dx` says for this pool.
    ///
    /// # Errors
    /// As [`State::view_in`].
    pub fn view_in(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_out: U256) -> Result<U256, SwapError> {
        self.check(coin_in, coin_out, 2, amount_out)?;
        self.priced(at).map_err(|fault| fault.refusal(amount_out))?.view_in(at, coin_in, coin_out, amount_out)
    }

    /// The pool of two with the price of shares filled in.
    fn priced(&self, at: &ExecutionBlock) -> Maths<State> {
        let mut pool = self.pool.clone();
        pool.rates.0[1] = Rate::Fixed(self.share_price(at)?);
        Ok(pool)
    }

    /// What the pool's `get_dy_underlying` says: an estimate in the classic generation, the swap's own amount in the next.
    ///
    /// # Errors
    /// As [`State::view`].
    pub fn view_underlying(
        &self,
        at: &ExecutionBlock,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<U256, SwapError> {
        self.check(coin_in, coin_out, 1 + self.base.state.balances.len(), amount_in)?;
        let (i, j) = (usize::from(coin_in), usize::from(coin_out));
        let answer = if i > 0 && j > 0 {
            self.base.state.get_dy(at, i - 1, j - 1, amount_in)
        } else if i > 0 && self.generation == MetaGeneration::Classic {
            self.get_dy_from_base(at, i - 1, amount_in)
        } else {
            self.exchange_underlying(at, i, j, amount_in).map(|swap| swap.amount_out)
        };
        answer.map_err(|fault| fault.refusal(amount_in))
    }

    /// The classic estimate from a coin of the base pool to the pool's own.
    fn get_dy_from_base(&self, at: &ExecutionBlock, coin: usize, amount_in: U256) -> Maths<U256> {
        let rates = self.rates(at)?;
        let xp = self.pool.scaled(&rates)?;
        let shares = self.base.deposit_estimate(at, coin, amount_in)?;
        let mut x = mul_div(shares, rates[1], WAD)?;
        x = sub(x, mul_div(x, int(self.base.state.fee), int(2 * 10_000_000_000))?)?;
        x = add(x, xp[1])?;
        let y = self.pool.invariant(at)?.y(1, 0, x, &xp)?;
        let dy = sub(sub(xp[0], y)?, U256::ONE)?;
        let fee = mul_div(int(self.pool.fee), dy, FEE_WHOLE)?;
        mul_div(sub(dy, fee)?, WAD, rates[0])
    }
}

fn paid(swap: Maths<MetaSwap>, amount_in: U256) -> Result<MetaSwap, SwapError> {
    let swap = swap.map_err(|fault| fault.refusal(amount_in))?;
    if swap.amount_out.is_zero() { Err(SwapError::ZeroOutput) } else { Ok(swap) }
}
