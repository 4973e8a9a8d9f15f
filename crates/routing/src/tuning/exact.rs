//! Exact routes.

use std::ops::RangeInclusive;

use super::Tuning;

impl Tuning {
    /// Most exact runs of one plan: each run repairs what a pool refused, or moves a basket's shares. No record.
    pub(crate) const EXACT_RUNS: usize = 16;
    /// Most of the amount that a pool refused that it is offered in the next run, as a share: errors do not always say how
    /// much it takes. Results for other shares are in `docs/internals/bench.md`.
    pub(crate) const OFFERED_AGAIN_SHARE: f64 = 0.999;
    /// Flows that are removed, one by one, from a plan that does not run. Of 480 trades and baskets beyond the
    /// liquidity one gets 87 basis points more by it, none less.
    pub(crate) const FLOWS_DROPPED: usize = 2;
    /// Halvings of an interval in the search for the input at which a pool pays a share of its output: to the last
    /// digits of a float. No record.
    pub(crate) const HALVINGS: usize = 50;
    /// Share of what arrives at a token above which the amount that a plan leaves there is sold along the best route.
    /// Without it 172 of 12,000 trades in 4,000 markets whose prices disagree paid less, some only a fraction, and 7
    /// paid more.
    pub(crate) const LEFTOVER_SHARE: f64 = 1e-3;
    /// Deviation of an output's share that is good enough: a hundredth of a basis point.
    pub(crate) const SHARE_PRECISION: f64 = 1e-6;
    /// Runs without gain after which shares are left as they are. No record.
    pub(crate) const RUNS_WITHOUT_GAIN: usize = 3;
    /// Range of how much an output's share may grow with its factor: in proportion for deep pools, hardly at all for
    /// drained ones. No record.
    pub(crate) const SHARE_RESPONSE: RangeInclusive<f64> = 0.1..=1.5;
    /// Longest step in the logarithm of a factor. No record.
    pub(crate) const LONGEST_SHARE_STEP: f64 = 3.0;
    /// Least value that a share counts as, and the move of a factor's logarithm above which its effect is measured.
    /// No record.
    pub(crate) const LEAST_SHARE: f64 = 1e-12;
    pub(crate) const LEAST_SHARE_MOVE: f64 = 1e-9;
    /// Share of the output that several steps must bring together, or they are left out: a hundredth of a basis point,
    /// with room for what rounding adds. And the number of steps that may bring more before no others are tried.
    /// No record.
    pub(crate) const STEP_GAIN_SHARE: f64 = 9e-7;
    pub(crate) const STEPS_LEFT_OUT_TRIED: usize = 4;
    /// Share of all ether that may stay in its present form: wrapping or unwrapping it costs a step. No record.
    pub(crate) const ETHER_LEFT_SHARE: f64 = 1e-6;
    /// Gap above which pools are stopped short of the last tick that they cross, the least share of its amount that a
    /// pool then keeps, how many pools are tried, and how often again from a better route. No record.
    pub(crate) const TICK_GAP: f64 = 1e-6;
    pub(crate) const TICK_STOP_SHARE: f64 = 0.5;
    pub(crate) const TICK_STOPS: usize = 8;
    pub(crate) const TICK_STOP_ROUNDS: usize = 4;
    /// Assumed cost of a swap, as a share of the trade, where gas costs less; and the gap above which that is tried. Of
    /// 12,000 trades in 4,000 markets whose prices disagree, at 0 to 30 gwei, 242 pay more with it and 28 less. On the
    /// local chain's market without a gas price, the largest loss of a route against one searched for at 0.3 to 3 gwei
    /// fell from 362 to 32 basis points; with 1e-5 it was 118. On the two real markets of 2026 no more than one pair of
    /// 400 changed; solves without a gas price took 5 to 20% longer, those at 1 gwei as long.
    pub(crate) const NOMINAL_SWAP_SHARE: f64 = 1e-6;
    pub(crate) const NOMINAL_GAP: f64 = 1e-5;
}
