//! One direction of a two-coin pool as a chain of constant-product segments.
//!
//! Along a segment of liquidity `L` the marginal rate is `γ·z²`, where `z` is the square root of the rate before the fee
//! and `γ = 1 − fee`. Falling from `z₀` to `z` the pool takes `L·(1/z − 1/z₀)/γ` and pays `L·(z₀ − z)`.

/// One stretch of constant liquidity, as a pool describes itself: the root rate at which it ends, and its liquidity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Root of the rate (out per in, before the fee) at the far end; at most that of the near end, above zero.
    pub end: f64,
    /// Liquidity, in the geometric mean of the two coins' atomic units; zero where there is none.
    pub liquidity: f64,
    /// Gas units of passing its end.
    pub gas_units: f64,
}

/// Where a segment begins. The last knot of a direction is its end and has no liquidity.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    /// Root of the marginal rate before the fee.
    root: f64,
    /// Liquidity from here to the next knot.
    liquidity: f64,
    /// Input after the fee taken up to here.
    taken: f64,
    /// Output paid up to here.
    paid: f64,
    /// Gas units of all that was passed on the way here, the end of the last segment included.
    gas_units: f64,
    /// Gas units per unit of input after the fee, along the lower convex hull of the staircase of gas.
    gas_slope: f64,
    /// That hull's value here.
    gas_hull: f64,
}

/// Segments up to which they are passed one by one.
const FEW_KNOTS: usize = 8;

/// What a pool trades at given prices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trade {
    /// Amount in, fee included.
    pub amount_in: f64,
    /// Amount out.
    pub amount_out: f64,
    /// Gas units of what was passed on the way; in part where the gas of passing was spread over a segment.
    pub gas_units: f64,
    /// How the amount in grows with the logarithm of (price out ÷ price in); zero where a cap holds it.
    pub slope: f64,
}

/// One direction of a two-coin pool: amount out as a concave function of amount in.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    gamma: f64,
    spot: f64,
    reject_in: f64,
    reject_out: f64,
    depth: f64,
    knots: Box<[Knot]>,
}

impl Direction {
    /// A direction that starts at root rate `start` and falls along `stretches`; `gamma` is one minus the fee.
    ///
    /// `None` where it would never pay anything, or a number is not finite.
    pub fn new(gamma: f64, start: f64, stretches: &[Stretch]) -> Option<Self> {
        let mut knots = Vec::with_capacity(stretches.len() + 1);
        let (mut root, mut taken, mut paid, mut gas_units, mut widest) = (start, 0.0, 0.0, 0.0, 0.0_f64);
        for stretch in stretches {
            let liquidity = stretch.liquidity;
            knots.push(Knot { root, liquidity, taken, paid, gas_units, gas_slope: 0.0, gas_hull: 0.0 });
            gas_units += stretch.gas_units;
            taken += liquidity * (1.0 / stretch.end - 1.0 / root);
            paid += liquidity * (root - stretch.end);
            root = stretch.end;
            widest = widest.max(liquidity);
        }
        knots.push(Knot { root, liquidity: 0.0, taken, paid, gas_units, gas_slope: 0.0, gas_hull: 0.0 });
        let sound = start > 0.0 && root > 0.0 && widest > 0.0 && paid > 0.0 && taken > 0.0;
        if !(sound && taken.is_finite() && paid.is_finite() && gamma > 0.0 && gamma <= 1.0) {
            return None;
        }
        spread_gas(&mut knots);
        // The spot rate is that of the first stretch with liquidity: no amount, however small, does better.
        let first = knots.iter().find(|knot| knot.liquidity > 0.0)?;
        let root = first.root;
        Some(Self {
            gamma,
            spot: gamma * root * root,
            reject_in: 1.0 / (widest * root).sqrt(),
            reject_out: (gamma * root / widest).sqrt(),
            depth: first.liquidity * root,
            knots: knots.into_boxed_slice(),
        })
    }

