//! Exact output: the least input that buys an amount.
//!
//! It is found by solving sales. A sale of about the right amount plans a route. That plan, with fixed shares, is then
//! run in integers for the least input that makes the amount; and a sale of that input is planned again. The error of a
//! plan at an amount near its own is of second order, so that two solves are nearly always enough.

mod bound;
mod fixed_plan;
mod path;
mod search;
mod wanted;

pub use bound::{InputBound, InputCertificate};
pub use path::{along_one_path, buy_along};
pub use search::{Bought, buy};
pub use wanted::Purchase;
