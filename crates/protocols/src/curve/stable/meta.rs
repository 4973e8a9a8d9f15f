//! Metapools: one coin against the shares of a base pool, and through them against each of its coins.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::{Balances, BaseAfter, BasePool, Rate, State};
use crate::curve::arith::{FEE_WHOLE, Maths, WAD, add, int, mul_div, sub};
use crate::{SwapError, error::positions};

/// Seconds for which a classic metapool uses its cached price of the base pool's shares.
pub const CACHE_SECONDS: u64 = 600;

/// Cached price of the base pool's shares in a classic metapool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedPrice {
    /// `base_virtual_price()`, 18 decimals.
    pub value: U256,
    /// `base_cache_updated()`, in unix seconds.
    pub updated: u64,
}

impl CachedPrice {
    fn has_expired(&self, at: &ExecutionBlock) -> bool {
        at.timestamp > self.updated.saturating_add(CACHE_SECONDS)
    }
}

/// Views of a metapool; the swaps are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetaGeneration {
    /// The view estimates a deposit into the base pool without its fee, and subtracts half the base fee.
    Classic,
    /// The view computes the swap's amount.
    Next,
}

/// State of a metapool, as far as swaps depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaState {
    /// Pool of its own coin and the base pool's shares. The rate of the shares here is not used.
    pub pool: State,
    /// The base pool.
    pub base: BasePool,
    /// Cached price of shares; `None` if the pool requests it in each swap (the factories' pools).
    pub cached_price: Option<CachedPrice>,
    /// Its views.
    pub generation: MetaGeneration,
}

/// State of a metapool after a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaAfter {
    /// Balances of the pool, in atomic units.
    pub balances: Balances,
    /// State of the base pool, which changes if the swap went through it.
    pub base: BaseAfter,
    /// Cached price, refreshed if it had expired.
    pub cached_price: Option<CachedPrice>,
}

/// Result of a swap of a metapool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaSwap {
    /// Amount out in atomic units.
    pub amount_out: U256,
    /// State afterwards; `None` if it depends on balances that only the coins know.
    pub after: Option<MetaAfter>,
}

impl MetaState {
    /// Returns the pool after an earlier swap of the same route.
    #[must_use]
    pub fn with(&self, after: &MetaAfter) -> Self {
        Self {
            pool: State { balances: after.balances.clone(), ..self.pool.clone() },
            base: self.base.with(&after.base),
            cached_price: after.cached_price,
            generation: self.generation,
        }
    }

    /// Returns the pool after earlier swaps of the same route, of itself and of its base pool.
    #[must_use]
    pub(in crate::curve) fn among(&self, own: Option<&MetaAfter>, base: &BaseAfter) -> Self {
        self.with(&MetaAfter {
            balances: own.map_or_else(|| self.pool.balances.clone(), |after| after.balances.clone()),
            base: base.clone(),
            cached_price: own.map_or(self.cached_price, |after| after.cached_price),
        })
    }

    /// Returns the price of a base pool's share that the pool uses: the cached one while it is at most
    /// [`CACHE_SECONDS`] old.
    pub(crate) fn share_price(&self, at: &ExecutionBlock) -> Maths<U256> {
        match self.cached_price {
            Some(cached) if !cached.has_expired(at) => Ok(cached.value),
            _ => self.base.virtual_price(at),
        }
    }

    /// Tells whether a swap in this block requests the share price from the base pool.
    pub(crate) fn asks_base(&self, at: &ExecutionBlock) -> bool {
        self.cached_price.is_none_or(|cached| cached.has_expired(at))
    }

    fn rates(&self, at: &ExecutionBlock) -> Maths<Balances> {
        let mut rates = self.pool.rates.at(at)?;
        rates[1] = self.share_price(at)?;
        Ok(rates)
    }

