//! The constants that steer the search, each with the measurement that set it.
//!
//! None of them can make an amount or a bound wrong: they decide where the search looks, how long, and when it stops.
//! If a constant was set by a measurement on record, its comment states the result. *No record* means that a benchmark
//! set it and its figures were not kept; `docs/internals/bench.md` shows what half and double of many do. A *gap* is the
//! distance between the upper bound and the best route, as a share of the bound. Work is limited by counts and not by
//! time, so that the same request gives the same bytes on every machine.

mod beyond;
mod bound;
mod candidates;
mod exact;
mod precision;
mod prepare;
mod purchase;
mod relax;
mod round;

/// A rule that raises a number by a factor, but at least to `least`.
pub(crate) struct Raise {
    pub(crate) factor: f64,
    pub(crate) least: f64,
    /// The limit that the raised number must not exceed.
    pub(crate) most: f64,
}

impl Raise {
    /// Returns the raised number, whatever its limit.
    pub(crate) fn raised(&self, number: f64) -> f64 {
        (number * self.factor).max(self.least)
    }
}

/// Every constant of the solver, in files by the stage that uses it.
pub(crate) struct Tuning;
