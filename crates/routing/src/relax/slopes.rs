//! Value, gradient and Hessian of the dual, in the logarithms of prices.

use arrayvec::ArrayVec;

use super::subproblem::{Member, Subproblem};

/// Most copies of a pool that count: two directions, by remaining pools and by visited tokens.
const MOST_COPIES: usize = 64;

/// Profit less gas, in units of the smoothing, below which a pool does not count, and of which the opposite counts in full:
/// e⁻³⁰ is less than 10⁻¹³, and lost in rounding.
const LEAST_GAIN: f64 = -30.0;

/// The form of the dual.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// Each pool counts `τ·ln(1 + exp((profit − gas)/τ))`, its input capped at the caps times `slack`.
    Smooth { tau: f64, slack: f64 },
    /// Each pool counts its profit in full: the pools are chosen and their gas is paid.
    Fixed,
}

/// Results of an evaluation: the gradient is the excess of each token in value, the Hessian is stored by the rows of
/// its lower envelope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slopes {
    pub(crate) gradient: Vec<f64>,
    pub(crate) hessian: Vec<f64>,
}

impl Slopes {
    /// Sets all entries of the envelope to zero.
    fn clear(&mut self, sub: &Subproblem<'_>) {
        let n = sub.tokens.len();
        self.gradient.clear();
        self.gradient.resize(n, 0.0);
        if self.hessian.len() < n * n {
            self.hessian.resize(n * n, 0.0);
        }
        for (row, first) in sub.first.iter().enumerate() {
            self.hessian[row * n + first..=row * n + row].fill(0.0);
        }
    }

    /// Adds to an entry of the Hessian; above the diagonal, adds nothing.
    #[inline]
    fn add(&mut self, n: usize, a: usize, b: usize, value: f64) {
        if b <= a {
            self.hessian[a * n + b] += value;
        }
    }

    /// Adds a trade that counts with a weight; `sharpness` is the derivative of the weight by the profit.
    #[inline]
    fn add_trade(&mut self, n: usize, trade: &ValueTrade, weight: f64, sharpness: f64) {
        let (from, to) = (trade.from, trade.to);
        self.gradient[from] -= weight * trade.paid;
        self.gradient[to] += weight * trade.got;
        let curvature = weight * trade.curvature;
        self.add(n, from, from, curvature + sharpness * trade.paid * trade.paid);
        self.add(n, to, to, curvature + sharpness * trade.got * trade.got);
        let cross = -curvature - sharpness * trade.paid * trade.got;
        self.add(n, from, to, cross);
        self.add(n, to, from, cross);
    }
}

/// Computes the dual's value at `prices`, and fills in `slopes`.
pub(crate) fn evaluate(sub: &Subproblem<'_>, prices: &[f64], stage: Stage, slopes: &mut Slopes) -> f64 {
    slopes.clear(sub);
    let mut total = 0.0;
    for (k, (supply, price)) in sub.supply.iter().zip(prices).enumerate() {
        slopes.gradient[k] = supply * price;
        total += supply * price;
    }
    if let Stage::Smooth { tau, .. } = stage
        && sub.has_copies
    {
        for copies in sub.members.chunk_by(|a, b| a.pair == b.pair) {
            total += add_copies(sub, copies, prices, tau, stage, slopes);
        }
        return total;
    }
    for member in &sub.members {
        if let Some(trade) = ValueTrade::of(sub, member, prices, stage) {
            total += add(sub, &trade, stage, slopes);
        }
        if member.is_forced {
            total -= member.gas;
        }
    }
    total
}

/// A member's trade in values.
struct ValueTrade {
    /// Local numbers of the tokens in and out.
    from: usize,
    to: usize,
    paid: f64,
    got: f64,
    curvature: f64,
    /// Value of a swap's gas, and of the gas of passed range ends.
    gas: f64,
    tick_gas: f64,
    is_forced: bool,
}

