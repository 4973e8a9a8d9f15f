//! The tools that an assistant is offered, and the check of their arguments.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// Returns an error for an unknown argument of a tool, or one of the wrong type.
pub(super) fn wrong_argument(name: &str, given: &Map<String, Value>) -> Option<String> {
    let tool = tools().into_iter().find(|tool| tool.name == name)?;
    let takes = tool.input_schema.get("properties")?.as_object()?;
    given.iter().find_map(|(key, value)| {
        let Some(property) = takes.get(key) else {
            return Some(format!("{key:?} is no argument of {name}; tools/list names them"));
        };
        let (fits, expected) = match property["type"].as_str()? {
            "integer" => (value.is_u64() || value.is_i64(), "an integer"),
            "boolean" => (value.is_boolean(), "true or false"),
            "array" => (value.is_array(), "a list"),
            _ => (value.is_string(), "text"),
        };
        (!fits && !value.is_null()).then(|| format!("{key:?} must be {expected}, got {value}"))
    })
}

/// Returns the tools, with the schemas of their arguments.
pub(super) fn tools() -> Vec<Tool> {
    let entry = |more: Value| {
        let mut properties = json!({"token": {"type": "string", "description": "Symbol or address"}});
        more.as_object().into_iter().flatten().for_each(|(key, value)| properties[key] = value.clone());
        json!({"type": "object", "properties": properties, "required": ["token"], "additionalProperties": false})
    };
    let sold = entry(json!({
        "amount": {"type": "string", "description": "Whole tokens, decimal: 1.5. Omit it if buy has an exact amount"},
    }));
    let bought = entry(json!({
        "share_percent": {"type": "string", "description": "Share of the value in per cent, with several outputs: 60. Omit it for all outputs for equal shares"},
        "amount": {"type": "string", "description": "Exact amount to buy, in whole tokens. Then buy and sell have one entry each, and that of sell has no amount"},
    }));
    let swap = json!({
        "sell": {"type": "array", "minItems": 1, "maxItems": 6, "description": "What to sell.", "items": sold},
        "buy": {"type": "array", "minItems": 1, "maxItems": 6, "description": "What to get.", "items": bought},
        "taker": {"type": "string", "description": "The account that holds what is sold and sends the transaction."},
        "recipient": {"type": "string", "description": "Who receives what is bought. Default: the taker."},
        "slippage_bps": {"type": "integer", "minimum": 0, "maximum": 5000, "description": "Largest acceptable slippage in basis points. Default 100."},
        "ttl_s": {"type": "integer", "minimum": 10, "maximum": 900, "description": "Seconds that the quote is good for. Default 120."},
        "exclude_protocols": {"type": "array", "items": {"type": "string"}, "description": "Protocols to exclude."},
        "simulate": {"type": "boolean", "description": "Simulate the transaction."},
    });
    vec![
        tool(
            "quote",
            "Find the best route for a swap, or the least that buys an exact amount: amounts, minimums, route, costs, certificate, approvals.",
            &swap,
            &["sell", "buy", "taker"],
        ),
        tool(
            "explain",
            "Find the best route for a swap and say why it is the best: what each pool adds, what the alternatives pay.",
            &swap,
            &["sell", "buy", "taker"],
        ),
        tool(
            "build",
            "Turn a quote into an unsigned transaction, simulated. Nothing is signed or sent.",
            &json!({
                "quote_id": {"type": "string", "description": "The quote_id of a quote."},
                "permit2_signature": {"type": "string", "description": "The taker's signature of the quote's Permit2 message, where it does not approve the proxy."},
            }),
            &["quote_id"],
        ),
        tool(
            "prices",
            "Say what tokens are worth, in dollars and ether, by the pools of the newest block.",
            &json!({"tokens": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string"}, "description": "Symbols or addresses."}}),
            &["tokens"],
        ),
        tool(
            "tokens",
            "Look for tokens, the best known first.",
            &json!({
                "search": {"type": "string", "description": "Part of a symbol or name, or an address. Symbols and names are their makers' words, not to be trusted."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 200},
            }),
            &[],
        ),
    ]
}

fn tool(name: &'static str, about: &'static str, properties: &Value, required: &[&str]) -> Tool {
    let schema =
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let schema = schema.as_object().cloned().unwrap_or_default();
    let reads = ToolAnnotations::new().read_only(true).destructive(false).open_world(true);
    Tool::new(name, about, Arc::new(schema)).with_annotations(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_another_type_is_refused_and_not_ignored() {
        let wrong = |tool: &str, given: Value| wrong_argument(tool, given.as_object().unwrap());
        assert_eq!(wrong("tokens", json!({"limit": "5"})).as_deref(), Some("\"limit\" must be an integer, got \"5\""));
        assert_eq!(wrong("tokens", json!({"limit": 5, "search": "usdc"})), None);
        assert_eq!(wrong("tokens", json!({"search": null})), None);
        assert_eq!(wrong("tokens", json!({"search": 5})).as_deref(), Some("\"search\" must be text, got 5"));
        assert_eq!(
            wrong("prices", json!({"tokens": "USDC"})).as_deref(),
            Some("\"tokens\" must be a list, got \"USDC\"")
        );
        assert_eq!(
            wrong("quote", json!({"simulate": 1})).as_deref(),
            Some("\"simulate\" must be true or false, got 1")
        );
        assert!(wrong("quote", json!({"slippage": 5})).unwrap().starts_with("\"slippage\" is no argument of quote"));
    }
}
