//! Tests that the OpenAPI document and the service agree.

use std::collections::BTreeSet;

use braid_primitives::WETH;
use braid_quoting::request::{BuildRequest, QuoteRequest, Request as _};
use braid_server::{Config, openapi};
use serde_json::{Value, json};

use crate::support::{Service, TAKER, USDC, request};

fn document() -> Value {
    serde_json::from_str(&openapi::text()).unwrap()
}

fn properties(document: &Value, schema: &str) -> BTreeSet<String> {
    let fields = document["components"]["schemas"][schema]["properties"].as_object();
    fields.unwrap_or_else(|| panic!("no schema {schema}")).keys().cloned().collect()
}

/// Returns every violation of a schema in a value.
fn faults(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return faults(document, &document["components"]["schemas"][name], value, at);
    }
    if let Some(options) = schema["oneOf"].as_array() {
        let fits = options.iter().any(|option| faults(document, option, value, at).is_empty());
        return if fits { Vec::new() } else { vec![format!("{at}: fits none of {options:?}: {value}")] };
    }
    if let Some(allowed) = schema["enum"].as_array() {
        return if allowed.contains(value) { Vec::new() } else { vec![format!("{at}: {value} is not in {allowed:?}")] };
    }
    if !schema["type"].is_null() && !type_fits(&schema["type"], value) {
        return vec![format!("{at}: {value} is no {}", schema["type"])];
    }
    match value {
        Value::Object(members) => object_faults(document, schema, members, at),
        Value::Array(items) if schema["items"].is_object() => items
            .iter()
            .enumerate()
            .flat_map(|(n, item)| faults(document, &schema["items"], item, &format!("{at}/{n}")))
            .collect(),
        _ => Vec::new(),
    }
}

fn object_faults(document: &Value, schema: &Value, members: &serde_json::Map<String, Value>, at: &str) -> Vec<String> {
    if let Some(any) = schema.get("additionalProperties").filter(|any| any.is_object()) {
        return members.iter().flat_map(|(key, value)| faults(document, any, value, &format!("{at}/{key}"))).collect();
    }
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let missing = required.iter().filter_map(Value::as_str).filter(|key| !members.contains_key(*key));
    let mut found: Vec<String> = missing.map(|key| format!("{at}/{key} is missing")).collect();
    for (key, value) in members {
        match properties.get(key) {
            Some(schema) => found.extend(faults(document, schema, value, &format!("{at}/{key}"))),
            None => found.push(format!("{at}/{key} is not in the document")),
        }
    }
    found
}

fn type_fits(kinds: &Value, value: &Value) -> bool {
    let kinds = kinds.as_array().cloned().unwrap_or_else(|| vec![kinds.clone()]);
    kinds.iter().filter_map(Value::as_str).any(|kind| match kind {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    })
}

async fn check(service: &Service, document: &Value, call: reqwest::RequestBuilder, path: &str, method: &str) -> Value {
    let response = call.send().await.unwrap();
    let (status, kind) = (response.status().as_u16().to_string(), response.headers()["content-type"].clone());
    let body: Value = response.json().await.unwrap();
    let content = &document["paths"][path][method]["responses"][&status]["content"][kind.to_str().unwrap()];
    assert!(
        content.is_object(),
        "{method} {path} answered {status}, which the document does not have ({})",
        service.base
    );
    let found = faults(document, &content["schema"], &body, "");
    assert!(found.is_empty(), "{method} {path}: {found:#?}");
    body
}

