//! Candidates: single paths, and simple splits of them.

use super::Tuning;

impl Tuning {
    /// Most pools of the input for which the slippage of the first step is computed: more tightens the caps of hub
    /// tokens, and takes longer. No record.
    pub(crate) const FIRST_SLIPPAGE_POOLS: usize = 60;
    /// Least share of the marginal rates that is tried for the rate after this slippage, and halvings of the logarithm of
    /// the interval from there to 1. Results for half and double are in `docs/internals/bench.md`.
    pub(crate) const FIRST_SLIPPAGE_LEAST_RATE: f64 = 0.02;
    pub(crate) const FIRST_SLIPPAGE_HALVINGS: usize = 18;
    /// Most labels of one token that are extended from one hop to the next, and most pools that are tried beside one in use:
    /// fewer lose paths, more take longer. No record.
    pub(crate) const PATH_LABELS: usize = 4;
    /// Most pools priced by one path search that has no lower limit of its own. No record.
    pub(crate) const PATH_QUOTES: usize = 20_000;
    /// Most pools priced by each of the two path searches that follow if too few first paths were found, and a pool refused
    /// the amount of a path. After every refusal they took a tenth of a solve, and changed none of 4,809 answers on the
    /// recorded markets; of 200 drains, 3.
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
    /// Paths that one search for the next chunk keeps, and the share of the best one's value within which they pay: more last
    /// for more chunks, and prune less. With 8, within the share below, large trades between the tokens with the most pools
    /// took 15% more instructions, and those on the recorded markets 5% more. A search for every chunk keeps as many at most:
    /// where it kept one more than the limits of a route had forbidden so far, and was repeated until they forbade no other, one
    /// of 100 solves took 70 s on a market of 2,000 pools of which a tenth had the states of another market's pools.
    pub(crate) const CHUNK_PATHS: usize = 16;
    pub(crate) const CHUNK_WINDOW: f64 = 0.05;
    /// Share by which the best path of a chunk may pay less before the searches for chunks are pruned by the pools as they are
    /// again. 64 trades of `mainnet_24699608` between the tokens with the most pools took 5% fewer instructions with it, 4% fewer
    /// with a fifth or three times of it, and 3% with ten times.
    pub(crate) const LOOSER_PART: f64 = 0.01;
    /// Share of a chunk's value by which its path may pay less than the best one, so that the paths of one search serve for
    /// several chunks: for the first routes, for plans in a large market, and for the split by 400 chunks that drains are
    /// compared with. Simple plans in a small market have a search for every chunk. With this share where the gap is below one
    /// basis point, and none above, such a split paid more in 1 of 500 trades on a shocked market of 2,000 pools, by 0.1 basis
    /// points; without any, but with one search for several chunks below a gap of 10 basis points, in 1 of 200, by 0.06. A
    /// search for every chunk takes 5% more instructions on the recorded markets, and 1% more for large trades.
    pub(crate) const CHUNK_TOLERANCE: f64 = 0.003;
    /// The same for the many chunks of amounts beyond the market's liquidity: with the share above, the slowest of 60 solves
    /// took 70% longer, and the answers were the same.
    pub(crate) const TOLERANCE_OF_MANY_CHUNKS: f64 = 0.3;
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
    /// Gap above which detours are tried, if a swap's gas is not more; most times that they are; most of them that are tried
    /// one by one; and most pools that they are looked for at. Of 3,174 trades on 16 disturbed markets 92 paid more with
    /// detours and 14 less, because other searches started elsewhere, in the same time.
    pub(crate) const DETOUR_GAP: f64 = 1e-6;
    pub(crate) const DETOUR_ROUNDS: usize = 3;
    pub(crate) const DETOURS: usize = 6;
    pub(crate) const DETOUR_POOLS: usize = 32;
}
