//! Requests a quote from a service, and verifies it.

use braid_primitives::Address;
use braid_quoting::receipt::{Receipt, Verdict, verify};
use eyre::{Result, eyre};
use serde_json::json;

use super::quote::Quote;
use super::{Args, order};
use crate::api::Api;
use crate::exit::{Exit, Failed};
use crate::tokens::{Sides, Terms};

/// Requests a quote and its receipt, and checks both.
pub(super) async fn quote(args: &Args, sides: Sides, taker: Address, api: &Api) -> Result<Quote> {
    let mut request = sides.request();
    request["taker"] = json!(taker);
    request["recipient"] = json!(args.recipient);
    request["slippage_tolerance_bps"] = json!(args.slippage_bps);
    request["ttl_s"] = json!(args.ttl_s);
    request["gas_priority"] = json!(args.gas_priority);
    request["simulate"] = json!(true);
    let answer = api.post("/v1/quote", &request).await?;
    let id = answer["quote_id"].as_str().ok_or_else(|| eyre!("the service's answer has no quote_id"))?.to_owned();
    let document = api.get(&format!("/v1/quote/{id}/receipt"), &[]).await?;
    let findings = verify(document.to_string().as_bytes(), None)?;
    if let Some(wrong) = findings.iter().find(|finding| matches!(finding.verdict, Verdict::Differs(_))) {
        let text = format!("the service's quote differs from its own receipt ({}): nothing was signed", wrong.about);
        return Err(Failed::new(Exit::Disagrees, text).into());
    }
    let receipt: Receipt = serde_json::from_value(document)?;
    let Sides { inputs, outputs: bought, terms } = sides;
    let (amounts, exact) = match terms {
        Terms::Sale { amounts, .. } => (amounts, None),
        Terms::Purchase { amount } => (vec![order::maximum_sold(&answer, args.slippage_bps)?], Some(amount)),
    };
    let sold = inputs.into_iter().zip(amounts).collect();
    let quote = Quote { id, answer, plan: receipt.plan, sold, bought, exact };
    order::check(&quote, &receipt.quote, taker, args.recipient.unwrap_or(taker), args.slippage_bps)?;
    Ok(quote)
}
