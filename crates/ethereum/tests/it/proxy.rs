//! A proxy between service and node that corrupts answers on demand.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use alloy::{primitives::B256, transports::http::reqwest::Client};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What the proxy does to answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Passes them on.
    None,
    /// Closes the connection before the answer.
    Refuse,
    /// Closes the connection in the middle of the answer.
    Cut,
    /// Cuts the JSON, although the HTTP answer is complete.
    Truncate,
    /// Answers with an HTTP status only.
    Status(u16),
    /// Gives answers the ids of other requests.
    WrongId,
    /// Makes every result null.
    Null,
    /// Answers every request with a JSON-RPC error.
    Error,
    /// Answers with text that is not JSON.
    Garbage,
    /// Never answers.
    Silence,
    /// Answers with another chain's id.
    OtherChain,
    /// Answers null for blocks, and everything else correctly.
    NullBlocks,
    /// Shuffles and repeats the answers of a batch, which is allowed and harmless.
    Shuffle,
    /// Allows at most this many blocks in a range of logs.
    LogRange(u64),
    /// Allows only two arguments for `eth_call`, so no state override.
    NoOverride,
    /// Answers every `eth_call` with no bytes, as of accounts without code, and refuses state overrides.
    EmptyCalls,
    /// Answers every `eth_call` with an error of its own.
    NoCalls,
    /// Does so for this many messages.
    NoCallsFor(u64),
    /// Answers requests for logs of ranges with an error of its own, for this many messages.
    NoRangesFor(u64),
    /// Says of every `eth_call` that fails no more than that it failed.
    BluntCalls,
    /// Closes the connection in the middle of the answer to a batch. Single requests pass.
    CutBatch,
    /// Delays answers by this many milliseconds.
    Slow(u64),
    /// Reports as the newest block one that is this many blocks older.
    Lag(u64),
    /// Gives blocks by number hashes that no other node has.
    Fork,
    /// Removes all logs of blocks.
    NoLogs,
    /// Removes all logs of blocks that are asked for by hash, and has no method for receipts.
    NoLogsByHash,
    /// Answers one method with an error.
    NoMethod(&'static str, i64, &'static str),
    /// Answers messages that contain one method with HTTP status 403.
    Forbid(&'static str),
    /// Answers everything with this body.
    Says(&'static str),
    /// Adds an error that is null to results, and a result that is null to errors.
    NullErrors,
    /// Makes logs of blocks by hash null.
    NullLogsByHash,
    /// Closes the connection in place of an answer to messages for logs of blocks by hash.
    CutLogsByHash,
    /// Does so if a message is for the logs or receipts of more than this many blocks.
    CutLogsOfMany(usize),
    /// Knows blocks, but none of their receipts yet, and gives no logs, or fails at them.
    NoLogsYet { fails: bool },
    /// Answers requests for logs of blocks by hash with an error of its own.
    NoLogsByHashAtAll,
    /// Removes all logs of ranges of blocks. Those of single blocks pass.
    NoRangeLogs,
    /// Never answers calls at this block.
    NoCallsAt(B256),
    /// Removes the last log of a block with several.
    FewerLogs,
    /// Returns logs only for requests that name the contracts.
    NeedEmitters,
    /// Allows at most this many requests in a message.
    Batch(usize),
    /// Allows at most this many bytes in a message.
    Body(usize),
    /// Allows at most this much gas in a call.
    Gas(u64),
    /// Loses one answer in this many: the connection is closed before the answer.
    Lose(u64),
    /// In the first call whose answer contains the newest block's timestamp, replaces that by the timestamp a day
    /// earlier. Passes everything on afterwards.
    OtherSecondOnce,
}

/// A running proxy. It ends when dropped.
pub(crate) struct Proxy {
    pub(crate) url: String,
    fault: Arc<Mutex<Fault>>,
    refused: Arc<AtomicU64>,
    asked: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub(crate) async fn before(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fault = Arc::new(Mutex::new(Fault::None));
        let [refused, asked] = [(); 2].map(|()| Arc::<AtomicU64>::default());
        let (shared, client, counts) = (Arc::clone(&fault), Client::new(), [Arc::clone(&refused), Arc::clone(&asked)]);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, upstream.clone(), client.clone(), Arc::clone(&shared), counts.clone()));
            }
        });
        Self { url, fault, refused, asked, task }
    }

    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Returns the number of messages that were refused because of a limit, or never answered because of their block.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns the number of messages received.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns whether the fault is over.
    pub(crate) fn is_spent(&self) -> bool {
        *self.fault.lock().unwrap() == Fault::None
    }
}

