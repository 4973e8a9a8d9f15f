//! Pools whose coins are lent. A trader pays and receives the underlying coins, and the pool deposits and withdraws at
//! the lender. The trade equals one between the lender's tokens, in other units.

mod growth;
mod listed;
mod reader;
mod state;

pub use growth::Growth;
pub(super) use listed::{holds, pools};
pub(super) use reader::reader;
pub use state::{Lender, Market, State};
