//! Which product a vault is, that another contract names: its factories say so.

use alloy_primitives::{Address, Bytes};
use alloy_sol_types::sol;

use crate::{
    DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader,
    answers::{Answers, Question, ask},
    erc4626::{LISTED, VaultReader},
};

sol! {
    function isMetaMorpho(address target) external view returns (bool);
    function isVaultV2(address account) external view returns (bool);
}

/// The products that vaults can be of.
pub(crate) const KINDS: [Product; 3] = [Product::Erc4626, Product::Metamorpho, Product::MorphoVaultV2];

/// Asks the factories whether they made a vault.
pub(crate) fn ask_kind(vault: Address) -> Vec<Question> {
    let made = |(product, source): (Product, &crate::Source)| match product {
        Product::MorphoVaultV2 => ask(source.emitter, &isVaultV2Call { account: vault }),
        _ => ask(source.emitter, &isMetaMorphoCall { target: vault }),
    };
    factories().map(made).collect()
}

/// What they answered: one that nobody made is a vault of its own assets, if anything.
pub(crate) fn kind(answers: &mut Answers<'_>) -> Product {
    let mut kind = Product::Erc4626;
    for (product, _) in factories() {
        // both answer one word that is true or false
        if answers.try_next::<isMetaMorphoCall>() == Some(true) {
            kind = product;
        }
    }
    kind
}

fn factories() -> impl Iterator<Item = (Product, &'static crate::Source)> {
    KINDS.iter().flat_map(|kind| kind.protocol().sources().iter().map(move |source| (*kind, source)))
}

/// A reader of a vault of a product.
pub(crate) fn reader(product: Product, vault: Address, asset: Address) -> Box<dyn StateReader> {
    let found = Discovered { address: vault, product, coins: vec![asset, vault], fee_pips: 0, tick_spacing: 0 };
    if product != Product::Erc4626 || LISTED.iter().any(|listed| listed.vault == vault) {
        return product.protocol().reader(&found);
    }
    Box::new(Stranger(VaultReader::of_holdings(vault, asset)))
}

/// A vault that nobody vouches for: its previews are believed where they follow from what lies in it, and nothing else is.
struct Stranger(VaultReader);

impl StateReader for Stranger {
    fn start(&mut self) -> ReadProgress {
        self.0.start()
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let mut progress = self.0.feed(answers)?;
        if let ReadProgress::Done(PoolState::Erc4626(state)) = &mut progress {
            **state = state.closed();
        }
        Ok(progress)
    }
}
