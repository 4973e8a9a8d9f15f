//! The constants that steer the search, and what each trades off.
//!
//! None of them can make an amount or a bound wrong: they decide where the search looks, how long, and when it stops. Where a constant
//! was set by a measurement that is on record, the record is told; *no record* says that a benchmark set it and its figures were not
//! kept. A *gap* is the distance between the least bound and the best route as a share of the bound. Amounts of work are counts and
//! not times, so that the same request gives the same bytes on every machine.

use std::ops::{Range, RangeInclusive};

/// How a number is raised: by a factor, to a least value at once.
pub(crate) struct Raise {
    pub(crate) factor: f64,
    pub(crate) least: f64,
    /// What it must not exceed.
    pub(crate) most: f64,
}

impl Raise {
    pub(crate) fn raised(&self, number: f64) -> f64 {
        (number * self.factor).max(self.least)
    }
}

/// Every constant of the solver, in the order of its stages.
pub(crate) struct Tuning;

/// Reference prices and the market's standing arbitrage: once per block.
impl Tuning {
    /// Below this depth (0.05 ether) no reference price is shown: lower prices more tokens, by pools that anyone can move. No record.
    pub(crate) const SHOWN_PRICE_LEAST_DEPTH_WEI: f64 = 5e16;
    /// A pool has a say in a price from this part of the deepest pool's depth on: lower lets a crowd of small pools outvote real money.
    /// No record.
    pub(crate) const PRICE_VOTE_LEAST_SHARE: f64 = 1.0 / 64.0;
    /// Share of the votes within which they are even: rounding must not decide between two prices.
    pub(crate) const PRICE_VOTE_TIE_SHARE: f64 = 1e-9;
    /// Depth is what moves a pool's rate to this share of its marginal rate, which liquidity parked at the price does not help. No record.
    pub(crate) const DEPTH_AT_SHARE_OF_SPOT: f64 = 0.99;
    /// Levels of profit at which pools are removed, wei, from 10 ether down to less than the gas of a swap at 0.01 gwei: finer levels
    /// spare more pools beside a bad one, and take longer. No record.
    pub(crate) const ARBITRAGE_LEVELS_WEI: [f64; 9] = [1e19, 1e18, 1e17, 2e16, 5e15, 1e15, 2e14, 4e13, 8e12];
    /// Most rounds at each level. No record.
    pub(crate) const ARBITRAGE_ROUNDS: usize = 6;
    /// Sweeps over all tokens in one round: more settle prices further, and take longer. No record.
    pub(crate) const SETTLE_SWEEPS: usize = 3;
    /// Most chords by which one token's price is found. No record.
    pub(crate) const SETTLE_CHORDS: usize = 16;
    /// How far a price first moves, as a share, until what pools pay balances what they take; and the power of that by which it moves next.
    pub(crate) const SETTLE_STEP: f64 = 0.0005;
    pub(crate) const SETTLE_STRIDE: i32 = 4;
    /// A price is found when this share of the tolerance is left. No record.
    pub(crate) const SETTLE_PRECISION: f64 = 0.1;
    /// The change of a price, as a share, that its neighbours answer in the end. With the next one, a block of September 2023 prepared
    /// in half the time, with the same gaps.
    pub(crate) const SETTLE_FINEST: f64 = 1e-6;
    /// While only profits above a level count, neighbours answer a change of the root of the level's share of this: a price that is off
    /// by `x` makes a pool of depth `d` earn about `d·x²`. Measured with the one before.
    pub(crate) const SETTLE_DEPTH_WEI: f64 = 1e22;
    /// The deepest tokens, always in the core that searches of a large market pass through. No record.
    pub(crate) const CORE_DEEPEST_TOKENS: usize = 64;
    /// A token is cheap to pass through where both fees, less what its pools are apart, are below this share of the value. No record.
    pub(crate) const CORE_CHEAP_SHARE: f64 = 2e-3;
    /// What moves a core token's price by a percent, in wei, at least: below, passing through hardly earns its gas. No record.
    pub(crate) const CORE_LEAST_DEPTH_WEI: f64 = 3e17;
    /// From so many pairs on a market is large: searches pass through its core, and are cut short. Recorded markets (1,400 pools) are
    /// below, generated ones of 10,000 above. No record.
    pub(crate) const LARGE_MARKET_PAIRS: usize = 3_000;
}

