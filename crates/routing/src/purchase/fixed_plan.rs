//! A route with fixed pools and shares, run for other inputs.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, TokenId, U256};

use super::wanted::Purchase;
use crate::tuning::Tuning;
use crate::{Instruction, Machine, Prepared, Request, Route};

/// Most runs of one search. Every third halves the remaining interval, and the amounts of an order have 128 bits, so
/// that a search ends before.
const MAX_RUNS: usize = 400;

/// A plan: what runs, whatever the input.
pub(super) struct FixedPlan<'m> {
    market: &'m Market,
    at: ExecutionBlock,
    input: TokenId,
    output: TokenId,
    instructions: Vec<Instruction>,
}

/// An input and what the plan makes of it.
#[derive(Clone, Copy)]
struct Point {
    sold: U256,
    made: U256,
}

impl<'m> FixedPlan<'m> {
    /// Takes the plan from a route of one input and one output.
    pub(super) fn of(prepared: &'m Prepared, trade: &Request, route: &Route) -> Option<Self> {
        let (input, output) = (trade.inputs.first()?.0, trade.outputs.first()?.0);
        let steps = route.steps.iter();
        let instructions = steps
            .map(|step| Instruction {
                pool: step.pool,
                coin_in: step.coin_in,
                coin_out: step.coin_out,
                share: step.share,
            })
            .collect();
        Some(Self { market: prepared.market(), at: trade.at, input, output, instructions })
    }

    /// Runs the plan; `None` if a pool refuses its amount.
    pub(super) fn run(&self, sold: U256) -> Option<Route> {
        let mut machine = Machine::new(self.market, self.at, &[(self.input, sold)]);
        let steps = self.instructions.iter().map(|step| machine.run(*step).ok()).collect::<Option<Vec<_>>>()?;
        Some(Route { steps, amounts_out: vec![machine.ledger().at_hand(self.output)] })
    }

    /// Finds the least input for which the plan buys the amount, starting from a known run: one atomic unit less does
    /// not buy it. `None` if no input does.
    pub(super) fn least_input(&self, purchase: &Purchase<'_>, sold: U256, known: &Route) -> Option<(U256, Route)> {
        let point = |sold, route: &Route| Point { sold, made: route.amounts_out.first().copied().unwrap_or_default() };
        let mut high = (point(sold, known), known.clone());
        let mut low = Point { sold: U256::ZERO, made: U256::ZERO };
        let [_, extra_part] = Tuning::PURCHASE_EXTRA_PARTS;
        for _ in 0..Tuning::PURCHASE_LARGER_RUNS {
            if purchase.is_met_by(&high.1) {
                break;
            }
            low = high.0;
            let larger = low.sold.checked_mul(purchase.amount)?.checked_div(low.made)?.max(low.sold);
            let larger = larger.checked_add(larger / U256::from(extra_part))?.checked_add(U256::ONE)?;
            let route = self.run(larger)?;
            high = (point(larger, &route), route);
        }
        if !purchase.is_met_by(&high.1) {
            return None;
        }
        let mut fell = U256::ZERO;
        for turn in 0..MAX_RUNS {
            if high.0.sold - low.sold <= U256::ONE {
                break;
            }
            let guess = match turn % 3 {
                0 => towards(low, high.0, purchase.amount),
                // Goes as far below the last guess as that was below the one before, because its error is smaller.
                1 => high.0.sold.saturating_sub(fell.max(U256::ONE)),
                _ => low.sold + (high.0.sold - low.sold) / U256::from(2),
            };
            let guess = guess.clamp(low.sold + U256::ONE, high.0.sold - U256::ONE);
            match self.run(guess) {
                Some(route) if purchase.is_met_by(&route) => {
                    fell = high.0.sold - guess;
                    high = (point(guess, &route), route);
                }
                Some(route) => low = point(guess, &route),
                // Takes an input that is too little for a step as one that makes no more than the last.
                None => low = Point { sold: guess, made: low.made },
            }
        }
        Some((high.0.sold, high.1))
    }
}

/// Returns the input at which the straight line between two points makes the amount, and one atomic unit more.
fn towards(low: Point, high: Point, amount: U256) -> U256 {
    let (width, rise) = (high.sold - low.sold, high.made.saturating_sub(low.made));
    let wanted = amount.saturating_sub(low.made);
    let within = width.checked_mul(wanted).and_then(|product| product.checked_div(rise));
    low.sold + within.unwrap_or(width / U256::from(2)) + U256::ONE
}
