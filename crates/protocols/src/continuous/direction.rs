//! One direction of a two-coin pool, as a chain of constant-product segments.
//!
//! On a segment with liquidity `L` the marginal rate is `γ·z²`, where `z` is the square root of the rate before the fee
//! and `γ = 1 − fee`. While `z` falls from `z₀`, the pool takes `L·(1/z − 1/z₀)/γ` and pays `L·(z₀ − z)`.

use std::sync::OnceLock;

/// A stretch of constant liquidity, as a pool describes it: its liquidity, and the root rate at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Root of the rate (out per in, before the fee) at the far end. Above zero, and at most the root at the near end.
    pub end: f64,
    /// Liquidity, in the geometric mean of the two coins' atomic units; zero if there is none.
    pub liquidity: f64,
    /// Gas units of passing its end.
    pub gas_units: f64,
}

/// Start of a segment. The last knot of a direction is its end and has no liquidity.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    /// Root of the marginal rate before the fee.
    root: f64,
    /// Liquidity from here to the next knot.
    liquidity: f64,
    /// Input after the fee, taken up to here.
    taken: f64,
    /// Output paid up to here.
    paid: f64,
    /// Gas units of all ends passed up to here, including the end of the last segment.
    gas_units: f64,
    /// Gas units per unit of input after the fee, along the lower convex hull of the gas staircase.
    gas_slope: f64,
    /// Value of that hull here.
    gas_hull: f64,
}

/// Number of segments that are tried one after the other before bisection: most trades end within them.
const FEW_KNOTS: usize = 8;

/// Trade of a pool at given prices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trade {
    /// Amount in, including the fee.
    pub amount_in: f64,
    /// Amount out.
    pub amount_out: f64,
    /// Gas units of ends passed; fractional where that gas is spread over a segment.
    pub gas_units: f64,
    /// Derivative of the amount in by the logarithm of (price out ÷ price in); zero at a cap.
    pub slope: f64,
}

/// How the gas of passed range ends is spread over the input of a trade, so that it is a convex cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GasSpread {
    /// Along the lower convex hull of the whole curve. Where little liquidity goes on to a rate of almost zero, that hull
    /// charges next to nothing for the first ends.
    #[default]
    Whole,
    /// Along the hull of the part where the rate is within a few hundred times of its first value; beyond, it rises no
    /// slower. Charges what the first ends cost, and too much for trades far beyond a pool's liquidity.
    Near,
}

/// One direction of a two-coin pool: the amount out as a concave function of the amount in.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    gamma: f64,
    inverse_gamma: f64,
    spot: f64,
    reject_in: f64,
    reject_out: f64,
    depth: f64,
    /// Marginal rate at which a bound continues the curve beyond its capacity; zero if nothing more can be sold.
    beyond: f64,
    knots: Box<[Knot]>,
    near: Near,
}

/// The knots with gas spread as [`GasSpread::Near`] says, from when they are first needed: few searches do.
#[derive(Clone, Debug, Default)]
struct Near(OnceLock<Box<[Knot]>>);

