//! CryptoSwap: two or three coins around a price that the pool moves itself.

mod cubic;
mod gas;
mod newton;
mod outlook;
mod price;
mod reprice;
mod roots;
mod signed;
mod state;
mod swap;
mod three;
mod two;

pub use gas::{CryptoGas, swap_gas};
pub use newton::Rounds;
pub use state::{AmpGamma, ClassicTwo, Kind, Repricing, State};
pub use swap::{CryptoAfter, CryptoSwap};