async fn serve(
    mut stream: TcpStream,
    upstream: String,
    client: Client,
    fault: Arc<Mutex<Fault>>,
    [refused, asked]: [Arc<AtomicU64>; 2],
) -> Option<()> {
    let body = read_body(&mut stream).await?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let shared = fault;
    let fault = take(&request, &mut shared.lock().unwrap());
    let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
    let (status, body) = match fault {
        Fault::Refuse => return None,
        Fault::Lose(each) if number.is_multiple_of(each) => return None,
        Fault::Silence => std::future::pending().await,
        Fault::NoCallsAt(block) if calls_at(&request, block) => {
            refused.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        }
        Fault::Status(status) => (status, String::new()),
        Fault::Says(body) => (200, body.into()),
        Fault::CutLogsByHash if items(&request).iter().any(by_hash) => return None,
        Fault::CutLogsOfMany(most) if items(&request).iter().filter(|one| of_block(one)).count() > most => {
            refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Fault::Forbid(method) if request.to_string().contains(method) => {
            refused.fetch_add(1, Ordering::Relaxed);
            (403, "<html>forbidden</html>".into())
        }
        Fault::Garbage => (200, "<html>come back later</html>".into()),
        Fault::Body(most) if body.len() > most => {
            refused.fetch_add(1, Ordering::Relaxed);
            (413, "<html>Request Entity Too Large</html>".into())
        }
        Fault::Batch(most) if request.as_array().is_some_and(|batch| batch.len() > most) => {
            refused.fetch_add(1, Ordering::Relaxed);
            let error = json!({ "code": -32600, "message": "batch too large" });
            (200, json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string())
        }
        _ => {
            if let Fault::Slow(millis) = fault {
                tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
            }
            let mut request = request.clone();
            if let Fault::Lag(blocks) = fault {
                look_back(&client, &upstream, &mut request, blocks).await?;
            }
            if let Fault::Gas(most) = fault {
                cap_gas(&mut request, most);
            }
            let answer: Value = client.post(&upstream).json(&request).send().await.ok()?.json().await.ok()?;
            match fault {
                Fault::OtherSecondOnce => {
                    let mut said = answer.to_string();
                    if request.to_string().contains("eth_call") {
                        for (told, other) in second(&client, &upstream).await? {
                            if said.contains(&told) {
                                *shared.lock().unwrap() = Fault::None;
                            }
                            said = said.replace(&told, &other);
                        }
                    }
                    (200, said)
                }
                _ => {
                    let said = spoil(fault, &request, answer);
                    let refusals = ["please specify an address", "OutOfGas", "method"];
                    if refusals.iter().any(|refusal| said.contains(refusal)) {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                    (200, said)
                }
            }
        }
    };
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    let cut = fault == Fault::Cut || (fault == Fault::CutBatch && request.is_array());
    let sent = if cut { &body.as_bytes()[..body.len() / 2] } else { body.as_bytes() };
    stream.write_all(sent).await.ok()?;
    stream.shutdown().await.ok()
}

/// Reads the body of an HTTP request.
pub(crate) async fn read_body(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let body_at = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..body_at]).to_lowercase();
    let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length:"))?.trim().parse().ok()?;
    while bytes.len() < body_at + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    bytes.drain(..body_at);
    Some(bytes)
}

