//! A substitute for a provider's node: an artificial chain with mainnet's height on a real socket, with the limits of
//! providers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use alloy::primitives::{Address, B256, b256, keccak256};
use braid_devnet::addresses;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::proxy::read_body;

/// The height of the chain.
pub(crate) const HEAD: u64 = 24_700_000;

/// The block of the first artificial announcement, and the number of blocks between two of them.
const FIRST: u64 = 10_008_355;
const BETWEEN: u64 = 25_000;

/// Mainnet's first block with a base fee.
const LONDON: u64 = 12_965_000;

const PAIR_CREATED: B256 = b256!("0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9");

/// The limits of the node. By default there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// The maximum number of blocks in a range, and the message of a refusal, in which `{from}` and `{to}` stand for a
    /// range that is allowed.
    pub(crate) blocks: Option<(u64, &'static str)>,
    /// The maximum number of requests in a message, and the HTTP status and body of a refusal.
    pub(crate) batch: Option<(usize, u16, &'static str)>,
    /// Calls per second, and at once; more are refused with status 429.
    pub(crate) per_second: Option<f64>,
    /// The first block whose logs the node has, and whether it refuses older ones or returns none.
    pub(crate) history: Option<(u64, bool)>,
    /// The time that an answer takes.
    pub(crate) latency: Duration,
    /// How many blocks the node is behind the chain.
    pub(crate) behind: u64,
    /// The height that it says its newest block has. It has no such block.
    pub(crate) claims: Option<u64>,
    /// How many more blocks the node is behind that answers batches: a second one at the same address.
    pub(crate) batches_behind: u64,
    /// The first block that is another one than before.
    pub(crate) replaced_from: Option<u64>,
    /// The first block from which on every block announces a pool.
    pub(crate) crowded_from: Option<u64>,
    /// Blocks whose logs the node leaves out of ranges. It has them if it is asked by the block's hash.
    pub(crate) left_out: Option<(u64, u64)>,
    /// Blocks whose logs the node fails at, with an error of its own, if a range contains one of them.
    pub(crate) failing: Vec<(u64, u64)>,
    /// Whether it fails at them too if it is asked by the block's hash.
    pub(crate) fails_by_hash: bool,
    /// Whether it never answers instead of failing.
    pub(crate) hangs: bool,
    /// The maximum number of blocks in a range. The connection is closed instead of an answer to more.
    pub(crate) cuts_off: Option<u64>,
}

impl Rules {
    /// Returns the height of the node that answers a message.
    const fn head(&self, is_batch: bool) -> u64 {
        HEAD - self.behind - if is_batch { self.batches_behind } else { 0 }
    }

    fn hash(&self, number: u64) -> B256 {
        if self.replaced_from.is_some_and(|first| first <= number) { hash(number ^ (1 << 63)) } else { hash(number) }
    }

    fn header(&self, number: u64) -> Value {
        let mut header = json!({
            "number": hex(number), "hash": self.hash(number), "parentHash": self.hash(number - 1),
            "timestamp": hex(number * 12), "gasUsed": "0x1", "gasLimit": "0x2",
        });
        if number >= LONDON {
            header["baseFeePerGas"] = json!("0x3b9aca00");
        }
        header
    }
}

/// What the node received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The number of calls by method.
    pub(crate) calls: BTreeMap<String, u64>,
    /// The number of calls for the logs of ranges of blocks.
    pub(crate) ranges: u64,
    /// The number of refusals because of a limit.
    pub(crate) refused: u64,
    /// The maximum number of simultaneous messages.
    pub(crate) at_once: u64,
    under_way: u64,
}

struct State {
    rules: Rules,
    asked: Asked,
    level: f64,
    filled_at: Instant,
}

/// A running node. It ends when dropped.
pub(crate) struct StandIn {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl StandIn {
    pub(crate) async fn with(rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let level = rules.per_second.unwrap_or_default();
        let state = State { rules, asked: Asked::default(), level, filled_at: Instant::now() };
        let state = Arc::new(Mutex::new(state));
        let (shared, pairs) = (Arc::clone(&state), Arc::new(pairs()));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared), Arc::clone(&pairs)));
            }
        });
        Self { url, state, task }
    }

    pub(crate) fn set(&self, rules: Rules) {
        self.state.lock().unwrap().rules = rules;
    }

    pub(crate) fn asked(&self) -> Asked {
        self.state.lock().unwrap().asked.clone()
    }
}

