//! Prints a service's quote.

use braid_primitives::{Address, U256};
use braid_protocols::Product;
use braid_quoting::picture;
use braid_quoting::stored::Plan;
use eyre::Result;
use serde_json::Value;

use crate::exit::{Exit, Failed};
use crate::impact::Impact;
use crate::out;
use crate::quote::tree::{self, TreeRoute, TreeStep};
use crate::source::{plain, plain_words};
use crate::tokens::Named;
use crate::units::format_units;

/// A quote of a service, with its verified receipt.
#[derive(Debug)]
pub(super) struct Quote {
    pub id: String,
    pub answer: Value,
    /// Order and program, from the receipt.
    pub plan: Plan,
    /// Amounts sold; for a purchase, the maximum.
    pub sold: Vec<(Named, U256)>,
    pub bought: Vec<Named>,
    /// Exact amount of a purchase.
    pub exact: Option<U256>,
}

impl Quote {
    /// Prints the route, its outputs and costs. `is_own` tells whether the service ends with this process, and its quotes too.
    pub(super) fn print(&self, is_own: bool) -> Result<()> {
        let answer = &self.answer;
        self.print_tree()?;
        let paid = |key: &str| {
            let rows = self.bought.iter().zip(rows(&answer["estimated_outputs"]));
            rows.map(|(token, row)| token.amount(units(&row[key]))).collect::<Vec<_>>().join(" + ")
        };
        if let (Some(_), [(token, maximum)]) = (self.exact, self.sold.as_slice()) {
            out::line(format_args!("at most      {}", token.amount(*maximum)))?;
        }
        out::line(format_args!("at least     {}", paid("minimum_amount")))?;
        let costs = &answer["costs"];
        let wei = units(&costs["gas_cost_wei"]);
        out::line(format_args!(
            "gas          {} units, {} ETH ({})",
            costs["total_gas_units"],
            format_units(wei, 18),
            plain(costs["gas_priority"].as_str().unwrap_or_default())
        ))?;
        let impact = self.impact();
        out::line(format_args!("price impact {}", impact.text()))?;
        let warns_of = |code: &str| rows(&answer["warnings"]).iter().any(|warning| warning["code"] == code);
        match answer["certificate"]["gap_bps"].as_f64().filter(|_| !warns_of("BOUND_EXCEEDED")) {
            Some(gap) => out::line(format_args!("certificate  at most {} bps below the best", picture::gap_bps(gap)))?,
            None => out::line("certificate  none")?,
        }
        let counts = |warning: &&Value| !is_own || warning["code"] != "QUOTE_NOT_ON_DISK";
        for warning in rows(&answer["warnings"]).iter().filter(counts) {
            let [code, message] = ["code", "message"].map(|key| plain_words(warning[key].as_str().unwrap_or_default()));
            out::line(format_args!("warning      {code}: {message}"))?;
        }
        // add what the service does not warn of: it looks at the outputs together only
        let is_told = warns_of("HIGH_PRICE_IMPACT");
        match impact.warning().filter(|_| !is_told) {
            Some(warning) => out::line(format_args!("warning      {warning}")),
            None => Ok(()),
        }
    }

    /// Prints the route as a tree.
    fn print_tree(&self) -> Result<()> {
        let answer = &self.answer;
        let named = self.sold.iter().map(|(token, _)| token).chain(&self.bought);
        let known: Vec<(Address, String, u8)> = named
            .map(|token| (token.address, token.symbol.clone(), token.decimals))
            .chain(rows(&answer["path"]["tokens"]).iter().map(of_path))
            .collect();
        let amount = |token: Address, amount: U256| match known.iter().find(|(address, ..)| *address == token) {
            Some((_, symbol, decimals)) => format!("{} {symbol}", format_units(amount, *decimals)),
            None => amount.to_string(),
        };
        let ends = |tokens: &mut dyn Iterator<Item = Address>, side: &str| -> Vec<(Address, U256)> {
            tokens.zip(rows(&answer[side]).iter().map(|row| units(&row["expected_amount"]))).collect()
        };
        let inputs = ends(&mut self.sold.iter().map(|(token, _)| token.address), "estimated_inputs");
        let outputs = ends(&mut self.bought.iter().map(|token| token.address), "estimated_outputs");
        let steps: Vec<_> = rows(&answer["path"]["steps"]).iter().map(tree_step).collect();
        tree::print(&TreeRoute { inputs: &inputs, outputs: &outputs, steps: &steps, amount: &amount })
    }

