//! Prices near those of the least dual at which more gas can be deducted for passing a token.
//!
//! A small pool that stands out needs deep pools that lead there and on. Where the dual is least, prices are such that these
//! pools earn almost their gas on all that they could carry: then they lack next to nothing ([`passing`]), although what
//! they carry is next to nothing too. Where they earn nothing, the dual is hardly higher, and they lack all of their gas.
//!
//! [`passing`]: super::passing

use super::passing::{Need, Needed, needs, only_other};
use super::profit::profit_after_gas;
use crate::problem::Problem;
use crate::tuning::Tuning;

/// Returns such prices of all tokens; `None` if they are those given. `earning` lists the pools that earn more than their
/// gas.
pub(crate) fn settled(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    price: &[f64],
    earning: &[(f64, u32)],
) -> Option<Vec<f64>> {
    let list = needs(problem, price, earning);
    let (mut prices, mut is_moved) = (price.to_vec(), false);
    for needs in list.chunk_by(|a, b| a.need.token == b.need.token) {
        let here = needs[0].need.token as usize;
        // Of many pools that may lead on, some lose next to nothing at any price.
        if problem.neighbours(here).nth(Tuning::SETTLED_MOST_POOLS).is_some() {
            continue;
        }
        let before = prices[here];
        let Around { mut least, mut even } = Around::of(problem, is_reachable, caps, &prices, needs);
        even.sort_by(|a, b| (a / before).ln().abs().total_cmp(&(b / before).ln().abs()));
        let mut best = before;
        for nearest in even.into_iter().take(Tuning::SETTLED_TRIALS) {
            prices[here] = nearest;
            let found = Around::of(problem, is_reachable, caps, &prices, needs).least;
            if found < least {
                (least, best) = (found, nearest);
            }
        }
        prices[here] = best;
        is_moved |= best != before;
    }
    is_moved.then_some(prices)
}

/// The pools with a token that has needs.
struct Around {
    /// What they earn more than their gas, less what is deducted for the needs.
    least: f64,
    /// The prices of the token at which pools that may serve a need, and now lose less than their gas, earn nothing.
    even: Vec<f64>,
}

impl Around {
    fn of(problem: &Problem<'_>, is_reachable: &[bool], caps: &[f64], price: &[f64], needs: &[Needed]) -> Self {
        let graph = problem.prepared.graph();
        let token = needs[0].need.token;
        let not_with =
            |need: Need| needs.chunk_by(|a, b| a.need == b.need).find(|same| same[0].need == need).map(only_other);
        let (mut most, mut earned, mut even) = ([f64::NEG_INFINITY; 2], [0.0; 2], Vec::new());
        for (other, arrow) in problem.neighbours(token as usize) {
            if !is_reachable[other] || price[other] <= 0.0 || !problem.is_open(arrow.pair) {
                continue;
            }
            let open = problem.open_directions(graph.ends(arrow.pair));
            let gas = arrow.least_gas() * problem.gas_price;
            for need in [false, true].map(|leads_on| Need { token, leads_on }) {
                let (side, ends) = need.served(arrow.side, other);
                if !open[usize::from(side)] {
                    continue;
                }
                let profit = profit_after_gas(problem, caps, price, (arrow.pair, side), ends);
                let at = usize::from(need.leads_on);
                earned[at] += profit.max(0.0);
                if not_with(need).is_none_or(|not_with| not_with == Some(other)) {
                    continue;
                }
                most[at] = most[at].max(profit);
                if profit > Tuning::SETTLED_LOSS_SHARE * -gas && profit < gas {
                    even.push(if need.leads_on { price[other] * arrow.spot } else { price[other] / arrow.back });
                }
            }
        }
        // Pools that lead to the token are needed by those that lead on, and the other way round.
        let deducted = [(most[0], earned[1]), (most[1], earned[0])]
            .map(|(most, earned): (f64, f64)| if most.is_finite() { (-most).clamp(0.0, earned) } else { 0.0 });
        let least = earned.iter().sum::<f64>() - deducted.iter().sum::<f64>();
        Self { least, even }
    }
}
