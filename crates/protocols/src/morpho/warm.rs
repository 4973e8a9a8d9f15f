//! Gas savings of steps through vaults that lend on the same markets of Morpho Blue: warm slots of the markets, and
//! interest that only the first step accrues.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256};

use super::{Holding, MetaMorpho, VaultV2, gas, gas::times, vault_v2};

/// Action of a step on a vault.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Reads the worth of shares.
    Reads,
    /// Deposits or redeems, with these gas units as a step of its own.
    Trades { deposits: bool, gas_units: u64 },
}

/// A vault that lends on Morpho's markets.
#[derive(Clone, Copy, Debug)]
pub enum Lends<'a> {
    /// A MetaMorpho vault.
    MetaMorpho(&'a MetaMorpho),
    /// A Vault V2.
    VaultV2(&'a VaultV2),
}

/// A vault that a step calls, with the step's action.
#[derive(Clone, Copy, Debug)]
pub struct Lender<'a> {
    /// Address of the vault.
    pub vault: Address,
    /// State of the vault.
    pub lends: Lends<'a>,
    /// Action of the step.
    pub action: Action,
}

/// Vaults and markets that the steps of a transaction called.
#[derive(Clone, Debug, Default)]
pub(crate) struct WarmMarkets {
    /// Vaults that were read.
    vaults: BTreeSet<Address>,
    /// Vaults V2 that accrued this second's interest: they call nobody again in this transaction.
    accrued_vaults: BTreeSet<Address>,
    /// Markets that were read, and whether they have accrued this second's interest.
    markets: BTreeMap<B256, bool>,
}

impl WarmMarkets {
    /// Records a step's action on a vault, and returns the gas units that it saves after the earlier steps.
    pub(crate) fn record(&mut self, lender: &Lender<'_>) -> u64 {
        let Lender { vault: address, lends, action } = *lender;
        let visited = match action {
            Action::Reads => Vec::new(),
            Action::Trades { deposits, gas_units } => visited(lends, deposits, gas_units),
        };
        let mut saved = match lends {
            Lends::VaultV2(vault) if self.accrued_vaults.contains(&address) => vault_v2::gas::asked(vault),
            _ => self.read(address, lends),
        };
        let accrued = visited.iter().filter(|id| self.markets.get(*id) == Some(&true)).count();
        saved += times(accrued, gas::ACCRUED_VISIT_GAS_UNITS);
        if !visited.is_empty() && self.markets.values().any(|accrued| *accrued) {
            saved += gas::MOVED_AGAIN_GAS_UNITS;
        }
        self.markets.extend(visited.into_iter().map(|id| (id, true)));
        if matches!((lends, action), (Lends::VaultV2(_), Action::Trades { .. })) {
            self.accrued_vaults.insert(address);
        }
        saved
    }

    /// Records a read: a vault reads all its markets each time.
    fn read(&mut self, address: Address, lends: Lends<'_>) -> u64 {
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

/// Returns a vault and the vaults within it, each with its number of own positions in markets.
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

/// Returns the markets that a vault reads, with repetitions.
fn asked(lends: Lends<'_>) -> Vec<B256> {
    let ids = |holdings: &[Holding]| holdings.iter().map(|holding| holding.id).collect::<Vec<_>>();
    match lends {
        Lends::MetaMorpho(vault) => ids(&vault.holdings),
        Lends::VaultV2(vault) => vault.adapters.iter().flat_map(|adapter| ids(adapter.holdings())).collect(),
    }
}

/// Returns the markets that a trade visits; its gas units determine their number.
fn visited(lends: Lends<'_>, deposits: bool, gas_units: u64) -> Vec<B256> {
    match lends {
        Lends::MetaMorpho(vault) => first(vault, deposits, gas::visited(vault, gas_units)),
        Lends::VaultV2(vault) if vault_v2::gas::moved(vault, deposits, gas_units) => liquidity_markets(vault, deposits),
        _ => Vec::new(),
    }
}

/// Returns the first markets of a MetaMorpho vault in the order of its queue.
fn first(vault: &MetaMorpho, deposits: bool, count: usize) -> Vec<B256> {
    let supplied = vault.supply_queue.iter().filter_map(|place| vault.holdings.get(usize::from(*place)));
    let id = |holding: &Holding| holding.id;
    if deposits { supplied.take(count).map(id).collect() } else { vault.holdings.iter().take(count).map(id).collect() }
}

/// Returns the markets of a Vault V2's liquidity adapter.
fn liquidity_markets(vault: &VaultV2, deposits: bool) -> Vec<B256> {
    let Some(liquidity) = &vault.liquidity else { return Vec::new() };
    match vault.adapters.get(usize::from(liquidity.adapter)) {
        Some(vault_v2::Adapter::Markets(holdings)) => {
            holdings.get(usize::from(liquidity.market)).map(|holding| holding.id).into_iter().collect()
        }
        Some(vault_v2::Adapter::Vault { vault, .. }) => first(vault, deposits, 1),
        None => Vec::new(),
    }
}
