//! Upper bounds: values that no route exceeds, at given prices of all tokens.

pub(crate) mod dual_prices;
pub(crate) mod evaluate;
pub(crate) mod few;
mod forced;
pub(crate) mod layers;
mod noise;
pub(crate) mod passing;
