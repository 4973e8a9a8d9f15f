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
    /// Amount that it makes, in atomic units.
    pub amount_out: U256,
    /// Product and key of the pool.
    pub pool: String,
}

/// A route for printing.
pub(crate) struct TreeRoute<'a> {
    /// Tokens and amounts that are sold.
    pub inputs: &'a [(Address, U256)],
    /// Tokens and amounts that are bought.
    pub outputs: &'a [(Address, U256)],
    /// Its steps, in order.
    pub steps: &'a [TreeStep],
    /// Writes an amount of a token, with its symbol.
    pub amount: &'a dyn Fn(Address, U256) -> String,
}

/// Prints the amounts sold and bought, and the route between them.
pub(crate) fn print(route: &TreeRoute<'_>) -> Result<()> {
    let sum = |ends: &[(Address, U256)]| {
        let amounts: Vec<String> = ends.iter().map(|(token, amount)| (route.amount)(*token, *amount)).collect();
        amounts.join(" + ")
    };
    out::line(format_args!("{}  →  {}\n", sum(route.inputs), sum(route.outputs)))?;
    lines(route).iter().try_for_each(out::line)?;
    out::line("")
}

/// Returns the lines of a route: each input with its amount, and below it the steps that spend it.
fn lines(route: &TreeRoute<'_>) -> Vec<String> {
    let mut tree = Tree { route, drawn: Vec::new(), lines: Vec::new() };
    for (token, amount) in route.inputs {
        // an input that steps make too is printed with them
        if !tree.drawn.contains(token) {
            tree.lines.push((route.amount)(*token, *amount));
            tree.branch(*token, "");
        }
    }
    tree.lines
}

struct Tree<'a> {
    route: &'a TreeRoute<'a>,
    drawn: Vec<Address>,
    lines: Vec<String>,
}

impl Tree<'_> {
    /// Adds the lines of what becomes of a token: the part of an output that is kept, the steps that spend it, and the
    /// steps after them.
    fn branch(&mut self, token: Address, indent: &str) {
        self.drawn.push(token);
        let steps: Vec<&TreeStep> = self.route.steps.iter().filter(|step| step.token_in == token).collect();
        let kept = self.kept(token).filter(|_| !steps.is_empty());
        let mut parts: Vec<(U256, Option<&TreeStep>)> = kept.map(|amount| (amount, None)).into_iter().collect();
        parts.extend(steps.iter().map(|step| (step.amount_in, Some(*step))));
        let shares = shares(&parts.iter().map(|(amount, _)| *amount).collect::<Vec<_>>());
        for (index, ((amount, step), share)) in parts.iter().zip(shares).enumerate() {
            let is_last = index + 1 == parts.len();
            let (mark, below) = if is_last { ("└─", "   ") } else { ("├─", "│  ") };
            let Some(step) = step else {
                let kept = (self.route.amount)(token, *amount);
                self.lines.push(format!("{indent}{mark} {share:>6}  {kept}, kept"));
                continue;
            };
            let paid = (self.route.amount)(step.token_out, step.amount_out);
            let joined = self.joined(step);
            self.lines.push(format!("{indent}{mark} {share:>6}  {paid}{joined}  ({})", step.pool));
            if !self.drawn.contains(&step.token_out) {
                self.branch(step.token_out, &format!("{indent}{below}"));
            }
        }
    }

    /// Says where a token that several steps make is spent, and how much of it there is.
    fn joined(&self, step: &TreeStep) -> String {
        let token = step.token_out;
        if !self.route.steps.iter().any(|other| other.token_in == token) {
            return String::new();
        }
        if self.drawn.contains(&token) {
            return ", joins it above".into();
        }
        let given = self.route.inputs.iter().filter(|(input, _)| *input == token).map(|(_, amount)| *amount);
        let whole = given.fold(self.made(token), U256::saturating_add);
        if whole == step.amount_out {
            String::new()
        } else {
            format!(", of {} in all", (self.route.amount)(token, whole))
        }
    }

    fn made(&self, token: Address) -> U256 {
        let made = self.route.steps.iter().filter(|step| step.token_out == token).map(|step| step.amount_out);
        made.fold(U256::ZERO, U256::saturating_add)
    }

    /// Returns the part of an output that no step spends; `None` for another token.
    fn kept(&self, token: Address) -> Option<U256> {
        let is_output = self.route.outputs.iter().any(|(output, _)| *output == token);
        let spent = self.route.steps.iter().filter(|step| step.token_in == token).map(|step| step.amount_in);
        is_output.then(|| self.made(token).saturating_sub(spent.fold(U256::ZERO, U256::saturating_add)))
    }
}

