//! Value, gradient and curvature of the dual, in the logarithms of prices.

use super::subproblem::{Member, Subproblem};

/// Which form of the dual.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// Each pool counts `τ·ln(1 + exp((profit − gas)/τ))`, its input capped at the caps times `slack`.
    Smooth { tau: f64, slack: f64 },
    /// Each pool counts its profit in full: the pools are chosen and their gas is paid.
    Fixed,
}

/// What an evaluation leaves: the gradient is the value in excess of each token, the Hessian the lower envelope rows.
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

/// The dual's value at `prices`; fills in `slopes`.
pub(crate) fn evaluate(sub: &Subproblem<'_>, prices: &[f64], stage: Stage, slopes: &mut Slopes) -> f64 {
    slopes.clear(sub);
    let mut total = 0.0;
    for (k, (supply, price)) in sub.supply.iter().zip(prices).enumerate() {
        slopes.gradient[k] = supply * price;
        total += supply * price;
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

#[inline]
fn trade(sub: &Subproblem<'_>, member: &Member<'_>, prices: &[f64], stage: Stage) -> Option<ValueTrade> {
    let side = member.side(prices)?;
    let (from, to) = (member.ends[side] as usize, member.ends[1 - side] as usize);
    let (price_in, price_out) = (prices[from], prices[to]);
    let cap = match stage {
        Stage::Smooth { slack, .. } => sub.caps[from] * slack,
        Stage::Fixed => f64::INFINITY,
    };
    let direction = member.curve.directions[side].as_ref()?;
    let trade = direction.best_trade(price_in, price_out, cap, member.gas_price)?;
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
            // By the exponential that is at most one: the other overflows, and one is enough.
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