/// Limits the gas of the calls in a batch or of a single call.
fn cap_gas(request: &mut Value, most: u64) {
    let requests = match request {
        Value::Array(requests) => requests.as_mut_slice(),
        single => std::slice::from_mut(single),
    };
    for request in requests.iter_mut().filter(|request| request["method"] == "eth_call") {
        request["params"][0]["gas"] = json!(format!("0x{most:x}"));
    }
}

fn spoil(fault: Fault, request: &Value, mut answer: Value) -> String {
    let error = json!({ "code": -32005, "message": "query returned more than 10000 results" });
    for (request, answer) in pairs(request, &mut answer) {
        let fail_with = |answer: &mut Value, error: Value| {
            answer.as_object_mut().unwrap().remove("result");
            answer["error"] = error;
        };
        let fail = |answer: &mut Value| fail_with(answer, error.clone());
        let is_call = request["method"] == "eth_call";
        let failed = || json!({ "code": -32603, "message": "Internal error" });
        match fault {
            Fault::WrongId => answer["id"] = json!(answer["id"].as_u64().unwrap() + 1_000_000),
            Fault::NullBlocks if request["method"] == "eth_getBlockByNumber" => answer["result"] = Value::Null,
            Fault::Null => answer["result"] = Value::Null,
            Fault::Error => fail(answer),
            Fault::OtherChain if request["method"] == "eth_chainId" => answer["result"] = json!("0x5"),
            Fault::Fork if request["method"] == "eth_getBlockByNumber" && answer["result"].is_object() => {
                answer["result"]["hash"] = answer["result"]["parentHash"].clone();
            }
            Fault::NoLogs if request["method"] == "eth_getLogs" => answer["result"] = json!([]),
            Fault::NoLogsByHash if by_hash(request) => answer["result"] = json!([]),
            Fault::NoLogsByHash if request["method"] == "eth_getBlockReceipts" => {
                fail_with(answer, json!({ "code": -32601, "message": "the method does not exist" }));
            }
            Fault::NullErrors => {
                let absent = if answer.get("error").is_some() { "result" } else { "error" };
                answer[absent] = Value::Null;
            }
            Fault::NoLogsYet { fails: true } if request["method"] == "eth_getLogs" => fail_with(answer, failed()),
            Fault::NoLogsYet { .. } if of_block(request) || request["method"] == "eth_getLogs" => {
                answer["result"] = json!([]);
            }
            Fault::NullLogsByHash if by_hash(request) => answer["result"] = Value::Null,
            Fault::NoMethod(method, code, message) if request["method"] == method => {
                fail_with(answer, json!({ "code": code, "message": message }));
            }
            Fault::NoLogsByHashAtAll if by_hash(request) => fail_with(answer, failed()),
            Fault::NoRangeLogs if range(request).is_some() => answer["result"] = json!([]),
            Fault::FewerLogs if request["method"] == "eth_getLogs" => {
                if let Some(logs) = answer["result"].as_array_mut().filter(|logs| logs.len() > 1) {
                    logs.pop();
                }
            }
            Fault::LogRange(most) if range(request).is_some_and(|blocks| blocks > most) => fail(answer),
            Fault::NeedEmitters
                if request["method"] == "eth_getLogs" && request["params"][0].get("address").is_none() =>
            {
                answer.as_object_mut().unwrap().remove("result");
                answer["error"] = json!({ "code": -32701, "message": "please specify an address in your request" });
            }
            Fault::EmptyCalls if is_call && request["params"].as_array().is_some_and(|params| params.len() < 3) => {
                answer.as_object_mut().unwrap().remove("error");
                answer["result"] = json!("0x");
            }
            Fault::NoOverride | Fault::EmptyCalls
                if is_call && request["params"].as_array().is_some_and(|params| params.len() > 2) =>
            {
                fail_with(answer, json!({ "code": -32602, "message": "too many arguments, want at most 2" }));
            }
            Fault::NoCalls if is_call => fail_with(answer, failed()),
            Fault::NoRangesFor(_) if range(request).is_some() => fail_with(answer, failed()),
            Fault::BluntCalls if is_call && answer.get("error").is_some() => fail_with(answer, failed()),
            _ => {}
        }
    }
    if let (Fault::Shuffle, Value::Array(list)) = (fault, &mut answer) {
        list.reverse();
        list.extend_from_within(..);
    }
    let mut text = answer.to_string();
    if fault == Fault::Truncate {
        text.truncate(text.len() / 2);
    }
    text
}

