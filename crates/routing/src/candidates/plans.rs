//! First plans of a basket: which input pays for which output, along single paths.
//!
//! There are two kinds. An *assignment* gives each input to the outputs that it pays best, as far as their shares go,
//! so that there are at most `inputs + outputs − 1` paths; a token that is both input and output is netted first. A
//! *star* sends every input to one hub and every output from there. Paths that meet share their pools; each is priced
//! on top of those before it.

use crate::path::{PathLimits, best_paths};
use crate::prepare::index32;
use crate::problem::potentials::{Potentials, worths_at};
use crate::problem::reachable::reachable;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem, Terms};
use crate::tuning::Tuning;

/// Planned flows, and the amounts that outputs keep of what reaches them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) flows: Vec<Flow>,
    pub(crate) kept: Vec<(u32, f64)>,
}

/// Computes every first plan that finds its paths; each amount is sent in `parts` equal parts. If the pairs that pay best
/// cannot be combined, tries pairs in turn if `is_thorough`.
pub(crate) fn plans(problem: &Problem<'_>, potentials: &Potentials, parts: u16, is_thorough: bool) -> Vec<Plan> {
    let assigned = |cells| assignment(problem, potentials, cells, parts);
    let in_turns = || {
        let mut turns = turns(problem).filter(|_| is_thorough);
        turns.find_map(|turn| assigned(in_turn(problem, potentials, &turn)?))
    };
    let assigned = cells(problem, potentials)
        .and_then(assigned)
        .or_else(|| assigned(proportional(problem, potentials)))
        .or_else(in_turns);
    let stars = hubs(problem).into_iter().filter_map(|hub| Builder::new(problem, potentials).star(hub, parts));
    assigned.into_iter().chain(stars).collect()
}

/// Returns which input pays for which output, as nodes with the amount of the input: the pairs that pay best, or every
/// input for every output.
pub(crate) fn assigned(problem: &Problem<'_>, potentials: &Potentials) -> Vec<(u32, u32, f64)> {
    let terms = &problem.terms;
    let cells = cells(problem, potentials).unwrap_or_else(|| proportional(problem, potentials));
    let pair = |cell: Cell| {
        let (input, amount) = terms.supplies[cell.input];
        (input, terms.weights[cell.output].0, amount * cell.share)
    };
    cells.into_iter().map(pair).collect()
}

/// A share of an input for an output, by their positions among the supplies and the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    input: usize,
    output: usize,
    /// Share of the input's amount.
    share: f64,
}

/// Computes the share of the whole value that each input is, and that each output must be.
fn shares(problem: &Problem<'_>, potentials: &Potentials) -> (Vec<f64>, Vec<f64>) {
    let terms = &problem.terms;
    let total = terms.supplied_value(&potentials.worth);
    let supply =
        terms.supplies.iter().map(|(token, amount)| amount * potentials.worth[*token as usize] / total).collect();
    let demand = terms.weights.iter().map(|(token, weight)| weight * problem.reference(*token)).collect();
    (supply, demand)
}

/// Assigns inputs to outputs, the best paying pairs first; before them come pairs of which one side has no other
/// choice. `None` if something is left that cannot be assigned.
fn cells(problem: &Problem<'_>, potentials: &Potentials) -> Option<Vec<Cell>> {
    let terms = &problem.terms;
    let (supply, demand) = shares(problem, potentials);
    let (mut left, mut open) = (supply.clone(), demand);
    // Nets a token that is both input and output first: other qualities are at most 1.
    let quality = |input: usize, output: usize| {
        let (token, _) = terms.supplies[input];
        let same = terms.weights[output].0 == token;
        let paid = potentials.towards(output)[token as usize] / potentials.worth[token as usize];
        if same { 2.0 } else { paid }
    };
    let mut cells: Vec<Cell> = Vec::new();
    loop {
        let inputs: Vec<usize> = (0..left.len()).filter(|input| left[*input] > Tuning::PLAN_LEAST_SHARE).collect();
        let outputs: Vec<usize> = (0..open.len()).filter(|output| open[*output] > Tuning::PLAN_LEAST_SHARE).collect();
        if inputs.is_empty() || outputs.is_empty() {
            break;
        }
        let ways_out = |input: usize| outputs.iter().filter(|output| quality(input, **output) > 0.0).count();
        let ways_in = |output: usize| inputs.iter().filter(|input| quality(**input, output) > 0.0).count();
        let pairs = inputs.iter().flat_map(|input| outputs.iter().map(move |output| (*input, *output)));
        let rated = pairs.filter_map(|(input, output)| {
            let quality = quality(input, output);
            let narrow = ways_out(input).min(ways_in(output)) == 1;
            (quality > 0.0).then_some((quality + if narrow { 1.0 } else { 0.0 }, input, output))
        });
        let best = rated.max_by(|a, b| a.0.total_cmp(&b.0).then((b.1, b.2).cmp(&(a.1, a.2))));
        let (_, input, output) = best?;
        let given = left[input].min(open[output]);
        left[input] -= given;
        open[output] -= given;
        cells.push(Cell { input, output, share: given / supply[input] });
    }
    (!cells.is_empty()).then_some(cells)
}

