//! The route as a tree of tokens and steps. A token that several steps make is drawn out where it is met first.

use braid_primitives::{TokenId, U256};
use braid_routing::Step;

use super::Quoted;

/// The lines of a route: each input, and under it where it goes.
pub(super) fn lines(quoted: &Quoted<'_>) -> Vec<String> {
    let mut tree = Tree { quoted, drawn: Vec::new(), lines: Vec::new() };
    for (token, amount) in &quoted.request.inputs {
        // what steps make of an input token joins it
        if !tree.drawn.contains(token) {
            tree.lines.push(quoted.amount(*token, *amount));
            tree.branch(*token, "");
        }
    }
    tree.lines
}

struct Tree<'a> {
    quoted: &'a Quoted<'a>,
    drawn: Vec<TokenId>,
    lines: Vec<String>,
}

impl Tree<'_> {
    /// Draws the steps that spend a token, and what each leads to.
    fn branch(&mut self, token: TokenId, indent: &str) {
        self.drawn.push(token);
        let quoted = self.quoted;
        let steps: Vec<&Step> = quoted.solution.route.steps.iter().filter(|step| step.token_in == token).collect();
        let whole = steps.iter().fold(U256::ZERO, |sum, step| sum.saturating_add(step.amount_in));
        for (index, step) in steps.iter().enumerate() {
            let is_last = index + 1 == steps.len();
            let (mark, below) = if is_last { ("└─", "   ") } else { ("├─", "│  ") };
            let share = share(step.amount_in, whole);
            let pool = quoted.market.pool(step.pool);
            let name = pool.map_or_else(String::new, |pool| format!("{} {}", pool.product.name(), pool.key));
            let paid = quoted.amount(step.token_out, step.amount_out);
            let joins = self.drawn.contains(&step.token_out) && self.is_spent(step.token_out);
            let joined = if joins { ", joins it above" } else { "" };
            self.lines.push(format!("{indent}{mark} {share:>6}  {paid}{joined}  ({name})"));
            if !self.drawn.contains(&step.token_out) {
                self.branch(step.token_out, &format!("{indent}{below}"));
            }
        }
    }

    fn is_spent(&self, token: TokenId) -> bool {
        self.quoted.solution.route.steps.iter().any(|step| step.token_in == token)
    }
}

/// A part of a whole, in per cent with two decimals, rounded to the nearest.
fn share(part: U256, whole: U256) -> String {
    let scaled = part.saturating_mul(U256::from(10_000u64)).saturating_add(whole >> 1);
    let bps: u64 = scaled.checked_div(whole).map_or(0, |bps| bps.saturating_to());
    format!("{}.{:02}%", bps / 100, bps % 100)
}
