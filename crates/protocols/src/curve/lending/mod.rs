//! Pools whose coins are lent on. Who trades gives and gets the coins themselves, and the pool deposits and withdraws at the lender: the
//! same trade as between the lender's tokens, in other units.

mod growth;
mod listed;
mod reader;
mod state;

pub use growth::Growth;
pub(super) use listed::{holds, pools};
pub(super) use reader::reader;
pub use state::{Lender, Market, State};
