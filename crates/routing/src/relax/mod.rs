//! The dual of the flow problem, restricted to some tokens and the pools between them.
//!
//! For any prices `ν` with the output's price held fixed, `ν(input)·amount + Σ max(0, profit(ν) − gas)` bounds the
//! value of every route. Newton's method on a smoothed form finds the prices that make this bound least. The pools that
//! earn their gas there are the ones to use, and their trades at the optimal prices of that set are the flow.

mod cholesky;
mod layered;
mod newton;
mod search;
mod slopes;
mod subproblem;

pub(crate) use layered::{LayerSearch, LayeredBounds};
pub(crate) use newton::{Newton, Tolerance};
pub(crate) use search::{Evaluated, FlowSearch};
pub(crate) use slopes::Stage;
pub(crate) use subproblem::{Member, Subproblem};
