//! Determines the product of a vault that another contract names, by asking the vault factories.

use alloy_primitives::Address;

use super::{Vault, VaultProtocol, vaults};
use crate::{
    Discovered, Product, Source, StateReader,
    answers::{Answers, Question},
    product::own,
    registry::with_vault_record,
};

/// Product of a vault, and whether it is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    product: Product,
    /// Whether a factory of the product created it, or the product lists it.
    verified: bool,
}

impl Kind {
    /// Returns the kind of a vault that was read before.
    pub(crate) fn of(vault: &Vault, address: Address) -> Self {
        let verified = with_vault_record!(vault.product, record => {
            own(record, &vault.state).is_some_and(|state| record.is_verified(address, state))
        }, else false);
        Self { product: vault.product, verified }
    }

    pub(crate) const fn product(self) -> Product {
        self.product
    }

    /// Tells whether the model knows everything that changes the vault's rate.
    pub(crate) const fn is_verified(self) -> bool {
        self.verified
    }

    /// Returns a reader of a vault of this kind. Values from an earlier reading that never change are reused.
    pub(crate) fn reader(self, vault: Address, asset: Address, was: Option<&Vault>) -> Box<dyn StateReader> {
        let product = self.product;
        let found = Discovered { key: vault.into(), product, coins: vec![asset, vault], fee_pips: 0, tick_spacing: 0 };
        let unverified = with_vault_record!(product, record => record.unverified_reader(vault, asset), else None);
        match (unverified.filter(|_| !self.verified), was.filter(|was| was.product == product)) {
            (Some(reader), _) => reader,
            (None, Some(was)) => product.reader_again(&found, &was.state),
            (None, None) => product.reader(&found),
        }
    }
}

/// Builds the calls that ask all factories whether they created a vault of an asset.
pub(crate) fn ask_kind(vault: Address, asset: Address) -> Vec<Question> {
    let made = |(product, source): (Product, &Source)| with_vault_record!(product, record => Some(record.ask_factory(source.emitter, vault, asset)), else None);
    factories().filter_map(made).collect()
}

/// Decodes the answers to [`ask_kind`]. A vault of no factory is an unverified one.
pub(crate) fn kind(vault: Address, answers: &mut Answers<'_>) -> Option<Kind> {
    let listed = |product| with_vault_record!(product, record => record.is_listed(vault), else false);
    let takes_any = |product: &Product| with_vault_record!(*product, record => record.unverified_reader(vault, vault).is_some(), else false);
    let product = vaults().find(takes_any)?;
    let mut kind = Kind { product, verified: vaults().any(listed) };
    for (product, _) in factories() {
        if with_vault_record!(product, record => record.is_created(vault, answers), else false) {
            kind = Kind { product, verified: true };
        }
    }
    Some(kind)
}

fn factories() -> impl Iterator<Item = (Product, &'static Source)> {
    vaults().flat_map(|product| product.sources().iter().map(move |source| (product, source)))
}