impl PartialEq for Near {
    /// Returns true, because these knots follow from the others.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Direction {
    /// Builds a direction that starts at root rate `start` and falls along `stretches`; `gamma` is one minus the fee.
    ///
    /// `None` if it would never pay anything, or a number is not finite.
    pub fn new(gamma: f64, start: f64, stretches: &[Stretch]) -> Option<Self> {
        let mut knots = Vec::with_capacity(stretches.len() + 1);
        let (mut root, mut taken, mut paid, mut gas_units, mut widest) = (start, 0.0, 0.0, 0.0, 0.0_f64);
        for stretch in stretches {
            let liquidity = stretch.liquidity;
            knots.push(Knot { root, liquidity, taken, paid, gas_units, gas_slope: 0.0, gas_hull: 0.0 });
            gas_units += stretch.gas_units;
            taken += liquidity * fall_of_inverse(root, stretch.end);
            paid += liquidity * (root - stretch.end);
            root = stretch.end;
            widest = widest.max(liquidity);
        }
        knots.push(Knot { root, liquidity: 0.0, taken, paid, gas_units, gas_slope: 0.0, gas_hull: 0.0 });
        let sound = start > 0.0 && root > 0.0 && widest > 0.0 && paid > 0.0 && taken > 0.0;
        if !(sound && taken.is_finite() && paid.is_finite() && gamma > 0.0 && gamma <= 1.0) {
            return None;
        }
        let whole = 0..knots.len() - 1;
        spread_gas(&mut knots, std::slice::from_ref(&whole));
        // the spot rate is that of the first stretch that takes something: no smaller amount gets a better rate; a price on a
        // tick starts with a stretch of no length, whose liquidity no trade meets
        let [first, _] = knots.array_windows().find(|[knot, next]| next.taken > knot.taken)?;
        let root = first.root;
        Some(Self {
            gamma,
            inverse_gamma: 1.0 / gamma,
            spot: gamma * root * root,
            reject_in: 1.0 / (widest * root).sqrt(),
            reject_out: (gamma * root / widest).sqrt(),
            depth: first.liquidity * root,
            beyond: 0.0,
            knots: knots.into_boxed_slice(),
            near: Near::default(),
        })
    }

    /// Builds a fixed rate up to a capacity: one stretch over which the rate falls by a few parts in 10¹², starting
    /// just above it.
    ///
    /// If both directions of a pool are such lines, a round trip seems to earn that fraction of the capacity, and the
    /// upper bound is too high by as much. So the capacity should be no larger than trades can need.
    pub fn linear(rate: f64, capacity_in: f64) -> Option<Self> {
        const FLATNESS: f64 = 2.0e-12;
        let start = (rate * (1.0 + FLATNESS)).sqrt();
        let end = (rate * (1.0 - FLATNESS)).sqrt();
        let liquidity = capacity_in / fall_of_inverse(start, end);
        Self::new(1.0, start, &[Stretch { end, liquidity, gas_units: 0.0 }])
    }

    /// Lets a bound continue the curve beyond its capacity at a rate, because the capacity is only what trades are assumed to
    /// need. Plans keep the capacity.
    pub(crate) fn continued_at(self, rate: f64) -> Self {
        Self { beyond: rate, ..self }
    }

    /// Returns whether a bound continues the curve beyond its capacity.
    pub fn is_continued(&self) -> bool {
        self.beyond > 0.0
    }

    /// Returns the marginal rate at zero input: output per unit of input, fee included.
    #[inline]
    pub fn spot(&self) -> f64 {
        self.spot
    }

    /// Returns `1/√(L·z₀)` with the largest liquidity `L`; see [`Direction::cannot_earn`].
    #[inline]
    pub fn reject_in(&self) -> f64 {
        self.reject_in
    }

    /// Returns `√(γ·z₀/L)` with the largest liquidity `L`. A pool earns at most `g` at an output price up to
    /// `price_in/spot · (1 + reject_out·√(g/price_in))²`.
    #[inline]
    pub fn reject_out(&self) -> f64 {
        self.reject_out
    }

    /// Returns the output that would take the root rate to zero at the first liquidity: the local depth, in the coin
    /// out.
    #[inline]
    pub fn depth(&self) -> f64 {
        self.depth
    }

