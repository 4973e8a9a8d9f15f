//! What steps of one transaction share: contracts whose accounts and storage are warm for the later ones, and the gas that these save.
//!
//! None of it is in a step's own gas ([`Swap::gas_units`](crate::Swap)), by which routes are compared and which a certificate's bound counts
//! on: that is what a step costs by itself, whatever came before. A model of a whole transaction takes it off.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};
use braid_primitives::{ExecutionBlock, PoolKey};

use crate::{Pool, Protocol, Sale, Touched, product::own, registry::with_record, vault::Lent};

/// What the steps of a transaction left warm.
#[derive(Clone, Debug, Default)]
pub struct Warm {
    /// Pools, vaults and base pools that a step went through.
    contracts: BTreeSet<Address>,
    lent: Lent,
    /// What went through pools.
    sales: BTreeMap<PoolKey, Vec<Sale>>,
}

impl Warm {
    /// Records a step that a route counts with so much gas. Returns what it costs after those before it, besides what the balances of tokens
    /// cost: where the pool's arithmetic goes round in loops, along these.
    pub fn step(&mut self, pool: &Pool, coins: [u8; 2], at: &ExecutionBlock, amount_in: U256, gas_units: u64) -> u64 {
        with_record!(pool.product, record => match own(record, &pool.state) {
            Some(state) => {
                let sale = Sale { coin_in: coins[0], coin_out: coins[1], amount_in };
                self.step_of(record, pool.key, state, at, sale, gas_units)
            }
            None => gas_units,
        })
    }

    fn step_of<P: Protocol>(
        &mut self,
        record: &P,
        key: PoolKey,
        state: &P::State,
        at: &ExecutionBlock,
        sale: Sale,
        gas_units: u64,
    ) -> u64 {
        let (coins, pool) = ([sale.coin_in, sale.coin_out], key.contract);
        let holder = record.holder(pool);
        let before = self.sales.entry(key).or_default();
        let gas_units = record.counted_gas_units(state, at, before, &sale).unwrap_or(gas_units);
        before.push(sale);
        let touched = |place: Address| self.contracts.contains(&place);
        let own = Touched { pool: touched(pool), holder: touched(holder) };
        let mut saved = record.saved_gas_units(state, coins, at, own, &touched);
        for lender in record.lenders(pool, state, sale.coin_in, gas_units) {
            saved += self.lent.meet(&lender);
        }
        self.contracts.extend([pool, holder].into_iter().chain(record.also_touches(state, coins, at)));
        gas_units.saturating_sub(saved)
    }
}