#[tokio::test]
async fn answers_are_what_the_document_says() {
    let service = Service::start().await;
    let document = document();
    let mut full = request();
    for flag in ["simulate", "include_usd_pricing", "explain"] {
        full[flag] = json!(true);
    }
    full["partner_fee"] = json!({"partner_fee_bps": 10, "partner_recipient": TAKER});
    check(&service, &document, service.post("/v1/quote", &request()), "/v1/quote", "post").await;
    let quote = check(&service, &document, service.post("/v1/quote", &full), "/v1/quote", "post").await;
    let id = quote["data"]["quote_id"].as_str().unwrap();
    check(&service, &document, service.get(&format!("/v1/quote/{id}")), "/v1/quote/{quote_id}", "get").await;
    let build = json!({"quote_id": id, "simulate": true});
    check(&service, &document, service.post("/v1/build", &build), "/v1/build", "post").await;
    for wrong in [json!({}), json!(5), json!({"quote_id": "0190163d-8694-739b-aea5-966c26f8ad91"})] {
        check(&service, &document, service.post("/v1/quote", &wrong), "/v1/quote", "post").await;
        check(&service, &document, service.post("/v1/build", &wrong), "/v1/build", "post").await;
    }
    let prices = format!("/v1/prices?addresses={USDC},{WETH}");
    for path in ["/v1/chains", "/v1/protocols", "/v1/tokens?search=u", &prices, "/v1/network", "/health", "/ready"] {
        let template = path.split('?').next().unwrap();
        check(&service, &document, service.get(path), template, "get").await;
    }
    let balances = json!({"chain_id": 1, "owner": USDC, "tokens": [USDC]});
    check(&service, &document, service.post("/v1/balances", &balances), "/v1/balances", "post").await;
}

#[test]
fn requests_have_the_fields_that_validation_knows() {
    let document = document();
    let set = |fields: &[&str]| fields.iter().map(|field| (*field).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(properties(&document, "QuoteBody"), set(QuoteRequest::FIELDS));
    assert_eq!(properties(&document, "BuildBody"), set(BuildRequest::FIELDS));
}

#[test]
fn the_stated_limit_of_steps_is_the_services() {
    let document = document();
    let about = &document["components"]["schemas"]["QuoteBody"]["properties"]["max_steps"]["description"];
    let most = Config::default().max_steps;
    let stated = format!("Default {most}; up to 64 are accepted, and more than {most} count as {most}.");
    assert!(about.as_str().unwrap().contains(&stated), "{about}");
}

#[tokio::test]
async fn required_fields_are_those_that_validation_asks_for() {
    let service = Service::start().await;
    let (_, body) = service.refused_quote(&json!({})).await;
    let asked: BTreeSet<&str> =
        body["errors"].as_array().unwrap().iter().map(|e| &e["pointer"].as_str().unwrap()[1..]).collect();
    let document = document();
    let required = document["components"]["schemas"]["QuoteBody"]["required"].as_array().unwrap();
    assert_eq!(required.iter().filter_map(Value::as_str).collect::<BTreeSet<_>>(), asked);
}

#[tokio::test]
async fn the_document_is_served_as_it_is_committed() {
    let service = Service::start().await;
    let served =
        service.client.get(format!("{}/openapi.json", service.base)).send().await.unwrap().text().await.unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    assert_eq!(
        served,
        std::fs::read_to_string(path).unwrap(),
        "run `cargo run -p braid -- openapi > docs/openapi.json`"
    );
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let ids: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "operation ids are unique: {ids:?}");
}

#[test]
fn every_call_and_every_problem_has_an_example_that_fits() {
    let document = document();
    let mut problems = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let id = &operation["operationId"];
            let mut bodies = Vec::new();
            // The document itself, the metrics, a picture, a receipt and a market file need no examples.
            let itself = ["/openapi.json", "/metrics", "/route.svg", "/receipt", "/market"];
            if !itself.iter().any(|end| path.ends_with(end)) {
                bodies.push((&operation["responses"]["200"]["content"]["application/json"], "answer"));
            }
            if operation["requestBody"].is_object() {
                bodies.push((&operation["requestBody"]["content"]["application/json"], "request"));
            }
            for (content, what) in bodies {
                assert!(content["example"].is_object(), "{id} has no example of its {what}");
                let found = faults(&document, &content["schema"], &content["example"], "");
                assert!(found.is_empty(), "{id}, {what}: {found:#?}");
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                let content = &response["content"]["application/problem+json"];
                for (name, example) in content["examples"].as_object().into_iter().flatten() {
                    let found = faults(&document, &content["schema"], &example["value"], "");
                    assert!(found.is_empty(), "{id} {name}: {found:#?}");
                    assert_eq!(example["value"]["code"], **name);
                    assert_eq!(example["value"]["status"].to_string(), *status);
                    problems.insert(name.clone());
                }
            }
        }
    }
    // These occur outside of documented calls.
    for code in braid_quoting::Code::ALL.iter().map(|code| code.meaning().name) {
        let elsewhere = ["NOT_FOUND", "METHOD_NOT_ALLOWED", "URI_TOO_LONG", "HEADERS_TOO_LARGE"].contains(&code);
        assert!(elsewhere || problems.contains(code), "no call shows {code}");
    }
}