/// Rounding: what floating point may have lost, and how full a plan makes a pool.
impl Tuning {
    /// Rounds a product of rates up. A few operations of 2⁻⁵³ each; not measured.
    pub(crate) const OUTWARD: f64 = 1.0 + 1e-12;
    /// The same for a longer sum of products; not measured.
    pub(crate) const FAR_OUTWARD: f64 = 1.0 + 1e-9;
    /// Room for the rounding of one formula that stands in for a curve; held by a test against the curve.
    pub(crate) const FORMULA_ROUNDING: f64 = 1e-12;
    /// The share by which a sum of pools' terms is rounded up. As [`Self::OUTWARD`]; not measured.
    pub(crate) const BOUND_ROUNDING: f64 = 1e-12;
    /// How much of a pool's capacity a plan fills: what is left covers the rounding of the exact arithmetic. No record.
    pub(crate) const CAPACITY_FILLED: f64 = 1.0 - 1e-9;
    /// What rounding may add to the value of a flow, as a share, before its prices count as having run off. No record.
    pub(crate) const FLOW_VALUE_ROUNDING: f64 = 5e-3;
}

/// Candidates: single chains, and simple splits of them.
impl Tuning {
    /// Most pools of the input for which the first slippage is worked out: more tightens caps of hubs, and takes longer. No record.
    pub(crate) const FIRST_SLIPPAGE_POOLS: usize = 60;
    /// Most labels of one token that go on from one hop to the next: fewer lose chains, more take longer. No record.
    pub(crate) const PATH_LABELS: usize = 4;
    /// Most pools priced by one search of a market that is not large. No record.
    pub(crate) const PATH_QUOTES: usize = 20_000;
    /// The same for the chains that hold less beside the best ones. No record.
    pub(crate) const PATH_QUOTES_AGAIN: usize = 400;
    /// Chains that run exactly before anything is split; the best is the first incumbent. No record.
    pub(crate) const FIRST_CHAINS: usize = 3;
    /// Most pools priced by the search for them through the core of a large market: 1,500 instead of 4,000, with a second search for what
    /// was missed, lost nothing on three generated markets.
    pub(crate) const FIRST_CHAIN_QUOTES: usize = 1_500;
    /// Most pools priced by that second search, and by what share its chain has to be better. Measured with the one before.
    pub(crate) const MISSED_CHAIN_QUOTES: usize = 3_000;
    pub(crate) const MISSED_CHAIN_GAIN: f64 = 1e-7;
    /// Hubs over which all inputs of a basket may go to all outputs: the deepest tokens. No record.
    pub(crate) const PLAN_HUBS: usize = 2;
    /// Most pools priced for one chain of a basket's first plan, and chains tried where the best would close a cycle. No record.
    pub(crate) const PLAN_QUOTES: usize = 1_500;
    pub(crate) const PLAN_CHAINS: usize = 3;
    /// Below this share of the whole value nothing of an input or an output is left to pair; not measured.
    pub(crate) const PLAN_LEAST_SHARE: f64 = 1e-12;
    /// Equal parts of a basket's plan, and the gap above which it is tried: amounts beyond the market's liquidity. No record.
    pub(crate) const PLAN_PARTS: u16 = 6;
    pub(crate) const PLAN_PARTS_GAP: f64 = 3e-2;
    /// Equal parts of a split by chunks, most pools priced for each, and the gap above which it is tried: amounts beyond the market's
    /// liquidity. No record.
    pub(crate) const CHUNKS: u16 = 24;
    pub(crate) const CHUNK_QUOTES: usize = 2_000;
    pub(crate) const CHUNK_GAP: f64 = 2e-3;
    /// Chains that one search for the next chunk keeps: more serve for more chunks, and prune less. No record.
    pub(crate) const CHUNK_CHAINS: usize = 8;
    /// Gap above which the bound says nothing, and simple plans are tried. Drains of 10,000 generated pools: the grid paid more than the
    /// answer in 12 of 54, since then in none.
    pub(crate) const LOST_GAP: f64 = 5e-2;
    /// Least gap that counts beside a route that has all the steps that it may have. No record.
    pub(crate) const FULL_GAP: f64 = 2e-4;
    /// Gaps above which simple plans are tried: the grid, and splits by chunks. The first where a pool between tokens of the best route stands
    /// apart in price, the second where none does, the third in a large market, where each takes longer. Of 5,000 answers on the two markets
    /// of 2026 and their disturbances 130 got more by chunks; in 129 of these a pool stood apart, and in the other the gap was larger.
    pub(crate) const SIMPLE_GAPS_APART: [f64; 2] = [1e-6, 1e-6];
    pub(crate) const SIMPLE_GAPS: [f64; 2] = [5e-6, 5e-5];
    pub(crate) const SIMPLE_GAPS_OF_LARGE: [f64; 2] = [1e-4, 1e-3];
    /// Gap above which a route is sought from the best one on. No record.
    pub(crate) const REFINED_GAP: f64 = 5e-5;
    /// Gap above which a route is sought over the pools that are in line, and the share of a swap's gas above which what a pool earned when
    /// prices were settled without it puts it out of line. No record.
    pub(crate) const IN_LINE_GAP: f64 = 2e-4;
    pub(crate) const IN_LINE_GAS_SHARE: f64 = 0.02;
    /// Most times that a route is sought from the one before on. No record.
    pub(crate) const REFINEMENTS: usize = 3;
    /// Parts of the simple grid, and most chains at once: what simple routers are known to do.
    pub(crate) const GRID_PARTS: usize = 20;
    pub(crate) const GRID_CHAINS: usize = 7;
    /// Chains of the grid considered for each of four amounts, so that all fit in a set of bits, and combinations kept. No record.
    pub(crate) const GRID_CANDIDATES: usize = 20;
    pub(crate) const GRID_BEAM: usize = 60;
    /// Parts of the simple split by chunks, and most chains: what simple routers are known to do.
    pub(crate) const SIMPLE_CHUNKS: u16 = 20;
    pub(crate) const SIMPLE_CHUNK_CHAINS: usize = 4;
    /// Most pools priced for one part where such a split is tried for an answer, and how many times as many for the grid's chains at one
    /// amount. No record.
    pub(crate) const SIMPLE_QUOTES: usize = 2_000;
    pub(crate) const GRID_QUOTES_SHARE: usize = 2;
    /// Parts of the finest simple plan.
    pub(crate) const FINE_CHUNKS: u16 = 100;
    /// Gap, and amount in atomic units, from which exact chains are walked one by one: floating point is a poor guide there. No record.
    pub(crate) const WALK_GAP: f64 = 1e-4;
    pub(crate) const WALK_DUST_UNITS: f64 = 1e6;
    /// Most exact swaps of one walk, so that small markets are walked whole, and from how many pairs on the lower number holds. No record.
    pub(crate) const WALK_SWAPS: u32 = 4_000;
    pub(crate) const WALK_SWAPS_OF_LARGE: u32 = 400;
    pub(crate) const WALK_LARGE_MARKET_PAIRS: usize = 500;
    /// By what an amount that no route takes is divided, again and again, to see whether a part of it goes. No record.
    pub(crate) const PART: u64 = 1_000_000;
    /// Steps that a route may lack to its most and still counts as full: nothing simpler is tried then. No record.
    pub(crate) const SPARE_STEPS: usize = 4;
}

