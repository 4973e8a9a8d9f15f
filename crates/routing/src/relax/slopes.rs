//! Value, gradient and Hessian of the dual, in the logarithms of prices.

use arrayvec::ArrayVec;

use super::subproblem::{Member, Subproblem};

/// Most copies of a pool that count: two directions, by remaining pools and by visited tokens.
const MOST_COPIES: usize = 64;

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

    #[inline]
    fn add(&mut self, n: usize, a: usize, b: usize, value: f64) {
        if b <= a {
            self.hessian[a * n + b] += value;
        }
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
        if let Some(trade) = trade(sub, member, prices, stage) {
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
    from: usize,
    to: usize,
    paid: f64,
    got: f64,
    curvature: f64,
    gas: f64,
    on_the_way: f64,
    is_forced: bool,
}

// Inline in any case: the compiler would not, and a solve would take 5% more instructions.
#[inline(always)]
fn trade(sub: &Subproblem<'_>, member: &Member<'_>, prices: &[f64], stage: Stage) -> Option<ValueTrade> {
    let side = member.side(prices)?;
    let (from, to) = (member.ends[side] as usize, member.ends[1 - side] as usize);
    let (price_in, price_out) = (prices[from], prices[to]);
    let cap = match stage {
        Stage::Smooth { slack, .. } => sub.caps[from] * slack,
        Stage::Fixed => f64::INFINITY,
    };
    let direction = member.curve.directions[side].as_ref()?;
    let trade = member.best_trade(direction, price_in, price_out, cap)?;
    Some(ValueTrade {
        from,
        to,
        paid: price_in * trade.amount_in,
        got: price_out * trade.amount_out,
        curvature: price_in * trade.slope,
        gas: member.gas,
        on_the_way: trade.gas_units * member.gas_price,
        is_forced: member.is_forced,
    })
}

#[inline]
fn add(sub: &Subproblem<'_>, trade: &ValueTrade, stage: Stage, slopes: &mut Slopes) -> f64 {
    let profit = (trade.got - trade.paid).max(0.0) - trade.on_the_way;
    let (value, weight, sharpness) = match stage {
        Stage::Fixed => (profit, 1.0, 0.0),
        Stage::Smooth { .. } if trade.is_forced => (profit, 1.0, 0.0),
        Stage::Smooth { tau, .. } => {
            let z = (profit - trade.gas) / tau;
            if z < -30.0 {
                return 0.0;
            }
            // Uses the exponential that is at most one: the other overflows, and one is enough.
            let less = (-z.abs()).exp();
            let weight = if z > 0.0 { 1.0 } else { less } / (1.0 + less);
            (tau * (z.max(0.0) + less.ln_1p()), weight, weight * (1.0 - weight) / tau)
        }
    };
    let n = sub.tokens.len();
    let (from, to) = (trade.from, trade.to);
    slopes.gradient[from] -= weight * trade.paid;
    slopes.gradient[to] += weight * trade.got;
    let bend = weight * trade.curvature;
    slopes.add(n, from, from, bend + sharpness * trade.paid * trade.paid);
    slopes.add(n, to, to, bend + sharpness * trade.got * trade.got);
    let cross = -bend - sharpness * trade.paid * trade.got;
    slopes.add(n, from, to, cross);
    slopes.add(n, to, from, cross);
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
        ((trade.got - trade.paid).max(0.0) - trade.on_the_way - gas) / tau
    };
    // Filled in place: collecting would move the whole array.
    let mut trades = ArrayVec::<(f64, ValueTrade), MOST_COPIES>::new();
    for trade in copies.iter().filter_map(|member| trade(sub, member, prices, stage)) {
        let gain = gain(&trade);
        if gain >= -30.0 && !trades.is_full() {
            trades.push((gain, trade));
        }
    }
    let paid = if is_forced { gas } else { 0.0 };
    let Some(most) = trades.iter().map(|(gain, _)| *gain).reduce(f64::max) else { return -paid };
    let most = most.max(0.0);
    // A pool that is certainly used does not stay unused.
    let unused = if is_forced { 0.0 } else { (-most).exp() };
    let sum: f64 = unused + trades.iter().map(|(gain, _)| (gain - most).exp()).sum::<f64>();
    for (gain, _) in &mut trades {
        *gain = (*gain - most).exp() / sum;
    }
    let n = sub.tokens.len();
    for (at, (weight, trade)) in trades.iter().enumerate() {
        let (from, to) = (trade.from, trade.to);
        slopes.gradient[from] -= weight * trade.paid;
        slopes.gradient[to] += weight * trade.got;
        let (bend, sharpness) = (weight * trade.curvature, weight * (1.0 - weight) / tau);
        slopes.add(n, from, from, bend + sharpness * trade.paid * trade.paid);
        slopes.add(n, to, to, bend + sharpness * trade.got * trade.got);
        let cross = -bend - sharpness * trade.paid * trade.got;
        slopes.add(n, from, to, cross);
        slopes.add(n, to, from, cross);
        for (other_weight, other) in &trades[..at] {
            let joint = -weight * other_weight / tau;
            for (a, x) in [(from, -trade.paid), (to, trade.got)] {
                for (b, y) in [(other.from, -other.paid), (other.to, other.got)] {
                    // On the diagonal both halves of a symmetric pair fall on one entry.
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
