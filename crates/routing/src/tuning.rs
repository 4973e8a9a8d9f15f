//! The constants that steer the search, each with the measurement that set it.
//!
//! None of them can make an amount or a bound wrong: they decide where the search looks, how long, and when it stops.
//! If a constant was set by a measurement on record, its comment states the result. *No record* means that a benchmark
//! set it and its figures were not kept; `docs/internals/bench.md` shows what half and double of many do. A *gap* is the
//! distance between the upper bound and the best route, as a share of the bound. Work is limited by counts and not by
//! time, so that the same request gives the same bytes on every machine.

use std::ops::{Range, RangeInclusive};

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

/// Every constant of the solver, in the order of its stages.
pub(crate) struct Tuning;

/// Reference prices and standing arbitrage, computed once per block.
impl Tuning {
    /// Depth (0.05 ether) below which no reference price is shown: a lower limit prices more tokens, by pools that
    /// anyone can move. No record.
    pub(crate) const SHOWN_PRICE_LEAST_DEPTH_WEI: f64 = 5e16;
    /// Least depth of a pool that votes on a price, as a share of the deepest pool's: a lower share lets many small
    /// pools outvote real money. No record.
    pub(crate) const PRICE_VOTE_LEAST_SHARE: f64 = 1.0 / 64.0;
    /// Share of half the votes by which a sum may fall short and still count as half: rounding, some parts in 10¹⁶,
    /// must not decide between two prices. Not measured.
    pub(crate) const PRICE_VOTE_TIE_SHARE: f64 = 1e-9;
    /// Share of a pool's marginal rate to which the rate falls at the pool's depth: liquidity parked at the price does
    /// not add to depth measured so. No record.
    pub(crate) const DEPTH_AT_SHARE_OF_SPOT: f64 = 0.99;
    /// Profits above which pools are removed, in wei, from 10 ether down to less than the gas of a swap at 0.01 gwei:
    /// finer levels spare more pools next to a bad one, and take longer. No record.
    pub(crate) const ARBITRAGE_LEVELS_WEI: [f64; 9] = [1e19, 1e18, 1e17, 2e16, 5e15, 1e15, 2e14, 4e13, 8e12];
    /// Most rounds at each level. No record.
    pub(crate) const ARBITRAGE_ROUNDS: usize = 6;
    /// Sweeps over all tokens in one round: more settle prices further, and take longer. No record.
    pub(crate) const SETTLE_SWEEPS: usize = 3;
    /// Most chords in the search for one token's price. No record.
    pub(crate) const SETTLE_CHORDS: usize = 16;
    /// First move of a price, as a share, in the search for the price at which what pools pay balances what they take;
    /// and the power to which the factor is raised for each further move.
    pub(crate) const SETTLE_STEP: f64 = 0.0005;
    pub(crate) const SETTLE_STRIDE: i32 = 4;
    /// Most such moves. Results for 4 and 16 are in `docs/internals/bench.md`.
    pub(crate) const SETTLE_MOVES: usize = 8;
    /// Share of the tolerance at which the search for a price ends. No record.
    pub(crate) const SETTLE_PRECISION: f64 = 0.1;
    /// Least relative change of a price for which its neighbours are balanced again. With this constant and the next
    /// one a block of September 2023 was prepared in half the time, with the same gaps.
    pub(crate) const SETTLE_FINEST: f64 = 1e-6;
    /// Depth that sets the tolerance while only profits above a level count: neighbours are balanced again after a
    /// change of `√(level / SETTLE_DEPTH_WEI)`, since a price that is off by `x` makes a pool of depth `d` earn about
    /// `d·x²`. Measured with the constant above.
    pub(crate) const SETTLE_DEPTH_WEI: f64 = 1e22;
    /// Number of deepest tokens that are always in the core, through which searches of a large market pass. No record.
    pub(crate) const CORE_DEEPEST_TOKENS: usize = 64;
    /// Cost, as a share of the value, below which a token is cheap to pass through: both fees, less the price
    /// difference of its pools. No record.
    pub(crate) const CORE_CHEAP_SHARE: f64 = 2e-3;
    /// Least amount, in wei, that moves the price of a core token by one percent: below it, passing through hardly
    /// earns its gas. No record.
    pub(crate) const CORE_LEAST_DEPTH_WEI: f64 = 3e17;
    /// Number of pairs above which a market is large: searches then pass through its core only, and are cut short.
    /// Recorded markets (1,400 pools) are below, generated ones of 10,000 pools above. No record.
    pub(crate) const LARGE_MARKET_PAIRS: usize = 3_000;
    /// Divisor of the number of all arrows: a search for reachable tokens looks at the arrows that leave its last tokens
    /// while these are fewer than that. In a simulated market of 64,169 pools the search took 0.24 ms, and 0.54 ms when it never did.
    pub(crate) const LEAVING_ONE_IN: usize = 8;
}

