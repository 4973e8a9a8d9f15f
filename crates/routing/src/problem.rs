//! One request over one prepared market, in floating point.

use braid_protocols::curve::{Direction, PoolCurve};

use crate::{PoolFilter, Prepared};

/// From one token to one other.
#[derive(Clone, Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) prepared: &'a Prepared,
    /// Nodes of the input and the output; distinct.
    pub(crate) source: usize,
    pub(crate) target: usize,
    /// Amount in, in atomic units.
    pub(crate) amount: f64,
    /// Value of an atomic unit of the output; the unit of value is the wei where the output has a reference price.
    pub(crate) price_out: f64,
    /// Value of a unit of gas.
    pub(crate) gas_price: f64,
    /// Longest chain of pools.
    pub(crate) hops: usize,
    /// Pools that may not be used, by id; empty when all may.
    pub(crate) closed: Vec<bool>,
}

impl<'a> Problem<'a> {
    #[inline]
    pub(crate) fn is_open(&self, pool: u32) -> bool {
        self.closed.is_empty() || !self.closed[pool as usize]
    }

    /// Whether coin 0, and coin 1, of a pool with these tokens may be sold: nothing flows into the input or out of the
    /// output.
    #[inline]
    pub(crate) fn open_ways(&self, tokens: [u32; 2]) -> [bool; 2] {
        let [a, b] = tokens.map(|token| token as usize);
        let may = |from: usize, to: usize| from != self.target && to != self.source;
        [may(a, b), may(b, a)]
    }

    /// A pool's curve; the graph names only pools that have one.
    #[inline]
    pub(crate) fn curve(&self, pool: u32) -> Option<&'a PoolCurve> {
        self.prepared.curve(pool)
    }

    #[inline]
    pub(crate) fn direction(&self, pool: u32, coin_in: u8) -> Option<(&'a PoolCurve, &'a Direction)> {
        let curve = self.curve(pool)?;
        Some((curve, curve.direction(coin_in)?))
    }
}

/// The pools that a filter closes, by id; empty when it closes none.
pub(crate) fn closed_pools(prepared: &Prepared, filter: &PoolFilter) -> Vec<bool> {
    if filter.allows_all() {
        return Vec::new();
    }
    let pools = prepared.market().pools().iter().zip(0_u32..);
    pools.map(|(pool, id)| !filter.allows(braid_primitives::PoolId(id), pool.product)).collect()
}

/// One pool of a flow: what it takes, in floating point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    pub(crate) pool: u32,
    pub(crate) coin_in: u8,
    pub(crate) coin_out: u8,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) amount_in: f64,
}
