//! A proxy of our own between service and node, that spoils answers on demand.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use alloy::transports::http::reqwest::Client;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What happens to answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// The connection is closed before a word.
    Refuse,
    /// The connection is closed in the middle of the answer.
    Cut,
    /// The JSON ends early, although the HTTP answer is whole.
    Truncate,
    /// An HTTP status instead of an answer.
    Status(u16),
    /// Answers carry other requests' ids.
    WrongId,
    /// Every result is null.
    Null,
    /// A JSON-RPC error for every request.
    Error,
    /// Answers that are no JSON at all.
    Garbage,
    /// No answer, ever.
    Silence,
    /// Another chain's id.
    OtherChain,
    /// Blocks are null; everything else is answered.
    NullBlocks,
    /// A batch's answers come in another order, and twice: allowed, and harmless.
    Shuffle,
    /// At most so many blocks in one range of logs.
    LogRange(u64),
    /// `eth_call` takes two arguments and no more.
    NoOverride,
    /// The connection is closed in the middle of the answer to a batch; single requests go through.
    CutBatch,
    /// Answers come after so many milliseconds.
    Slow(u64),
    /// The newest block is one so many blocks below it.
    Lag(u64),
    /// Blocks by height have hashes that no other node has.
    Fork,
    /// Blocks have no logs.
    NoLogs,
    /// The last of several logs of a block is left out.
    FewerLogs,
    /// Logs only of contracts that are named.
    NeedEmitters,
    /// At most so many requests in a message.
    Batch(usize),
    /// At most so many bytes in a message.
    Body(usize),
    /// At most so much gas in a call.
    Gas(u64),
    /// One answer in so many is lost: the connection is closed before a word.
    Lose(u64),
    /// The first call whose answer tells the newest block's second tells one of a day before; then nothing.
    OtherSecondOnce,
}

/// A running proxy; ends when dropped.
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

    /// How many messages were refused for what a node allows.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How many messages came.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether nothing is spoilt any more.
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
    let fault = *shared.lock().unwrap();
    let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
    let (status, body) = match fault {
        Fault::Refuse => return None,
        Fault::Lose(each) if number.is_multiple_of(each) => return None,
        Fault::Silence => std::future::pending().await,
        Fault::Status(status) => (status, String::new()),
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
                    let refusals = ["please specify an address", "OutOfGas"];
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

/// The body of a request over HTTP.
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

/// Calls of a batch, or one alone, with no more gas than that.
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
        let fail = |answer: &mut Value| {
            answer.as_object_mut().unwrap().remove("result");
            answer["error"] = error.clone();
        };
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
            Fault::NoOverride if request["params"].as_array().is_some_and(|params| params.len() > 2) => fail(answer),
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

/// The newest block's second, as a word and in the lens's short form, each with that of a day before.
async fn second(client: &Client, upstream: &str) -> Option<[(String, String); 2]> {
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": ["latest", false] });
    let block: Value = client.post(upstream).json(&asked).send().await.ok()?.json().await.ok()?;
    let told = u64::from_str_radix(block["result"]["timestamp"].as_str()?.trim_start_matches("0x"), 16).ok()?;
    let other = told - 86_400;
    Some([(format!("{told:064x}"), format!("{other:064x}")), (format!("04{told:08x}"), format!("04{other:08x}"))])
}

/// Asks for an older block where the newest is asked for.
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

/// Requests with their answers, whether alone or in a batch.
fn pairs<'a>(request: &'a Value, answer: &'a mut Value) -> Vec<(&'a Value, &'a mut Value)> {
    match (request, answer) {
        (Value::Array(requests), Value::Array(answers)) => requests.iter().zip(answers).collect(),
        (request, answer) => vec![(request, answer)],
    }
}

/// How many blocks a request for logs spans.
fn range(request: &Value) -> Option<u64> {
    let height = |key| u64::from_str_radix(request["params"][0][key].as_str()?.trim_start_matches("0x"), 16).ok();
    Some(height("toBlock")? - height("fromBlock")? + 1)
}