impl ValueTrade {
    /// Returns a member's best trade; `None` if it does not trade.
    // Inlines in any case: the compiler would not, and a solve would take 5% more instructions.
    #[inline(always)]
    fn of(sub: &Subproblem<'_>, member: &Member<'_>, prices: &[f64], stage: Stage) -> Option<Self> {
        let cap = |from: usize| match stage {
            Stage::Smooth { slack, .. } => sub.caps[from] * slack,
            Stage::Fixed => f64::INFINITY,
        };
        let (_, [from, to], trade) = member.trade(prices, cap)?;
        Some(Self {
            from,
            to,
            paid: prices[from] * trade.amount_in,
            got: prices[to] * trade.amount_out,
            curvature: prices[from] * trade.slope,
            gas: member.gas,
            tick_gas: trade.gas_units * member.gas_price,
            is_forced: member.is_forced,
        })
    }
}

/// Adds one pool, and returns its value in the dual.
#[inline]
fn add(sub: &Subproblem<'_>, trade: &ValueTrade, stage: Stage, slopes: &mut Slopes) -> f64 {
    let profit = (trade.got - trade.paid).max(0.0) - trade.tick_gas;
    let (value, weight, sharpness) = match stage {
        Stage::Fixed => (profit, 1.0, 0.0),
        Stage::Smooth { .. } if trade.is_forced => (profit, 1.0, 0.0),
        Stage::Smooth { tau, .. } => {
            let z = (profit - trade.gas) / tau;
            if z < LEAST_GAIN {
                return 0.0;
            }
            if z > -LEAST_GAIN {
                (tau * z, 1.0, 0.0)
            } else {
                // Uses the exponential that is at most one: the other overflows, and one is enough.
                let less = (-z.abs()).exp();
                let weight = if z > 0.0 { 1.0 } else { less } / (1.0 + less);
                (tau * (z.max(0.0) + less.ln_1p()), weight, weight * (1.0 - weight) / tau)
            }
        }
    };
    slopes.add_trade(sub.tokens.len(), trade, weight, sharpness);
    value
}

/// Adds copies of one pool, of which at most one is used: `τ·ln(1 + Σ exp((profit − gas)/τ))`. Otherwise as [`add`].
fn add_copies(
    sub: &Subproblem<'_>,
    copies: &[Member<'_>],
    prices: &[f64],
    tau: f64,
    stage: Stage,
    slopes: &mut Slopes,
) -> f64 {
    let is_forced = copies.first().is_some_and(|member| member.is_forced);
    let gas = copies.first().map_or(0.0, |member| member.gas);
    let gain = |trade: &ValueTrade| {
        let gas = if is_forced { 0.0 } else { trade.gas };
        ((trade.got - trade.paid).max(0.0) - trade.tick_gas - gas) / tau
    };
    // Fills the array in place: collecting would move all of it.
    let mut trades = ArrayVec::<(f64, ValueTrade), MOST_COPIES>::new();
    for trade in copies.iter().filter_map(|member| ValueTrade::of(sub, member, prices, stage)) {
        let gain = gain(&trade);
        if gain >= LEAST_GAIN && !trades.is_full() {
            trades.push((gain, trade));
        }
    }
    let paid = if is_forced { gas } else { 0.0 };
    let Some(most) = trades.iter().map(|(gain, _)| *gain).reduce(f64::max) else { return -paid };
    let most = most.max(0.0);
    // Leaves no weight to staying unused if the pool is certainly used.
    let unused = if is_forced { 0.0 } else { (-most).exp() };
    let sum: f64 = unused + trades.iter().map(|(gain, _)| (gain - most).exp()).sum::<f64>();
    for (gain, _) in &mut trades {
        *gain = (*gain - most).exp() / sum;
    }
    let n = sub.tokens.len();
    for (at, (weight, trade)) in trades.iter().enumerate() {
        slopes.add_trade(n, trade, *weight, weight * (1.0 - weight) / tau);
        for (other_weight, other) in &trades[..at] {
            let joint = -weight * other_weight / tau;
            for (a, x) in [(trade.from, -trade.paid), (trade.to, trade.got)] {
                for (b, y) in [(other.from, -other.paid), (other.to, other.got)] {
                    // Doubles the value on the diagonal, where both halves of a symmetric pair fall on one entry.
                    let value = joint * x * y;
                    if a == b {
                        slopes.add(n, a, a, 2.0 * value);
                    } else {
                        slopes.add(n, a.max(b), a.min(b), value);
                    }
                }
            }
        }
    }
    tau * (most + sum.ln()) - paid
}
