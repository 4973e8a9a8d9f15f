//! Damped Newton steps on the dual.
//!
//! Variables are logarithms of prices. The damping metric is the Laplacian of the pools' depths rather than the identity:
//! tokens that deep pools hold together have to move together, even while those pools sit inside their no-trade band where
//! the dual itself is flat. Near the optimum a decrease is smaller than the rounding error of the value, so small steps are
//! judged by the directional derivative, which is monotone.

use super::cholesky::Factor;
use super::slopes::{Slopes, Stage, evaluate};
use super::subproblem::Subproblem;
use crate::tuning::{Raise, Tuning};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Largest excess of any token, in value.
    pub(crate) excess: f64,
    /// Least decrease worth another step, in value.
    pub(crate) decrease: f64,
    /// Most steps.
    pub(crate) steps: usize,
}

/// Where the steps ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The dual's value.
    pub(crate) value: f64,
    /// The largest excess of any token, in value.
    pub(crate) excess: f64,
}

/// The method with its scratch space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newton {
    slopes: Slopes,
    trial: Slopes,
    factor: Factor,
    metric: Vec<f64>,
    step: Vec<f64>,
    moved: Vec<f64>,
    pull: Vec<f64>,
    /// Weight of the metric; carried over from one stage to the next.
    pub(crate) damping: f64,
    /// Evaluations of a pool, the unit of work.
    work: u64,
}

impl Newton {
    /// Whether a budget of work is used up.
    pub(crate) fn is_spent(&self, budget: u64) -> bool {
        self.work > budget
    }

    /// Work done so far, in evaluations of a pool.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// Takes off the count what was done since it stood at `before`: work that has a budget of its own.
    pub(crate) fn forget_work_since(&mut self, before: u64) {
        self.work = before;
    }

    /// Moves `prices` towards the minimum. The price of the basket asked for stays. `scale` is the value of the whole trade.
    pub(crate) fn minimise(
        &mut self,
        sub: &Subproblem<'_>,
        prices: &mut [f64],
        stage: Stage,
        scale: f64,
        tolerance: Tolerance,
    ) -> Outcome {
        let most = if matches!(stage, Stage::Fixed) { Tuning::WORK } else { Tuning::RELAX_WORK };
        let most = most.max(self.work + Tuning::LEAST_WORK);
        self.load_metric(sub, prices);
        let mut value = self.evaluate(sub, prices, stage);
        let mut excess = f64::INFINITY;
        for _ in 0..tolerance.steps {
            excess = self.excess(sub, prices);
            if excess <= tolerance.excess || self.work > most {
                break;
            }
            if !self.factor_damped(sub, prices, scale) {
                if !self.damp(&Tuning::DAMPING_AFTER_NO_FACTOR) {
                    break;
                }
                continue;
            }
            let longest = self.set_step(sub, prices);
            let along = self.slope_along(sub, prices);
            if -along < tolerance.decrease && self.damping < Tuning::DAMPING_SETTLED[0] {
                break;
            }
            match self.search(sub, prices, stage, value, along, longest) {
                Some((next, share)) => {
                    value = next;
                    excess = self.excess(sub, prices);
                    if -along * share < tolerance.decrease * Tuning::LAST_DECREASE_SHARE
                        && self.damping < Tuning::DAMPING_SETTLED[1]
                    {
                        break;
                    }
                }
                None => {
                    if !self.damp(&Tuning::DAMPING_AFTER_NO_STEP) {
                        break;
                    }
                }
            }
        }
        self.damping = self.damping.clamp(*Tuning::DAMPING.start(), *Tuning::DAMPING.end());
        Outcome { value, excess }
    }

    fn evaluate(&mut self, sub: &Subproblem<'_>, prices: &[f64], stage: Stage) -> f64 {
        self.work += sub.members.len() as u64;
        evaluate(sub, prices, stage, &mut self.slopes)
    }

    /// Laplacian of the pools' depths in value.
    fn load_metric(&mut self, sub: &Subproblem<'_>, prices: &[f64]) {
        let n = sub.tokens.len();
        self.metric.clear();
        self.metric.resize(n * n, 0.0);
        for member in &sub.members {
            let depth = (0..2).filter_map(|side| {
                let direction = member.curve.directions[side].as_ref()?;
                Some(0.5 * direction.depth() * prices[member.ends[1 - side] as usize])
            });
            let weight = depth.fold(0.0, f64::max);
            let [a, b] = member.ends.map(|end| end as usize);
            self.metric[a * n + a] += weight;
            self.metric[b * n + b] += weight;
            self.metric[a.max(b) * n + a.min(b)] -= weight;
        }
    }

    /// The largest value by which a token's balance is off: what is left of the gradient once every output got its share of
    /// the basket.
    fn excess(&self, sub: &Subproblem<'_>, prices: &[f64]) -> f64 {
        let gradient = &self.slopes.gradient[..sub.free()];
        if sub.outputs == 1 {
            return largest(gradient);
        }
        let first = gradient.len() - sub.outputs;
        let basket: f64 = gradient[first..].iter().sum();
        let at_outputs = sub.shares(prices).map(|(at, share)| (gradient[at] - basket * share).abs());
        at_outputs.fold(largest(&gradient[..first]), f64::max)
    }

