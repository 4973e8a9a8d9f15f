//! The relaxation: the prices at which the dual is least.

use std::ops::RangeInclusive;

use super::{Raise, Tuning};

impl Tuning {
    /// Gas of a plain swap, for scale: about what a concentrated-liquidity pool uses if no tick is crossed.
    pub(crate) const SWAP_GAS_UNITS: f64 = 80_000.0;
    /// Tokens of the first subproblem besides those of the best route: column generation adds what is missing. Results
    /// for 24 and 6 are in `docs/internals/bench.md`.
    pub(crate) const FIRST_TOKENS: usize = 12;
    /// Gap after the relaxation below which no new set of pools is chosen: a hundredth of a basis point is what counts
    /// as better. See `docs/internals/bench.md`.
    pub(crate) const SETTLED_GAP: f64 = 1e-6;
    /// Loss of value from which a token is not promising, as a multiple of the gap, and at most; and the least that its
    /// depth yields at the rest of that loss, as a share of a swap's gas. No record.
    pub(crate) const FIRST_TOKEN_GAPS: f64 = 2.2;
    pub(crate) const FIRST_TOKEN_MOST_LOSS: f64 = 0.98;
    pub(crate) const FIRST_TOKEN_GAS_SHARE: f64 = 0.9;
    /// Most tokens of a subproblem, and most that one round adds. Growing to 160 by 48 instead of stopping at 56 took
    /// the gap of 10,000 generated pools from 0.070, 8.2 and 27 bps (p50, p95, p99) to 0.015, 3.0 and 12.
    pub(crate) const MOST_TOKENS: usize = 160;
    pub(crate) const TOKENS_PER_ROUND: usize = 48;
    /// Most rounds of column generation. Measured with the constants above.
    pub(crate) const RELAX_ROUNDS: usize = 8;
    /// Work of all relaxations of one request, and its total work, in evaluations of a pool; ten thousand take about
    /// half a millisecond. Gaps at other budgets are in `docs/internals/bench.md`: twice as much gained 1.5 basis
    /// points in one of 1,500 trades.
    pub(crate) const RELAX_WORK: u64 = 50_000;
    pub(crate) const WORK: u64 = 75_000;
    /// Work that every minimisation may do, whatever was spent before. No record.
    pub(crate) const LEAST_WORK: u64 = 4_000;
    /// Multiplications of a factorisation that count as one evaluation of a pool, by the time that they take.
    /// No record.
    pub(crate) const PRODUCTS_PER_EVALUATION: usize = 64;
    /// Longest step in the logarithm of a price. Measurements of this and of how damping changes are in
    /// `docs/internals/bench.md`.
    pub(crate) const LONGEST_PRICE_STEP: f64 = 0.6;
    /// Range of the weight of the damping metric that is carried over from one stage to the next. No record.
    pub(crate) const DAMPING: RangeInclusive<f64> = 1e-8..=1.0;
    /// Damping at the start of a minimisation from prices that are known to be close.
    pub(crate) const NEARBY_DAMPING: f64 = 1e-3;
    /// Rules that raise the damping if the matrix has no factor, if no length of a step lowers the dual, and if only a shorter
    /// step does; above `most` the minimisation ends.
    pub(crate) const DAMPING_AFTER_NO_FACTOR: Raise = Raise { factor: 10.0, least: 1e-9, most: 1e6 };
    pub(crate) const DAMPING_AFTER_NO_STEP: Raise = Raise { factor: 100.0, least: 1e-5, most: 1e3 };
    pub(crate) const DAMPING_AFTER_SHORTER_STEP: Raise = Raise { factor: 8.0, least: 1e-6, most: f64::INFINITY };
    /// Factors by which damping falls after a whole step: if the slope has fallen much, and otherwise.
    pub(crate) const DAMPING_RELAXED: [f64; 2] = [0.1, 0.3];
    /// Damping below which a small decrease means that the minimum is near, and not that steps are short: before a
    /// step, and after it. No record.
    pub(crate) const DAMPING_SETTLED: [f64; 2] = [1e-4, 1e-3];
    /// Share of the tolerated decrease below which a step was the last. No record.
    pub(crate) const LAST_DECREASE_SHARE: f64 = 0.1;
    /// Lengths of a step that are tried (three give the same times and gaps as five), and the range of factors by which the
    /// next is shorter.
    pub(crate) const STEP_LENGTHS: usize = 5;
    pub(crate) const SHORTER_STEP_SHARES: RangeInclusive<f64> = 1e-5..=0.4;
    /// Least gain of a step, as a share of what the slope promises (Armijo's rule). A change of all prices by less than
    /// the second constant may be judged by the slope alone, which rounding disturbs less, if the slope has fallen to
    /// the third as a share. No record.
    pub(crate) const SUFFICIENT_DECREASE: f64 = 1e-4;
    pub(crate) const SMALL_PRICE_STEP: f64 = 2e-3;
    pub(crate) const FLAT_SLOPE_SHARE: f64 = 0.5;
    /// Most steps of one minimisation. No record.
    pub(crate) const RELAX_STEPS: usize = 40;
    /// Imbalance of a token, as a share of the trade, at which prices count as found; a larger one where only the set
    /// of pools that pay matters. No record.
    pub(crate) const BALANCED_SHARE: f64 = 1e-9;
    pub(crate) const ROUGHLY_BALANCED_SHARE: f64 = 1e-7;
    /// Least smoothing, as a share of the trade: below it, rounding decides. No record.
    pub(crate) const LEAST_SMOOTHING: f64 = 1e-10;
    /// Last smoothing, as a share of a swap's gas: a lower one is closer to the dual itself, and takes more steps.
    /// No record.
    pub(crate) const LAST_SMOOTHING: f64 = 0.01;
    /// First smoothing, as a share of a swap's gas and of the trade, whichever is more: in the first round, and near
    /// known prices. See `docs/internals/bench.md`.
    pub(crate) const FIRST_SMOOTHING: [f64; 2] = [0.1, 1e-6];
    pub(crate) const NEXT_SMOOTHING: [f64; 2] = [0.1, 1e-8];
    /// Factor by which smoothing falls from stage to stage, and how close to the last value counts as the last. See
    /// `docs/internals/bench.md`.
    pub(crate) const SMOOTHING_FALL: f64 = 0.03;
    pub(crate) const SAME_SMOOTHING_SHARE: f64 = 0.01;
    /// Margin above the caps while smoothing is as much as a swap's gas, and its least share later. No record.
    pub(crate) const CAP_SLACK: f64 = 0.1;
    pub(crate) const CAP_SLACK_LEAST_SHARE: f64 = 0.01;
    /// Least decrease, as a share of the trade, for which a stage goes on: in the last stage, and in those before it,
    /// where a share of the smoothing is enough. No record.
    pub(crate) const LAST_DECREASE: f64 = 1e-9;
    pub(crate) const EARLY_DECREASE: f64 = 1e-6;
    pub(crate) const EARLY_DECREASE_SMOOTHING_SHARE: f64 = 0.02;
    /// Least profit of a pool, as a share of the trade, for its tokens to be added. No record.
    pub(crate) const EARNING_LEAST_SHARE: f64 = 1e-8;
    /// Surcharges on gas that are tried if too many pools pay for themselves, and the number of pools that they are
    /// tried on: those that earn most, as a multiple of how many a route may use. No record.
    pub(crate) const SURCHARGES: usize = 6;
    pub(crate) const SURCHARGED_PER_ALLOWED_POOL: usize = 3;
    /// Factor by which a surcharge grows that is too small, most steps at each, and the share of its gas by which a
    /// pool that pays may fall short. No record.
    pub(crate) const SURCHARGE_GROWTH: f64 = 2.5;
    pub(crate) const SURCHARGE_STEPS: usize = 20;
    pub(crate) const SURCHARGE_PAYS_SHARE: f64 = 0.03;
    /// Smoothing with a surcharge, as shares of a swap's gas, and the tenths of the allowed pools that are enough.
    /// No record.
    pub(crate) const SURCHARGE_SMOOTHING: [f64; 2] = [0.1, Self::LAST_SMOOTHING];
    pub(crate) const SURCHARGE_FULL_TENTHS: usize = 9;
}
