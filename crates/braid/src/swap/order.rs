//! Holding a service's order against what was asked, before anything is signed.

use braid_execution::{Order, minimum_amount};
use braid_primitives::{Address, U256};
use eyre::{Result, eyre};
use serde_json::Value;

use super::quote::Quote;

/// Checks that the order takes what is sold, pays the recipient, and accepts no less than the slippage allows of what the answer shows.
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
    let sold: Vec<(Address, U256)> = quote.sold.iter().map(|(token, units)| (token.address, *units)).collect();
    let bought: Vec<Address> = quote.bought.iter().map(|token| token.address).collect();
    let keeps =
        quote.plan.taker == taker && keeps(&quote.plan.order, &sold, &bought, &expected, recipient, slippage_bps);
    if keeps { Ok(()) } else { Err(eyre!("the service's order is not what was asked for: nothing was signed")) }
}

/// Whether an order does what was asked.
fn keeps(
    order: &Order,
    sold: &[(Address, U256)],
    bought: &[Address],
    expected: &[U256],
    recipient: Address,
    slippage_bps: u16,
) -> bool {
    let least = |amount: &U256| minimum_amount(*amount, slippage_bps).max(U256::ONE);
    let takes = order.inputs.iter().map(|input| (input.token, input.amount));
    let pays = order.outputs.iter().map(|output| output.token);
    let enough = order.outputs.iter().zip(expected).all(|(output, amount)| output.amount >= least(amount));
    order.recipient == recipient
        && order.partner_fee.is_none()
        && takes.eq(sold.iter().copied())
        && pays.eq(bought.iter().copied())
        && expected.len() == bought.len()
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
        let keeps = |order: &Order| keeps(order, &[(usdc, U256::from(100))], &[weth], &[U256::from(10_000)], me, 50);
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
}
