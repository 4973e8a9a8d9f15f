//! A client of the service's HTTP API.

use std::path::PathBuf;
use std::time::Duration;

use eyre::{Report, Result, eyre};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::Value;

use crate::chain::host_of;
use crate::exit::{Exit, Failed, usage};

/// Timeout of a request to the service.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct ApiArgs {
    /// The service to ask
    #[arg(long = "api", env = "BRAID_API", value_name = "URL", value_parser = service)]
    pub url: Option<Url>,
    /// A file with the API key. Without it, the key is read from the environment variable BRAID_API_KEY
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
}

/// Parses the address of a service.
fn service(text: &str) -> Result<Url, String> {
    let url = text.parse::<Url>().ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| "write it with its scheme, such as http://127.0.0.1:8080".into())
}

/// A service with the caller's API key.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    base: Url,
    key: Option<String>,
}

impl Api {
    pub(crate) fn new(base: Url, key: Option<String>) -> Result<Self> {
        Ok(Self { client: Client::builder().timeout(TIMEOUT).build()?, base, key })
    }

    /// Returns the service of `--api`, if given.
    pub(crate) fn of(args: &ApiArgs) -> Result<Option<Self>> {
        let Some(url) = &args.url else { return Ok(None) };
        let key = match &args.api_key_file {
            Some(file) => {
                let text = std::fs::read_to_string(file);
                let unreadable = |error| usage(format!("the API key cannot be read from {}: {error}", file.display()));
                Some(text.map_err(unreadable)?)
            }
            None => std::env::var("BRAID_API_KEY").ok(),
        };
        Self::new(url.clone(), key.map(|key| key.trim().to_owned())).map(Some)
    }

    /// Returns the `data` of a `GET`.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value> {
        let mut url = self.url(path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.send(self.client.get(url)).await
    }

    /// Returns the `data` of a `POST`.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.send(self.client.post(self.url(path)?).json(body)).await
    }

    fn url(&self, path: &str) -> Result<Url> {
        Ok(self.base.join(path)?)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Value> {
        let request = match &self.key {
            Some(key) => request.header("x-api-key", key),
            None => request,
        };
        let host = host_of(self.base.as_str());
        let unreachable = |_| Failed::new(Exit::Unreachable, format!("cannot reach the service at {host}"));
        let response = request.send().await.map_err(unreachable)?;
        let is_success = response.status().is_success();
        let body: Value = response
            .json()
            .await
            .map_err(|_| eyre!("{host} gave an answer that is not JSON: is it a Braid service?"))?;
        if is_success { Ok(body["data"].clone()) } else { Err(refused(&host, &body)) }
    }
}

/// Returns the error for a problem, with every wrong field.
fn refused(host: &str, problem: &Value) -> Report {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let code = problem["code"].as_str().unwrap_or_default();
    let exit = match code {
        "NO_ROUTE_FOUND"
        | "INSUFFICIENT_LIQUIDITY"
        | "AMOUNT_TOO_SMALL"
        | "TOKEN_UNSUPPORTED"
        | "OUTPUT_PRICE_UNAVAILABLE" => Exit::NoRoute,
        "NOT_READY" | "OVERLOADED" | "DEADLINE_EXCEEDED" | "RATE_LIMITED" => Exit::Unreachable,
        "VALIDATION_FAILED" | "TOKEN_NOT_FOUND" | "PARTNER_FEE_EXCEEDS_CAP" | "API_KEY_MISSING" | "API_KEY_INVALID" => {
            Exit::Usage
        }
        "QUOTE_STALE" | "QUOTE_EXPIRED" | "MARKET_STALE" => Exit::Stale,
        _ => Exit::Failure,
    };
    let fields = problem["errors"].as_array().into_iter().flatten();
    let fields: Vec<String> =
        fields.map(|error| format!("{}: {}", text(&error["pointer"]), text(&error["detail"]))).collect();
    let detail = match code {
        // the service tells of headers, which nobody writes here
        "API_KEY_MISSING" => "set BRAID_API_KEY to an API key of the service, or give --api-key-file FILE".into(),
        "API_KEY_INVALID" => "the key of BRAID_API_KEY or --api-key-file is unknown there, expired or revoked".into(),
        _ if fields.is_empty() => text(&problem["detail"]),
        _ => fields.join("; "),
    };
    Failed::new(exit, format!("{host} refused ({code}): {detail}")).into()
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_of_a_service_has_the_exit_code_of_its_kind() {
        for (code, exit) in
            [("TOKEN_UNSUPPORTED", 3), ("OUTPUT_PRICE_UNAVAILABLE", 3), ("RATE_LIMITED", 4), ("INTERNAL", 1)]
        {
            let error = refused("http://a", &json!({"code": code}));
            assert_eq!(crate::exit::code(&error), ExitCode::from(exit), "{code}");
        }
    }

    /// The advice was to send a header, which the command line cannot do.
    #[test]
    fn a_missing_key_is_told_with_the_ways_to_give_one() {
        let told = |code: &str| refused("http://a", &json!({"code": code, "detail": "send the header X-API-Key"}));
        for (code, words) in
            [("API_KEY_MISSING", "set BRAID_API_KEY"), ("API_KEY_INVALID", "of BRAID_API_KEY or --api")]
        {
            let error = told(code);
            assert_eq!(crate::exit::code(&error), ExitCode::from(2), "{code}");
            assert!(error.to_string().contains(words) && !error.to_string().contains("header"), "{error}");
        }
        assert!(told("INTERNAL").to_string().ends_with("refused (INTERNAL): send the header X-API-Key"));
    }
}