    /// A fixed rate up to a capacity: one stretch over which the rate falls by a few parts in 10¹², starting just above.
    ///
    /// Where both ways of a pool are such lines, going there and back seems to earn that part of the capacity, and bounds are
    /// as much too high: a capacity should be no larger than what may pass.
    pub fn linear(rate: f64, capacity_in: f64) -> Option<Self> {
        const FLATNESS: f64 = 2.0e-12;
        let start = (rate * (1.0 + FLATNESS)).sqrt();
        let end = (rate * (1.0 - FLATNESS)).sqrt();
        let liquidity = capacity_in / (1.0 / end - 1.0 / start);
        Self::new(1.0, start, &[Stretch { end, liquidity, gas_units: 0.0 }])
    }

    /// The marginal rate at no input, fee included: output per unit of input.
    #[inline]
    pub fn spot(&self) -> f64 {
        self.spot
    }

    /// `1/√(L·z₀)` with the largest liquidity `L`: see [`Direction::cannot_earn`].
    #[inline]
    pub fn reject_in(&self) -> f64 {
        self.reject_in
    }

    /// `√(γ·z₀/L)` with the largest liquidity `L`: a pool earns no more than `g` at an output price up to
    /// `price_in/spot · (1 + reject_out·√(g/price_in))²`.
    #[inline]
    pub fn reject_out(&self) -> f64 {
        self.reject_out
    }

    /// Output whose payment would take the root rate to zero at the first liquidity: the local depth, in the coin out.
    #[inline]
    pub fn depth(&self) -> f64 {
        self.depth
    }

