//! The route as a tree of tokens and steps. A token that several steps make is drawn out where it is met first.

use braid_primitives::{Address, U256};
use eyre::Result;

use crate::out;

/// A step, in words.
#[derive(Debug)]
pub(crate) struct Leg {
    /// What it spends.
    pub token_in: Address,
    /// What it makes.
    pub token_out: Address,
    /// How much it spends, in atomic units.
    pub amount_in: U256,
    /// What it pays.
    pub paid: String,
    /// Where.
    pub pool: String,
}

/// Prints what is sold and bought, and the route between them.
pub(crate) fn print(inputs: &[(Address, String)], bought: &str, legs: &[Leg]) -> Result<()> {
    let sold: Vec<&str> = inputs.iter().map(|(_, amount)| amount.as_str()).collect();
    out::line(format_args!("{}  →  {bought}\n", sold.join(" + ")))?;
    lines(inputs, legs).iter().try_for_each(out::line)?;
    out::line("")
}

/// Returns the lines of a route: each input with what is sold of it, and under it where it goes.
fn lines(inputs: &[(Address, String)], legs: &[Leg]) -> Vec<String> {
    let mut tree = Tree { legs, drawn: Vec::new(), lines: Vec::new() };
    for (token, amount) in inputs {
        // what steps make of an input token joins it
        if !tree.drawn.contains(token) {
            tree.lines.push(amount.clone());
            tree.branch(*token, "");
        }
    }
    tree.lines
}

struct Tree<'a> {
    legs: &'a [Leg],
    drawn: Vec<Address>,
    lines: Vec<String>,
}

impl Tree<'_> {
    /// Draws the steps that spend a token, and what each leads to.
    fn branch(&mut self, token: Address, indent: &str) {
        self.drawn.push(token);
        let legs: Vec<&Leg> = self.legs.iter().filter(|leg| leg.token_in == token).collect();
        let whole = legs.iter().fold(U256::ZERO, |sum, leg| sum.saturating_add(leg.amount_in));
        for (index, leg) in legs.iter().enumerate() {
            let is_last = index + 1 == legs.len();
            let (mark, below) = if is_last { ("└─", "   ") } else { ("├─", "│  ") };
            let share = share(leg.amount_in, whole);
            let joins = self.drawn.contains(&leg.token_out) && self.is_spent(leg.token_out);
            let joined = if joins { ", joins it above" } else { "" };
            self.lines.push(format!("{indent}{mark} {share:>6}  {}{joined}  ({})", leg.paid, leg.pool));
            if !self.drawn.contains(&leg.token_out) {
                self.branch(leg.token_out, &format!("{indent}{below}"));
            }
        }
    }

    fn is_spent(&self, token: Address) -> bool {
        self.legs.iter().any(|leg| leg.token_in == token)
    }
}

/// Writes a part of a whole, in per cent with two decimals, rounded to the nearest.
fn share(part: U256, whole: U256) -> String {
    let scaled = part.saturating_mul(U256::from(10_000u64)).saturating_add(whole >> 1);
    let bps: u64 = scaled.checked_div(whole).map_or(0, |bps| bps.saturating_to());
    format!("{}.{:02}%", bps / 100, bps % 100)
}