/// Returns the block and the pair of every announced pool in the list that a start begins with.
fn listed() -> Vec<(u64, [Address; 3])> {
    let lines = include_str!("../../data/mainnet_pools.tsv").lines().filter(|line| line.starts_with("uniswap_v2\t"));
    let pair = |line: &str| {
        let mut fields = line.split('\t').skip(1).map(|field| field.parse::<Address>());
        [0; 3].map(|_| fields.next().unwrap().unwrap())
    };
    lines.enumerate().map(|(index, line)| (FIRST + index as u64 * 50_001, pair(line))).collect()
}

/// Does the same for every announcement: those of the list, and artificial ones at equal distances.
fn pairs() -> Vec<(u64, [Address; 3])> {
    let mut all: Vec<_> = listed().into_iter().chain((FIRST..HEAD).step_by(BETWEEN as usize).map(made_up)).collect();
    assert!(all.iter().all(|(block, _)| *block < HEAD));
    all.sort_unstable();
    all
}

/// Returns an artificial announcement in a block.
fn made_up(block: u64) -> (u64, [Address; 3]) {
    let [pool, a, b] = ["pool", "a", "b"].map(|what| Address::from_word(keccak256(format!("{what} {block}"))));
    (block, [pool, a.min(b), a.max(b)])
}

/// Returns the number of pairs announced from a block on.
pub(crate) fn announced_from(first: u64) -> usize {
    pairs().iter().filter(|(block, _)| *block >= first).count()
}

/// Returns the number of listed pairs announced before a block.
pub(crate) fn listed_before(first: u64) -> usize {
    listed().iter().filter(|(block, _)| *block < first).count()
}

/// Returns the block of the first announcement from a block on.
pub(crate) fn first_from(first: u64) -> u64 {
    pairs().iter().map(|(block, _)| *block).find(|block| *block >= first).unwrap()
}

