//! What steps of one transaction share: contracts whose accounts and storage are warm for the later ones, and the gas that these save.
//!
//! None of it is in a step's own gas ([`Swap::gas_units`](crate::Swap)), by which routes are compared and which a certificate's bound counts
//! on: that is what a step costs by itself, whatever came before. A model of a whole transaction takes it off.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;

use crate::{
    Pool, PoolState, balancer,
    curve::CryptoTrade,
    erc4626::ASSET_COIN,
    fluid,
    morpho::warm::{Does, Lent},
};

/// What the steps of a transaction left warm.
#[derive(Clone, Debug, Default)]
pub struct Warm {
    /// Pools, vaults and base pools that a step went through.
    contracts: BTreeSet<Address>,
    lent: Lent,
    /// What went through pools whose loops are counted.
    trades: BTreeMap<Address, Vec<CryptoTrade>>,
}

impl Warm {
    /// Takes note of a step that a route counts with so much gas. What it costs after those before it, besides what the balances of tokens
    /// cost: where the pool's arithmetic goes round in loops, along these.
    pub fn step(&mut self, pool: &Pool, coins: [u8; 2], at: &ExecutionBlock, amount_in: U256, gas_units: u64) -> u64 {
        let mut gas_units = gas_units;
        if let PoolState::Curve(state) = &pool.state {
            let trade = CryptoTrade { coin_in: coins[0], coin_out: coins[1], amount_in };
            let before = self.trades.entry(pool.address).or_default();
            gas_units = state.counted_gas_units(at, before, &trade).unwrap_or(gas_units);
            before.push(trade);
        }
        let mut saved = pool.saved_gas_units(coins, at, &self.contracts);
        for (vault, state, does) in pool.lenders(coins, gas_units) {
            saved += self.lent.meet(vault, state, does);
        }
        self.contracts.extend(pool.touches(coins, at));
        gas_units.saturating_sub(saved)
    }
}

impl Pool {
    /// The contract that holds the pool's coins: the vault of many pools, or the pool itself.
    pub fn holder(&self) -> Address {
        match &self.state {
            PoolState::BalancerV2(_) => balancer::v2::VAULT,
            PoolState::BalancerV3(_) | PoolState::BalancerV3Buffer(_) => balancer::v3::VAULT,
            PoolState::FluidDexT1(_) | PoolState::FluidFToken(_) => fluid::LIQUIDITY,
            _ => self.address,
        }
    }

    /// Whom the pool's own token lets take any amount of it: an allowance to that contract is not used up.
    pub fn own_token_lets(&self) -> Option<Address> {
        match &self.state {
            PoolState::BalancerV2(state) if state.trades_own_token() => Some(balancer::v2::VAULT),
            _ => None,
        }
    }

    /// The contracts besides tokens that a step through this pool leaves warm, as far as other steps go through them.
    fn touches(&self, coins: [u8; 2], at: &ExecutionBlock) -> ArrayVec<Address, 2> {
        let beside = match &self.state {
            PoolState::Curve(state) => state.base_pool.filter(|_| state.goes_through_base(coins, at)),
            _ => Some(self.holder()).filter(|holder| *holder != self.address),
        };
        std::iter::once(self.address).chain(beside).collect()
    }

    /// What of a step's own gas is saved by steps that touched contracts before it.
    fn saved_gas_units(&self, coins: [u8; 2], at: &ExecutionBlock, touched: &BTreeSet<Address>) -> u64 {
        let [own, vault] = [self.address, self.holder()].map(|place| touched.contains(&place));
        let saved = |again: u64, pool_again: u64| u64::from(vault) * again + u64::from(own) * pool_again;
        match &self.state {
            PoolState::BalancerV2(state) => saved(balancer::v2::gas::AGAIN_GAS_UNITS, state.again_gas_units()),
            PoolState::BalancerV3(_) => {
                let each = balancer::v3::gas::COIN_AGAIN_GAS_UNITS * self.coins.len() as u64;
                saved(balancer::v3::gas::AGAIN_GAS_UNITS, each)
            }
            PoolState::BalancerV3Buffer(_) => saved(balancer::v3::gas::AGAIN_GAS_UNITS, 0),
            PoolState::FluidDexT1(_) | PoolState::FluidFToken(_) => saved(fluid::AGAIN_GAS_UNITS, 0),
            PoolState::Curve(state) => {
                state.saved_gas_units(coins, at, own, state.base_pool.is_some_and(|base| touched.contains(&base)))
            }
            _ => 0,
        }
    }

    /// The vaults that a step comes by, each that lends with others, and what the step does with it.
    fn lenders(&self, [coin_in, _]: [u8; 2], gas_units: u64) -> Vec<(Address, &PoolState, Does)> {
        let deposits = coin_in == ASSET_COIN;
        match &self.state {
            PoolState::Metamorpho(_) | PoolState::VaultV2(_) => {
                vec![(self.address, &self.state, Does::Trades { deposits, gas_units })]
            }
            PoolState::BalancerV3Buffer(buffer) => {
                let traded = buffer.traded_gas_units(deposits, gas_units);
                let does = traded.map_or(Does::Asks, |gas_units| Does::Trades { deposits, gas_units });
                vec![(buffer.wrapped, &buffer.vault.state, does)]
            }
            PoolState::BalancerV3(pool) => {
                pool.followed.iter().map(|one| (one.token, &one.vault.state, Does::Asks)).collect()
            }
            _ => Vec::new(),
        }
    }
}
