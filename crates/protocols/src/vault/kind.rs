//! Determines the product of a vault that another contract names, by asking the vault factories.

use alloy_primitives::Address;

use super::Vault;
use crate::{
    Discovered, Product, Source, StateReader,
    reading::{Reading, Stop, all},
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
        Self { product: vault.product, verified: vault.is_verified(address) }
    }

    /// Tells whether the model knows everything that changes the vault's rate.
    pub(crate) const fn is_verified(self) -> bool {
        self.verified
    }

    /// Reads a vault of this kind. Values from an earlier reading that never change are reused.
    pub(crate) fn read(
        self,
        vault: Address,
        asset: Address,
        was: Option<&Vault>,
        reading: &mut Reading,
    ) -> Result<Vault, Stop> {
        let state = reading.read_by(self.reader(vault, asset, was))?;
        Ok(Vault { product: self.product, state })
    }

    /// Reads a vault of this kind at a block without logs that concern it.
    pub(crate) fn read_each_block(
        self,
        vault: Address,
        asset: Address,
        was: &Vault,
        reading: &mut Reading,
    ) -> Result<Vault, Stop> {
        if !was.reads_each_block() {
            return Ok(was.clone());
        }
        if !self.verified || was.product != self.product {
            return self.read(vault, asset, Some(was), reading);
        }
        let found = Discovered::new(vault, self.product, vec![asset, vault]);
        let state = reading.read_by(self.product.reader_each_block(&found, &was.state))?;
        Ok(Vault { product: self.product, state })
    }

    fn reader(self, vault: Address, asset: Address, was: Option<&Vault>) -> Box<dyn StateReader> {
        let product = self.product;
        let found = Discovered::new(vault, product, vec![asset, vault]);
        let unverified = product.unverified_reader(vault, asset);
        match (unverified.filter(|_| !self.verified), was.filter(|was| was.product == product)) {
            (Some(reader), _) => reader,
            (None, Some(was)) => product.reader_again(&found, &was.state),
            (None, None) => product.reader(&found),
        }
    }
}

/// Asks all factories whether they created a vault of an asset. A vault of no factory is an unverified one, unless a
/// product lists it.
pub(crate) fn ask_kind(vault: Address, asset: Address, reading: &mut Reading) -> Result<Kind, Stop> {
    let created = factories().map(|(product, source)| product.is_created(source.emitter, [asset, vault], reading));
    let created = all(created)?;
    let creator = factories().zip(created).filter(|(_, created)| *created).last();
    if let Some(((product, _), _)) = creator {
        return Ok(Kind { product, verified: true });
    }
    let takes_any = |product: &Product| product.unverified_reader(vault, asset).is_some();
    let product = Product::vaults().find(takes_any).ok_or(reading.impossible("a vault of no product"))?;
    Ok(Kind { product, verified: Product::vaults().any(|product| product.lists_vault(vault)) })
}

fn factories() -> impl Iterator<Item = (Product, &'static Source)> {
    Product::vaults().flat_map(|product| product.sources().iter().map(move |source| (product, source)))
}
