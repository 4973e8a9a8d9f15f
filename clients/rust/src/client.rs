//! The calls of the API.

use std::collections::BTreeMap;
use std::time::Duration;

use alloy_primitives::{Address, Bytes, U256, address};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{BuildRequest, Built, Error, Family, Network, Prices, Problem, Quote, QuoteRequest, Ready, Token};

/// The execution proxy of this release, at the same address on every chain.
const PROXY: Address = address!("870832a6f7B655159152fcC131233A4850240F66");

/// A service answers within 15 seconds.
const TIMEOUT: Duration = Duration::from_secs(20);
/// A receipt may read the whole market, and a market's file has some 30 MB.
const FILE_TIMEOUT: Duration = Duration::from_secs(180);
/// How often readiness is asked for while waiting for a block.
const POLL: Duration = Duration::from_millis(200);

/// How long a block is waited for: ten times as long as blocks are apart.
const REACH_TIMEOUT: Duration = Duration::from_secs(120);

/// A connection to a service. Cheap to clone; clones share connections.
#[derive(Clone, Debug)]
pub struct Braid {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
    proxy: Address,
}

#[derive(serde::Deserialize)]
struct Data<T> {
    data: T,
}

#[derive(serde::Deserialize)]
struct Balances {
    balances: BTreeMap<Address, U256>,
}

#[derive(serde::Deserialize)]
struct Allowances {
    allowances: BTreeMap<String, U256>,
}

#[derive(serde::Deserialize)]
struct Page {
    tokens: Vec<Token>,
}

impl Braid {
    /// A service at an address, such as `http://127.0.0.1:8080`.
    pub fn new(base: impl Into<String>) -> Self {
        let base = base.into().trim_end_matches('/').to_owned();
        Self { http: reqwest::Client::new(), base, key: None, proxy: PROXY }
    }

    /// Sends an API key. Without one only market data is answered, and quotes where the service allows it.
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Names another execution proxy than the one of this release: a wallet sends to, approves and signs for no other.
    #[must_use]
    pub fn with_proxy(self, proxy: Address) -> Self {
        Self { proxy, ..self }
    }

    /// Gives the only contract that a wallet sends to, and the only one that it lets take tokens, besides Permit2.
    pub fn proxy(&self) -> Address {
        self.proxy
    }

    /// Finds the best route. A quote of other tokens, amounts or accounts than were asked for is an error.
    pub async fn quote(&self, request: &QuoteRequest) -> Result<Quote, Error> {
        let quote = self.data(self.post("/v1/quote").json(request)).await?;
        if request.is_answered_by(&quote) { Ok(quote) } else { Err(Error::OtherQuote) }
    }

    /// Gives a quote that was made before.
    pub async fn stored_quote(&self, quote_id: &str) -> Result<Quote, Error> {
        self.data(self.get(&of_quote(quote_id, ""), &[])).await
    }

    /// Gives the receipt of an open quote, word for word: written to a file, `braid verify` works it out again offline.
    pub async fn receipt(&self, quote_id: &str) -> Result<Bytes, Error> {
        self.file(&of_quote(quote_id, "/receipt")).await
    }

    /// Gives the market that an open quote was made on, as a file for `braid verify --market`.
    pub async fn market(&self, quote_id: &str) -> Result<Bytes, Error> {
        self.file(&of_quote(quote_id, "/market")).await
    }

    /// Gives the route of a quote as an SVG picture.
    pub async fn route_picture(&self, quote_id: &str) -> Result<Bytes, Error> {
        self.file(&of_quote(quote_id, "/route.svg")).await
    }

    /// Turns a quote into an unsigned transaction. Can be repeated.
    pub async fn build(&self, request: &BuildRequest) -> Result<Built, Error> {
        self.data(self.post("/v1/build").json(request)).await
    }

    /// Finds tokens by symbol, name or address, the best known first.
    pub async fn tokens(&self, search: &str) -> Result<Vec<Token>, Error> {
        let query = self.get("/v1/tokens", &[("chain_id", "1"), ("search", search)]);
        Ok(self.data::<Page>(query).await?.tokens)
    }

