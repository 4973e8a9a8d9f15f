//! End of a swap's step: the next initialised tick, or the edge of the searched bitmap word.
//!
//! The contract searches one word of 256 spaced ticks at a time, and ends a step at the word's edge even if no tick
//! there is initialised. Each step rounds, so these edges affect the last wei.

use super::{
    State,
    tick_math::{MAX_TICK, MIN_TICK},
};

/// End of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// Tick, clamped to the range of ticks.
    pub tick: i32,
    /// Position among the initialised ticks, if it is initialised.
    pub initialised: Option<usize>,
}

/// Iterator over initialised ticks in the direction of a swap.
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

    /// Returns the next initialised tick in the direction, however far.
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

    /// Returns the end of the step from `tick`. Source: `TickBitmap.nextInitializedTickWithinOneWord`.
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

/// Returns the last tick of the word that a search from `tick` covers: downwards including the tick itself, upwards
/// from the next one.
///
/// Requires a spacing above zero.
pub(super) const fn word_edge(tick: i32, spacing: i32, falling: bool) -> i32 {
    let compressed = tick.div_euclid(spacing);
    if falling {
        ((compressed >> 8) << 8).saturating_mul(spacing)
    } else {
        ((compressed + 1) | 255).saturating_mul(spacing)
    }
}

/// Returns the number of words between two ticks: the steps of a swap through a range without liquidity.
pub(super) const fn words_between(from: i32, to: i32, spacing: i32) -> u32 {
    (from.div_euclid(spacing) >> 8).abs_diff(to.div_euclid(spacing) >> 8)
}
