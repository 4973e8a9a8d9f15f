//! Prints a service's quote.

use braid_primitives::{Address, U256};
use braid_protocols::Product;
use braid_quoting::picture;
use braid_quoting::stored::Plan;
use eyre::Result;
use serde_json::Value;

use crate::exit::{Exit, Failed};
use crate::out;
use crate::quote::tree;
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
    /// Prints the route, its outputs and costs.
    pub(super) fn print(&self) -> Result<()> {
        let answer = &self.answer;
        let outputs = answer["estimated_outputs"].as_array().map_or(&[][..], Vec::as_slice);
        let amount = |value: &Value| value.as_str().and_then(|text| text.parse().ok()).unwrap_or(U256::ZERO);
        let paid = |key: &str| {
            let rows = self.bought.iter().zip(outputs).map(|(token, row)| token.amount(amount(&row[key])));
            rows.collect::<Vec<_>>().join(" + ")
        };
        let inputs = answer["estimated_inputs"].as_array().map_or(&[][..], Vec::as_slice);
        let sold = |(token, row): (&Named, &Value)| (token.address, token.amount(amount(&row["expected_amount"])));
        let sold: Vec<_> = self.sold.iter().map(|(token, _)| token).zip(inputs).map(sold).collect();
        let tokens = answer["path"]["tokens"].as_array().map_or(&[][..], Vec::as_slice);
        let address = |value: &Value| value.as_str().and_then(|text| text.parse::<Address>().ok()).unwrap_or_default();
        let in_words = |step: &Value| {
            let known = tokens.iter().find(|token| token["address"] == step["token_out"]);
            let places =
                known.and_then(|token| token["decimals"].as_u64()).and_then(|places| u8::try_from(places).ok());
            let symbol = known.and_then(|token| token["symbol"].as_str()).unwrap_or_default();
            format!("{} {}", format_units(amount(&step["amount_out"]), places.unwrap_or_default()), plain(symbol))
        };
        let tree_step = |step: &Value| {
            let id = step["protocol"].as_str().unwrap_or_default();
            let product = Product::ALL.iter().find(|product| product.id() == id).map_or(id, |product| product.name());
            tree::TreeStep {
                token_in: address(&step["token_in"]),
                token_out: address(&step["token_out"]),
                amount_in: amount(&step["amount_in"]),
                paid: in_words(step),
                pool: format!("{product} {}", step["pool"].as_str().unwrap_or_default()),
            }
        };
        let steps: Vec<_> = answer["path"]["steps"].as_array().into_iter().flatten().map(tree_step).collect();
        tree::print(&sold, &paid("expected_amount"), &steps)?;
        if let (Some(_), [(token, maximum)]) = (self.exact, self.sold.as_slice()) {
            out::line(format_args!("at most      {}", token.amount(*maximum)))?;
        }
        out::line(format_args!("at least     {}", paid("minimum_amount")))?;
        let costs = &answer["costs"];
        let wei = amount(&costs["gas_cost_wei"]);
        out::line(format_args!(
            "gas          {} units, {} ETH ({})",
            costs["total_gas_units"],
            format_units(wei, 18),
            plain(costs["gas_priority"].as_str().unwrap_or_default())
        ))?;
        match answer["certificate"]["gap_bps"].as_f64() {
            Some(gap) => out::line(format_args!("certificate  at most {} bps below the best", picture::gap_bps(gap)))?,
            None => out::line("certificate  none")?,
        }
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            let [code, message] = ["code", "message"].map(|key| plain_words(warning[key].as_str().unwrap_or_default()));
            out::line(format_args!("warning      {code}: {message}"))?;
        }
        Ok(())
    }

    /// Refuses a swap that would revert even with all approvals.
    pub(super) fn check_simulation(&self) -> Result<()> {
        let simulation = &self.answer["simulation"];
        if let Some(short) = self.answer["issues"]["balance"].as_array().and_then(|issues| issues.first()) {
            return Err(Failed::new(Exit::Reverted, short_of(&self.sold, short)).into());
        }
        match simulation["status"].as_str() {
            Some("success") => {
                out::line(format_args!("simulation   {} with the approvals in place", out::good("goes through")))
            }
            Some("reverted") => {
                let why = simulation["revert"]["message"].as_str().unwrap_or("no reason given");
                Err(Failed::new(Exit::Reverted, format!("the swap would revert: {why}")).into())
            }
            _ => out::line("simulation   unavailable"),
        }
    }
}

/// Writes the balance that an account lacks.
fn short_of(sold: &[(Named, U256)], issue: &Value) -> String {
    let address = issue["token"].as_str().and_then(|text| text.parse::<Address>().ok());
    let token = sold.iter().map(|(token, _)| token).find(|token| Some(token.address) == address);
    let amount = |value: &Value| {
        let units = value.as_str().and_then(|text| text.parse().ok()).unwrap_or(U256::ZERO);
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
