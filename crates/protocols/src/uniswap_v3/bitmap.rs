//! Where a step of a swap ends: the next initialised tick, or the edge of the bitmap word that the search looks into.
//!
//! The contract looks one word of 256 spaced ticks at a time and ends a step at the word's edge even where no tick is
//! initialised. Each step rounds, so that these edges decide the last wei.

use super::{
    State,
    tick_math::{MAX_TICK, MIN_TICK},
};

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// Tick, kept within the range of ticks.
    pub tick: i32,
    /// Position among the initialised ticks, if it is one.
    pub initialised: Option<usize>,
}

/// Walks initialised ticks in the direction of a swap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    /// Number of ticks at or below the current one.
    at_or_below: usize,
    falling: bool,
}

impl Cursor {
    pub(super) fn new(state: &State, tick: i32, falling: bool) -> Self {
        Self { at_or_below: state.ticks.partition_point(|known| known.index <= tick), falling }
    }

    /// The next initialised tick in the direction, however far.
    pub(super) fn candidate(&self) -> Option<usize> {
        if self.falling { self.at_or_below.checked_sub(1) } else { Some(self.at_or_below) }
    }

    /// Moves past the candidate.
    pub(super) const fn advance(&mut self) {
        if self.falling {
            self.at_or_below = self.at_or_below.saturating_sub(1);
        } else {
            self.at_or_below = self.at_or_below.saturating_add(1);
        }
    }

    /// Where the step from `tick` ends. Source: `TickBitmap.nextInitializedTickWithinOneWord`.
    pub(super) fn stop(&self, state: &State, tick: i32) -> Stop {
        let edge = word_edge(tick, state.tick_spacing, self.falling);
        if let Some(position) = self.candidate()
            && let Some(candidate) = state.ticks.get(position)
            && (if self.falling { candidate.index >= edge } else { candidate.index <= edge })
        {
            return Stop { tick: candidate.index, initialised: Some(position) };
        }
        Stop { tick: edge.clamp(MIN_TICK, MAX_TICK), initialised: None }
    }
}

/// The last tick of the word that a search from `tick` looks into: downwards from the tick itself, upwards from the next.
///
/// The spacing is above zero.
pub(super) const fn word_edge(tick: i32, spacing: i32, falling: bool) -> i32 {
    let compressed = tick.div_euclid(spacing);
    if falling {
        ((compressed >> 8) << 8).saturating_mul(spacing)
    } else {
        ((compressed + 1) | 255).saturating_mul(spacing)
    }
}

/// How many words lie between two ticks: the steps that a swap takes through a range without liquidity.
pub(super) const fn words_between(from: i32, to: i32, spacing: i32) -> u32 {
    (from.div_euclid(spacing) >> 8).abs_diff(to.div_euclid(spacing) >> 8)
}
