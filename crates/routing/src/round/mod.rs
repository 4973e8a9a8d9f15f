//! From relaxed prices to pools that are used or not: a flow that balances, and a bound that branches on some pools.

mod branch;
mod choose;
mod fixed;
mod flow;

pub(crate) use branch::Relaxed;
pub(crate) use flow::Found;