    /// Whether this is one stretch of constant liquidity that costs no gas to pass.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.knots.len() == 2 && self.last().gas_units == 0.0
    }

    /// The most that this direction takes, fee included.
    #[inline]
    pub fn capacity_in(&self) -> f64 {
        self.last().taken / self.gamma
    }

    /// The most that this direction pays.
    #[inline]
    pub fn capacity_out(&self) -> f64 {
        self.last().paid
    }

    /// What is paid for moving the marginal rate down to `share` of its spot value, and what that takes.
    pub fn to_share_of_spot(&self, share: f64) -> (f64, f64) {
        self.best_trade(self.spot * share, 1.0, f64::INFINITY, 0.0).map_or((0.0, 0.0), |t| (t.amount_in, t.amount_out))
    }

    /// Output for an input, and the gas units of what is passed on the way. Input beyond the capacity buys nothing.
    #[inline]
    pub fn quote(&self, amount_in: f64) -> (f64, f64) {
        let net = amount_in * self.gamma;
        let knot = &self.knots[self.knot_at(net)];
        if knot.liquidity == 0.0 {
            return (knot.paid, knot.gas_units);
        }
        // `L·(z₀ − z)` without the difference of near equals.
        let more = net - knot.taken;
        let out = knot.paid + more * knot.root * knot.root / (1.0 + more * knot.root / knot.liquidity);
        (out, knot.gas_units)
    }

    /// The largest input that passes less on the way than `amount_in` does, in gas; `None` where nothing that costs gas is passed.
    pub fn before_last_gas(&self, amount_in: f64) -> Option<f64> {
        let reached = self.knot_at(amount_in * self.gamma);
        let gas_units = self.knots[reached].gas_units;
        let passed = self.knots[..=reached].iter().find(|knot| knot.gas_units == gas_units)?;
        (passed.taken > 0.0).then_some(passed.taken / self.gamma)
    }

    /// The marginal rate, fee included, after an input.
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

    /// The trade that is best at the given prices, with at most `cap` in; `None` where not trading is best.
    ///
    /// `gas_price` is the value of a unit of gas; what is passed on the way is charged along the convex hull, so that the
    /// trade moves continuously with the prices.
    #[inline]
    pub fn best_trade(&self, price_in: f64, price_out: f64, cap: f64, gas_price: f64) -> Option<Trade> {
        if price_in >= self.spot * price_out {
            return None;
        }
        let per_square = 1.0 / (self.gamma * price_out);
        let end = self.knots.len() - 1;
        let charge = gas_price * self.gamma;
        let mut square = price_in * per_square;
        // roots fall: where gas counts for nothing, the end of a long chain is found by halving
        let mut k = if gas_price == 0.0 && end > FEW_KNOTS {
            self.knots[1..end].partition_point(|next| next.root * next.root >= square)
        } else {
            0
        };
        while k < end {
            square = (price_in + charge * self.knots[k].gas_slope) * per_square;
            let next = self.knots[k + 1].root;
            if next * next < square {
                break;
            }
            k += 1;
        }
        let knot = &self.knots[k];
        let (mut taken, mut paid, mut slope) = (knot.taken, knot.paid, 0.0);
        let mut gas_units = if gas_price > 0.0 { knot.gas_hull } else { knot.gas_units };
        if k < end {
            let root = square.sqrt();
            if root < knot.root && knot.liquidity > 0.0 {
                let fall = knot.liquidity * (knot.root - root);
                let more = fall / (root * knot.root);
                taken += more;
                paid += fall;
                slope = 0.5 * knot.liquidity / root / self.gamma * price_in * per_square / square;
                if gas_price > 0.0 {
                    gas_units += more * knot.gas_slope;
                }
            }
        }
        let amount_in = taken / self.gamma;
        if amount_in > cap {
            let (amount_out, gas_units) = self.quote(cap);
            return Some(Trade { amount_in: cap, amount_out, gas_units, slope: 0.0 });
        }
        (amount_in > 0.0 && paid > 0.0).then_some(Trade { amount_in, amount_out: paid, gas_units, slope })
    }

    /// Whether, by one comparison, no trade earns more than `gas` at these prices. `gas_root` is `√gas`.
    #[inline]
    pub fn cannot_earn(&self, price_in: f64, price_out: f64, gas_root: f64) -> bool {
        let best = self.spot * price_out;
        if price_in >= best {
            return true;
        }
        let f = 1.0 - self.reject_in * gas_root / price_out.sqrt();
        f > 0.0 && price_in >= best * f * f
    }

    /// The most that a trade of at most `cap` in earns at these prices, net of `gas` and, at `gas_price` a unit, of what is
    /// passed on the way; not below 0.
    ///
    /// The exact supremum over the staircase of gas, up to floating-point noise: see [`Direction::noise`].
    pub fn most_earned(&self, price_in: f64, price_out: f64, cap: f64, gas: f64, gas_price: f64) -> f64 {
        let Some(trade) = self.best_trade(price_in, price_out, cap, 0.0) else { return 0.0 };
        let mut best = price_out * trade.amount_out - price_in * trade.amount_in - gas;
        if best <= 0.0 || gas_price <= 0.0 || trade.gas_units <= 0.0 {
            return best.max(0.0);
        }
        best -= trade.gas_units * gas_price;
        // Stopping at an earlier end of a segment saves the gas of passing it and those after it.
        for pair in self.knots.windows(2) {
            let [before, end] = pair else { break };
            let amount_in = end.taken / self.gamma;
            if before.gas_units >= trade.gas_units || amount_in > cap {
                break;
            }
            let earned = price_out * end.paid - price_in * amount_in - gas - before.gas_units * gas_price;
            best = best.max(earned);
        }
        best.max(0.0)
    }

    /// A bound on the rounding error of [`Direction::most_earned`] at these prices.
    #[inline]
    pub fn noise(&self, price_in: f64, price_out: f64, trade: &Trade) -> f64 {
        const ULPS: f64 = 16.0 * f64::EPSILON;
        let knot = &self.knots[0];
        // A trade that ends at its cap or at a knot is no difference of near equals.
        let ends_within = trade.slope != 0.0;
        let held = if ends_within { knot.liquidity * (price_out * knot.root + price_in / knot.root) } else { 0.0 };
        ULPS * (held + price_out * trade.amount_out + price_in * trade.amount_in)
    }

    /// The supremum over `0 < x ≤ cap` of `(price_out·f(x) − gas)/x`: the input price above which a trade of at most `cap`
    /// cannot earn `gas`. Negative where it never can.
    pub fn average_rate(&self, price_out: f64, cap: f64, gas: f64) -> f64 {
        if gas <= 0.0 {
            return price_out * self.spot;
        }
        let owed = gas / price_out;
        let amount_in = self.turning_point(cap, |knot, next| {
            let l = knot.liquidity;
            // The average rate rises until it meets the marginal one: paid + l·z₀ − 2·l·z + z²·(l/z₀ − taken) = owed.
            let met = (next.paid - owed) >= next.root * next.root * next.taken;
            let (a, c) = (l / knot.root - knot.taken, knot.paid + l * knot.root - owed);
            met.then(|| if c > 0.0 { (l + (l * l - a * c).max(0.0).sqrt()) / c } else { f64::INFINITY })
        });
        // Beside what the pool holds the best amount may be lost in rounding: its gas is next to nothing then.
        let rate = (price_out * self.quote(amount_in).0 - gas) / amount_in;
        if amount_in > 0.0 { rate } else { price_out * self.spot }
    }

    /// The infimum over `0 < x ≤ cap` of `(price_in·x + gas)/f(x)`: the output price below which a trade of at most `cap`
    /// cannot earn `gas`.
    pub fn average_cost(&self, price_in: f64, cap: f64, gas: f64) -> f64 {
        if gas <= 0.0 {
            return price_in / self.spot;
        }
        let owed = gas * self.gamma / price_in;
        let amount_in = self.turning_point(cap, |knot, next| {
            let l = knot.liquidity;
            // With w = 1/z: (paid + l·z₀)·w² − 2·l·w + (l/z₀ − taken − owed) = 0, the larger root.
            let met = next.paid >= next.root * next.root * (next.taken + owed);
            let (a, c) = (knot.paid + l * knot.root, l / knot.root - knot.taken - owed);
            met.then(|| (l + (l * l - a * c).max(0.0).sqrt()) / a)
        });
        let cost = (price_in * amount_in + gas) / self.quote(amount_in).0;
        if amount_in > 0.0 { cost } else { price_in / self.spot }
    }

    /// The input, at most `cap`, at which an average stops improving. `inverse_root` gives `1/z` of that point when it lies
    /// before the end of the segment between two knots.
    #[inline]
    fn turning_point(&self, cap: f64, inverse_root: impl Fn(&Knot, &Knot) -> Option<f64>) -> f64 {
        for pair in self.knots.windows(2) {
            let [knot, next] = pair else { break };
            let end = next.taken / self.gamma;
            let found = inverse_root(knot, next);
            if found.is_none() && end < cap {
                continue;
            }
            let inside =
                found.map_or(f64::INFINITY, |w| (knot.taken + knot.liquidity * (w - 1.0 / knot.root)) / self.gamma);
            // A point that is not a number lies in an empty segment: any point of it will do.
            return inside.min(end).max(knot.taken / self.gamma).min(cap);
        }
        cap.min(self.capacity_in())
    }

    #[inline]
    fn knot_at(&self, net: f64) -> usize {
        let end = self.knots.len() - 1;
        let mut k = 0;
        while k < end && self.knots[k + 1].taken <= net {
            k += 1;
        }
        k
    }

    #[inline]
    fn last(&self) -> &Knot {
        &self.knots[self.knots.len() - 1]
    }
}

/// Lower convex hull of (input taken, gas of what was passed): makes that gas a convex cost.
fn spread_gas(knots: &mut [Knot]) {
    let slope = |knots: &[Knot], i: usize, j: usize| {
        (knots[j].gas_units - knots[i].gas_units) / (knots[j].taken - knots[i].taken)
    };
    let mut hull = vec![0_usize];
    for k in 1..knots.len() {
        let Some(&last) = hull.last() else { return };
        if knots[k].taken <= knots[last].taken {
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
    for k in 0..knots.len() {
        while h + 1 < hull.len() && hull[h + 1] <= k {
            h += 1;
        }
        let base = hull[h];
        let per_unit = hull.get(h + 1).map_or(0.0, |next| slope(knots, base, *next));
        let here = knots[base].gas_units + per_unit * (knots[k].taken - knots[base].taken);
        knots[k].gas_slope = per_unit;
        knots[k].gas_hull = here;
    }
}

#[cfg(test)]
mod tests;
