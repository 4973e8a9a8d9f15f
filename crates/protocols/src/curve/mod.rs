//! Curve: exact arithmetic of every kind of pool.
//!
//! Amounts match the deployed contracts' integers, rounding and reverts. A swap computes what `exchange` pays. Where
//! the contract's view differs, the view has its own function. Time-dependent values take the block as an argument.

mod arith;
mod coins;
mod cold;
mod continuous;
pub mod crypto;
mod events;
mod evidence;
mod factories;
pub mod gas;
mod implementations;
mod known;
pub mod lending;
mod listed;
mod partners;
mod plain;
mod pool;
pub mod presets;
mod probe;
pub mod read;
mod reader;
pub mod stable;
mod step;

pub use cold::{
    CURVE_CRYPTOSWAP, CURVE_METAPOOL, CURVE_STABLESWAP, CURVE_STABLESWAP_NG, CURVE_TRICRYPTO, CURVE_TRICRYPTO_NG,
    CURVE_TWOCRYPTO_NG, Curve,
};
pub use known::two_coins_of;
pub use pool::{After, Model, State, Trades};
pub use step::{CRYPTO_OPCODE, STABLE_OPCODE, UNDERLYING_OPCODE};
