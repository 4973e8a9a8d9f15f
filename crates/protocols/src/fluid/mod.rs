//! Fluid: DEX T1 pools, which trade collateral and debt of the liquidity layer, and fTokens, its lending shares.
//!
//! All balances of Fluid's protocols are in one contract, the liquidity layer. A pool has collateral there, debt, or
//! both. Each makes reserves: real ones, and imaginary ones that stretch the curve over a price range around a centre.
//! Sources: the layer's and the pool's verified sources (`FluidDexT1`, `LiquidityCalcs`, `UserModule`), read as public
//! text.

mod arith;
pub mod dex;
mod earlier;
pub mod ftoken;
pub mod layer;
mod reading;

pub use reading::LIQUIDITY;

/// Saving of a further step at Fluid in a transaction, in gas units: the layer's account and status are warm, and so
/// are the slots of the token that both steps use, which one of them wrote (EIP-2929).
pub const AGAIN_GAS_UNITS: u64 = 11_500;
