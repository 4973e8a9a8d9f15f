//! What steps share that go through vaults which lend on the same markets of Morpho Blue: the markets' words, and the interest that only
//! the first of them adds.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256};

use super::{Holding, MetaMorpho, VaultV2, gas, vault_v2};

/// What a step does with a vault.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// Asks what shares are worth.
    Asks,
    /// Deposits or redeems, which costs so much as a step of its own.
    Trades { deposits: bool, gas_units: u64 },
}

/// A vault that lends on Morpho's markets.
#[derive(Clone, Copy, Debug)]
pub enum Lends<'a> {
    /// Of the first kind.
    MetaMorpho(&'a MetaMorpho),
    /// Of the second.
    VaultV2(&'a VaultV2),
}

/// A vault that a step goes by, and what the step does with it.
#[derive(Clone, Copy, Debug)]
pub struct Lender<'a> {
    /// The vault.
    pub vault: Address,
    /// What it lends.
    pub lends: Lends<'a>,
    /// What the step does.
    pub does: Does,
}

/// The vaults and markets that the steps of a transaction came by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lent {
    /// Vaults that were asked.
    vaults: BTreeSet<Address>,
    /// Vaults V2 that took note of this second's interest: until the transaction's end they ask nobody.
    noted: BTreeSet<Address>,
    /// Markets that were asked, and whether they have this second's interest.
    markets: BTreeMap<B256, bool>,
}

impl Lent {
    /// Takes note of what a step does with a vault; what it costs less after the steps before it.
    pub(crate) fn meet(&mut self, lender: &Lender<'_>) -> u64 {
        let Lender { vault: address, lends, does } = *lender;
        let visited = match does {
            Does::Asks => Vec::new(),
            Does::Trades { deposits, gas_units } => visited(lends, deposits, gas_units),
        };
        let mut saved = match lends {
            Lends::VaultV2(vault) if self.noted.contains(&address) => vault_v2::gas::asked(vault),
            _ => self.ask(address, lends),
        };
        let accrued = visited.iter().filter(|id| self.markets.get(*id) == Some(&true)).count();
        saved += times(accrued, gas::ACCRUED_VISIT_GAS_UNITS);
        if !visited.is_empty() && self.markets.values().any(|accrued| *accrued) {
            saved += gas::MOVED_AGAIN_GAS_UNITS;
        }
        self.markets.extend(visited.into_iter().map(|id| (id, true)));
        if matches!((lends, does), (Lends::VaultV2(_), Does::Trades { .. })) {
            self.noted.insert(address);
        }
        saved
    }

    /// Every vault asks its markets whenever it is asked.
    fn ask(&mut self, address: Address, lends: Lends<'_>) -> u64 {
        let asked = asked(lends);
        let again: BTreeSet<&B256> = asked.iter().filter(|id| self.markets.contains_key(*id)).collect();
        let accrued = asked.iter().filter(|id| self.markets.get(*id) == Some(&true));
        let mut saved = times(again.len(), gas::MARKET_AGAIN_GAS_UNITS);
        saved += times(accrued.count(), gas::ACCRUED_MARKET_GAS_UNITS);
        if !again.is_empty() {
            saved += gas::BLUE_AGAIN_GAS_UNITS;
        }
        for (vault, positions) in vaults(address, lends) {
            if !self.vaults.insert(vault) {
                saved += gas::VAULT_AGAIN_GAS_UNITS + times(positions, gas::POSITION_AGAIN_GAS_UNITS);
            }
        }
        for id in asked {
            self.markets.entry(id).or_insert(false);
        }
        saved
    }
}

fn times(count: usize, gas_units: u64) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(gas_units)
}

/// A vault and those within it, each with how many positions it has in markets itself.
fn vaults(address: Address, lends: Lends<'_>) -> Vec<(Address, usize)> {
    match lends {
        Lends::MetaMorpho(vault) => vec![(address, vault.holdings.len())],
        Lends::VaultV2(vault) => {
            let (mut own, mut all) = (0, Vec::new());
            for adapter in vault.adapters.iter() {
                match adapter {
                    vault_v2::Adapter::Markets(holdings) => own += holdings.len(),
                    vault_v2::Adapter::Vault { address, vault, .. } => all.push((*address, vault.holdings.len())),
                }
            }
            all.push((address, own));
            all
        }
    }
}

/// The markets that a vault asks, as often as it does.
fn asked(lends: Lends<'_>) -> Vec<B256> {
    let ids = |holdings: &[Holding]| holdings.iter().map(|holding| holding.id).collect::<Vec<_>>();
    match lends {
        Lends::MetaMorpho(vault) => ids(&vault.holdings),
        Lends::VaultV2(vault) => vault.adapters.iter().flat_map(|adapter| ids(adapter.holdings())).collect(),
    }
}

/// The markets that a trade supplies to or withdraws from, or comes by on the way; its gas says how many they are.
fn visited(lends: Lends<'_>, deposits: bool, gas_units: u64) -> Vec<B256> {
    match lends {
        Lends::MetaMorpho(vault) => first(vault, deposits, gas::visited(vault, gas_units)),
        Lends::VaultV2(vault) if vault_v2::gas::moved(vault, deposits, gas_units) => place(vault, deposits),
        _ => Vec::new(),
    }
}

/// So many markets of a MetaMorpho vault in the order of its queue.
fn first(vault: &MetaMorpho, deposits: bool, count: usize) -> Vec<B256> {
    let supplied = vault.supply_queue.iter().filter_map(|place| vault.holdings.get(usize::from(*place)));
    let id = |holding: &Holding| holding.id;
    if deposits { supplied.take(count).map(id).collect() } else { vault.holdings.iter().take(count).map(id).collect() }
}

/// Where a Vault V2 has its liquidity.
fn place(vault: &VaultV2, deposits: bool) -> Vec<B256> {
    let Some(liquidity) = &vault.liquidity else { return Vec::new() };
    match vault.adapters.get(usize::from(liquidity.adapter)) {
        Some(vault_v2::Adapter::Markets(holdings)) => {
            holdings.get(usize::from(liquidity.market)).map(|holding| holding.id).into_iter().collect()
        }
        Some(vault_v2::Adapter::Vault { vault, .. }) => first(vault, deposits, 1),
        None => Vec::new(),
    }
}
