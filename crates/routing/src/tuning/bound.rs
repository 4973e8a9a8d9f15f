//! Bounds: on the value that a route can hold, when the solver stops, and what it tries before.

use std::ops::{Range, RangeInclusive};

use super::Tuning;

impl Tuning {
    /// Share of its gas from which a pool's arbitrage counts as paying for its gas: its whole profit then counts as value
    /// that a route may collect. No record.
    pub(crate) const SELF_PAYING_GAS_SHARE: f64 = 0.95;
    /// Most times that the bound on the value that a route can hold is narrowed. With it the gap of September 2023 fell from
    /// 0.0172 to 0.0168 bps at the median and from 2.74 to 2.52 at p90.
    pub(crate) const HELD_NARROWINGS: usize = 4;
    /// Share of the previous value above which the narrowing has settled. No record.
    pub(crate) const HELD_SETTLED_SHARE: f64 = 0.99;
    /// Share of a cap below which the new one is worth computing all worths again. Half and double of the difference
    /// from 1 change no answer (`docs/internals/bench.md`).
    pub(crate) const CAP_TIGHTER_SHARE: f64 = 0.9995;
    /// Most prices of a token that are tried, so that more gas is deducted for passing it; the share of its gas below which a
    /// pool loses little enough for that; and the gap above which that is worth its time in a large market. With these prices
    /// 7.4 instead of 7.7% of 3,174 trades on 16 disturbed markets had a gap above 5 bps, in the same time. In a market of
    /// 10,000 pools solves took a third longer with them at every gap.
    pub(crate) const SETTLED_TRIALS: usize = 4;
    pub(crate) const SETTLED_LOSS_SHARE: f64 = 0.9;
    pub(crate) const SETTLED_GAP_OF_LARGE: f64 = 1e-3;
    /// Most pools with a token up to which that is tried. On 16 disturbed markets and one of 10,000 pools gaps are the same as
    /// without this limit; in a simulated market of 64,000 pools solves of large trades take a fifth less time with it.
    pub(crate) const SETTLED_MOST_POOLS: usize = 300;
    /// Share of a pool's gas that counts as negligible profit: prices of tokens are moved to where no pool earns more.
    /// No record.
    pub(crate) const NEGLIGIBLE_GAS_SHARE: f64 = 0.01;
    /// Gap below which nothing more is tried. No record.
    pub(crate) const CLOSE_GAP: f64 = 5e-8;
    /// Gap above which the first prices are not trusted: stale pools may have distorted them. No record.
    pub(crate) const DISTRUST_GAP: f64 = 2e-2;
    /// Gap above which routes are bounded by how many pools they use; the second in a large market, where that takes
    /// longer. No record.
    pub(crate) const UNCLEAR_GAPS: [f64; 2] = [1e-6, 1e-4];
    /// Gas of a few swaps: a gap of this order is closed by branching on pools and by counting them. No record.
    pub(crate) const COUNTING_GAS_UNITS: f64 = 210_000.0;
    /// Most pools priced by the exhaustive search for the best path; and the same for a trade worth less than its gas,
    /// for which other bounds say little. No record.
    pub(crate) const COUNTING_QUOTES: usize = 3_000;
    pub(crate) const COUNTING_QUOTES_BELOW_GAS: usize = 40_000;
    /// Gap above which the dual by remaining pools is computed: if the gas of a few swaps does not explain the gap, and
    /// if it may. At 5e-5 for both, the 99th percentile of the time on real markets was up to twice as long, and gaps
    /// were the same. In a large market every round prices all tokens; there it improved none of 150 trades on either
    /// of two generated markets.
    pub(crate) const LAYERED_GAPS: [f64; 2] = [5e-5, 3e-4];
    pub(crate) const LAYERED_GAP_OF_LARGE: f64 = 5e-3;
    /// Gas that a trade in a large market is worth at most, if its bound is not worth as much time: in a simulated market
    /// of 64,169 pools, 132 trades between the tokens with the most pools, three quarters of them worth less than that,
    /// took 23 instead of 35 ms at the 99th percentile.
    pub(crate) const SMALL_TRADE_GAS_UNITS: f64 = 400_000.0;
    /// Share of a gap that the bound would have to lose before it meets a route beyond the limit of gas, below which it is
    /// not narrowed. Of 20 trades at that limit in a market of 64,169 pools, all that the dual by remaining pools narrowed
    /// had 0.7 or more, and so had six that it did not.
    pub(crate) const GAS_LIMIT_SHARE: f64 = 0.7;
    /// Gap below which the dual by remaining pools is close enough. No record.
    pub(crate) const LAYERED_CLOSE_GAP: f64 = 1e-6;
    /// Tokens that have prices of their own from the first round of the dual by remaining pools on, beside those of the
    /// best route, in a large market. Of 150 large trades in a market of 64,170 pools the gap at the median is 0.88
    /// instead of 1.20 bps with them, and the solve takes 4% less time, because the first round alone says little; 8 and
    /// 12 do as well. On the recorded markets they do not help, and without a gas price gaps at p95 were a sixth wider.
    pub(crate) const LAYER_FIRST_TOKENS: usize = 4;
    /// Rounds of the dual by remaining pools; rounds for each branch; most prices, and most new ones per round. Half and
    /// double the first, and half the third, change no gap (`docs/internals/bench.md`); no record for the others.
    pub(crate) const LAYER_ROUNDS: usize = 12;
    pub(crate) const LAYER_ROUNDS_OF_HALF: usize = 2;
    pub(crate) const LAYER_NODES: usize = 120;
    pub(crate) const LAYER_NODES_PER_ROUND: usize = 16;
    /// Most tokens for which paths track whether they have visited them: each doubles the number of prices. No record.
    pub(crate) const LAYER_TRACKED: usize = 3;
    /// Smoothing of the dual by remaining pools: the first, as a share of how far the start is above the incumbent; the last,
    /// as shares of a swap's gas and of the trade; a multiple of the last that counts as the last; and the most steps at each.
    /// With a first smoothing of a tenth of a swap's gas, whatever the start, 11.9% of 3,174 trades on 16 disturbed markets had
    /// a gap above 5 bps, and 4.1 bps on average; with this one it is 8.8% and 2.4. At 0.01 large trades take a tenth longer,
    /// for the same gaps; at 0.0002 they are the same too.
    pub(crate) const LAYER_FIRST_SMOOTHING: f64 = 0.001;
    pub(crate) const LAYER_LAST_SMOOTHING: [f64; 2] = [0.01, 1e-8];
    pub(crate) const LAYER_NEARLY_LAST: f64 = 3.0;
    pub(crate) const LAYER_STEPS: usize = 200;
    /// Most pools that the dual by remaining pools branches on, and its total work, in evaluations of a pool. With 50,000 for
    /// this and for the tails below, the mean gap of 3,174 trades on 16 disturbed markets was 2.6 instead of 2.4 bps, in the same
    /// time.
    pub(crate) const LAYER_BRANCHES: usize = 10;
    pub(crate) const LAYER_WORK: u64 = 80_000;
    /// The gaps at which the dual by remaining pools branches on the tails of tokens, most such branches, and their work; the
    /// least share that a token of which only some has more pools left counts as losing by having fewer. Results for the
    /// gaps are in `docs/internals/certificate.md`; 6 and 24 branches change no answer of 2,048 trades, and without the least
    /// share branching ended early in half of the trades whose gap it closes.
    pub(crate) const LAYER_TAIL_GAPS: RangeInclusive<f64> = 5e-5..=Self::LOST_GAP;
    pub(crate) const LAYER_TAIL_BRANCHES: usize = 8;
    pub(crate) const LAYER_TAIL_WORK: u64 = 80_000;
    pub(crate) const LAYER_TAIL_LEAST_LOSS: f64 = 1e-6;
    /// The work in a large market, and the share of the gap that a branching may leave for another to follow. In a simulated
    /// market of 64,169 pools whose prices disagree, 150 trades between four large tokens took 10.7 instead of
    /// 12.2 ms on average; gaps were the same at the median (7.1 bps), and 177 instead of 173 at p95. On the recorded markets
    /// it takes 5 to 9% off the time of large trades, and their gap at the median is 0.050 instead of 0.047 bps.
    pub(crate) const LAYER_WORK_OF_LARGE: u64 = 50_000;
    pub(crate) const LAYER_BRANCH_LEAVES: f64 = 0.98;
    /// Most pools that the dual with one price per token branches on, one after the other: each halves what is unclear
    /// and costs two minimisations. Results for 3 and 12 are in `docs/internals/bench.md`.
    pub(crate) const MOST_BRANCHES: usize = 6;
    /// The same while the gap is above a basis point. With 6 for these too, the 99th percentile of the gap was 1.67 and
    /// 0.97 basis points on the recorded markets; with 18 it is 1.46 and 0.85, in the same time. A small trade in a
    /// large market has 6.
    pub(crate) const MOST_BRANCHES_OF_LOOSE: usize = 18;
    pub(crate) const LOOSE_GAP: f64 = 1e-4;
    /// Work of that branching, in evaluations of a pool. Half and double change no gap (`docs/internals/bench.md`).
    pub(crate) const BRANCH_WORK: u64 = 80_000;
    /// Gap above which branching is worth the time; it takes longer in a large market. No record.
    pub(crate) const BRANCH_GAP: f64 = 1e-6;
    pub(crate) const BRANCH_GAP_IN_LARGE: f64 = 1e-4;
    /// Weights between which a pool counts as used in part. No record.
    pub(crate) const BRANCH_WEIGHTS: Range<f64> = 0.002..0.998;
    /// Most steps of a branch at each smoothing; results for 12 and 50 are in `docs/internals/bench.md`. Smoothing, as
    /// shares of a swap's gas: no record.
    pub(crate) const BRANCH_STEPS: usize = 25;
    pub(crate) const BRANCH_SMOOTHING: [f64; 2] = [0.03, 0.01];
    pub(crate) const BRANCH_DECREASE: f64 = 1e-7;
}
