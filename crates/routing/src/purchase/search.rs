//! The search for the least input.

use braid_primitives::U256;

use super::bound::{InputBound, input_bound};
use super::fixed_plan::FixedPlan;
use super::wanted::Purchase;
use crate::solve::solve_quickly;
use crate::tuning::Tuning;
use crate::{Prepared, Request, Route, Solution, SolveError, Uncertified, Witness, explain, solve};

/// A route that buys the amount.
#[derive(Clone, Debug)]
pub struct Bought {
    /// The route; it makes at least the amount.
    pub route: Route,
    /// The least that its plan sells for the amount, in atomic units.
    pub amount_in: U256,
    /// The least that any route could sell.
    pub bound: Result<InputBound, Uncertified>,
    /// The prices of that bound, if a third party can recompute it.
    pub witness: Option<Witness>,
    /// Number of pools that the last solve considered.
    pub pools_visited: u32,
    /// Number of solves.
    pub solves: usize,
}

impl Bought {
    /// Returns the purchase along the plan of a route, without a search and a bound; `None` unless the plan buys the
    /// amount for this input, and not for one atomic unit less.
    ///
    /// A search is not repeated: because shares are rounded, there may be several such inputs, a few units apart.
    pub fn along(prepared: &Prepared, purchase: &Purchase<'_>, amount_in: U256, route: &Route) -> Option<Self> {
        let plan = FixedPlan::of(prepared, purchase.trade, route)?;
        let buys = |amount_in| plan.run(amount_in).filter(|route| purchase.is_met_by(route));
        let route = buys(amount_in)?;
        let less = amount_in.checked_sub(U256::ONE)?;
        let bound = Err(Uncertified::NoBound);
        buys(less).is_none().then_some(Self { route, amount_in, bound, witness: None, pools_visited: 0, solves: 0 })
    }

    /// Runs the route's plan for another input.
    pub fn sell(&self, prepared: &Prepared, purchase: &Purchase<'_>, amount_in: U256) -> Option<Route> {
        FixedPlan::of(prepared, purchase.trade, &self.route)?.run(amount_in)
    }
}

/// The last sale that was planned.
struct Planned {
    request: Request,
    solution: Solution,
    witness: Option<Witness>,
}

/// Finds the route that buys an amount for the least input and gas.
///
/// # Errors
/// [`SolveError`] as for [`solve`]; [`SolveError::InsufficientLiquidity`] if the market does not pay the amount.
pub fn buy(prepared: &Prepared, purchase: &Purchase<'_>) -> Result<Bought, SolveError> {
    let mut next = first_input(prepared, purchase);
    let (mut best, mut last): (Option<(U256, Route, f64)>, Option<Planned>) = (None, None);
    // Keeps the largest input known to be too small, and the least that is too large for the market.
    let (mut little, mut much) = (U256::ZERO, None::<U256>);
    let mut failure = SolveError::InsufficientLiquidity;
    let mut solves = 0;
    while solves < Tuning::PURCHASE_SOLVES {
        solves += 1;
        let sold = next;
        let request = purchase.sale_of(sold);
        // Asks for prices for a bound from the second solve on: the first plan is nearly always planned again. Takes less time
        // for further amounts while none is enough: mostly the market does not pay the amount then.
        let is_quick = best.is_none() && (3..Tuning::PURCHASE_SOLVES).contains(&solves);
        let solved = match solves {
            _ if is_quick => solve_quickly(prepared, &request).map(|solution| (solution, None)),
            1 => solve(prepared, &request).map(|solution| (solution, None)),
            _ => explain(prepared, &request),
        };
        let (solution, witness) = match solved {
            Ok(solved) => solved,
            Err(SolveError::AmountTooSmall) if best.is_none() => {
                failure = SolveError::AmountTooSmall;
                little = sold;
                next =
                    much.map_or(sold.saturating_mul(U256::from(Tuning::PURCHASE_LARGER)), |much| middle(little, much));
                continue;
            }
            Err(SolveError::InsufficientLiquidity) if best.is_none() => {
                failure = SolveError::InsufficientLiquidity;
                much = Some(sold);
                next = middle(little, sold);
                continue;
            }
            Err(_) if best.is_some() => break,
            Err(error) => return Err(error),
        };
        let plan = FixedPlan::of(prepared, purchase.trade, &solution.route);
        let found = plan.and_then(|plan| plan.least_input(purchase, sold, &solution.route));
        let made = solution.route.amounts_out.first().copied().unwrap_or_default();
        last = Some(Planned { request, solution, witness });
        match found {
            Some((amount_in, route)) => {
                let cost = purchase.cost(prepared, amount_in, &route);
                let is_better = best.as_ref().is_none_or(|(.., least)| cost < *least);
                if is_better {
                    best = Some((amount_in, route, cost));
                }
                let is_settled = amount_in.abs_diff(sold) <= sold / U256::from(Tuning::PURCHASE_SETTLED_PART);
                // Plans again after a solve without prices.
                if solves > 1 && !is_quick && (is_settled || !is_better) {
                    break;
                }
                next = amount_in;
            }
            None if best.is_some() => break,
            None => {
                failure = SolveError::InsufficientLiquidity;
                little = little.max(sold);
                let wanted = scaled(sold, purchase.amount, made).max(little + U256::ONE);
                next = much.map_or(wanted, |much| wanted.min(middle(little, much)));
            }
        }
    }
    let ((amount_in, route, _), last) = best.zip(last).ok_or(failure)?;
    let Planned { request, solution, witness } = last;
    let (bound, witness) = input_bound(prepared, purchase, &request, &solution, witness);
    Ok(Bought { route, amount_in, bound, witness, pools_visited: solution.pools_visited, solves })
}