/// How much value a route can hold.
impl Tuning {
    /// Up to this share of its gas a pool's arbitrage leaves something to pay: above, it counts as free value on the way. No record.
    pub(crate) const LEAN_GAS_SHARE: f64 = 0.95;
    /// How often the value that a route can hold is narrowed down. With it the gap of September 2023 fell from 0.0172 to 0.0168 bps at the
    /// median and from 2.74 to 2.52 at p90.
    pub(crate) const HELD_NARROWINGS: usize = 4;
    /// The share of the value before above which it has settled. No record.
    pub(crate) const HELD_SETTLED_SHARE: f64 = 0.99;
}

/// Bounds: where the solver stops, and what it tries before.
impl Tuning {
    /// Share of a pool's gas that counts as a crumb: a token's price is moved to where no pool earns more. No record.
    pub(crate) const CRUMB_GAS_SHARE: f64 = 0.01;
    /// Gap below which nothing more is tried. No record.
    pub(crate) const CLOSE_GAP: f64 = 5e-8;
    /// Gap above which the first prices are not trusted: stale pools spoil them. No record.
    pub(crate) const DISTRUST_GAP: f64 = 2e-2;
    /// Gap from which pools are counted at the prices of the flow; the second in a large market, where that takes longer. No record.
    pub(crate) const UNCLEAR_GAPS: [f64; 2] = [1e-6, 1e-4];
    /// Gas of a few swaps: where a gap is of its order, asking about pools and counting them closes it. No record.
    pub(crate) const COUNTING_GAS_UNITS: f64 = 210_000.0;
    /// Most pools priced by the exhaustive search for the best chain; and for a trade worth less than its gas, of which little else is
    /// known. No record.
    pub(crate) const COUNTING_QUOTES: usize = 3_000;
    pub(crate) const COUNTING_QUOTES_BELOW_GAS: usize = 40_000;
    /// Gap from which the dual by pools still to come is asked: where more is open than a few swaps' gas, and where that may be all. At
    /// 5e-5 for both the 99th percentile of the time on real markets was up to twice as long, and gaps were the same. In a large market, of
    /// which every round prices all tokens, it brought 150 trades of either of two generated ones nothing.
    pub(crate) const LAYERED_GAPS: [f64; 2] = [5e-5, 3e-4];
    pub(crate) const LAYERED_GAP_OF_LARGE: f64 = 5e-3;
    /// Gap at which it is close enough. No record.
    pub(crate) const LAYERED_CLOSE_GAP: f64 = 1e-6;
    /// Its rounds, in the first of which only the best route's tokens have prices of their own; rounds for each answer to a question; most
    /// prices, and new ones a round. No record.
    pub(crate) const LAYER_ROUNDS: usize = 12;
    pub(crate) const LAYER_ROUNDS_OF_HALF: usize = 2;
    pub(crate) const LAYER_NODES: usize = 120;
    pub(crate) const LAYER_NODES_PER_ROUND: usize = 16;
    /// Most tokens of which chains keep in mind whether they have met them: each doubles the prices. No record.
    pub(crate) const LAYER_TRACKED: usize = 3;
    /// Its smoothing, as shares of a swap's gas and of the trade, and steps at each. With 40 steps the 95th percentile of gaps among stale pools was 23
    /// basis points, with 300 it was 16, at the same time.
    pub(crate) const LAYER_SMOOTHING: [[f64; 2]; 2] = [[0.1, 1e-6], [0.01, 1e-8]];
    pub(crate) const LAYER_STEPS: usize = 200;
    /// Its questions, and what all of it may cost, in evaluations of a pool. Four times the work and three times the questions took 35 basis
    /// points of dusted pools' 95th percentile to 29.
    pub(crate) const LAYER_QUESTIONS: usize = 10;
    pub(crate) const LAYER_WORK: u64 = 80_000;
    /// Most pools asked about, one after the other: each halves what it leaves unclear and costs two minimisations. No record.
    pub(crate) const BRANCH_QUESTIONS: usize = 6;
    /// What they may cost, in evaluations of a pool. No record.
    pub(crate) const BRANCH_WORK: u64 = 80_000;
    /// Gap from which it is worth the time; in a large market it takes longer. No record.
    pub(crate) const BRANCH_GAP: f64 = 1e-6;
    pub(crate) const BRANCH_GAP_IN_LARGE: f64 = 1e-4;
    /// The weights between which a pool is used in part. No record.
    pub(crate) const BRANCH_WEIGHTS: Range<f64> = 0.002..0.998;
    /// Smoothing, as shares of a swap's gas, and most steps at each. No record.
    pub(crate) const BRANCH_STEPS: usize = 25;
    pub(crate) const BRANCH_SMOOTHING: [f64; 2] = [0.03, 0.01];
    pub(crate) const BRANCH_DECREASE: f64 = 1e-7;
}