    /// Tells whether both invariants converge within the iterations that sampling affords.
    pub(crate) fn settles_soon(&self, at: &ExecutionBlock) -> Maths<bool> {
        let base = &self.base.state;
        Ok(base.settles_soon(at, &base.rates.at(at)?)? && self.pool.settles_soon(at, &self.rates(at)?)?)
    }

    fn cache_after(&self, at: &ExecutionBlock, price: U256) -> Option<CachedPrice> {
        let cached = self.cached_price?;
        Some(if cached.has_expired(at) { CachedPrice { value: price, updated: at.timestamp } } else { cached })
    }

    /// Returns the positions of two of `coins` coins.
    fn check(&self, coin_in: u8, coin_out: u8, coins: usize, amount: U256) -> Result<(usize, usize), SwapError> {
        let positions = positions(coins, coin_in, coin_out, amount)?;
        let whole = self.pool.is_whole() && self.base.state.is_whole() && self.pool.balances.len() == 2;
        if whole { Ok(positions) } else { Err(SwapError::Closed) }
    }

    /// Returns the number of underlying coins.
    fn underlying(&self) -> usize {
        1 + self.base.state.balances.len()
    }

    /// Computes what `exchange` pays between the pool's own coin (0) and the base pool's shares (1).
    ///
    /// # Errors
    /// As [`State::swap`].
    ///
    /// Source: `exchange` of Curve's metapools, classic, of the factories and of the next generation.
    pub fn swap(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<MetaSwap, SwapError> {
        let (i, j) = self.check(coin_in, coin_out, 2, amount_in)?;
        paid(self.exchange(at, i, j, amount_in), amount_in)
    }

    /// Computes what `exchange_underlying` pays. Coin 0 is the pool's own, coin `k` the base pool's coin `k − 1`.
    ///
    /// A coin of the base pool is deposited first, or its shares are withdrawn at the end, each with the base pool's
    /// own fee. Between two coins of the base pool it is a swap of that pool.
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
        let (i, j) = self.check(coin_in, coin_out, self.underlying(), amount_in)?;
        paid(self.exchange_underlying(at, i, j, amount_in), amount_in)
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
        // the pool computes its rates before it calls the base pool
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

    /// Computes the pool's `get_dy`.
    ///
    /// # Errors
    /// As [`State::view`].
    pub fn view(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<U256, SwapError> {
        let (i, j) = self.check(coin_in, coin_out, 2, amount_in)?;
        let answer = self.priced(at).and_then(|pool| pool.get_dy(at, i, j, amount_in));
        answer.map_err(|fault| fault.refusal(amount_in))
    }

    /// Computes StableSwap-NG's `get_dx` for this pool.
    ///
    /// # Errors
    /// As [`State::view_in`].
    pub fn view_in(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_out: U256) -> Result<U256, SwapError> {
        self.check(coin_in, coin_out, 2, amount_out)?;
        self.priced(at).map_err(|fault| fault.refusal(amount_out))?.view_in(at, coin_in, coin_out, amount_out)
    }

    /// Returns the pool of two with the share price filled in.
    fn priced(&self, at: &ExecutionBlock) -> Maths<State> {
        let mut pool = self.pool.clone();
        pool.rates.0[1] = Rate::Fixed(self.share_price(at)?);
        Ok(pool)
    }

    /// Computes the pool's `get_dy_underlying`: an estimate in the classic generation, the swap's amount in the next.
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
        let (i, j) = self.check(coin_in, coin_out, self.underlying(), amount_in)?;
        let answer = if i > 0 && j > 0 {
            self.base.state.get_dy(at, i - 1, j - 1, amount_in)
        } else if i > 0 && self.generation == MetaGeneration::Classic {
            self.get_dy_from_base(at, i - 1, amount_in)
        } else {
            self.exchange_underlying(at, i, j, amount_in).map(|swap| swap.amount_out)
        };
        answer.map_err(|fault| fault.refusal(amount_in))
    }

    /// Computes the classic estimate from a coin of the base pool to the pool's own.
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
