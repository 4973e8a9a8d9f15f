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