/// The relaxation: the prices at which the dual is least.
impl Tuning {
    /// Gas of a plain swap, for scale: about what a concentrated pool takes without passing ticks.
    pub(crate) const SWAP_GAS_UNITS: f64 = 80_000.0;
    /// Tokens that the first subproblem takes besides those of the best route: the bound asks for what it lacks. 24 and 6 are in `docs/internals/bench.md`.
    pub(crate) const FIRST_TOKENS: usize = 12;
    /// Gap after the relaxation below which no pools are chosen anew: a hundredth of a basis point is what counts as better. See `docs/internals/bench.md`.
    pub(crate) const SETTLED_GAP: f64 = 1e-6;
    /// A token promises something where its share of the best value is off by less than so many gaps, and less than the whole, and its
    /// depth then brings this share of a swap's gas. No record.
    pub(crate) const FIRST_TOKEN_GAPS: f64 = 2.2;
    pub(crate) const FIRST_TOKEN_MOST_LOSS: f64 = 0.98;
    pub(crate) const FIRST_TOKEN_GAS_SHARE: f64 = 0.9;
    /// Most tokens of a subproblem, and most that one round adds. Growing to 160 by 48 instead of stopping at 56 took the gap of 10,000
    /// generated pools from 0.070, 8.2 and 27 bps (p50, p95, p99) to 0.015, 3.0 and 12.
    pub(crate) const MOST_TOKENS: usize = 160;
    pub(crate) const TOKENS_PER_ROUND: usize = 48;
    /// Most rounds of adding the tokens whose pools would earn. Measured with the one before.
    pub(crate) const RELAX_ROUNDS: usize = 8;
    /// Work that the relaxed problems of one request may cost, and all of it, in evaluations of a pool; ten thousand are about half a
    /// millisecond. Gaps at other budgets are in `docs/internals/bench.md`: twice as much brought 1.5 basis points to one of 1,500 trades.
    pub(crate) const RELAX_WORK: u64 = 50_000;
    pub(crate) const WORK: u64 = 75_000;
    /// What every minimisation may cost, whatever came before it. No record.
    pub(crate) const LEAST_WORK: u64 = 4_000;
    /// Multiplications of a factorisation that count as one evaluation of a pool, by the time that they take. No record.
    pub(crate) const PRODUCTS_PER_EVALUATION: usize = 64;
    /// Longest step in the logarithm of a price. No record.
    pub(crate) const LONGEST_PRICE_STEP: f64 = 0.35;
    /// Weight of the damping metric that is carried over from one stage to the next. No record.
    pub(crate) const DAMPING: RangeInclusive<f64> = 1e-8..=1.0;
    /// The same where prices are known to be near. No record.
    pub(crate) const NEARBY_DAMPING: f64 = 1e-2;
    /// How damping is raised where the matrix has no factor, where no length of a step lowers the dual, and where only a shorter one
    /// does; above the most, prices stay as they are. No record.
    pub(crate) const DAMPING_AFTER_NO_FACTOR: Raise = Raise { factor: 10.0, least: 1e-9, most: 1e6 };
    pub(crate) const DAMPING_AFTER_NO_STEP: Raise = Raise { factor: 20.0, least: 1e-5, most: 1e3 };
    pub(crate) const DAMPING_AFTER_SHORTER_STEP: Raise = Raise { factor: 2.0, least: 1e-6, most: f64::INFINITY };
    /// By what it falls after a whole step: where the slope has fallen much, and else. No record.
    pub(crate) const DAMPING_RELAXED: [f64; 2] = [0.1, 0.4];
    /// The damping below which a small decrease means that the minimum is near and not that steps are short: before a step, and after. No record.
    pub(crate) const DAMPING_SETTLED: [f64; 2] = [1e-4, 1e-3];
    /// The share of the tolerated decrease below which a step was the last. No record.
    pub(crate) const LAST_DECREASE_SHARE: f64 = 0.1;
    /// Lengths of a step that are tried, and by what share the next is shorter. No record.
    pub(crate) const STEP_LENGTHS: usize = 5;
    pub(crate) const SHORTER_STEP_SHARES: RangeInclusive<f64> = 1e-5..=0.6;
    /// What a step has to gain, as a share of what the slope promises (Armijo's rule); a change of all prices by less than this may go by
    /// the slope alone, which rounding disturbs less, where the slope has fallen to this share. No record.
    pub(crate) const SUFFICIENT_DECREASE: f64 = 1e-4;
    pub(crate) const SMALL_PRICE_STEP: f64 = 2e-3;
    pub(crate) const FLAT_SLOPE_SHARE: f64 = 0.5;
    /// Most steps of one minimisation. No record.
    pub(crate) const RELAX_STEPS: usize = 40;
    /// Imbalance of a token, as a share of the trade, at which prices count as found; where only which pools pay is asked, more. No record.
    pub(crate) const BALANCED_SHARE: f64 = 1e-9;
    pub(crate) const ROUGHLY_BALANCED_SHARE: f64 = 1e-7;
    /// Least smoothing, as a share of the trade: below, rounding decides. No record.
    pub(crate) const LEAST_SMOOTHING: f64 = 1e-10;
    /// Where smoothing ends, as a share of a swap's gas: lower is nearer to the dual itself, and takes more steps. No record.
    pub(crate) const LAST_SMOOTHING: f64 = 0.01;
    /// Where smoothing begins, as a share of a swap's gas and of the trade, whichever is more: at first, and near known prices. See
    /// `docs/internals/bench.md`.
    pub(crate) const FIRST_SMOOTHING: [f64; 2] = [0.1, 1e-6];
    pub(crate) const NEXT_SMOOTHING: [f64; 2] = [0.1, 1e-8];
    /// By what smoothing falls from stage to stage, and how near to the last one it is the last. See `docs/internals/bench.md`.
    pub(crate) const SMOOTHING_FALL: f64 = 0.03;
    pub(crate) const SAME_SMOOTHING_SHARE: f64 = 0.01;
    /// Room above the caps while smoothing is as much as a swap's gas, and the least share of it later. No record.
    pub(crate) const CAP_SLACK: f64 = 0.1;
    pub(crate) const CAP_SLACK_LEAST_SHARE: f64 = 0.01;
    /// The decrease, as a share of the trade, from which on a stage goes on: the last stage, and those before it, where a share of the
    /// smoothing is enough. No record.
    pub(crate) const LAST_DECREASE: f64 = 1e-9;
    pub(crate) const EARLY_DECREASE: f64 = 1e-6;
    pub(crate) const EARLY_DECREASE_SMOOTHING_SHARE: f64 = 0.02;
    /// What a pool has to earn, as a share of the trade, for its tokens to be added. No record.
    pub(crate) const EARNING_LEAST_SHARE: f64 = 1e-8;
    /// Surcharges on gas tried where too many pools pay, and over how many pools: those that earn most, as a multiple of how many a route
    /// may use. No record.
    pub(crate) const SURCHARGES: usize = 6;
    pub(crate) const SURCHARGED_POOLS: usize = 3;
    /// How a surcharge grows that is too small, most steps at each, and by what share of its gas a pool that pays may fall short. No record.
    pub(crate) const SURCHARGE_GROWTH: f64 = 2.5;
    pub(crate) const SURCHARGE_STEPS: usize = 20;
    pub(crate) const SURCHARGE_PAYS_SHARE: f64 = 0.03;
    /// Smoothing with a surcharge, as shares of a swap's gas, and how many tenths of the pools that a route may use are enough. No record.
    pub(crate) const SURCHARGE_SMOOTHING: [f64; 2] = [0.1, Self::LAST_SMOOTHING];
    pub(crate) const SURCHARGE_FULL_TENTHS: usize = 9;
}