    /// Tells whether this is one stretch of constant liquidity that ends there, without gas for passing its end.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.knots.len() == 2 && self.last().gas_units == 0.0 && !self.is_continued()
    }

    /// Returns `L·z₀` of the first range with liquidity, and the maximum input of that range, including the fee.
    pub fn first_range(&self) -> (f64, f64) {
        let end = self.knots.iter().find(|knot| knot.taken > 0.0).map_or(0.0, |knot| knot.taken);
        (self.depth, end * self.inverse_gamma)
    }

    /// Returns the maximum input, including the fee.
    #[inline]
    pub fn capacity_in(&self) -> f64 {
        self.last().taken * self.inverse_gamma
    }

    /// Returns the maximum output.
    #[inline]
    pub fn capacity_out(&self) -> f64 {
        self.last().paid
    }

    /// Returns the output and input that move the marginal rate to `share` of its spot value.
    pub fn to_share_of_spot(&self, share: f64) -> (f64, f64) {
        self.best_trade(self.spot * share, 1.0, f64::INFINITY, 0.0).map_or((0.0, 0.0), |t| (t.amount_in, t.amount_out))
    }

    /// Returns the output for an input, and the gas units of the range ends that it crosses. Input beyond the capacity
    /// buys nothing.
    #[inline]
    pub fn quote(&self, amount_in: f64) -> (f64, f64) {
        let net = amount_in * self.gamma;
        let knot = &self.knots[self.knot_at(net)];
        if knot.liquidity == 0.0 {
            return (knot.paid, knot.gas_units);
        }
        // `L·(z₀ − z)`, without subtracting nearly equal numbers
        let more = net - knot.taken;
        let out = knot.paid + more * knot.root * knot.root / (1.0 + more * knot.root / knot.liquidity);
        (out, knot.gas_units)
    }

    /// Returns the points below `amount_in` at which more gas is due, largest first: those of the ticks that `amount_in`
    /// crosses at a cost in gas.
    pub fn stops_before_gas(&self, amount_in: f64) -> impl Iterator<Item = f64> + '_ {
        let reached = self.knot_at(amount_in * self.gamma);
        let costly = self.knots[..=reached].windows(2).rev().filter(|ends| ends[1].gas_units > ends[0].gas_units);
        let mut before = f64::INFINITY;
        // Several ticks are at one point if there is no liquidity between them.
        let is_new = move |stop: &f64| *stop > 0.0 && std::mem::replace(&mut before, *stop) > *stop;
        costly.map(|ends| ends[1].taken * self.inverse_gamma).filter(is_new)
    }

    /// Returns the marginal rate after an input, fee included.
    #[inline]
    pub fn marginal(&self, amount_in: f64) -> f64 {
        let net = amount_in * self.gamma;
        let knot = &self.knots[self.knot_at(net)];
        if knot.liquidity == 0.0 {
            return 0.0;
        }
        let inverse = 1.0 / knot.root + (net - knot.taken) / knot.liquidity;
        self.gamma / (inverse * inverse)
    }

    /// Returns the best trade at the given prices, with at most `cap` in; `None` if not trading is best.
    ///
    /// `gas_price` is the value of a unit of gas. Gas of passed ends is charged along its convex hull, so the trade
    /// moves continuously with the prices.
    #[inline]
    pub fn best_trade(&self, price_in: f64, price_out: f64, cap: f64, gas_price: f64) -> Option<Trade> {
        self.best_trade_along(&self.knots, price_in, price_out, cap, gas_price)
    }

    /// Returns the best trade as [`Direction::best_trade`] does, with gas spread in the given way.
    #[inline]
    pub fn best_trade_spread(
        &self,
        price_in: f64,
        price_out: f64,
        cap: f64,
        gas_price: f64,
        spread: GasSpread,
    ) -> Option<Trade> {
        if spread == GasSpread::Near && self.last().gas_units > 0.0 {
            return self.best_trade_near(price_in, price_out, cap, gas_price);
        }
        self.best_trade(price_in, price_out, cap, gas_price)
    }

    /// Returns the same with gas spread near the first rate. Stays out of line, because nearly all searches spread it over
    /// the whole curve.
    #[cold]
    fn best_trade_near(&self, price_in: f64, price_out: f64, cap: f64, gas_price: f64) -> Option<Trade> {
        let knots = self.near.0.get_or_init(|| near(&self.knots));
        self.best_trade_along(knots, price_in, price_out, cap, gas_price)
    }

    #[inline]
    fn best_trade_along(
        &self,
        knots: &[Knot],
        price_in: f64,
        price_out: f64,
        cap: f64,
        gas_price: f64,
    ) -> Option<Trade> {
        if price_in >= self.spot * price_out {
            return None;
        }
        let per_square = self.inverse_gamma / price_out;
        let end = knots.len() - 1;
        let charge = gas_price * self.gamma;
        let square_at = |k: usize| (price_in + charge * knots[k].gas_slope) * per_square;
        // Roots fall and the slope of the gas rises: once a segment is not passed, no later one is.
        let is_passed = |k: usize| {
            let next = knots[k + 1].root;
            next * next >= square_at(k)
        };
        let few = end.min(FEW_KNOTS);
        let mut k = 0;
        while k < few && is_passed(k) {
            k += 1;
        }
        if k == few && few < end {
            k = passed_beyond(few..end, is_passed);
        }
        let knot = &knots[k];
        let (mut taken, mut paid, mut slope) = (knot.taken, knot.paid, 0.0);
        let mut gas_units = if gas_price > 0.0 { knot.gas_hull } else { knot.gas_units };
        if k < end {
            let square = square_at(k);
            let root = square.sqrt();
            if root < knot.root && knot.liquidity > 0.0 {
                // One division serves for all inverses.
                let inverse_product = 1.0 / (root * knot.root);
                let inverse = knot.root * inverse_product;
                let fall = knot.liquidity * (knot.root - root);
                let more = fall * inverse_product;
                taken += more;
                paid += fall;
                let inverse_cube = inverse * inverse * inverse;
                slope = 0.5 * knot.liquidity * inverse_cube * self.inverse_gamma * price_in * per_square;
                if gas_price > 0.0 {
                    gas_units += more * knot.gas_slope;
                }
            }
        }
        let amount_in = taken * self.inverse_gamma;
        if amount_in > cap {
            let (amount_out, gas_units) = self.quote(cap);
            return Some(Trade { amount_in: cap, amount_out, gas_units, slope: 0.0 });
        }
        (amount_in > 0.0 && paid > 0.0).then_some(Trade { amount_in, amount_out: paid, gas_units, slope })
    }

    /// Tests with one comparison whether no trade earns more than `gas` at these prices. `gas_root` is `√gas`.
    #[inline]
    pub fn cannot_earn(&self, price_in: f64, price_out: f64, gas_root: f64) -> bool {
        let best = self.spot * price_out;
        if price_in >= best {
            return true;
        }
        let f = 1.0 - self.reject_in * gas_root / price_out.sqrt();
        f > 0.0 && price_in >= best * f * f
    }

    /// Returns the maximum profit of a trade of at most `cap` in at these prices, net of `gas` and of passed ends at
    /// `gas_price` per unit; at least 0.
    ///
    /// This is the exact supremum over the gas staircase, up to floating-point error; see [`Direction::noise`]. A curve that
    /// continues beyond its capacity counts up to `cap`.
    pub fn most_earned(&self, price_in: f64, price_out: f64, cap: f64, gas: f64, gas_price: f64) -> f64 {
        let Some(trade) = self.best_trade(price_in, price_out, cap, 0.0) else { return 0.0 };
        let mut best = price_out * trade.amount_out - price_in * trade.amount_in - gas;
        let [more_in, more_out] = self.best_beyond(price_in, price_out, cap);
        best += price_out * more_out - price_in * more_in;
        if best <= 0.0 || gas_price <= 0.0 || trade.gas_units <= 0.0 {
            return best.max(0.0);
        }
        best -= trade.gas_units * gas_price;
        // a trade that stops at an earlier end of a segment saves the gas of that end and of later ones
        for pair in self.knots.windows(2) {
            let [before, end] = pair else { break };
            let amount_in = end.taken * self.inverse_gamma;
            if before.gas_units >= trade.gas_units || amount_in > cap {
                break;
            }
            let earned = price_out * end.paid - price_in * amount_in - gas - before.gas_units * gas_price;
            best = best.max(earned);
        }
        best.max(0.0)
    }

    /// Returns what a bound adds, beyond the capacity of a curve that continues, to the best trade of at most `cap` in at
    /// these prices: input and output.
    #[inline]
    pub fn best_beyond(&self, price_in: f64, price_out: f64, cap: f64) -> [f64; 2] {
        if !self.is_continued() || price_in >= self.beyond * price_out {
            return [0.0; 2];
        }
        let more_in = (cap - self.capacity_in()).max(0.0);
        [more_in, more_in * self.beyond]
    }

    /// Bounds the rounding error of [`Direction::most_earned`] at these prices.
    #[inline]
    pub fn noise(&self, price_in: f64, price_out: f64, trade: &Trade) -> f64 {
        const ULPS: f64 = 16.0 * f64::EPSILON;
        let knot = &self.knots[0];
        // a trade that ends at its cap or at a knot subtracts no nearly equal numbers
        let ends_within = trade.slope != 0.0;
        let held = if ends_within { knot.liquidity * (price_out * knot.root + price_in / knot.root) } else { 0.0 };
        ULPS * (held + price_out * trade.amount_out + price_in * trade.amount_in)
    }

    /// Returns the supremum over `0 < x ≤ cap` of `(price_out·f(x) − gas)/x`: the input price above which no trade of
    /// at most `cap` earns `gas`. Negative if none ever does. A curve that continues beyond its capacity counts up to
    /// `cap`.
    pub fn average_rate(&self, price_out: f64, cap: f64, gas: f64) -> f64 {
        if gas <= 0.0 {
            return price_out * self.spot;
        }
        let owed = gas / price_out;
        let amount_in = self.turning_point(cap, |knot, next| {
            let l = knot.liquidity;
            // the average rate rises until it meets the marginal one: paid + l·z₀ − 2·l·z + z²·(l/z₀ − taken) = owed
            let met = (next.paid - owed) >= next.root * next.root * next.taken;
            let (a, c) = (l / knot.root - knot.taken, knot.paid + l * knot.root - owed);
            met.then(|| if c > 0.0 { (l + (l * l - a * c).max(0.0).sqrt()) / c } else { f64::INFINITY })
        });
        // if the pool is very deep, rounding may hide the best amount; its gas is then negligible
        let rate = (price_out * self.quote(amount_in).0 - gas) / amount_in;
        let rate = if amount_in > 0.0 { rate } else { price_out * self.spot };
        if self.is_continued() { rate.max(self.average_beyond(price_out, cap, gas)) } else { rate }
    }

    /// Returns the infimum over `0 < x ≤ cap` of `(price_in·x + gas)/f(x)`: the output price below which no trade of at
    /// most `cap` earns `gas`. Keeps to the capacity of a curve that continues beyond it.
    pub fn average_cost(&self, price_in: f64, cap: f64, gas: f64) -> f64 {
        if gas <= 0.0 {
            return price_in / self.spot;
        }
        let owed = gas * self.gamma / price_in;
        let amount_in = self.turning_point(cap, |knot, next| {
            let l = knot.liquidity;
            // with w = 1/z: (paid + l·z₀)·w² − 2·l·w + (l/z₀ − taken − owed) = 0, the larger root
            let met = next.paid >= next.root * next.root * (next.taken + owed);
            let (a, c) = (knot.paid + l * knot.root, l / knot.root - knot.taken - owed);
            met.then(|| (l + (l * l - a * c).max(0.0).sqrt()) / a)
        });
        let cost = (price_in * amount_in + gas) / self.quote(amount_in).0;
        if amount_in > 0.0 { cost } else { price_in / self.spot }
    }

    /// Returns the average rate of `cap`, net of `gas`, if that is beyond the capacity of a curve that continues, and
    /// negative infinity otherwise. Between the capacity and `cap` the average only rises or only falls.
    fn average_beyond(&self, price_out: f64, cap: f64, gas: f64) -> f64 {
        let capacity = self.capacity_in();
        if cap <= capacity {
            return f64::NEG_INFINITY;
        }
        // Takes shares of the amount, which may be infinite.
        let share = capacity / cap;
        price_out * (self.capacity_out() / capacity * share + self.beyond * (1.0 - share)) - gas / cap
    }

    /// Returns the input, at most `cap`, at which an average stops improving. `inverse_root` returns `1/z` of that
    /// point if it lies between two knots.
    #[inline]
    fn turning_point(&self, cap: f64, inverse_root: impl Fn(&Knot, &Knot) -> Option<f64>) -> f64 {
        for pair in self.knots.windows(2) {
            let [knot, next] = pair else { break };
            let end = next.taken * self.inverse_gamma;
            let found = inverse_root(knot, next);
            if found.is_none() && end < cap {
                continue;
            }
            let inside = found
                .map_or(f64::INFINITY, |w| (knot.taken + knot.liquidity * (w - 1.0 / knot.root)) * self.inverse_gamma);
            // NaN means an empty segment: any point of it will do
            return inside.min(end).max(knot.taken * self.inverse_gamma).min(cap);
        }
        cap.min(self.capacity_in())
    }

    #[inline]
    fn knot_at(&self, net: f64) -> usize {
        let end = self.knots.len() - 1;
        let few = end.min(FEW_KNOTS);
        let mut k = 0;
        while k < few && self.knots[k + 1].taken <= net {
            k += 1;
        }
        if k < few || few == end { k } else { self.knot_beyond_few(net) }
    }

    /// Returns the same for an amount that passes the first ranges, where few amounts end: searches the others by halves.
    #[cold]
    #[inline(never)]
    fn knot_beyond_few(&self, net: f64) -> usize {
        FEW_KNOTS + self.knots[FEW_KNOTS + 1..].partition_point(|knot| knot.taken <= net)
    }

    #[inline]
    fn last(&self) -> &Knot {
        &self.knots[self.knots.len() - 1]
    }
}