/// Rounding: what floating point may have lost, and how full a plan makes a pool.
impl Tuning {
    /// Factor that rounds a product of rates up. A few operations of 2⁻⁵³ each; not measured.
    pub(crate) const OUTWARD: f64 = 1.0 + 1e-12;
    /// The same for a longer sum of products; not measured.
    pub(crate) const FAR_OUTWARD: f64 = 1.0 + 1e-9;
    /// Margin for the rounding of a formula that replaces a curve; a test compares it with the curve.
    pub(crate) const FORMULA_ROUNDING: f64 = 1e-12;
    /// Share by which a sum of pools' terms is rounded up. As [`Self::OUTWARD`]; not measured.
    pub(crate) const BOUND_ROUNDING: f64 = 1e-12;
    /// Share of a pool's capacity that a plan may fill: the rest covers the rounding of the exact arithmetic.
    /// No record.
    pub(crate) const CAPACITY_FILLED: f64 = 1.0 - 1e-9;
    /// Most that rounding may add to the value of a flow, as a share; above it, the flow's prices count as diverged.
    /// No record.
    pub(crate) const FLOW_VALUE_ROUNDING: f64 = 5e-3;
}

/// Candidates: single paths, and simple splits of them.
impl Tuning {
    /// Most pools of the input for which the slippage of the first step is computed: more tightens the caps of hub
    /// tokens, and takes longer. No record.
    pub(crate) const FIRST_SLIPPAGE_POOLS: usize = 60;
    /// Least share of the marginal rates that is tried for the rate after this slippage, and halvings of the logarithm of
    /// the interval from there to 1. Results for half and double are in `docs/internals/bench.md`.
    pub(crate) const FIRST_SLIPPAGE_LEAST_RATE: f64 = 0.02;
    pub(crate) const FIRST_SLIPPAGE_HALVINGS: usize = 18;
    /// Most labels of one token that are extended from one hop to the next: fewer lose paths, more take longer.
    /// No record.
    pub(crate) const PATH_LABELS: usize = 4;
    /// Most pools priced by one path search that has no lower limit of its own. No record.
    pub(crate) const PATH_QUOTES: usize = 20_000;
    /// Most pools priced by each of the two path searches that follow if a pool refused the amount of a path.
    /// No record.
    pub(crate) const PATH_QUOTES_AGAIN: usize = 400;
    /// Paths that are run exactly before anything is split; the best is the first incumbent. No record.
    pub(crate) const FIRST_PATHS: usize = 3;
    /// Most pools priced by the search for the first paths through the core of a large market: 1,500 instead of 4,000,
    /// with a second search for missed paths, lost nothing on three generated markets.
    pub(crate) const FIRST_PATH_QUOTES: usize = 1_500;
    /// Most pools priced by that second search for a first path, and the share by which its path must be better.
    /// Measured with the constant above.
    pub(crate) const MISSED_PATH_QUOTES: usize = 3_000;
    pub(crate) const MISSED_PATH_GAIN: f64 = 1e-7;
    /// Number of hub tokens over which all inputs of a basket may go to all outputs: the deepest tokens. No record.
    pub(crate) const PLAN_HUBS: usize = 2;
    /// Most pools priced for one path of a basket's first plan, and paths tried if the best one would close a cycle.
    /// No record.
    pub(crate) const PLAN_QUOTES: usize = 1_500;
    pub(crate) const PLAN_PATHS: usize = 3;
    /// Most orders of inputs and outputs that are tried if the pairs that pay best cannot be combined. With these and the
    /// constant `FEWER_HOPS_GAPS`, 17 of 18 baskets without a route, of 400 generated ones of a recorded market, have one.
    pub(crate) const PLAN_TURNS: usize = 18;
    /// Share of the whole value below which the rest of an input or an output is no longer assigned; not measured.
    pub(crate) const PLAN_LEAST_SHARE: f64 = 1e-12;
    /// Equal parts of a basket's plan, if amounts may be beyond the market's liquidity. No record.
    pub(crate) const PLAN_PARTS: u16 = 6;
    /// Gaps above which other plans of a basket are tried; the second in a large market, where 2e-4 improved 2 of 60 generated
    /// baskets, by up to 0.7 basis points, and took twice as long. Results for recorded markets are in
    /// `docs/internals/baskets.md`.
    pub(crate) const PLANS_GAPS: [f64; 2] = [2e-4, 3e-2];
    /// Gaps above which routes of a basket with fewer pools on a path are tried, and above which they are split, too. Of
    /// 1,700 generated baskets 15 pay more, by up to 586 basis points, and 2 less, by up to 0.2; splits from 4 basis
    /// points on bring one more.
    pub(crate) const FEWER_HOPS_GAPS: [f64; 2] = [2e-4, 1e-2];
    /// Equal parts of a split by chunks, most pools priced for each, and the gap above which it is tried: then amounts
    /// may be beyond the market's liquidity. No record.
    pub(crate) const CHUNKS: u16 = 24;
    pub(crate) const CHUNK_QUOTES: usize = 2_000;
    pub(crate) const CHUNK_GAP: f64 = 2e-3;
    /// Paths that one search for the next chunk keeps: more last for more chunks, and prune less. No record.
    pub(crate) const CHUNK_PATHS: usize = 8;
    /// Parts ahead for which such a search keeps paths: those that pay as much as the best known one will then, if it goes
    /// on falling as it did, or by the second constant, a share of it, with each part. Without this limit the 99th
    /// percentile of the time on two real markets was 8% longer, and the answers the same.
    pub(crate) const CHUNK_FALLS: f64 = 8.0;
    pub(crate) const CHUNK_LEAST_FALL: f64 = 1e-3;
    /// Gap above which the bound says nothing: what is otherwise skipped in a large market is then tried. Of 54 trades
    /// that drain pools of a market of 10,000 generated ones, the grid paid more than the answer in 12; with this
    /// constant, in none.
    pub(crate) const LOST_GAP: f64 = 5e-2;
    /// Least gap that counts if the route already has all the steps that it may have. No record.
    pub(crate) const FULL_GAP: f64 = 2e-4;
    /// Gap above which simple plans are tried: below it none can pay more by a hundredth of a basis point. With 0.05 basis
    /// points for the grid and 0.5 for splits by chunks, where no pool is out of line, and 2,000 priced pools for each
    /// part, a simple plan paid more in 14 of 7,000 trades in disturbed copies of the recorded markets, and in 11 of 1,000
    /// in generated markets of 2,000 pools. Now in none.
    pub(crate) const SIMPLE_GAP: f64 = 1e-6;
    /// The same in a large market, where each plan takes longer: for the grid beside a long route, and for the other plans;
    /// and the most steps of a route that is not long. Of 1,200 trades in two generated markets of 10,000 pools, a simple
    /// plan paid more in 11 with splits by chunks over the whole market above 10 basis points, and pays more in 1 with
    /// splits among the tokens of the first split above 0.2. Of 10,500 in 21 such markets the grid paid up to 0.12 more in 3
    /// where it was tried above 1 only, all of them beside routes of 3 to 5 steps.
    pub(crate) const SIMPLE_GAPS_OF_LARGE: [f64; 2] = [1e-4, 2e-5];
    pub(crate) const SHORT_ROUTE_STEPS: usize = 8;
    /// Gap above which simple plans run over the whole of a large market too, and the most pairs of such a market: in a
    /// larger one plans pass through the core only, and only above [`Self::LOST_GAP`]. Of 120 trades in two random markets
    /// of 3,400 pools whose prices disagree by up to 1.5% each way, simple plans paid more 14 times without this, by up to
    /// 26 basis points; now never. In a simulated market of 64,000 pools it improved one of 150 trades, by 0.3 basis
    /// points, and solves took a third longer.
    pub(crate) const WHOLE_PLANS_GAP: f64 = 1e-3;
    pub(crate) const WHOLE_PLANS_MOST_PAIRS: usize = 20_000;
    /// Gap above which the solver searches for a better route among the tokens of the best one. No record.
    pub(crate) const REFINED_GAP: f64 = 5e-5;
    /// Gap above which the solver searches for a route over only those pools that are in line, and the share of a
    /// pool's gas above which its profit, at prices settled without it, puts it out of line. No record.
    pub(crate) const IN_LINE_GAP: f64 = 2e-4;
    pub(crate) const IN_LINE_GAS_SHARE: f64 = 0.02;
    /// Most searches in a row among the tokens of the best route, each from the route of the one before. No record.
    pub(crate) const REFINEMENTS: usize = 3;
    /// Parts of the simple grid, and most paths that share them: what simple routers are known to do.
    pub(crate) const GRID_PARTS: u8 = 20;
    pub(crate) const GRID_PATHS: usize = 7;
    /// Shares of the amount for which the grid searches paths.
    pub(crate) const GRID_SHARES: [f64; 4] = [1.0, 0.5, 0.2, 0.05];
    /// Gap above which these searches keep every path that is worth enough for the smallest share: a path that takes the
    /// whole amount, but pays too little for it, may be part of the best grid. Where they kept none of them, a grid paid 36
    /// basis points more on one of 512 large trades of `mainnet_24721394`. Without this limit solves take 8% longer.
    pub(crate) const SMALLEST_SHARES_GAP: f64 = 1e-4;
    /// Paths of the grid considered for each of four amounts, few enough for all to fit in a bit set, and combinations
    /// kept. No record.
    pub(crate) const GRID_CANDIDATES: usize = 20;
    pub(crate) const GRID_BEAM: usize = 60;
    /// Parts of the simple split by chunks, and most paths: what simple routers are known to do.
    pub(crate) const SIMPLE_CHUNKS: u16 = 20;
    pub(crate) const SIMPLE_CHUNK_PATHS: usize = 4;
    /// Parts of the finest simple plan.
    pub(crate) const FINE_CHUNKS: u16 = 100;
    /// Gap above which, and amount in atomic units below which, exact paths are tried one by one: floating point is a
    /// poor guide there. No record.
    pub(crate) const WALK_GAP: f64 = 1e-4;
    pub(crate) const WALK_DUST_UNITS: f64 = 1e6;
    /// Most exact swaps of one such search, so that small markets are searched whole, and the number of pairs from
    /// which the lower limit holds. No record.
    pub(crate) const WALK_SWAPS: u32 = 4_000;
    pub(crate) const WALK_SWAPS_OF_LARGE: u32 = 400;
    pub(crate) const WALK_LARGE_MARKET_PAIRS: usize = 500;
    /// Divisor that is applied again and again to an amount that no route takes, to see whether a part of it can be
    /// sold. No record.
    pub(crate) const PART: u64 = 1_000_000;
    /// Number of unused steps below which a route counts as full: gaps below [`Self::FULL_GAP`] are then no reason for
    /// another search. Simple plans run all the same. No record.
    pub(crate) const SPARE_STEPS: usize = 4;
}

