//! `braid mcp`: a Model Context Protocol server on standard input and output. Its tools only read: they sign and send
//! nothing.

mod asked;
mod lines;
mod tools;
mod wire;

use eyre::{Result, eyre};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, Value, json};

use crate::api::{Api, ApiArgs};
use crate::exit::usage;
use crate::tokens::{Named, Sides, token};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example, as an assistant's settings have it:
  {\"mcpServers\": {\"braid\": {\"command\": \"braid\", \"args\": [\"mcp\", \"--api\", \"http://127.0.0.1:8080\"], \"env\": {\"BRAID_API_KEY\": \"…\"}}}}

Tools: quote, explain, build (an unsigned transaction), prices, tokens.")]
pub(crate) struct Args {
    #[command(flatten)]
    api: ApiArgs,
}

/// `braid mcp`: answers until the client closes its end.
pub(crate) fn run(args: &Args) -> Result<()> {
    let api = Api::of(&args.api)?.ok_or_else(|| usage("name a running service: give --api URL, or set BRAID_API"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let wire::Wire { library, output } = wire::start();
        let ended = match (Server { api }).serve(library).await {
            Ok(session) => session.waiting().await.map(drop).map_err(Into::into),
            // the client closed before its first request
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        };
        output.await??;
        ended
    });
    // do not wait for a line that the client may never send
    runtime.shutdown_background();
    ended
}

/// Instructions for an assistant.
const INSTRUCTIONS: &str = "Braid finds routes for swaps on Ethereum mainnet. Amounts are whole tokens as decimal text; tokens are symbols or \
addresses. A quote is good for two minutes unless it asks for more. Its notes say which token was taken for a symbol that several tokens have: \
show its address to whom the swap is for. Nothing here signs or sends: build gives an unsigned transaction, which its \
owner must look at and sign.";

/// Fields of a quote that the tool `explain` returns.
const EXPLAINED: [&str; 8] = [
    "quote_id",
    "estimated_inputs",
    "estimated_outputs",
    "exact_output",
    "path",
    "certificate",
    "warnings",
    "explanation",
];

struct Server {
    api: Api,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("braid", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::tools()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = call.arguments.unwrap_or_default();
        if let Some(error) = tools::wrong_argument(&call.name, &given) {
            return Ok(CallToolResult::structured_error(json!({"error": error})).into());
        }
        let given = Value::Object(given);
        let answer = match call.name.as_ref() {
            "quote" => self.quote(&given, false).await,
            "explain" => self.quote(&given, true).await,
            "build" => self.build(&given).await,
            "prices" => self.prices(&given).await,
            "tokens" => self.tokens(&given).await,
            _ => return Err(ErrorData::invalid_params("there is no tool of this name; tools/list names them", None)),
        };
        // a refusal of the service is a result for the assistant, not an error of the protocol
        Ok(match answer {
            Ok(answer) => CallToolResult::structured(answer),
            Err(error) => CallToolResult::structured_error(json!({"error": error.to_string()})),
        }
        .into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(not_understood(&request.method))
    }
}

/// Returns the error for a request that the library takes for none of its own: a method of another kind of server, or one of
/// this server with other parameters.
fn not_understood(method: &str) -> ErrorData {
    match method {
        "initialize" => {
            ErrorData::invalid_params("initialize takes protocolVersion, capabilities and clientInfo", None)
        }
        "tools/call" => {
            ErrorData::invalid_params("tools/call takes the name of a tool and an object of arguments", None)
        }
        "ping" | "tools/list" => ErrorData::invalid_params(format!("{method} takes no such params"), None),
        _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("this server has no method {method:?}"), None),
    }
}

impl Server {
    async fn quote(&self, given: &Value, explain: bool) -> Result<Value> {
        let sides = Sides::of(&self.api, &asked::asked(given)?).await?;
        let mut request = sides.request();
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
            let kept: Map<String, Value> =
                EXPLAINED.into_iter().map(|key| (key.to_owned(), quote[key].take())).collect();
            quote = kept.into();
        }
        quote["notes"] = notes(sides.tokens());
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
        let row = |token: &Named| {
            let key = token.address.to_checksum(None);
            json!({"symbol": token.symbol, "address": key, "usd": answer["prices"][&key], "eth": answer["prices_eth"][&key]})
        };
        let rows: Vec<Value> = named.iter().map(row).collect();
        Ok(json!({"block": answer["block"], "prices": rows, "notes": notes(&named)}))
    }

    async fn tokens(&self, given: &Value) -> Result<Value> {
        let search = given["search"].as_str().unwrap_or_default();
        let limit = given["limit"].as_u64().unwrap_or(20).to_string();
        self.api.get("/v1/tokens", &[("chain_id", "1"), ("search", search), ("limit", &limit)]).await
    }
}

/// Returns notes on the tokens chosen for symbols that several have.
fn notes<'a>(tokens: impl IntoIterator<Item = &'a Named>) -> Value {
    tokens.into_iter().filter_map(Named::note).collect::<Vec<_>>().into()
}

fn text(value: &Value, name: &str) -> Result<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| eyre!("{name} must be text"))
}
