//! Exact output: the least input that buys an amount.
//!
//! Solves of sales lead to it. A sale of about the right amount plans a route; the plan, its shares fixed, is then run in integers for the
//! least input that makes the amount; and a sale of that input plans again. What a plan is off at an amount near its own is of second
//! order, so that two solves are nearly always enough.

mod bound;
mod chain;
mod fixed_plan;
mod search;
mod wanted;

pub use bound::{InputBound, InputCertificate};
pub use chain::{along_one_chain, buy_along};
pub use search::{Bought, buy};
pub use wanted::Purchase;