/// Estimates the input: the amount's value at reference prices, or what a sale of it in the other direction pays.
fn first_input(prepared: &Prepared, purchase: &Purchase<'_>) -> U256 {
    let ([(input, _)], [(output, _)]) = (purchase.trade.inputs.as_slice(), purchase.trade.outputs.as_slice()) else {
        return U256::ONE;
    };
    let value = |token, amount| prepared.value_wei(token, amount).filter(|value| value.is_normal());
    let by_price = value(*output, purchase.amount).zip(value(*input, U256::ONE));
    let by_price = by_price.and_then(|(worth, unit)| U256::try_from(worth / unit).ok());
    let by_sale = || {
        let (inputs, outputs) = (vec![(*output, purchase.amount)], vec![(*input, 10_000)]);
        let back = Request { inputs, outputs, ..purchase.trade.clone() };
        solve(prepared, &back).ok()?.route.amounts_out.first().copied()
    };
    let whole = || {
        let decimals = prepared.market().tokens().get(*input).map_or(18, |token| token.decimals);
        U256::from(10).pow(U256::from(decimals.min(36)))
    };
    by_price.or_else(by_sale).unwrap_or_else(whole).max(U256::ONE)
}

/// Returns the middle between two inputs, of their magnitudes if they are far apart; at least one atomic unit.
fn middle(low: U256, high: U256) -> U256 {
    let middle = if low.is_zero() {
        high / U256::from(Tuning::PURCHASE_LARGER).root(2)
    } else if high / U256::from(4) > low {
        low.saturating_mul(high).root(2)
    } else {
        low + high.saturating_sub(low) / U256::from(2)
    };
    middle.max(U256::ONE)
}

/// Computes `amount · wanted / made`, plus a part.
fn scaled(amount: U256, wanted: U256, made: U256) -> U256 {
    let [extra_part, _] = Tuning::PURCHASE_EXTRA_PARTS;
    let scaled = amount.saturating_mul(wanted) / made.max(U256::ONE);
    scaled.saturating_add(scaled / U256::from(extra_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_between_too_little_and_far_too_much_is_found_in_few_steps() {
        // An input of 1,000 sells for nothing, 1,024 times that is more than the market takes, and so is 10,000.
        let (mut little, mut much) = (U256::from(1_000), U256::from(1_024_000));
        for _ in 0..5 {
            let next = middle(little, much);
            *if next > U256::from(10_000) { &mut much } else { &mut little } = next;
            if little > U256::from(1_500) {
                return;
            }
        }
        panic!("between {little} and {much}");
    }

    #[test]
    fn a_middle_is_between_its_inputs() {
        let amounts = [0_u64, 1, 2, 3, 9, 10, 1_000, 1_000_000, u64::MAX].map(U256::from);
        for (at, low) in amounts.iter().enumerate() {
            for high in &amounts[at + 1..] {
                let middle = middle(*low, *high);
                assert!(middle >= (*low).max(U256::ONE) && middle <= *high, "{low}, {middle}, {high}");
            }
        }
    }
}