    /// Gives prices in dollars and in ether. A token without a price is absent.
    pub async fn prices(&self, tokens: &[Address]) -> Result<Prices, Error> {
        let addresses: Vec<String> = tokens.iter().map(Address::to_string).collect();
        self.data(self.get("/v1/prices", &[("chain_id", "1"), ("addresses", &addresses.join(","))])).await
    }

    /// Gives balances in atomic units. A token that did not answer is absent.
    pub async fn balances(&self, owner: Address, tokens: &[Address]) -> Result<BTreeMap<Address, U256>, Error> {
        let body = json!({"chain_id": 1, "owner": owner, "tokens": tokens});
        Ok(self.data::<Balances>(self.post("/v1/balances").json(&body)).await?.balances)
    }

    /// Gives allowances in atomic units, by token and spender. A token that did not answer is absent.
    pub async fn allowances(
        &self,
        owner: Address,
        of: &[(Address, Address)],
    ) -> Result<BTreeMap<(Address, Address), U256>, Error> {
        let pairs: Vec<_> = of.iter().map(|(token, spender)| json!({"token": token, "spender": spender})).collect();
        let body = json!({"chain_id": 1, "owner": owner, "allowances": pairs});
        let answer = self.data::<Allowances>(self.post("/v1/allowances").json(&body)).await?;
        let known =
            |pair: &(Address, Address)| Some((*pair, *answer.allowances.get(&format!("{}:{}", pair.0, pair.1))?));
        Ok(of.iter().filter_map(known).collect())
    }

    /// Gives the protocols, their products, and how many pools each has.
    pub async fn protocols(&self) -> Result<Vec<Family>, Error> {
        self.data(self.get("/v1/protocols", &[("chain_id", "1")])).await
    }

    /// Gives the newest block and the fees of each gas tier.
    pub async fn network(&self) -> Result<Network, Error> {
        self.data(self.get("/v1/network", &[("chain_id", "1")])).await
    }

    /// Says whether quotes are answered, and on which block. A service that does not answer them yet says so here
    /// without an error.
    pub async fn ready(&self) -> Result<Ready, Error> {
        self.ask(self.get("/ready", &[]), StatusCode::SERVICE_UNAVAILABLE).await
    }

    /// Waits until the service knows a block, so that a simulation sees what was mined in it; at most two minutes.
    pub async fn reached(&self, block_number: u64) -> Result<(), Error> {
        self.reached_within(REACH_TIMEOUT, block_number).await
    }

    async fn reached_within(&self, time: Duration, block_number: u64) -> Result<(), Error> {
        let known = async {
            while self.ready().await?.block.is_none_or(|block| block.number < block_number) {
                tokio::time::sleep(POLL).await;
            }
            Ok(())
        };
        tokio::time::timeout(time, known).await.unwrap_or(Err(Error::NotReached { block_number }))
    }

    fn get(&self, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        let address = format!("{}{path}", self.base);
        self.with_headers(match Url::parse_with_params(&address, query) {
            Ok(url) => self.http.get(url),
            // sending says what is wrong with the address
            Err(_) => self.http.get(address),
        })
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.with_headers(self.http.post(format!("{}{path}", self.base)))
    }

    fn with_headers(&self, request: RequestBuilder) -> RequestBuilder {
        let request = request.timeout(TIMEOUT);
        match &self.key {
            Some(key) => request.header("x-api-key", key),
            None => request,
        }
    }

    async fn data<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        Ok(self.ask::<Data<T>>(request, StatusCode::OK).await?.data)
    }

    /// Gives the body of an answer as it came.
    async fn file(&self, path: &str) -> Result<Bytes, Error> {
        let answer = self.answer(self.get(path, &[]).timeout(FILE_TIMEOUT), StatusCode::OK).await?;
        Ok(answer.bytes().await.map_err(Error::NoAnswer)?.into())
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder, also_good: StatusCode) -> Result<T, Error> {
        let answer = self.answer(request, also_good).await?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.map_err(Error::NoAnswer)?;
        serde_json::from_slice(&body).map_err(|_| Error::NotBraid { status })
    }

    /// Sends a request; `also_good` is a status besides 2xx that comes with an answer.
    async fn answer(&self, request: RequestBuilder, also_good: StatusCode) -> Result<Response, Error> {
        let answer = request.send().await.map_err(Error::NoAnswer)?;
        let status = answer.status();
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (kind, retry_after_s) = (header("content-type"), header("retry-after").and_then(|text| text.parse().ok()));
        if kind.is_some_and(|kind| kind.starts_with("application/problem+json")) {
            let body = answer.bytes().await.map_err(Error::NoAnswer)?;
            let problem =
                serde_json::from_slice::<Problem>(&body).map_err(|_| Error::NotBraid { status: status.as_u16() })?;
            return Err(Error::Problem(Box::new(Problem { retry_after_s, ..problem })));
        }
        if status.is_success() || status == also_good {
            return Ok(answer);
        }
        Err(Error::NotBraid { status: status.as_u16() })
    }
}

