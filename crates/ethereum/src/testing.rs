//! What several tests of this crate start from.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use braid_primitives::{B256, Block};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::watch,
    task::JoinHandle,
};

/// Returns a block whose hash is its number.
pub(crate) fn block(number: u64) -> Block {
    Block {
        number,
        hash: B256::left_padding_from(&number.to_be_bytes()),
        parent_hash: B256::ZERO,
        timestamp: 0,
        base_fee_per_gas_wei: 1,
        gas_used: 0,
        gas_limit: 1,
    }
}

/// A node at an ipc socket, with a chain of which each block's hash is its number. It ends when dropped.
pub(crate) struct StandIn {
    pub(crate) path: String,
    /// Height of its newest block.
    pub(crate) head: Arc<AtomicU64>,
    /// Methods of the requests about subscriptions that it received.
    pub(crate) asked: watch::Receiver<Vec<String>>,
    task: JoinHandle<()>,
    _dir: TempDir,
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl StandIn {
    pub(crate) fn at(head: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node.ipc");
        let listener = UnixListener::bind(&path).unwrap();
        let head = Arc::new(AtomicU64::new(head));
        let (noted, asked) = watch::channel(Vec::new());
        let shared = Arc::clone(&head);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serve(stream, &shared, &noted).await;
            }
        });
        Self { path: path.to_str().unwrap().to_owned(), head, asked, task, _dir: dir }
    }
}

/// Answers the requests of one connection.
async fn serve(mut stream: UnixStream, head: &AtomicU64, noted: &watch::Sender<Vec<String>>) {
    let mut bytes = Vec::new();
    while stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
        let mut requests = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>();
        let whole: Vec<Value> = requests.by_ref().map_while(Result::ok).collect();
        let read = requests.byte_offset();
        bytes.drain(..read);
        for request in whole {
            let method = request["method"].as_str().unwrap().to_owned();
            let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result(&request, head) });
            if method.contains("subscribe") {
                noted.send_modify(|asked| asked.push(method));
            }
            stream.write_all(answer.to_string().as_bytes()).await.unwrap();
        }
    }
}

fn result(request: &Value, head: &AtomicU64) -> Value {
    match request["method"].as_str().unwrap() {
        "eth_chainId" => json!("0x1"),
        "eth_subscribe" => json!(format!("{}", request["id"])),
        "eth_unsubscribe" => json!(true),
        "eth_getBlockByNumber" => {
            let asked = request["params"][0].as_str().unwrap().trim_start_matches("0x");
            let number = u64::from_str_radix(asked, 16).unwrap_or_else(|_| head.load(Ordering::Acquire));
            let block = block(number);
            json!({
                "number": format!("0x{number:x}"), "hash": block.hash, "parentHash": block.parent_hash,
                "timestamp": "0x1", "baseFeePerGas": "0x1", "gasUsed": "0x0", "gasLimit": "0x1",
            })
        }
        _ => Value::Null,
    }
}
