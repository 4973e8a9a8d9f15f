//! Draws a quote's route as an SVG, from the answer alone, without scripts.
//!
//! The same answer gives the same bytes. Token names, which anyone can choose, are cleaned and escaped.

mod draw;
mod flow;
mod layout;
mod text;
mod view;

use crate::problem::Problem;

pub use text::{clean, gap_bps, steps};

/// Draws the route of a quote's answer.
///
/// # Errors
/// `INTERNAL` for a text that is not an answer of this version.
pub fn svg(answer: &str) -> Result<String, Problem> {
    let quote: view::Quote = serde_json::from_str(answer).map_err(Problem::internal)?;
    let flow = flow::Flow::of(&quote);
    let places = layout::Layout::of(&flow);
    Ok(draw::draw(&quote, &flow, &places))
}

#[cfg(test)]
mod tests;
