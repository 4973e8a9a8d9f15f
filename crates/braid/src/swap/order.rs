//! Checks a service's order against the arguments, before anything is signed.

use braid_execution::{Order, maximum_amount, minimum_amount};
use braid_primitives::{Address, U256};
use eyre::{Result, eyre};
use serde_json::Value;

use super::quote::Quote;

/// Returns the maximum input of a purchase. Refuses one above the needed input plus slippage.
pub(super) fn maximum_sold(answer: &Value, slippage_bps: u16) -> Result<U256> {
    let units = |value: &Value| value.as_str().and_then(|text| text.parse::<U256>().ok());
    let maximum = units(&answer["estimated_inputs"][0]["maximum_amount"]);
    let needed = units(&answer["exact_output"]["needed_input"]);
    let (maximum, needed) = maximum.zip(needed).ok_or_else(|| eyre!("the service's answer is not of a purchase"))?;
    if maximum > maximum_amount(needed, slippage_bps) {
        return Err(eyre!("the service would sell more than the slippage allows: nothing was signed"));
    }
    Ok(maximum)
}

/// Checks that the order takes the sold amounts, pays the recipient, and has minimums of at least the expected amounts less
/// slippage or, for a purchase, the exact amount.
pub(super) fn check(
    quote: &Quote,
    receipted: &Value,
    taker: Address,
    recipient: Address,
    slippage_bps: u16,
) -> Result<()> {
    if *receipted != quote.answer {
        return Err(eyre!("the receipt is of another answer: nothing was signed"));
    }
    let amounts = receipted["estimated_outputs"].as_array().into_iter().flatten();
    let expected: Option<Vec<U256>> =
        amounts.map(|row| row["expected_amount"].as_str().and_then(|text| text.parse().ok())).collect();
    let expected = expected.ok_or_else(|| eyre!("the service's answer has no amounts"))?;
    let least: Vec<U256> = match quote.exact {
        Some(amount) => vec![amount],
        None => expected.iter().map(|amount| minimum_amount(*amount, slippage_bps).max(U256::ONE)).collect(),
    };
    let sold: Vec<(Address, U256)> = quote.sold.iter().map(|(token, units)| (token.address, *units)).collect();
    let bought: Vec<(Address, U256)> = quote.bought.iter().map(|token| token.address).zip(least).collect();
    let all = bought.len() == quote.bought.len() && bought.len() == expected.len();
    if all && quote.plan.taker == taker && keeps(&quote.plan.order, &sold, &bought, recipient) {
        return Ok(());
    }
    Err(eyre!("the service's order is not what was asked for: nothing was signed"))
}

/// Returns whether an order sells these amounts, and pays the recipient at least the others.
fn keeps(order: &Order, sold: &[(Address, U256)], bought: &[(Address, U256)], recipient: Address) -> bool {
    let takes = order.inputs.iter().map(|input| (input.token, input.amount));
    let pays = order.outputs.iter().map(|output| output.token);
    let enough = order.outputs.iter().zip(bought).all(|(output, (_, least))| output.amount >= *least);
    order.recipient == recipient
        && order.partner_fee.is_none()
        && takes.eq(sold.iter().copied())
        && pays.eq(bought.iter().map(|(token, _)| *token))
        && enough
}

#[cfg(test)]
mod tests {
    use braid_execution::{PartnerFee, TokenAmount};

    use super::*;

    #[test]
    fn an_order_that_takes_more_pays_less_or_pays_another_is_refused() {
        let [usdc, weth, me] = [1, 2, 3].map(Address::with_last_byte);
        let amount = |token, amount| TokenAmount { token, amount: U256::from(amount) };
        let order = Order {
            inputs: vec![amount(usdc, 100)],
            outputs: vec![amount(weth, 9_950)],
            recipient: me,
            deadline: 1,
            partner_fee: None,
        };
        let keeps = |order: &Order| keeps(order, &[(usdc, U256::from(100))], &[(weth, U256::from(9_950))], me);
        assert!(keeps(&order));
        let fee = Some(PartnerFee { bps: 1, recipient: usdc, on_output: false });
        for wrong in [
            Order { inputs: vec![amount(usdc, 101)], ..order.clone() },
            Order { inputs: vec![amount(weth, 100)], ..order.clone() },
            Order { outputs: vec![amount(weth, 9_949)], ..order.clone() },
            Order { outputs: vec![amount(usdc, 9_950)], ..order.clone() },
            Order { outputs: vec![], ..order.clone() },
            Order { recipient: usdc, ..order.clone() },
            Order { partner_fee: fee, ..order.clone() },
        ] {
            assert!(!keeps(&wrong), "{wrong:?}");
        }
    }

    #[test]
    fn a_purchase_that_sells_more_than_the_slippage_allows_is_refused() {
        let answer = |maximum: &str| serde_json::json!({"estimated_inputs": [{"maximum_amount": maximum}], "exact_output": {"needed_input": "10000"}});
        assert_eq!(maximum_sold(&answer("10050"), 50).unwrap(), U256::from(10_050));
        assert!(maximum_sold(&answer("10051"), 50).is_err());
        assert!(maximum_sold(&serde_json::json!({"exact_output": null}), 50).is_err());
    }
}
