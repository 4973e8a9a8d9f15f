//! Amounts beyond the liquidity of the market, and routes at the limit of gas.

use super::Tuning;

impl Tuning {
    /// Assumed costs of the most gas that a route may use, as shares of the trade, after a route used more. Without these
    /// searches, 14 of 659 drains paid less, by up to 571 basis points, and two more.
    pub(crate) const DEARER_GAS_SHARES: [f64; 3] = [1e-3, 1e-2, 1e-1];
    /// The same for the search that charges the gas of range ends where they are, and how often the last step from a cost
    /// that was too low to one that was high enough is halved, the second in a large market. With 2 halvings in small markets
    /// too, four of 224 drains paid less, by up to 60 basis points; with 6 in large ones, no trade paid more.
    pub(crate) const NEAR_GAS_SHARES: [f64; 5] = [1e-3, 1e-2, 1e-1, 1.0, 10.0];
    pub(crate) const NEAR_GAS_HALVINGS: [usize; 2] = [6, 2];
    /// Gaps above which a pair's amount may be beyond the market's liquidity, and other searches are tried; the second in a
    /// large market, where they take longer, and the third in the largest. Results for these and for the next constants are in
    /// `docs/internals/bench.md`, beyond the liquidity.
    pub(crate) const THIN_GAPS: [f64; 3] = [1e-3, 5e-3, Self::LOST_GAP];
    /// Share of the bound below which all that is sold counts as worth next to nothing by the bound's own price: the pools on
    /// the way take only a part of it. And the gap at which a route that sells the rest as a surplus is not improved further.
    /// Results for four of these and of the next constants are in `docs/internals/bench.md`, more than the pools take; no record
    /// for the others.
    pub(crate) const SURPLUS_WORTH_SHARE: f64 = 0.05;
    pub(crate) const SURPLUS_GAP: f64 = 1e-4;
    pub(crate) const SURPLUS_GAS_SHARES: [f64; 3] = [0.0, 1e-2, 1e-1];
    /// Most parts that fill the pools, and the share of the bound that one is worth at first; the share of the first part's
    /// rate below which one counts as worth nothing; how often parts are reduced, and by what factor.
    pub(crate) const FILL_PARTS: u16 = 400;
    pub(crate) const FILL_PART_SHARE: f64 = 1e-2;
    pub(crate) const FILL_LEAST_RATE: f64 = 1e-2;
    pub(crate) const FILL_REDUCTIONS: u32 = 6;
    pub(crate) const FILL_REDUCTION: f64 = 4.0;
    /// Most gas of the path that takes the surplus; the most that it may bring of what the route holds of its last token; the
    /// number of such paths that are tried, and of those of one length that are considered, without which 2,846 trades are the
    /// same; and the rounds in which its amounts settle, up to a precision.
    pub(crate) const SURPLUS_GAS_UNITS: f64 = 1e6;
    pub(crate) const SURPLUS_MOST_SHARE: f64 = 0.9;
    pub(crate) const SURPLUS_PATHS: usize = 8;
    pub(crate) const SURPLUS_CANDIDATES: usize = 40;
    pub(crate) const SURPLUS_ROUNDS: usize = 16;
    pub(crate) const SURPLUS_PRECISION: f64 = 1e-9;
    /// Equal parts of a split by chunks there, and the assumed costs of the most gas that a route may use, as shares of the
    /// trade. With 100 parts, nine of 264 drains paid less, by up to 252 basis points, and two more; with 5 costs, 12 of 659
    /// paid less, by up to 213, and none more.
    pub(crate) const MOST_CHUNKS: u16 = 400;
    pub(crate) const CHUNKED_GAS_SHARES: [f64; 8] = [0.0, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0];
    /// Share by which a route must pay less than marginal rates for its parts to be searched again. Of 385 trades whose gap
    /// is above those limits, 11 are below this one: their searches took 33 ms each, and five gained up to 2.6 basis points.
    pub(crate) const PARTS_LEAST_IMPACT: f64 = 0.1;
    /// Most rounds over the parts of a route. No record.
    pub(crate) const PARTS_ROUNDS: usize = 3;
    /// Gap above which a pair is searched again with fewer pools on a path, and with fewer steps; the same in a large market,
    /// where each search takes a tenth of a second (none is tried in the largest); the steps and the pools, those that take
    /// least time first. Results for these and for stops of pools are in `docs/internals/bench.md`, at the limit of gas. Of
    /// 354 trades none gained by 4 steps, and one by 3, 1.8 basis points.
    pub(crate) const FEWER_STEPS_GAP: f64 = 1e-2;
    pub(crate) const FEWER_STEPS_GAP_OF_LARGE: f64 = 0.2;
    pub(crate) const FEWER_STEPS: [(u16, usize); 6] =
        [(u16::MAX, 2), (u16::MAX, 3), (u16::MAX, 4), (u16::MAX, 5), (16, usize::MAX), (8, usize::MAX)];
    /// Most gas of routes whose pools are stopped earlier, as a multiple of what is allowed, and how often at most the pools
    /// left are balanced and stopped again. Without balancing, 25 of 374 trades paid less, by up to 163 basis points, and none
    /// more; 4 times changed none.
    pub(crate) const TRIM_MOST_TIMES: u64 = 5;
    pub(crate) const TRIM_BALANCED: usize = 2;
    /// Most exact runs of one such route, and the share of the gas by which less is planned each time beside what the run
    /// before used too much. No record.
    pub(crate) const TRIM_RUNS: usize = 4;
    pub(crate) const TRIM_FURTHER: f64 = 0.995;
    /// Most stops that are tried for one run, and the shares of a pool's ticks that one stop leaves out. With 1,000 instead of
    /// 2,000, eight of the same drains were worth less and two more; 3,000 take no longer.
    pub(crate) const TRIM_TRIALS: usize = 3_000;
    pub(crate) const TRIM_SHARES: [f64; 5] = [0.0, 0.1, 0.3, 0.6, 1.0];
    /// Most passes through a flow until no token gets more than its pools take, and the share of it that may be left.
    /// No record.
    pub(crate) const TRIM_PASSES: usize = 12;
    pub(crate) const TRIM_LEFT_SHARE: f64 = 1e-9;
}
