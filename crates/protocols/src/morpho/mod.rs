//! Morpho: vaults that lend one asset on markets of Morpho Blue.
//!
//! Interest is added every second, so that an amount is for a timestamp; everything that it follows from is in the state.

mod blue;
mod cold;
mod continuous;
pub mod gas;
mod irm;
mod joint;
mod metamorpho;
mod reader;
mod shared;
pub mod vault_v2;
pub(crate) mod warm;

pub use blue::{Holding, MORPHO_BLUE, Market};
pub use cold::{METAMORPHO, MorphoProtocol};
pub use irm::{ADAPTIVE_CURVE_IRM, Irm};
pub use metamorpho::{MAX_QUEUE, MetaMorpho};
pub use vault_v2::{VAULT_V2, VaultV2};
