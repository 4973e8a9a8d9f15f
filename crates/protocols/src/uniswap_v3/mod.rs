//! Uniswap V3 pools and every fork that runs the same code.

mod bitmap;
mod cold;
mod continuous;
pub mod gas;
mod lens;
mod liquidity_math;
mod logs;
mod reader;
mod sqrt_price_math;
mod state;
mod step;
mod swap;
mod swap_math;
pub mod tick_math;

pub(crate) use cold::{POOL_CREATED, POOL_INIT_CODE_HASH};
pub use cold::{PoolProtocol, UNISWAP_V3};
pub(crate) use logs::{BURN, INITIALIZE, Logs, MINT};
pub use state::{After, State, Tick};
pub use step::OPCODE;

/// Upper limit of a factory's fees, exclusive: 100%, in hundredths of a basis point.
pub const MAX_FEE_PIPS: u32 = 1_000_000;

/// Upper limit of a factory's tick spacings, exclusive.
pub const MAX_TICK_SPACING: i32 = 16_384;
