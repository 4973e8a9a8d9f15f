//! Rounding to a set of pools.

use super::Tuning;

impl Tuning {
    /// Shares of its gas that a pool must earn at the relaxed prices to be in a first set. No record.
    pub(crate) const FIRST_SET_SHARES: [f64; 3] = [0.97, 0.8, 1.03];
    /// Most sets tried; fewer if no more pools may be used, because each set then takes longer and gains less.
    /// No record.
    pub(crate) const SETS_TRIED: usize = 40;
    pub(crate) const SETS_TRIED_WHEN_FULL: usize = 12;
    /// Gain that a move has to promise, and gain that it has to achieve, as shares of the trade. No record.
    pub(crate) const SET_GAIN_SHARE: f64 = 1e-9;
    pub(crate) const SET_BETTER_SHARE: f64 = 1e-10;
    /// Share of its gas that a pool must earn to be added together with a neighbour. No record.
    pub(crate) const CONNECTING_SHARE: f64 = 0.5;
    /// Sets that are run exactly besides the best one, and how much less they may be worth, in gas: a few ticks.
    /// No record.
    pub(crate) const RUNNERS_UP: usize = 4;
    pub(crate) const RUNNER_UP_GAS_UNITS: f64 = 50_000.0;
    /// Imbalance to which the last set is balanced, as a share of the trade; most steps, and least decrease, of
    /// balancing a set. No record.
    pub(crate) const POLISHED_SHARE: f64 = 1e-12;
    pub(crate) const FIXED_STEPS: usize = 60;
    pub(crate) const FIXED_DECREASE: f64 = 1e-13;
    /// Imbalance above which a set of pools cannot carry the amount, as a share of the trade. No record.
    pub(crate) const UNBALANCED_SHARE: f64 = 2e-3;
    /// Share of the trade below which a flow counts as none. No record.
    pub(crate) const NO_FLOW_SHARE: f64 = 1e-9;
    /// Divisor of the number of flows on overlong paths: that many are dropped before paths are measured again. Dropping
    /// all at once took the slowest solve of 10,000 generated pools from 364 to 42 ms, and the p95 gap of 30 to 300
    /// ether from 1.8 to 0.6 bps.
    pub(crate) const DROPPED_ONE_IN: usize = 12;
}
