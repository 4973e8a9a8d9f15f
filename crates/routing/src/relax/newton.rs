//! Damped Newton steps on the dual.
//!
//! The variables are logarithms of prices. The damping metric is the Laplacian of the pools' depths rather than the
//! identity: tokens connected by deep pools have to move together, even while those pools are inside their no-trade
//! band, where the dual itself is flat. Near the optimum a decrease is smaller than the rounding error of the value, so
//! small steps are judged by the directional derivative, which is monotone.

use std::cell::RefCell;

use arrayvec::ArrayVec;

use super::cholesky::Factor;
use super::slopes::{Slopes, Stage, evaluate};
use super::subproblem::Subproblem;
use crate::tuning::{Raise, Tuning};

/// Shares of an entry on the diagonal, and of the value of the trade, that are added to the entry: in a flat direction
/// rounding could make the matrix indefinite.
const DIAGONAL_SHARE: f64 = 1e-12;
const DIAGONAL_TRADE_SHARE: f64 = 1e-9;

/// Limits of a minimisation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Largest excess of any token, in value.
    pub(crate) excess: f64,
    /// Least decrease worth another step, in value.
    pub(crate) decrease: f64,
    /// Most steps.
    pub(crate) steps: usize,
    /// Most work of this and all earlier minimisations, in evaluations of a pool. Each may do `LEAST_WORK` in any case.
    pub(crate) work: u64,
}

/// The point at which the steps ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The dual's value.
    pub(crate) value: f64,
    /// The largest excess of any token, in value.
    pub(crate) excess: f64,
}

/// The method and its working memory, which is passed on to the thread's next instance: the matrices of many tokens are
/// large.
#[derive(Debug)]
pub(crate) struct Newton {
    room: Room,
    /// Weight of the metric in the matrix; carried over from one stage to the next.
    pub(crate) damping: f64,
    /// Evaluations of a pool, the unit of work.
    work: u64,
}

/// Working memory: nothing in it outlives a step.
#[derive(Debug, Default)]
struct Room {
    slopes: Slopes,
    trial: Slopes,
    factor: Factor,
    metric: Vec<f64>,
    step: Vec<f64>,
    moved: Vec<f64>,
    pull: Vec<f64>,
}

thread_local! {
    /// Working memory not in use: two, because one method may run inside the search of another.
    static SPARE: RefCell<ArrayVec<Room, 2>> = const { RefCell::new(ArrayVec::new_const()) };
}

impl Default for Newton {
    fn default() -> Self {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        Self { room: spare.unwrap_or_default(), damping: 0.0, work: 0 }
    }
}

impl Drop for Newton {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.room);
        // Drops the memory at the end of a thread, where there is no next instance.
        let _ = SPARE.try_with(|spare| spare.borrow_mut().try_push(room).is_ok());
    }
}

impl Newton {
    /// Returns whether a budget of work is used up.
    pub(crate) fn is_spent(&self, budget: u64) -> bool {
        self.work > budget
    }

    /// Returns the work done so far, in evaluations of a pool.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// Resets the count of work to `before`: for work that has a budget of its own.
    pub(crate) fn forget_work_since(&mut self, before: u64) {
        self.work = before;
    }