/// Stand in place of a status for no answer at all, and for a connection that is closed.
const HANG: u16 = 0;
const CUT: u16 = 1;

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap()
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>, pairs: Arc<Vec<(u64, [Address; 3])>>) -> Option<()> {
    let request: Value = serde_json::from_slice(&read_body(&mut stream).await?).ok()?;
    let latency = {
        let mut state = lock(&state);
        state.asked.under_way += 1;
        state.asked.at_once = state.asked.at_once.max(state.asked.under_way);
        state.rules.latency
    };
    tokio::time::sleep(latency).await;
    let (status, body) = answer(&request, &mut lock(&state), &pairs);
    lock(&state).asked.under_way -= 1;
    if status == HANG {
        std::future::pending::<()>().await;
    } else if status == CUT {
        return None;
    }
    let retry = if status == 429 { "retry-after: 1\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\n{retry}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

fn answer(request: &Value, state: &mut State, pairs: &[(u64, [Address; 3])]) -> (u16, String) {
    let requests = request.as_array().map_or(std::slice::from_ref(request), Vec::as_slice);
    if let Some(rate) = state.rules.per_second {
        state.level = (state.level + rate * state.filled_at.elapsed().as_secs_f64()).min(rate);
        state.filled_at = Instant::now();
        if state.level < 1.0 {
            state.asked.refused += 1;
            return (
                429,
                json!({ "jsonrpc": "2.0", "id": null, "error": { "code": 429, "message": "busy" } }).to_string(),
            );
        }
        state.level -= requests.len() as f64;
    }
    if let Some((_, status, body)) = state.rules.batch.filter(|(most, ..)| request.is_array() && requests.len() > *most)
    {
        state.asked.refused += 1;
        return (status, body.into());
    }
    if state.rules.hangs && requests.iter().any(|request| is_failing(&request["params"][0], &state.rules)) {
        return (HANG, String::new());
    }
    let blocks =
        |request: &Value| Some(number(&request["params"][0]["toBlock"])? - number(&request["params"][0]["fromBlock"])?);
    if state.rules.cuts_off.is_some_and(|most| requests.iter().filter_map(blocks).any(|blocks| blocks >= most)) {
        state.asked.refused += 1;
        return (CUT, String::new());
    }
    let head = state.rules.head(request.is_array());
    let answers: Vec<Value> = requests.iter().map(|request| one(request, state, pairs, head)).collect();
    let body = if request.is_array() { Value::Array(answers) } else { answers.into_iter().next().unwrap() };
    (200, body.to_string())
}

fn one(request: &Value, state: &mut State, pairs: &[(u64, [Address; 3])], head: u64) -> Value {
    let method = request["method"].as_str().unwrap();
    *state.asked.calls.entry(method.into()).or_default() += 1;
    let params = &request["params"];
    state.asked.ranges += u64::from(params[0].get("fromBlock").is_some());
    let result = match method {
        "eth_chainId" => Ok(json!("0x1")),
        "eth_blockNumber" => Ok(hex(state.rules.claims.unwrap_or(head))),
        "eth_getBlockByNumber" if params[0] == "latest" && state.rules.claims.is_some() => {
            Ok(state.rules.header(state.rules.claims.unwrap()))
        }
        "eth_getBlockByNumber" => match number(&params[0]).unwrap_or(head) {
            number if number > head => Ok(Value::Null),
            number => Ok(state.rules.header(number)),
        },
        "eth_getBlockTransactionCountByHash" => Ok(json!("0x1")),
        "eth_getCode" | "eth_call" => Ok(json!("0x")),
        "eth_getLogs" => logs(&params[0], &state.rules, pairs),
        _ => Err((-32601, format!("the method {method} does not exist"))),
    };
    let mut answer = json!({ "jsonrpc": "2.0", "id": request["id"] });
    match result {
        Ok(result) => answer["result"] = result,
        Err((code, message)) => {
            state.asked.refused += u64::from(method == "eth_getLogs");
            answer["error"] = json!({ "code": code, "message": message });
        }
    }
    answer
}

/// Returns whether a request for logs is for blocks that the node fails at.
fn is_failing(filter: &Value, rules: &Rules) -> bool {
    match (number(&filter["fromBlock"]), number(&filter["toBlock"])) {
        (Some(from), Some(to)) => rules.failing.iter().any(|(first, last)| from <= *last && *first <= to),
        _ if rules.fails_by_hash => {
            let hash = filter["blockHash"].as_str().and_then(|hash| hash.parse::<B256>().ok());
            // Nobody asks for older ones.
            let newest = |(first, last): &(u64, u64)| *first.max(&last.saturating_sub(1_000))..=*last;
            let mut failing = rules.failing.iter().flat_map(newest);
            hash.is_some_and(|hash| failing.any(|block| rules.hash(block) == hash))
        }
        _ => false,
    }
}

fn logs(filter: &Value, rules: &Rules, pairs: &[(u64, [Address; 3])]) -> Result<Value, (i64, String)> {
    if is_failing(filter, rules) {
        return Err((-32603, "Internal error".into()));
    }
    let crowded = || (rules.crowded_from.unwrap_or(HEAD)..HEAD).map(made_up);
    let all: Vec<_> = pairs.iter().copied().chain(crowded()).collect();
    let (Some(from), Some(to)) = (number(&filter["fromBlock"]), number(&filter["toBlock"])) else {
        let hash: B256 = filter["blockHash"].as_str().unwrap().parse().unwrap();
        return Ok(all.iter().filter(|(block, _)| rules.hash(*block) == hash).map(|pair| log(rules, pair)).collect());
    };
    if let Some((most, message)) = rules.blocks.filter(|(most, _)| to - from >= *most) {
        let message = message.replace("{from}", &format!("0x{from:x}"));
        return Err((-32600, message.replace("{to}", &format!("0x{:x}", from + most - 1))));
    }
    let first = rules.history.map_or(0, |(first, _)| first);
    if from < first && rules.history.is_some_and(|(_, says_so)| says_so) {
        return Err((4444, "pruned history unavailable".into()));
    }
    let is_left_out = |block: u64| rules.left_out.is_some_and(|(first, last)| (first..=last).contains(&block));
    let is_given = |block: u64| (from.max(first)..=to).contains(&block) && !is_left_out(block);
    Ok(all.iter().filter(|(block, _)| is_given(*block)).map(|pair| log(rules, pair)).collect())
}

fn log(rules: &Rules, (block, [pool, a, b]): &(u64, [Address; 3])) -> Value {
    json!({
        "address": addresses::UNISWAP_V2_FACTORY,
        "topics": [PAIR_CREATED, a.into_word(), b.into_word()],
        "data": format!("{}{:064x}", pool.into_word(), 1),
        "blockNumber": hex(*block),
        "blockHash": rules.hash(*block),
        "transactionHash": B256::ZERO,
        "transactionIndex": "0x0",
        "logIndex": hex(u64::from(pool.0[19])),
        "removed": false,
    })
}

fn hash(number: u64) -> B256 {
    keccak256(number.to_be_bytes())
}

fn hex(number: u64) -> Value {
    json!(format!("0x{number:x}"))
}

fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}