/// Writes the parts of a whole in per cent, with two decimals. They sum to 100: each is the difference of two rounded sums.
fn shares(parts: &[U256]) -> Vec<String> {
    let whole = parts.iter().copied().fold(U256::ZERO, U256::saturating_add);
    let (mut sum, mut written_bps) = (U256::ZERO, 0);
    let share = |part: &U256| {
        sum = sum.saturating_add(*part);
        let scaled = sum.saturating_mul(U256::from(10_000u64)).saturating_add(whole >> 1);
        let bps: u64 = scaled.checked_div(whole).map_or(0, |bps| bps.saturating_to());
        let own = bps.saturating_sub(written_bps);
        written_bps = bps;
        format!("{}.{:02}%", own / 100, own % 100)
    };
    parts.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETH: Address = Address::with_last_byte(1);
    const USDC: Address = Address::with_last_byte(2);
    const WBTC: Address = Address::with_last_byte(3);
    const DAI: Address = Address::with_last_byte(4);

    fn step(token_in: Address, token_out: Address, amount_in: u64, amount_out: u64) -> TreeStep {
        let [amount_in, amount_out] = [amount_in, amount_out].map(U256::from);
        TreeStep { token_in, token_out, amount_in, amount_out, pool: "pool".into() }
    }

    fn drawn(steps: &[TreeStep], outputs: &[(Address, U256)]) -> Vec<String> {
        let amount = |token: Address, amount: U256| format!("{amount} T{}", token.0[19]);
        lines(&TreeRoute { inputs: &[(ETH, U256::from(10))], outputs, steps, amount: &amount })
    }

    #[test]
    fn the_shares_of_an_output_that_is_also_sent_on_add_up_with_what_is_kept() {
        let steps =
            [step(ETH, USDC, 7, 700), step(ETH, USDC, 3, 300), step(USDC, WBTC, 250, 5), step(USDC, WBTC, 150, 3)];
        let lines = drawn(&steps, &[(USDC, U256::from(600)), (WBTC, U256::from(8))]);
        let expected = [
            "10 T1",
            "├─ 70.00%  700 T2, of 1000 T2 in all  (pool)",
            "│  ├─ 60.00%  600 T2, kept",
            "│  ├─ 25.00%  5 T3  (pool)",
            "│  └─ 15.00%  3 T3  (pool)",
            "└─ 30.00%  300 T2, joins it above  (pool)",
        ];
        assert_eq!(lines, expected);
        // The same token, if it is no output, is spent whole; and an output that no step spends needs no line.
        let lines = drawn(&steps, &[(WBTC, U256::from(8))]);
        assert!(lines.iter().all(|line| !line.contains("kept")) && lines[2].contains("62.50%"), "{lines:#?}");
    }

    #[test]
    fn shares_sum_to_all() {
        for parts in [&[1u64, 1, 1][..], &[1, 1, 1, 1, 1, 1, 1], &[1, 99_999], &[7]] {
            let parts: Vec<U256> = parts.iter().copied().map(U256::from).collect();
            let shares = shares(&parts);
            let sum: u64 = shares.iter().map(|share| share.replace(['.', '%'], "").parse::<u64>().unwrap()).sum();
            assert_eq!(sum, 10_000, "{shares:?}");
        }
        assert_eq!(drawn(&[step(ETH, DAI, 10, 1)], &[(DAI, U256::ONE)])[1], "└─ 100.00%  1 T4  (pool)");
    }
}