/// Returns orders of the inputs and of the outputs: each in turn from every one of them on, the outputs backwards, too.
fn turns(problem: &Problem<'_>) -> impl Iterator<Item = [Vec<usize>; 2]> {
    let from = |first: usize, count: usize| (first..first + count).map(|at| at % count).collect::<Vec<_>>();
    let (inputs, outputs) = (problem.terms.supplies.len(), problem.terms.weights.len());
    let of_outputs = move |first: usize| {
        let forwards = from(first, outputs);
        let backwards = forwards.iter().rev().copied().collect();
        [forwards, backwards]
    };
    let turns = (0..inputs)
        .flat_map(move |first| (0..outputs).flat_map(of_outputs).map(move |outputs| [from(first, inputs), outputs]));
    turns.take(Tuning::PLAN_TURNS)
}

/// Assigns the inputs to the outputs in the given orders, each until its share is met. If the pairs that pay best cross, so
/// that the path of one leads from a token to another and that of a second one back, other orders have pairs that do not.
fn in_turn(problem: &Problem<'_>, potentials: &Potentials, [inputs, outputs]: &[Vec<usize>; 2]) -> Option<Vec<Cell>> {
    let (supply, mut open) = shares(problem, potentials);
    let mut outputs = outputs.iter().copied().peekable();
    let mut cells = Vec::new();
    for &input in inputs {
        let (token, mut left) = (problem.terms.supplies[input].0, supply[input]);
        while let Some(&output) = outputs.peek().filter(|_| left > Tuning::PLAN_LEAST_SHARE) {
            let given = left.min(open[output]);
            left -= given;
            open[output] -= given;
            if given > Tuning::PLAN_LEAST_SHARE {
                if potentials.towards(output)[token as usize] <= 0.0 {
                    return None;
                }
                cells.push(Cell { input, output, share: given / supply[input] });
            }
            if open[output] <= Tuning::PLAN_LEAST_SHARE {
                outputs.next();
            }
        }
    }
    (!cells.is_empty()).then_some(cells)
}

/// Assigns every input to every output that it reaches, by the outputs' shares.
fn proportional(problem: &Problem<'_>, potentials: &Potentials) -> Vec<Cell> {
    let (_, demand) = shares(problem, potentials);
    let mut cells = Vec::new();
    for (input, (token, _)) in problem.terms.supplies.iter().enumerate() {
        let reaches = |output: &usize| potentials.towards(*output)[*token as usize] > 0.0;
        let outputs: Vec<usize> = (0..demand.len()).filter(reaches).collect();
        let sum: f64 = outputs.iter().map(|output| demand[*output]).sum();
        cells.extend(outputs.iter().map(|output| Cell { input, output: *output, share: demand[*output] / sum }));
    }
    cells
}

/// Computes the paths of an assignment. If no path is left for a cell besides those of the cells before it, the cell
/// comes first in the next attempt: the others have other paths, it may have none.
fn assignment(problem: &Problem<'_>, potentials: &Potentials, mut cells: Vec<Cell>, parts: u16) -> Option<Plan> {
    for _ in 0..cells.len() {
        match Builder::new(problem, potentials).assignment(&cells, parts) {
            Ok(plan) => return Some(plan),
            Err(at) => cells[..=at].rotate_right(1),
        }
    }
    None
}

/// Returns the deepest tokens that all inputs and outputs may be connected through.
fn hubs(problem: &Problem<'_>) -> Vec<usize> {
    if problem.hops < 2 {
        return Vec::new();
    }
    let (prepared, is_reachable) = (problem.prepared, reachable(problem));
    let tokens = prepared.deepest_first().iter().map(|token| *token as usize);
    tokens.filter(|token| prepared.graph().is_inner(*token) && is_reachable[*token]).take(Tuning::PLAN_HUBS).collect()
}

/// A plan that is being built, path by path.
struct Builder<'a, 'p> {
    problem: &'a Problem<'p>,
    potentials: &'a Potentials,
    support: Support,
    kept: Vec<(u32, f64)>,
}

impl<'a, 'p> Builder<'a, 'p> {
    fn new(problem: &'a Problem<'p>, potentials: &'a Potentials) -> Self {
        Self { problem, potentials, support: Support::default(), kept: Vec::new() }
    }