    /// How the dual changes along the step, with the prices scaled so that the basket goes on to cost one.
    fn slope_along(&self, sub: &Subproblem<'_>, prices: &[f64]) -> f64 {
        let gradient = &self.slopes.gradient[..sub.free()];
        let along = dot(gradient, &self.step);
        if sub.outputs == 1 {
            return along;
        }
        let dearer: f64 = sub.shares(prices).map(|(at, share)| share * self.step[at]).sum();
        let cost: f64 = sub.shares(prices).map(|(_, share)| share).sum();
        along - dearer / cost * gradient.iter().sum::<f64>()
    }

    fn factor_damped(&mut self, sub: &Subproblem<'_>, prices: &[f64], scale: f64) -> bool {
        let (n, size) = (sub.tokens.len(), sub.free());
        let products: usize = sub.first.iter().enumerate().map(|(i, first)| (i - first) * (i - first) / 2).sum();
        self.work += (products / Tuning::PRODUCTS_PER_EVALUATION) as u64;
        let mut share = vec![0.0; if sub.outputs == 1 { 0 } else { n }];
        if sub.outputs > 1 {
            sub.shares(prices).for_each(|(at, value)| share[at] = value);
        }
        let (hessian, metric, damping) = (&self.slopes.hessian, &self.metric, self.damping);
        self.factor.compute(n, size, &sub.first, |i, j| {
            let entry = hessian[i * n + j] + damping * metric[i * n + j];
            let entry = if i == j { entry * (1.0 + 1e-12) + 1e-9 * scale } else { entry };
            // Along the outputs' shares the step is ruled out; weight there only makes the matrix definite.
            if share.is_empty() { entry } else { entry + scale * share[i] * share[j] }
        })
    }

    /// The damped Newton step, cut to the radius; returns its longest entry.
    fn set_step(&mut self, sub: &Subproblem<'_>, prices: &[f64]) -> f64 {
        let size = sub.free();
        self.step.clear();
        self.step.extend(self.slopes.gradient[..size].iter().map(|g| -g));
        self.factor.solve(size, &sub.first, &mut self.step);
        if sub.outputs > 1 {
            self.hold_basket_price(sub, prices);
        }
        let longest = largest(&self.step);
        if longest > Tuning::LONGEST_PRICE_STEP {
            for entry in &mut self.step {
                *entry *= Tuning::LONGEST_PRICE_STEP / longest;
            }
        }
        longest
    }

    /// Takes out of the step what would change the price of the basket.
    fn hold_basket_price(&mut self, sub: &Subproblem<'_>, prices: &[f64]) {
        let size = sub.free();
        self.pull.clear();
        self.pull.resize(size, 0.0);
        sub.shares(prices).for_each(|(at, share)| self.pull[at] = share);
        self.factor.solve(size, &sub.first, &mut self.pull);
        let along = |x: &[f64]| sub.shares(prices).map(|(at, share)| share * x[at]).sum::<f64>();
        let part = along(&self.step) / along(&self.pull);
        if part.is_finite() {
            self.step.iter_mut().zip(&self.pull).for_each(|(step, pull)| *step -= part * pull);
        }
    }

    /// Tries the step and shorter ones; on success `prices` and slopes are those of the new point.
    fn search(
        &mut self,
        sub: &Subproblem<'_>,
        prices: &mut [f64],
        stage: Stage,
        value: f64,
        along: f64,
        longest: f64,
    ) -> Option<(f64, f64)> {
        let size = self.step.len();
        std::mem::swap(&mut self.slopes, &mut self.trial);
        let (mut share, shorter) = (1.0, Tuning::SHORTER_STEP_SHARES);
        for attempt in 0..Tuning::STEP_LENGTHS {
            self.moved.clear();
            self.moved.extend(prices[..size].iter().zip(&self.step).map(|(price, step)| price * (share * step).exp()));
            self.moved.extend_from_slice(&prices[size..]);
            let mut moved = std::mem::take(&mut self.moved);
            if sub.outputs > 1 {
                sub.normalise(&mut moved);
            }
            let next = self.evaluate(sub, &moved, stage);
            let ahead = self.slope_along(sub, &moved);
            self.moved = moved;
            let small = share * longest < Tuning::SMALL_PRICE_STEP;
            let flat = ahead <= 0.0 || ahead.abs() <= Tuning::FLAT_SLOPE_SHARE * along.abs();
            if next <= value + Tuning::SUFFICIENT_DECREASE * share * along || (small && flat) {
                self.relax(attempt, ahead.abs() < Tuning::FLAT_SLOPE_SHARE * along.abs());
                prices.copy_from_slice(&self.moved);
                return Some((next, share));
            }
            share *= if ahead > 0.0 { (along / (along - ahead)).clamp(*shorter.start(), *shorter.end()) } else { 0.5 };
        }
        std::mem::swap(&mut self.slopes, &mut self.trial);
        None
    }

    fn relax(&mut self, attempt: usize, good: bool) {
        self.damping = match (attempt, good) {
            (0, true) => self.damping * Tuning::DAMPING_RELAXED[0],
            (0, false) => self.damping * Tuning::DAMPING_RELAXED[1],
            _ => Tuning::DAMPING_AFTER_SHORTER_STEP.raised(self.damping),
        };
    }

    /// Raises the damping; whether it is still such that another step makes sense.
    fn damp(&mut self, raise: &Raise) -> bool {
        self.damping = raise.raised(self.damping);
        self.damping <= raise.most
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