    /// Returns the price impact that the service states.
    pub(super) fn impact(&self) -> Impact {
        let outputs = self.bought.iter().zip(rows(&self.answer["estimated_outputs"]));
        Impact {
            total_bps: self.answer["total_price_impact_bps"].as_i64(),
            outputs: outputs.map(|(token, row)| (token.symbol.clone(), row["price_impact_bps"].as_i64())).collect(),
        }
    }

    /// Returns whether the swap was simulated. Refuses one that would revert even with all approvals.
    pub(super) fn check_simulation(&self) -> Result<bool> {
        let simulation = &self.answer["simulation"];
        if let Some(short) = self.answer["issues"]["balance"].as_array().and_then(|issues| issues.first()) {
            return Err(Failed::new(Exit::Reverted, short_of(&self.sold, short)).into());
        }
        match simulation["status"].as_str() {
            Some("success") => {
                out::line(format_args!("simulation   {} with the approvals in place", out::good("goes through")))?;
                Ok(true)
            }
            Some("reverted") => {
                let why = simulation["revert"]["message"].as_str().unwrap_or("no reason given");
                Err(Failed::new(Exit::Reverted, format!("the swap would revert: {why}")).into())
            }
            _ => out::line("simulation   unavailable").map(|()| false),
        }
    }
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn units(value: &Value) -> U256 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or(U256::ZERO)
}

fn address(value: &Value) -> Address {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns address, symbol and decimals of a token in an answer's path.
fn of_path(token: &Value) -> (Address, String, u8) {
    let decimals = token["decimals"].as_u64().and_then(|places| u8::try_from(places).ok());
    (address(&token["address"]), plain(token["symbol"].as_str().unwrap_or_default()), decimals.unwrap_or_default())
}

fn tree_step(step: &Value) -> TreeStep {
    let id = step["protocol"].as_str().unwrap_or_default();
    let product = Product::ALL.iter().find(|product| product.id() == id).map_or(id, |product| product.name());
    TreeStep {
        token_in: address(&step["token_in"]),
        token_out: address(&step["token_out"]),
        amount_in: units(&step["amount_in"]),
        amount_out: units(&step["amount_out"]),
        pool: plain_words(&format!("{product} {}", step["pool"].as_str().unwrap_or_default())),
    }
}

/// Writes the balance that an account lacks.
fn short_of(sold: &[(Named, U256)], issue: &Value) -> String {
    let address = issue["token"].as_str().and_then(|text| text.parse::<Address>().ok());
    let token = sold.iter().map(|(token, _)| token).find(|token| Some(token.address) == address);
    let amount = |value: &Value| {
        let units = units(value);
        token.map_or_else(|| format!("{units} atomic units"), |token| token.amount(units))
    };
    format!("the account holds {}, the swap sells {}", amount(&issue["actual"]), amount(&issue["expected"]))
}

#[cfg(test)]
mod tests {
    use braid_primitives::address;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_account_lacks_is_told_in_whole_tokens() {
        let usdc = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
        let token = Named { address: usdc, symbol: "USDC".into(), decimals: 6, others: 0 };
        let issue =
            json!({"token": usdc.to_checksum(None), "actual": "1000031828372466", "expected": "2000000000000000"});
        let told = short_of(&[(token, U256::ZERO)], &issue);
        assert_eq!(told, "the account holds 1000031828.372466 USDC, the swap sells 2000000000 USDC");
    }
}
