//! Gas that the steps of one transaction save because earlier steps left accounts and storage warm.
//!
//! A step's own gas ([`Swap::gas_units`](crate::Swap)) ignores such savings: it is the cost of the step by itself.
//! Routes are compared by it, and the certificate's bound relies on it. The gas model of a whole transaction subtracts
//! the savings.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};
use braid_primitives::{ExecutionBlock, PoolKey};

use crate::{
    Pool, Protocol, Sale, Touched,
    registry::{own, with_record},
    vault::WarmMarkets,
};

/// Contracts and slots that the steps of a transaction left warm.
#[derive(Clone, Debug, Default)]
pub struct Warm {
    /// Pools, vaults and base pools of earlier steps.
    contracts: BTreeSet<Address>,
    markets: WarmMarkets,
    /// Sales of each pool so far.
    sales: BTreeMap<PoolKey, Vec<Sale>>,
}

impl Warm {
    /// Records a step whose own gas is `gas_units`. Returns its gas after the earlier steps, excluding the balances of
    /// tokens. If the pool's gas depends on loop iterations, they are counted for this sale.
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
        let sales = self.sales.entry(key).or_default();
        let gas_units = record.counted_gas_units(state, at, sales, &sale).unwrap_or(gas_units);
        sales.push(sale);
        let touched = |place: Address| self.contracts.contains(&place);
        let before = Touched { pool: touched(pool), holder: touched(holder), is_touched: &touched };
        let mut saved = record.saved_gas_units(state, coins, at, before);
        for lender in record.lenders(pool, state, sale.coin_in, gas_units) {
            saved += self.markets.record(&lender);
        }
        self.contracts.extend([pool, holder].into_iter().chain(record.also_touches(state, coins, at)));
        gas_units.saturating_sub(saved)
    }
}