/// Returns the first of a range of segments that is not passed, or the range's end. Searches by halves.
#[inline]
fn passed_beyond(segments: std::ops::Range<usize>, is_passed: impl Fn(usize) -> bool) -> usize {
    let std::ops::Range { mut start, mut end } = segments;
    while start < end {
        let middle = start.midpoint(end);
        if is_passed(middle) {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    start
}

/// Returns `1/end − 1/root`, computed from the difference of the roots. If the two inverses were rounded separately,
/// the curve of a pool with much liquidity could pay less for an input than the pool does.
pub(crate) fn fall_of_inverse(root: f64, end: f64) -> f64 {
    (root - end) / (root * end)
}

/// Share of its first value down to which the root rate is near. On the way down to zero a range without ends to pass can
/// take any amount. With 0.2, 0.5 and 0.9 in every search, more trades of the recorded markets beyond a pool's liquidity
/// paid less; with 0.01 as many (`docs/internals/bench.md`).
const NEAR_SHARE: f64 = 0.05;

/// Returns the knots with gas spread over the near part first.
fn near(knots: &[Knot]) -> Box<[Knot]> {
    let mut knots: Box<[Knot]> = knots.into();
    let last = knots.len() - 1;
    let start = knots.iter().find(|knot| knot.liquidity > 0.0).map_or(0.0, |knot| knot.root);
    let near = knots.iter().rposition(|knot| knot.root >= NEAR_SHARE * start).unwrap_or(0);
    spread_gas(&mut knots, &[0..near, near..last]);
    knots
}

/// Spreads the gas of passed ends over the input, so that it is a convex cost: along the lower convex hull of (input
/// taken, gas) over each part of the knots. It rises no slower in one part than in the part before.
fn spread_gas(knots: &mut [Knot], parts: &[std::ops::Range<usize>]) {
    let slope = |knots: &[Knot], i: usize, j: usize| {
        (knots[j].gas_units - knots[i].gas_units) / (knots[j].taken - knots[i].taken)
    };
    let (mut steepest, mut here) = (0.0_f64, knots[0].gas_units);
    for part in parts {
        let mut hull = vec![part.start];
        for k in part.start + 1..=part.end {
            if knots[k].taken <= knots[hull[hull.len() - 1]].taken {
                continue;
            }
            while let [.., i, j] = hull[..] {
                if slope(knots, j, k) > slope(knots, i, j) {
                    break;
                }
                hull.pop();
            }
            hull.push(k);
        }
        let mut h = 0;
        for k in part.clone() {
            while h + 1 < hull.len() && hull[h + 1] <= k {
                h += 1;
            }
            steepest = steepest.max(hull.get(h + 1).map_or(0.0, |next| slope(knots, hull[h], *next)));
            (knots[k].gas_slope, knots[k].gas_hull) = (steepest, here);
            here += steepest * (knots[k + 1].taken - knots[k].taken);
        }
    }
    if let Some(last) = knots.last_mut() {
        (last.gas_slope, last.gas_hull) = (0.0, here);
    }
}

#[cfg(test)]
mod tests;
