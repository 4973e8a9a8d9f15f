//! Parses the swap that an assistant describes. The side of an amount follows from the JSON structure, never from text.

use eyre::{Result, eyre};
use serde_json::Value;

use crate::quote::words::{Asked, shares};

/// A token of one side, with its amount or share.
struct Entry<'a> {
    token: &'a str,
    amount: Option<&'a str>,
    share: Option<&'a str>,
}

/// Parses both sides. The error names every wrong field.
pub(super) fn asked(given: &Value) -> Result<Asked> {
    let mut wrong = Vec::new();
    let sold = side(given, "sell", &["token", "amount"], &mut wrong);
    let bought = side(given, "buy", &["token", "amount", "share_percent"], &mut wrong);
    if !wrong.is_empty() {
        return Err(eyre!("{}", wrong.join("; ")));
    }
    let amounts: Option<Vec<_>> = sold.iter().map(|entry| Some((entry.amount?.into(), entry.token.into()))).collect();
    match (amounts, sold.as_slice(), bought.as_slice()) {
        (Some(inputs), _, bought) if bought.iter().all(|entry| entry.amount.is_none()) => {
            let named: Vec<_> = bought.iter().map(|entry| (entry.token, entry.share)).collect();
            Ok(Asked::Sale { inputs, outputs: shares(&named)? })
        }
        (None, [Entry { token: pay, .. }], [Entry { token, amount: Some(amount), share: None }]) => {
            Ok(Asked::Purchase { pay: (*pay).into(), buy: ((*amount).into(), (*token).into()) })
        }
        _ => Err(eyre!(
            "to sell, give every entry of sell an amount and no entry of buy one. To buy an exact amount, give it to the only entry of buy, without a \
             share, and none to the only entry of sell"
        )),
    }
}

fn side<'a>(given: &'a Value, name: &str, fields: &[&str], wrong: &mut Vec<String>) -> Vec<Entry<'a>> {
    let entries = given[name].as_array().map_or(&[][..], Vec::as_slice);
    if entries.is_empty() {
        wrong.push(format!("{name} must be a list of one entry or more"));
    }
    let mut read = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let at = format!("{name}[{index}]");
        let Some(object) = entry.as_object() else {
            wrong.push(format!("{at} must be an object, as {{\"token\": \"USDC\"}}"));
            continue;
        };
        let strange = object.keys().filter(|key| !fields.contains(&key.as_str()));
        wrong.extend(strange.map(|key| format!("{at} has the unknown field {key:?}: it takes {}", fields.join(", "))));
        let mut text = |key: &str| {
            let value = object.get(key).filter(|value| !value.is_null())?;
            if value.as_str().is_none() {
                wrong.push(format!("{at}.{key} must be text"));
            }
            value.as_str()
        };
        let (token, amount, share) = (text("token"), text("amount"), text("share_percent"));
        if object.get("token").is_none_or(Value::is_null) {
            wrong.push(format!("{at}.token is missing"));
        }
        read.push(Entry { token: token.unwrap_or_default(), amount, share });
    }
    read
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sale_and_a_purchase_are_told_apart_by_where_the_amount_is() {
        let sale = json!({"sell": [{"token": "ETH", "amount": "1.5"}, {"token": "3", "amount": "2"}],
            "buy": [{"token": "USDC", "share_percent": "60"}, {"token": "WBTC", "share_percent": "40"}]});
        let pairs = |list: &[(&str, &str)]| list.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        let outputs = vec![("USDC".into(), 6_000), ("WBTC".into(), 4_000)];
        assert_eq!(asked(&sale).unwrap(), Asked::Sale { inputs: pairs(&[("1.5", "ETH"), ("2", "3")]), outputs });
        let purchase =
            json!({"sell": [{"token": "ETH", "amount": null}], "buy": [{"token": "USDC", "amount": "3000"}]});
        let buy = ("3000".into(), "USDC".into());
        assert_eq!(asked(&purchase).unwrap(), Asked::Purchase { pay: "ETH".into(), buy });
    }

    #[test]
    fn an_amount_is_never_taken_for_one_of_the_other_side() {
        // If their words were joined, each of these would describe a swap that was not requested.
        for odd in [
            json!({"sell": [{"token": "ETH"}, {"token": "USDC", "amount": "3000"}], "buy": [{"token": "DAI"}]}),
            json!({"sell": [{"token": "ETH", "amount": "1"}], "buy": [{"token": "USDC", "amount": "3000"}]}),
            json!({"sell": [{"token": "ETH"}], "buy": [{"token": "USDC", "amount": "3000"}, {"token": "DAI"}]}),
            json!({"sell": [{"token": "ETH"}, {"token": "DAI"}], "buy": [{"token": "USDC", "amount": "3000"}]}),
            json!({"sell": [{"token": "ETH"}], "buy": [{"token": "USDC", "amount": "3000", "share_percent": "100"}]}),
            json!({"sell": [{"token": "ETH"}], "buy": [{"token": "USDC"}]}),
        ] {
            let told = asked(&odd).unwrap_err().to_string();
            assert!(told.starts_with("to sell, give every entry of sell an amount"), "{odd}: {told}");
        }
        // A token's name is not read as an amount.
        let named = json!({"sell": [{"token": "3000", "amount": "1"}], "buy": [{"token": "5 USDC"}]});
        let outputs = vec![("5 USDC".into(), 10_000)];
        assert_eq!(asked(&named).unwrap(), Asked::Sale { inputs: vec![("1".into(), "3000".into())], outputs });
    }

    #[test]
    fn every_wrong_field_is_told_at_once() {
        let wrong =
            json!({"sell": [{"token": "ETH", "amount": 2, "share_percent": "5"}, {"amount": "1"}], "buy": ["USDC:60"]});
        assert_eq!(
            asked(&wrong).unwrap_err().to_string(),
            "sell[0] has the unknown field \"share_percent\": it takes token, amount; sell[0].amount must be text; sell[1].token is missing; \
             buy[0] must be an object, as {\"token\": \"USDC\"}"
        );
        assert_eq!(
            asked(&json!({"sell": []})).unwrap_err().to_string(),
            "sell must be a list of one entry or more; buy must be a list of one entry or more"
        );
    }
}