/// Bounds on the value that a route can hold.
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
}

/// Bounds: when the solver stops, and what it tries before.
impl Tuning {
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
    /// Smoothing of the dual by remaining pools, as shares of a swap's gas and of the trade, and the steps at each.
    /// With 40 steps the 95th percentile of gaps among stale pools was 23 basis points, with 300 it was 16, in the same
    /// time.
    pub(crate) const LAYER_SMOOTHING: [[f64; 2]; 2] = [[0.1, 1e-6], [0.01, 1e-8]];
    pub(crate) const LAYER_STEPS: usize = 200;
    /// Most pools that the dual by remaining pools branches on, and its total work, in evaluations of a pool. With four
    /// times the work and three times the branching, the 95th percentile on dusted pools fell from 35 to 29 basis
    /// points.
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

/// The relaxation: the prices at which the dual is least.
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

/// Rounding to a set of pools.
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

/// Exact routes.
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
    /// Gap above which pools are stopped short of the last tick that they cross, the least share of its amount that a
    /// pool then keeps, and how many pools are tried. No record.
    pub(crate) const TICK_GAP: f64 = 1e-6;
    pub(crate) const TICK_STOP_SHARE: f64 = 0.5;
    pub(crate) const TICK_STOPS: usize = 8;
    /// Assumed cost of a swap, as a share of the trade, where gas costs less; and the gap above which that is tried. Of
    /// 12,000 trades in 4,000 markets whose prices disagree, at 0 to 30 gwei, 242 pay more with it and 28 less. On the
    /// local chain's market without a gas price, the largest loss of a route against one searched for at 0.3 to 3 gwei
    /// fell from 362 to 32 basis points; with 1e-5 it was 118. On the two real markets of 2026 no more than one pair of
    /// 400 changed; solves without a gas price took 5 to 20% longer, those at 1 gwei as long.
    pub(crate) const NOMINAL_SWAP_SHARE: f64 = 1e-6;
    pub(crate) const NOMINAL_GAP: f64 = 1e-5;
}

/// Exact output, and witnesses of bounds.
impl Tuning {
    /// Most solves of sales for one purchase, apart from one more for its bound. No record.
    pub(crate) const PURCHASE_SOLVES: usize = 8;
    /// Divisor of an input: plans of inputs that differ by less than that part count as the same. No record.
    pub(crate) const PURCHASE_SETTLED_PART: u64 = 10_000;
    /// Factor by which more is sold if an amount was too small to plan. No record.
    pub(crate) const PURCHASE_LARGER: u64 = 1_024;
    /// Divisor of an input that made too little: that part is sold beyond the proportional amount, because larger inputs
    /// get worse rates. If a sale is planned again, and if the same plan is run again. No record.
    pub(crate) const PURCHASE_EXTRA_PARTS: [u64; 2] = [16, 200];
    /// Most runs of one plan until it makes enough. No record.
    pub(crate) const PURCHASE_LARGER_RUNS: usize = 64;
    /// Gap in basis points above which the bound of a witness says nothing, if it is also above the second constant times
    /// the certificate's gap. No record.
    pub(crate) const WITNESS_GAP_BPS: f64 = 1_000.0;
    pub(crate) const WITNESS_GAPS: f64 = 2.0;
}