    /// Sends every cell's amount along its best path.
    ///
    /// # Errors
    /// The position of the cell for which no path is left.
    fn assignment(mut self, cells: &[Cell], parts: u16) -> Result<Plan, usize> {
        let terms = &self.problem.terms;
        let paths: Vec<(PathProblem<'_>, f64)> = cells
            .iter()
            .map(|cell| {
                let (source, amount) = terms.supplies[cell.input];
                let (target, _) = terms.weights[cell.output];
                let worth = self.potentials.towards(cell.output).to_vec();
                let path_problem = self.path_problem(source as usize, target as usize, worth, self.problem.hops);
                (path_problem, amount * cell.share)
            })
            .collect();
        for _ in 0..parts {
            for (at, (path, amount)) in paths.iter().enumerate() {
                let arrived = self.send(path, amount / f64::from(parts)).ok_or(at)?;
                self.keep(path.problem.target, arrived);
            }
        }
        Ok(self.plan())
    }

    /// Sends every input along its best path to a hub, and the sum from there to the outputs by their shares.
    fn star(mut self, hub: usize, parts: u16) -> Option<Plan> {
        let terms = &self.problem.terms;
        let (_, demand) = shares(self.problem, self.potentials);
        let price = self.potentials.worth[hub];
        let (hops_in, hops_out) = (self.problem.hops.div_ceil(2), self.problem.hops / 2);
        let towards = worths_at(self.problem, hub, price, hops_in);
        let inwards: Vec<(PathProblem<'_>, f64)> = terms
            .supplies
            .iter()
            .map(|(token, amount)| (self.path_problem(*token as usize, hub, towards.clone(), hops_in), *amount))
            .collect();
        let outwards: Vec<(PathProblem<'_>, f64)> = terms
            .weights
            .iter()
            .zip(&demand)
            .enumerate()
            .map(|(output, ((token, _), share))| {
                let worth = self.potentials.towards(output).to_vec();
                (self.path_problem(hub, *token as usize, worth, hops_out), *share)
            })
            .collect();
        for _ in 0..parts {
            let mut arrived = 0.0;
            for (path, amount) in &inwards {
                arrived += self.send(path, amount / f64::from(parts))?;
            }
            for (path, share) in &outwards {
                let arrived = self.send(path, arrived * share)?;
                self.keep(path.problem.target, arrived);
            }
        }
        Some(self.plan())
    }

    /// Builds the problem of one path, at given worths of a unit of each token.
    fn path_problem(&self, source: usize, target: usize, worth: Vec<f64>, hops: usize) -> PathProblem<'p> {
        let price_out = worth[target];
        let problem = Problem { source, target, terms: Terms::default(), price_out, hops, ..self.problem.clone() };
        PathProblem { problem, potentials: Potentials::of_parts(self.potentials.cap.clone(), worth) }
    }

    /// Adds the best path for an amount. Returns about how much arrives; `None` if no path fits.
    fn send(&mut self, path_problem: &PathProblem<'_>, amount: f64) -> Option<f64> {
        let PathProblem { problem, potentials } = path_problem;
        if problem.source == problem.target || amount <= 0.0 {
            return Some(amount);
        }
        let fits = |flows: &[Flow]| self.support.with(flows, self.problem.hops);
        // Searches more paths only if the best one does not fit.
        let (path, support) = [(1, Tuning::PLAN_QUOTES), (Tuning::PLAN_PATHS, Tuning::PATH_QUOTES)]
            .into_iter()
            .find_map(|(keep, quotes)| {
                let limits = PathLimits { quotes, ..PathLimits::of_any_value(keep) };
                let paths = best_paths(problem, potentials, amount, &self.support, limits);
                paths.into_iter().find_map(|path| fits(&path.flows).map(|support| (path, support)))
            })?;
        let last = path.flows.last()?;
        let (_, direction) = problem.direction(last.pair, last.side)?;
        let before = self.support.amount_in(last.pair).unwrap_or(0.0);
        let arrived = direction.quote(before + last.amount_in).0 - direction.quote(before).0;
        self.support = support;
        Some(arrived)
    }

    /// Adds an amount that an output keeps.
    fn keep(&mut self, output: usize, amount: f64) {
        match self.kept.iter_mut().find(|(token, _)| *token as usize == output) {
            Some((_, kept)) => *kept += amount,
            None => self.kept.push((index32(output), amount)),
        }
    }

    /// Returns the plan built.
    fn plan(self) -> Plan {
        Plan { flows: self.support.flows().to_vec(), kept: self.kept }
    }
}

/// A problem of one input and one output within a plan.
struct PathProblem<'p> {
    problem: Problem<'p>,
    potentials: Potentials,
}
