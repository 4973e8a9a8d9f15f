//! Upper bounds: what no route can exceed, at given prices of all tokens.

pub(crate) mod board;
pub(crate) mod evaluate;
pub(crate) mod few;
mod forced;
mod noise;
pub(crate) mod passing;
