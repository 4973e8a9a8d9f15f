//! Prints a route as a tree of tokens and steps. The steps that spend a token are printed where the token first appears.

use braid_primitives::{Address, U256};
use eyre::Result;

use crate::out;

/// A step for printing.
#[derive(Debug)]
pub(crate) struct TreeStep {
    /// Token that it spends.
    pub token_in: Address,
    /// Token that it makes.
    pub token_out: Address,
    /// Amount that it spends, in atomic units.
    pub amount_in: U256,
    /// Amount that it makes, with symbol.
    pub paid: String,
    /// Product and key of the pool.
    pub pool: String,
}

/// Prints the amounts sold and bought, and the route between them.
pub(crate) fn print(inputs: &[(Address, String)], bought: &str, steps: &[TreeStep]) -> Result<()> {
    let sold: Vec<&str> = inputs.iter().map(|(_, amount)| amount.as_str()).collect();
    out::line(format_args!("{}  →  {bought}\n", sold.join(" + ")))?;
    lines(inputs, steps).iter().try_for_each(out::line)?;
    out::line("")
}

/// Returns the lines of a route: each input with its amount, and below it the steps that spend it.
fn lines(inputs: &[(Address, String)], steps: &[TreeStep]) -> Vec<String> {
    let mut tree = Tree { steps, drawn: Vec::new(), lines: Vec::new() };
    for (token, amount) in inputs {
        // an input that steps make too is printed with them
        if !tree.drawn.contains(token) {
            tree.lines.push(amount.clone());
            tree.branch(*token, "");
        }
    }
    tree.lines
}

struct Tree<'a> {
    steps: &'a [TreeStep],
    drawn: Vec<Address>,
    lines: Vec<String>,
}

impl Tree<'_> {
    /// Adds the lines of the steps that spend a token, and of the steps after them.
    fn branch(&mut self, token: Address, indent: &str) {
        self.drawn.push(token);
        let steps: Vec<&TreeStep> = self.steps.iter().filter(|step| step.token_in == token).collect();
        let whole = steps.iter().fold(U256::ZERO, |sum, step| sum.saturating_add(step.amount_in));
        for (index, step) in steps.iter().enumerate() {
            let is_last = index + 1 == steps.len();
            let (mark, below) = if is_last { ("└─", "   ") } else { ("├─", "│  ") };
            let share = share(step.amount_in, whole);
            let joins = self.drawn.contains(&step.token_out) && self.is_spent(step.token_out);
            let joined = if joins { ", joins it above" } else { "" };
            self.lines.push(format!("{indent}{mark} {share:>6}  {}{joined}  ({})", step.paid, step.pool));
            if !self.drawn.contains(&step.token_out) {
                self.branch(step.token_out, &format!("{indent}{below}"));
            }
        }
    }

    fn is_spent(&self, token: Address) -> bool {
        self.steps.iter().any(|step| step.token_in == token)
    }
}

/// Writes a part of a whole in per cent, rounded to two decimals.
fn share(part: U256, whole: U256) -> String {
    let scaled = part.saturating_mul(U256::from(10_000u64)).saturating_add(whole >> 1);
    let bps: u64 = scaled.checked_div(whole).map_or(0, |bps| bps.saturating_to());
    format!("{}.{:02}%", bps / 100, bps % 100)
}
