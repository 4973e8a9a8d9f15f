//! Which product a vault is, that another contract names: its factories say so.

use alloy_primitives::Address;

use super::{Vault, VaultProtocol, vaults};
use crate::{
    Discovered, Product, Source, StateReader,
    answers::{Answers, Question},
    product::own,
    registry::with_vault_record,
};

/// What a vault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    product: Product,
    /// Whether one of the product's factories made it, or it is on the product's list.
    vouched: bool,
}

impl Kind {
    /// Returns what a vault is that was read before.
    pub(crate) fn of(vault: &Vault, address: Address) -> Self {
        let vouched = with_vault_record!(vault.product, record => {
            own(record, &vault.state).is_some_and(|state| record.is_vouched(address, state))
        }, else false);
        Self { product: vault.product, vouched }
    }

    pub(crate) const fn product(self) -> Product {
        self.product
    }

    /// Tells whether it is known what moves its rate.
    pub(crate) const fn is_vouched(self) -> bool {
        self.vouched
    }

    /// Returns a reader of a vault that is this, which knows from an earlier reading what never changes.
    pub(crate) fn reader(self, vault: Address, asset: Address, was: Option<&Vault>) -> Box<dyn StateReader> {
        let product = self.product;
        let found = Discovered { key: vault.into(), product, coins: vec![asset, vault], fee_pips: 0, tick_spacing: 0 };
        let unverified = with_vault_record!(product, record => record.unverified_reader(vault, asset), else None);
        match (unverified.filter(|_| !self.vouched), was.filter(|was| was.product == product)) {
            (Some(reader), _) => reader,
            (None, Some(was)) => product.reader_again(&found, &was.state),
            (None, None) => product.reader(&found),
        }
    }
}

/// Asks the factories whether they made a vault of an asset.
pub(crate) fn ask_kind(vault: Address, asset: Address) -> Vec<Question> {
    let made = |(product, source): (Product, &Source)| with_vault_record!(product, record => Some(record.ask_maker(source.emitter, vault, asset)), else None);
    factories().filter_map(made).collect()
}

/// Returns what they answered: a vault that nobody made is one of its own assets, if anything.
pub(crate) fn kind(vault: Address, answers: &mut Answers<'_>) -> Option<Kind> {
    let listed = |product| with_vault_record!(product, record => record.is_listed(vault), else false);
    let takes_any = |product: &Product| with_vault_record!(*product, record => record.unverified_reader(vault, vault).is_some(), else false);
    let product = vaults().find(takes_any)?;
    let mut kind = Kind { product, vouched: vaults().any(listed) };
    for (product, _) in factories() {
        if with_vault_record!(product, record => record.is_made(vault, answers), else false) {
            kind = Kind { product, vouched: true };
        }
    }
    Some(kind)
}

fn factories() -> impl Iterator<Item = (Product, &'static Source)> {
    vaults().flat_map(|product| product.sources().iter().map(move |source| (product, source)))
}