/// Rounding to a set of pools.
impl Tuning {
    /// Shares of its gas that a pool must earn at the relaxed prices to be in a first set. No record.
    pub(crate) const FIRST_SET_SHARES: [f64; 3] = [0.97, 0.8, 1.03];
    /// Most sets tried; where no more pools may be used each takes longer, and brings less. No record.
    pub(crate) const SETS_TRIED: usize = 40;
    pub(crate) const SETS_TRIED_WHEN_FULL: usize = 12;
    /// What a move has to promise, and to bring, as a share of the trade. No record.
    pub(crate) const SET_GAIN_SHARE: f64 = 1e-9;
    pub(crate) const SET_BETTER_SHARE: f64 = 1e-10;
    /// Share of its gas that a pool must earn to be added together with a neighbour. No record.
    pub(crate) const CONNECTING_SHARE: f64 = 0.5;
    /// Sets that run exactly beside the best one, and how much less they may be worth, in gas: a few ticks. No record.
    pub(crate) const RUNNERS_UP: usize = 4;
    pub(crate) const RUNNER_UP_GAS_UNITS: f64 = 50_000.0;
    /// Imbalance to which the last set is balanced, as a share of the trade, and most steps. No record.
    pub(crate) const POLISHED_SHARE: f64 = 1e-12;
    pub(crate) const FIXED_STEPS: usize = 60;
    pub(crate) const FIXED_DECREASE: f64 = 1e-13;
    /// Imbalance above which a set of pools cannot carry the amount, as a share of the trade. No record.
    pub(crate) const UNBALANCED_SHARE: f64 = 2e-3;
    /// A flow below this share of the trade is none. No record.
    pub(crate) const NO_FLOW_SHARE: f64 = 1e-9;
    /// Of the flows on chains that are too long, one in so many is dropped before chains are measured again: dropping all at once took the
    /// slowest solve of 10,000 generated pools from 364 to 42 ms, and the p95 gap of 30 to 300 ether from 1.8 to 0.6 bps.
    pub(crate) const DROPPED_ONE_IN: usize = 12;
}

