//! Upper bounds: values that no route exceeds, at given prices of all tokens.

pub(crate) mod counting;
pub(crate) mod dual_prices;
pub(crate) mod evaluate;
mod forced;
pub(crate) mod layers;
pub(crate) mod passing;
mod profit;
pub(crate) mod settled;
pub(crate) mod useful;