/// Gives a path of a quote, whatever its id is: it may come from somebody else.
fn of_quote(quote_id: &str, rest: &str) -> String {
    let escaped = quote_id.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    format!("/v1/quote/{}{rest}", escaped.collect::<String>())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_quote_of_something_else_than_was_asked_for_is_an_error() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let answer = "/paths/~1v1~1quote/post/responses/200/content/application~1json/example";
        let answer = document.pointer(answer).unwrap();
        let quote: Quote = serde_json::from_value(answer["data"].clone()).unwrap();
        let (one, taker, other) = (U256::from(1), quote.taker, Address::with_last_byte(1));
        let (sold, amount) = (quote.estimated_inputs[0].token, quote.estimated_inputs[0].maximum_amount);
        let (bought, minimum) = (quote.estimated_outputs[0].token, quote.estimated_outputs[0].minimum_amount);
        let service = answering(answer.to_string()).await;
        let sale = QuoteRequest::new(taker).sell(sold, amount).buy(bought, 10_000);
        let own = QuoteRequest { recipient: Some(taker), ..sale.clone() };
        for asked in [&sale, &own, &QuoteRequest::new(taker).pay_with(sold).buy_exactly(bought, minimum)] {
            assert_eq!(service.quote(asked).await.unwrap(), quote);
        }
        for asked in [
            QuoteRequest::new(taker).sell(sold, amount - one).buy(bought, 10_000),
            QuoteRequest::new(taker).sell(other, amount).buy(bought, 10_000),
            QuoteRequest::new(taker).sell(sold, amount).buy(other, 10_000),
            sale.clone().sell(other, one),
            sale.clone().buy(other, 1),
            QuoteRequest::new(taker).pay_with(sold).buy_exactly(bought, minimum + one),
            QuoteRequest { taker: other, ..own.clone() },
            QuoteRequest { recipient: Some(other), ..sale.clone() },
        ] {
            let refused = service.quote(&asked).await.unwrap_err();
            assert!(matches!(refused, Error::OtherQuote), "{asked:?}: {refused}");
        }
    }

    #[test]
    fn the_id_of_a_quote_stays_one_part_of_the_path() {
        assert_eq!(of_quote("01J-x_9", "/receipt"), "/v1/quote/01J-x_9/receipt");
        assert_eq!(of_quote("../prices?a=1#é", ""), "/v1/quote/%2E%2E%2Fprices%3Fa%3D1%23%C3%A9");
    }

    /// Returns a client of a service that answers everything with one body.
    async fn answering(body: String) -> Braid {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let service = Braid::new(format!("http://{}", listener.local_addr().unwrap()));
        tokio::spawn(async move {
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            while let Ok((mut caller, _)) = listener.accept().await {
                let _ = caller.read(&mut [0; 4_096]).await;
                let _ = caller.write_all(answer.as_bytes()).await;
                let _ = caller.shutdown().await;
                // a connection that is closed with something unread is reset
                let _ = tokio::io::copy(&mut caller, &mut tokio::io::sink()).await;
            }
        });
        service
    }

    /// A service that stands still was waited for without end.
    #[tokio::test]
    async fn a_block_that_does_not_come_is_not_waited_for_without_end() {
        let service = answering(r#"{"status":"stale","block":{"number":6,"age_ms":1},"pools":0}"#.into()).await;
        service.reached(6).await.unwrap();
        let late = service.reached_within(3 * POLL, 7).await.unwrap_err();
        assert!(matches!(late, Error::NotReached { block_number: 7 }) && late.is_retryable(), "{late}");
    }
}