/// Exact routes.
impl Tuning {
    /// Exact runs of one plan, at most: a run mends what a pool refused, or moves a basket's shares. No record.
    pub(crate) const EXACT_RUNS: usize = 16;
    /// Flows that are removed, one by one, from a plan that does not run. Of 480 trades and baskets beyond the liquidity one gets 87 basis points
    /// more by it, none less.
    pub(crate) const FLOWS_DROPPED: usize = 2;
    /// How often an interval is halved to find what a pool takes for a share of what it pays: to the last digits of a float. No record.
    pub(crate) const HALVINGS: usize = 50;
    /// The share of what arrives at a token from which on what a plan leaves there is sold by the best route's way. Without it 172 of
    /// 12,000 trades in 4,000 markets that stand apart paid less, some a fraction, and 7 more.
    pub(crate) const LEFTOVER_SHARE: f64 = 1e-3;
    /// Deviation of an output's share that is good enough: a hundredth of a basis point.
    pub(crate) const SHARE_PRECISION: f64 = 1e-6;
    /// Runs without gain after which shares are left as they are. No record.
    pub(crate) const RUNS_WITHOUT_GAIN: usize = 3;
    /// How much an output's share may be taken to grow with its factor: deep pools answer by one, drained ones hardly. No record.
    pub(crate) const SHARE_RESPONSE: RangeInclusive<f64> = 0.1..=1.5;
    /// Longest step in the logarithm of a factor. No record.
    pub(crate) const LONGEST_SHARE_STEP: f64 = 3.0;
    /// A share counts as at least this, and a factor's answer is learnt where its logarithm moved by more than the second. No record.
    pub(crate) const LEAST_SHARE: f64 = 1e-12;
    pub(crate) const LEAST_SHARE_MOVE: f64 = 1e-9;
    /// Steps that together bring less than this share of what arrives are left out: a hundredth of a basis point, with room for what
    /// rounding adds. And how many may bring more before no others are tried. No record.
    pub(crate) const STEP_GAIN_SHARE: f64 = 9e-7;
    pub(crate) const STEPS_LEFT_OUT_TRIED: usize = 4;
    /// Share of all ether that is left in the form that it has: to wrap or unwrap it costs a step. No record.
    pub(crate) const ETHER_LEFT_SHARE: f64 = 1e-6;
    /// What the most gas that a route may use is made to cost, as shares of the trade, where a route used more. No record.
    pub(crate) const DEARER_GAS_SHARES: [f64; 3] = [1e-3, 1e-2, 1e-1];
    /// Gap above which pools are stopped short of the last tick that they pass, the least share of its amount that a pool keeps then, and
    /// how many are tried. No record.
    pub(crate) const TICK_GAP: f64 = 1e-6;
    pub(crate) const TICK_STOP_SHARE: f64 = 0.5;
    pub(crate) const TICK_STOPS: usize = 8;
    /// What a swap is made to cost, as a share of the trade, where gas costs less; and the gap from which it is tried. Over 12,000 trades in 4,000
    /// markets that stand apart, at 0 to 30 gwei, 242 pay more for it and 28 less. On the local chain's market at no gas the worst that a
    /// route lost to one sought at 0.3 to 3 gwei fell from 362 to 32 basis points; with 1e-5 it was 118. On the two real markets of 2026 no
    /// more than one pair of 400 changed; solves at no gas took 5 to 20% longer, those at 1 gwei as long.
    pub(crate) const NOMINAL_SWAP_SHARE: f64 = 1e-6;
    pub(crate) const NOMINAL_GAP: f64 = 1e-5;
}
