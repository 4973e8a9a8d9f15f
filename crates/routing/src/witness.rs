//! The data from which a third party can recompute a bound: a price and a cap for every token that a route can pass.
//!
//! The bound at those prices is `Σ price(input)·amount + Σ max(0, profit − gas)`, the second sum over the pairs of
//! coins of every pool that is not excluded. Any prices above zero at which the requested basket costs one give a valid
//! bound (for a single output: its price is its value); the solver's are those at which it found the least.
//! `docs/internals/certificate.md` explains why, and `scripts/bound.py` recomputes it from a market in JSON.

use std::sync::{Mutex, PoisonError};

use braid_market::Tokens;
use braid_primitives::{PoolId, TokenId};

use crate::prepare::index32;
use crate::tuning::Tuning;
use crate::{Certificate, Prepared};

/// Dual prices and caps, and the bound that they give. Values are in wei of ether at the market's reference prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// Every token on a path from the inputs to the outputs. Ether is listed as wrapped ether.
    pub tokens: Vec<TokenPrice>,
    /// The bound at these prices, in wei.
    pub bound_value_wei: f64,
    /// Pools that the bound does not cover: filtered by the request.
    pub left_out: Vec<PoolId>,
}

/// The price and cap of one token in a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenPrice {
    /// The token.
    pub token: TokenId,
    /// Its dual price, in wei of ether per atomic unit.
    pub price_wei: f64,
    /// The most of it that any route can hold, in atomic units; infinite if nothing limits it.
    pub cap: f64,
}

/// Keeps the least bound of all evaluations, if an explanation was requested.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Option<Witness>>);

impl Recorder {
    /// Records an evaluation over all open pairs; `left_out` returns the pools of the others.
    pub(crate) fn note(
        &self,
        prepared: &Prepared,
        is_reachable: &[bool],
        caps: &[f64],
        price: &[f64],
        bound: f64,
        left_out: impl FnOnce() -> Vec<PoolId>,
    ) {
        let mut best = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if best.as_ref().is_some_and(|known| known.bound_value_wei <= bound) || !bound.is_finite() {
            return;
        }
        let listed = |token: usize| (is_reachable[token] && price[token] > 0.0).then_some(token);
        let tokens = (0..price.len()).filter_map(listed).map(|token| TokenPrice {
            token: prepared.token(index32(token)),
            price_wei: price[token],
            cap: caps[token],
        });
        let mut tokens: Vec<TokenPrice> = tokens.collect();
        tokens.sort_unstable_by_key(|known| known.token);
        *best = Some(Witness { tokens, bound_value_wei: bound, left_out: left_out() });
    }

    /// Returns the recorded witness, and replaces it by another.
    pub(crate) fn replace(&self, with: Option<Witness>) -> Option<Witness> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), with)
    }
}

impl Witness {
    /// Returns whether the bound is close enough to the achieved value to be useful.
    pub(crate) fn says_something(&self, certificate: &Certificate) -> bool {
        let achieved = f64::from(certificate.achieved_value_wei);
        let loosest = Tuning::WITNESS_GAP_BPS.max(Tuning::WITNESS_GAPS * certificate.gap_bps) / 1e4;
        self.bound_value_wei - achieved <= loosest * self.bound_value_wei
    }

    /// Returns a token's price and cap; those of ether are those of wrapped ether.
    pub fn of(&self, token: TokenId) -> Option<&TokenPrice> {
        let token = if token == Tokens::ETHER { Tokens::WETH } else { token };
        let at = self.tokens.binary_search_by_key(&token, |known| known.token).ok()?;
        self.tokens.get(at)
    }
}
