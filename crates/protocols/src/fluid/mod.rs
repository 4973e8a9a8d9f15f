//! Fluid: DEX T1 pools, which trade collateral and debt of the liquidity layer, and fTokens, its lending shares.
//!
//! Everything that Fluid's protocols hold lies in one contract, the liquidity layer. A pool has collateral there, debt there, or
//! both, and each makes reserves of its own: real ones, and imaginary ones that stretch the curve over a price range around a
//! centre. Sources: the layer's and the pool's verified sources (`FluidDexT1`, `LiquidityCalcs`, `UserModule`), read as public text.

mod arith;
pub mod dex;
pub mod ftoken;
pub mod layer;
mod reading;

pub use reading::LIQUIDITY;

/// What a further step at Fluid saves in a transaction, in gas units: the layer's account and status are warm, and so are the words of
/// the token that both steps have, which one of them wrote (EIP-2929).
pub const AGAIN_GAS_UNITS: u64 = 11_500;
