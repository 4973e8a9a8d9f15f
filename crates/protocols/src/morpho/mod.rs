//! Morpho: vaults that lend one asset on markets of Morpho Blue.
//!
//! Interest accrues every second, so an amount holds for a timestamp. The state contains everything that it follows
//! from.

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
pub use cold::MetaMorphoProtocol;
pub use irm::{ADAPTIVE_CURVE_IRM, Irm};
pub use metamorpho::{MAX_QUEUE, MetaMorpho};
pub use vault_v2::{VaultV2, VaultV2Protocol};
