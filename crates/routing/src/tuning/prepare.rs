//! Reference prices and standing arbitrage, computed once per block.

use super::Tuning;

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