/// Returns the newest block's timestamp as a word and in the lens's short form, each with the one a day earlier.
async fn second(client: &Client, upstream: &str) -> Option<[(String, String); 2]> {
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": ["latest", false] });
    let block: Value = client.post(upstream).json(&asked).send().await.ok()?.json().await.ok()?;
    let told = u64::from_str_radix(block["result"]["timestamp"].as_str()?.trim_start_matches("0x"), 16).ok()?;
    let other = told - 86_400;
    Some([(format!("{told:064x}"), format!("{other:064x}")), (format!("04{told:08x}"), format!("04{other:08x}"))])
}

/// Replaces the newest block in a request by an older one.
async fn look_back(client: &Client, upstream: &str, request: &mut Value, blocks: u64) -> Option<()> {
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": [] });
    let height: Value = client.post(upstream).json(&asked).send().await.ok()?.json().await.ok()?;
    let height = u64::from_str_radix(height["result"].as_str()?.trim_start_matches("0x"), 16).ok()?;
    let one = |request: &mut Value| {
        if request["params"][0] == "latest" {
            request["params"][0] = json!(format!("0x{:x}", height.saturating_sub(blocks)));
        }
    };
    match request {
        Value::Array(requests) => requests.iter_mut().for_each(one),
        single => one(single),
    }
    Some(())
}

/// Returns the requests of a message.
fn items(message: &Value) -> &[Value] {
    message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice)
}

/// Returns requests with their answers, whether single or in a batch.
fn pairs<'a>(request: &'a Value, answer: &'a mut Value) -> Vec<(&'a Value, &'a mut Value)> {
    match (request, answer) {
        (Value::Array(requests), Value::Array(answers)) => requests.iter().zip(answers).collect(),
        (request, answer) => vec![(request, answer)],
    }
}

/// Returns the fault for a message. One for some messages counts them.
fn take(request: &Value, fault: &mut Fault) -> Fault {
    match *fault {
        Fault::NoCallsFor(messages) if request.to_string().contains("eth_call") => {
            *fault = if messages > 1 { Fault::NoCallsFor(messages - 1) } else { Fault::None };
            Fault::NoCalls
        }
        Fault::NoCallsFor(_) => Fault::None,
        Fault::NoRangesFor(messages) if range(request).is_some() => {
            let now = *fault;
            *fault = if messages > 1 { Fault::NoRangesFor(messages - 1) } else { Fault::None };
            now
        }
        Fault::NoRangesFor(_) => Fault::None,
        fault => fault,
    }
}

/// Returns whether a message has a call at a block.
fn calls_at(request: &Value, block: B256) -> bool {
    let text = request.to_string();
    text.contains("eth_call") && text.contains(&block.to_string())
}

/// Returns whether a request is for the logs of a block by its hash.
fn by_hash(request: &Value) -> bool {
    request["method"] == "eth_getLogs" && request["params"][0].get("blockHash").is_some()
}

/// Returns whether a request is for everything that was logged in a block.
fn of_block(request: &Value) -> bool {
    by_hash(request) || request["method"] == "eth_getBlockReceipts"
}

/// Returns the number of blocks in a request for logs.
fn range(request: &Value) -> Option<u64> {
    let height = |key| u64::from_str_radix(request["params"][0][key].as_str()?.trim_start_matches("0x"), 16).ok();
    Some(height("toBlock")? - height("fromBlock")? + 1)
}