    /// Moves `prices` towards the minimum. The price of the requested basket stays fixed. `scale` is the value of the
    /// whole trade.
    pub(crate) fn minimise(
        &mut self,
        sub: &Subproblem<'_>,
        prices: &mut [f64],
        stage: Stage,
        scale: f64,
        tolerance: Tolerance,
    ) -> Outcome {
        let most = tolerance.work.max(self.work + Tuning::LEAST_WORK);
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

    /// Evaluates the dual, its gradient and its Hessian.
    pub(super) fn evaluate(&mut self, sub: &Subproblem<'_>, prices: &[f64], stage: Stage) -> f64 {
        self.work += sub.members.len() as u64;
        evaluate(sub, prices, stage, &mut self.room.slopes)
    }

    /// Computes the Laplacian of the pools' depths, in value.
    fn load_metric(&mut self, sub: &Subproblem<'_>, prices: &[f64]) {
        let n = sub.tokens.len();
        self.room.metric.clear();
        self.room.metric.resize(n * n, 0.0);
        for member in &sub.members {
            let depth = (0..2).filter_map(|side| {
                let direction = member.curve.directions[side].as_ref()?;
                Some(0.5 * direction.depth() * prices[member.ends[1 - side] as usize])
            });
            let weight = depth.fold(0.0, f64::max);
            let [a, b] = member.ends.map(|end| end as usize);
            self.room.metric[a * n + a] += weight;
            self.room.metric[b * n + b] += weight;
            self.room.metric[a.max(b) * n + a.min(b)] -= weight;
        }
    }

    /// Computes the largest imbalance of a token, in value: what remains of the gradient after every output got its
    /// share of the basket.
    fn excess(&self, sub: &Subproblem<'_>, prices: &[f64]) -> f64 {
        let gradient = &self.room.slopes.gradient[..sub.free()];
        if sub.outputs == 1 {
            return largest(gradient);
        }
        let first = gradient.len() - sub.outputs;
        let basket: f64 = gradient[first..].iter().sum();
        let at_outputs = sub.shares(prices).map(|(at, share)| (gradient[at] - basket * share).abs());
        at_outputs.fold(largest(&gradient[..first]), f64::max)
    }

    /// Computes the change of the dual along the step, with the prices scaled so that the basket still costs one.
    fn slope_along(&self, sub: &Subproblem<'_>, prices: &[f64]) -> f64 {
        let gradient = &self.room.slopes.gradient[..sub.free()];
        let along = dot(gradient, &self.room.step);
        if sub.outputs == 1 {
            return along;
        }
        let dearer: f64 = sub.shares(prices).map(|(at, share)| share * self.room.step[at]).sum();
        let cost: f64 = sub.shares(prices).map(|(_, share)| share).sum();
        along - dearer / cost * gradient.iter().sum::<f64>()
    }

    /// Factors the Hessian plus the damped metric; returns `false` if the sum is not positive definite.
    fn factor_damped(&mut self, sub: &Subproblem<'_>, prices: &[f64], scale: f64) -> bool {
        let (n, size) = (sub.tokens.len(), sub.free());
        let products: usize = sub.first.iter().enumerate().map(|(i, first)| (i - first) * (i - first) / 2).sum();
        self.work += (products / Tuning::PRODUCTS_PER_EVALUATION) as u64;
        let mut share = vec![0.0; if sub.outputs == 1 { 0 } else { n }];
        if sub.outputs > 1 {
            sub.shares(prices).for_each(|(at, value)| share[at] = value);
        }
        let (hessian, metric, damping) = (&self.room.slopes.hessian, &self.room.metric, self.damping);
        self.room.factor.compute(n, size, &sub.first, |i, j| {
            let entry = hessian[i * n + j] + damping * metric[i * n + j];
            let entry = if i == j { entry * (1.0 + DIAGONAL_SHARE) + DIAGONAL_TRADE_SHARE * scale } else { entry };
            // Adds weight along the outputs' shares to make the matrix definite: the step has no part there.
            if share.is_empty() { entry } else { entry + scale * share[i] * share[j] }
        })
    }

    /// Computes the damped Newton step, cut to the greatest length; returns its longest entry before the cut.
    fn set_step(&mut self, sub: &Subproblem<'_>, prices: &[f64]) -> f64 {
        let size = sub.free();
        self.room.step.clear();
        self.room.step.extend(self.room.slopes.gradient[..size].iter().map(|g| -g));
        self.room.factor.solve(size, &sub.first, &mut self.room.step);
        if sub.outputs > 1 {
            self.hold_basket_price(sub, prices);
        }
        let longest = largest(&self.room.step);
        if longest > Tuning::LONGEST_PRICE_STEP {
            for entry in &mut self.room.step {
                *entry *= Tuning::LONGEST_PRICE_STEP / longest;
            }
        }
        longest
    }

    /// Removes from the step what would change the price of the basket.
    fn hold_basket_price(&mut self, sub: &Subproblem<'_>, prices: &[f64]) {
        let size = sub.free();
        self.room.pull.clear();
        self.room.pull.resize(size, 0.0);
        sub.shares(prices).for_each(|(at, share)| self.room.pull[at] = share);
        self.room.factor.solve(size, &sub.first, &mut self.room.pull);
        let along = |x: &[f64]| sub.shares(prices).map(|(at, share)| share * x[at]).sum::<f64>();
        let part = along(&self.room.step) / along(&self.room.pull);
        if part.is_finite() {
            self.room.step.iter_mut().zip(&self.room.pull).for_each(|(step, pull)| *step -= part * pull);
        }
    }

    /// Tries the step and shorter ones; on success `prices` and the slopes are those of the new point.
    fn search(
        &mut self,
        sub: &Subproblem<'_>,
        prices: &mut [f64],
        stage: Stage,
        value: f64,
        along: f64,
        longest: f64,
    ) -> Option<(f64, f64)> {
        let size = self.room.step.len();
        std::mem::swap(&mut self.room.slopes, &mut self.room.trial);
        let (mut share, shorter) = (1.0, Tuning::SHORTER_STEP_SHARES);
        for attempt in 0..Tuning::STEP_LENGTHS {
            self.room.moved.clear();
            self.room
                .moved
                .extend(prices[..size].iter().zip(&self.room.step).map(|(price, step)| price * (share * step).exp()));
            self.room.moved.extend_from_slice(&prices[size..]);
            let mut moved = std::mem::take(&mut self.room.moved);
            if sub.outputs > 1 {
                sub.normalise(&mut moved);
            }
            let next = self.evaluate(sub, &moved, stage);
            let ahead = self.slope_along(sub, &moved);
            self.room.moved = moved;
            let is_small = share * longest < Tuning::SMALL_PRICE_STEP;
            let is_flat = ahead <= 0.0 || ahead.abs() <= Tuning::FLAT_SLOPE_SHARE * along.abs();
            if next <= value + Tuning::SUFFICIENT_DECREASE * share * along || (is_small && is_flat) {
                self.relax(attempt, ahead.abs() < Tuning::FLAT_SLOPE_SHARE * along.abs());
                prices.copy_from_slice(&self.room.moved);
                return Some((next, share));
            }
            share *= if ahead > 0.0 { (along / (along - ahead)).clamp(*shorter.start(), *shorter.end()) } else { 0.5 };
        }
        std::mem::swap(&mut self.room.slopes, &mut self.room.trial);
        None
    }

    /// Lowers the damping after a whole step, and raises it after a shorter one.
    fn relax(&mut self, attempt: usize, is_flat: bool) {
        self.damping = match (attempt, is_flat) {
            (0, true) => self.damping * Tuning::DAMPING_RELAXED[0],
            (0, false) => self.damping * Tuning::DAMPING_RELAXED[1],
            _ => Tuning::DAMPING_AFTER_SHORTER_STEP.raised(self.damping),
        };
    }

    /// Raises the damping; returns whether it is still low enough for another step.
    fn damp(&mut self, raise: &Raise) -> bool {
        self.damping = raise.raised(self.damping);
        self.damping <= raise.most
    }
}

/// Returns the largest absolute value.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
