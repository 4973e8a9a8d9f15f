//! `braid mcp`: a Model Context Protocol server on standard input and output. Its tools read: nothing is signed or sent.
//!
//! A session of tools alone is four methods of JSON-RPC, a message a line. The kit for Rust (rmcp 3.11) would bring a dozen crates for them.

use std::io::BufRead as _;

use eyre::{Result, eyre};
use serde_json::{Map, Value, json};

use crate::api::{Api, ApiArgs};
use crate::out;
use crate::quote::words;
use crate::tokens::{Sides, token};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example, as an assistant's settings have it:
  {\"mcpServers\": {\"braid\": {\"command\": \"braid\", \"args\": [\"mcp\", \"--api\", \"http://127.0.0.1:8080\"], \"env\": {\"BRAID_API_KEY\": \"…\"}}}}

Tools: quote, explain, build (an unsigned transaction), prices, tokens.")]
pub(crate) struct Args {
    #[command(flatten)]
    api: ApiArgs,
}

/// `braid mcp`: one message of JSON-RPC a line, answered in turn, until the other side closes its end.
pub(crate) fn run(args: &Args) -> Result<()> {
    let api = Api::of(&args.api)?.ok_or_else(|| eyre!("name a running service: --api URL"))?;
    let server = Server { api };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for line in std::io::stdin().lock().lines() {
        if let Some(answer) = runtime.block_on(server.answer(&line?)) {
            out::line(answer)?;
        }
    }
    Ok(())
}

/// Versions of the protocol that these messages are the same in, the newest first.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Codes of JSON-RPC 2.0.
const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;

/// What an assistant is told at the beginning.
const INSTRUCTIONS: &str = "Braid finds routes for swaps on Ethereum mainnet. Amounts are whole tokens as decimal text; tokens are symbols or \
addresses. A quote is good for two minutes unless it asks for more. Nothing here signs or sends: build gives an unsigned transaction, which its \
owner must look at and sign.";

struct Server {
    api: Api,
}

impl Server {
    /// The answer to a message; `None` to a notification, which has no id.
    async fn answer(&self, line: &str) -> Option<Value> {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return Some(failure(Value::Null, PARSE_ERROR, "the line is no JSON"));
        };
        let id = message.get("id")?.clone();
        let Some(method) = message["method"].as_str() else {
            return Some(failure(id, INVALID_REQUEST, "the message has no method"));
        };
        let params = &message["params"];
        let result = match method {
            "initialize" => initialized(params),
            "ping" => json!({}),
            "tools/list" => json!({"tools": tools()}),
            "tools/call" => match self.call(params["name"].as_str().unwrap_or_default(), &params["arguments"]).await {
                Some(result) => result,
                None => {
                    return Some(failure(id, INVALID_PARAMS, "there is no tool of this name; tools/list names them"));
                }
            },
            _ => return Some(failure(id, METHOD_NOT_FOUND, "this server has tools alone")),
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    /// What a tool answers; `None` where there is none of that name.
    async fn call(&self, name: &str, given: &Value) -> Option<Value> {
        let answer = match name {
            "quote" => self.quote(given, false).await,
            "explain" => self.quote(given, true).await,
            "build" => self.build(given).await,
            "prices" => self.prices(given).await,
            "tokens" => self.tokens(given).await,
            _ => return None,
        };
        // what the service refuses is the assistant's to read, not a fault of the protocol
        let is_error = answer.is_err();
        let said = answer.unwrap_or_else(|error| json!({"error": error.to_string()}));
        let text = said.to_string();
        Some(json!({"content": [{"type": "text", "text": text}], "structuredContent": said, "isError": is_error}))
    }

    async fn quote(&self, given: &Value, explain: bool) -> Result<Value> {
        let mut said = Vec::new();
        for entry in given["sell"].as_array().into_iter().flatten() {
            said.extend([text(&entry["amount"], "sell[].amount")?, text(&entry["token"], "sell[].token")?]);
        }
        for name in given["buy"].as_array().into_iter().flatten() {
            said.push(text(name, "buy[]")?);
        }
        let mut request = Sides::of(&self.api, &words::parse(&said)?).await?.request();
        for (key, name) in [
            ("taker", "taker"),
            ("recipient", "recipient"),
            ("slippage_tolerance_bps", "slippage_bps"),
            ("ttl_s", "ttl_s"),
            ("exclude_protocols", "exclude_protocols"),
            ("simulate", "simulate"),
        ] {
            request[key] = given[name].clone();
        }
        request["include_usd_pricing"] = json!(true);
        request["explain"] = json!(explain);
        let mut quote = self.api.post("/v1/quote", &request).await?;
        if explain {
            let kept = ["quote_id", "estimated_outputs", "path", "certificate", "warnings", "explanation"];
            let kept: Map<String, Value> = kept.into_iter().map(|key| (key.to_owned(), quote[key].take())).collect();
            return Ok(kept.into());
        }
        Ok(quote)
    }

    async fn build(&self, given: &Value) -> Result<Value> {
        let body =
            json!({"quote_id": given["quote_id"], "permit2_signature": given["permit2_signature"], "simulate": true});
        self.api.post("/v1/build", &body).await
    }

    async fn prices(&self, given: &Value) -> Result<Value> {
        let mut named = Vec::new();
        for name in given["tokens"].as_array().into_iter().flatten() {
            named.push(token(&self.api, &text(name, "tokens[]")?).await?);
        }
        let addresses: Vec<String> = named.iter().map(|token| token.address.to_checksum(None)).collect();
        let answer = self.api.get("/v1/prices", &[("chain_id", "1"), ("addresses", &addresses.join(","))]).await?;
        let row = |token: &crate::tokens::Named| {
            let key = token.address.to_checksum(None);
            json!({"symbol": token.symbol, "address": key, "usd": answer["prices"][&key], "eth": answer["prices_eth"][&key]})
        };
        Ok(json!({"block": answer["block"], "prices": named.iter().map(row).collect::<Vec<_>>()}))
    }

    async fn tokens(&self, given: &Value) -> Result<Value> {
        let search = given["search"].as_str().unwrap_or_default();
        let limit = given["limit"].as_u64().unwrap_or(20).to_string();
        self.api.get("/v1/tokens", &[("chain_id", "1"), ("search", search), ("limit", &limit)]).await
    }
}

fn text(value: &Value, name: &str) -> Result<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| eyre!("{name} must be text"))
}

fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.into_iter().find(|version| *version == asked).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "braid", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    })
}

fn failure(id: Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn tools() -> Vec<Value> {
    let swap = json!({
        "sell": {"type": "array", "minItems": 1, "maxItems": 6, "description": "What to sell.", "items": {"type": "object",
            "properties": {"amount": {"type": "string", "description": "Whole tokens, decimal: 1.5"}, "token": {"type": "string", "description": "Symbol or address"}},
            "required": ["amount", "token"], "additionalProperties": false}},
        "buy": {"type": "array", "minItems": 1, "maxItems": 6, "items": {"type": "string"}, "description": "What to get: symbols or addresses; of several, each with its share of the value in per cent: USDC:60"},
        "taker": {"type": "string", "description": "The account that holds what is sold and sends the transaction."},
        "recipient": {"type": "string", "description": "Who receives what is bought. Default: the taker."},
        "slippage_bps": {"type": "integer", "minimum": 0, "maximum": 5000, "description": "Largest acceptable slippage in basis points. Default 100."},
        "ttl_s": {"type": "integer", "minimum": 10, "maximum": 900, "description": "Seconds that the quote is good for. Default 120."},
        "exclude_protocols": {"type": "array", "items": {"type": "string"}, "description": "Protocols to leave out."},
        "simulate": {"type": "boolean", "description": "Simulate the transaction."},
    });
    vec![
        tool(
            "quote",
            "Find the best route for a swap: amounts, minimums, route, costs, certificate, approvals.",
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

fn tool(name: &str, about: &str, properties: &Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": about,
        "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
        "annotations": {"readOnlyHint": true, "destructiveHint": false, "openWorldHint": true},
    })
}