#[tokio::test]
async fn the_document_is_made_once_and_told_apart_by_its_tag() {
    let service = Service::start().await;
    let get = |accepts: &str| service.get("/openapi.json").header("accept-encoding", accepts).send();
    let plain = get("identity").await.unwrap();
    let tag = plain.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(
        (&plain.headers()["cache-control"], &plain.headers()["vary"]),
        (&"no-cache".parse().unwrap(), &"accept-encoding".parse().unwrap())
    );
    let plain = plain.bytes().await.unwrap();
    for coding in ["gzip", "zstd"] {
        let encoded = get(coding).await.unwrap();
        assert_eq!(
            (&encoded.headers()["content-encoding"], encoded.headers()["etag"].to_str().unwrap()),
            (&coding.parse().unwrap(), &*tag)
        );
        let encoded = encoded.bytes().await.unwrap();
        assert!(encoded.len() < plain.len() / 4, "{} of {}", encoded.len(), plain.len());
        assert_eq!(encoded, get(coding).await.unwrap().bytes().await.unwrap());
    }
    for (known, status) in [(tag.as_str(), 304), ("*", 304), ("\"a\", W/\"b\"", 200), (&format!("\"a\", {tag}"), 304)] {
        let answer = service.get("/openapi.json").header("if-none-match", known).send().await.unwrap();
        assert_eq!(answer.status(), status, "{known}");
        assert_eq!(answer.bytes().await.unwrap().is_empty(), status == 304);
    }
}

#[test]
fn what_a_call_cannot_answer_is_not_said_of_it() {
    let document = document();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let at = format!("{method} {path}");
            let responses = operation["responses"].as_object().unwrap();
            for status in ["408", "413", "415"] {
                assert_eq!(responses.contains_key(status), method == "post", "{at}: {status}");
            }
            for (status, response) in responses {
                let headers = response["headers"].as_object().unwrap();
                assert!(headers.contains_key("X-Request-Id"), "{at}: {status}");
                assert_eq!(
                    headers.contains_key("RateLimit"),
                    path.starts_with("/v1/") && status != "401",
                    "{at}: {status}"
                );
                let waits = ["429", "503"].contains(&&**status) || (status == "422" && path == "/v1/quote");
                assert_eq!(headers.contains_key("Retry-After"), waits, "{at}: {status}");
            }
            // An empty entry means that no key is required.
            let security = operation["security"].as_array().unwrap();
            let needs_key = ["/v1/build", "/receipt", "/market"].iter().any(|end| path.ends_with(end));
            assert_eq!(security.contains(&json!({})), !needs_key, "{at}");
        }
    }
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let words = |name: &str| schemas[name]["enum"].as_array().unwrap().len();
    assert_eq!((words("GasTier"), words("ProblemCode")), (4, braid_quoting::Code::ALL.len()));
    // An answer always contains all of its fields.
    for (name, schema) in schemas.iter().filter(|(name, _)| !braid_quoting::request::NAMES.contains(&name.as_str())) {
        let required =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<BTreeSet<_>>();
        let fields = schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        assert_eq!(required, fields, "{name}");
        // No object may be defined inside another, where this check would miss it.
        let inline = schema["properties"].as_object().into_iter().flatten();
        let inline =
            inline.filter(|(_, field)| field["properties"].is_object() || field["items"]["properties"].is_object());
        assert_eq!(inline.count(), 0, "{name}");
    }
}

#[tokio::test]
async fn the_reference_page_needs_nothing_from_elsewhere() {
    let service = Service::start().await;
    let page = service.client.get(format!("{}/docs", service.base)).send().await.unwrap();
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    assert!(page.headers()["content-security-policy"].to_str().unwrap().contains("connect-src 'self'"));
    let text = page.text().await.unwrap();
    assert!(text.contains("/openapi.json") && !text.contains("http://") && !text.contains("https://"));
}
