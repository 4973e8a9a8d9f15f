//! Which product a vault is, that another contract names: its factories say so.

use alloy_primitives::{Address, Bytes};
use alloy_sol_types::sol;

use super::Vault;
use crate::{
    DecodeError, Discovered, Pool, PoolState, Product, ReadProgress, StateReader,
    answers::{Answers, Question, ask},
    erc4626::{LISTED, VaultReader},
};

sol! {
    function isMetaMorpho(address target) external view returns (bool);
    function isVaultV2(address account) external view returns (bool);
    function getStataToken(address underlying) external view returns (address);
    function allTokens() external view returns (address[]);
}

/// The products that vaults can be of.
pub(crate) const KINDS: [Product; 4] =
    [Product::Erc4626, Product::Metamorpho, Product::MorphoVaultV2, Product::FluidFToken];

/// What a vault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    product: Product,
    /// Whether one of the product's factories made it, or it is on the product's list.
    vouched: bool,
}

impl Kind {
    /// Of a vault that was read before.
    pub(crate) fn of(vault: &Vault, address: Address) -> Self {
        let vouched = match &vault.state {
            PoolState::Erc4626(state) => state.reserve.is_some() || is_listed(address),
            _ => true,
        };
        Self { product: vault.product, vouched }
    }

    pub(crate) const fn product(self) -> Product {
        self.product
    }

    /// Whether it is known what moves its rate.
    pub(crate) const fn is_vouched(self) -> bool {
        self.vouched
    }

    /// A reader of a vault that is this, which knows from an earlier reading what never changes.
    pub(crate) fn reader(self, vault: Address, asset: Address, was: Option<&Vault>) -> Box<dyn StateReader> {
        let product = self.product;
        let found = Discovered { address: vault, product, coins: vec![asset, vault], fee_pips: 0, tick_spacing: 0 };
        match was.filter(|was| was.product == product) {
            _ if !self.vouched => Box::new(Stranger(VaultReader::of_holdings(vault, asset))),
            Some(was) => {
                let state = was.state.clone();
                let pool = Pool { address: vault, product, coins: arrayvec::ArrayVec::new(), state };
                product.protocol().reader_again(&found, &pool)
            }
            None => product.protocol().reader(&found),
        }
    }
}

/// Asks the factories whether they made a vault of an asset.
pub(crate) fn ask_kind(vault: Address, asset: Address) -> Vec<Question> {
    let made = |(product, source): (Product, &crate::Source)| match product {
        Product::MorphoVaultV2 => ask(source.emitter, &isVaultV2Call { account: vault }),
        Product::Erc4626 => ask(source.emitter, &getStataTokenCall { underlying: asset }),
        Product::FluidFToken => ask(source.emitter, &allTokensCall {}),
        _ => ask(source.emitter, &isMetaMorphoCall { target: vault }),
    };
    factories().map(made).collect()
}

/// What they answered: one that nobody made is a vault of its own assets, if anything.
pub(crate) fn kind(vault: Address, answers: &mut Answers<'_>) -> Kind {
    let mut kind = Kind { product: Product::Erc4626, vouched: is_listed(vault) };
    for (product, _) in factories() {
        let made = match product {
            Product::Erc4626 => answers.try_next::<getStataTokenCall>() == Some(vault),
            Product::FluidFToken => answers.try_next::<allTokensCall>().is_some_and(|all| all.contains(&vault)),
            // both answer one word that is true or false
            _ => answers.try_next::<isMetaMorphoCall>() == Some(true),
        };
        if made {
            kind = Kind { product, vouched: true };
        }
    }
    kind
}

fn is_listed(vault: Address) -> bool {
    LISTED.iter().any(|listed| listed.vault == vault)
}

fn factories() -> impl Iterator<Item = (Product, &'static crate::Source)> {
    KINDS.iter().flat_map(|kind| kind.protocol().sources().iter().map(move |source| (*kind, source)))
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
