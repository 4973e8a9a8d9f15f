//! A fake node that answers only `eth_chainId`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};

/// The fake node. It listens until the process ends.
pub(crate) struct FakeNode {
    address: SocketAddr,
}

impl FakeNode {
    pub(crate) fn start(chain_id: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || drop(answer(stream, chain_id)));
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn answer(stream: TcpStream, chain_id: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let (mut length, mut path) = (0, String::new());
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(asked) = line.strip_prefix("POST ") {
                path = asked.split(' ').next().unwrap_or_default().into();
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let request: Value = serde_json::from_slice(&body)?;
        let text = match &request {
            Value::Array(calls) => Value::Array(calls.iter().map(|call| reply(call, chain_id, &path)).collect()),
            call => reply(call, chain_id, &path),
        }
        .to_string();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        )?;
    }
}

/// Returns the node's answer. Errors contain the URL's path, as those of providers do; the path may contain an API key.
fn reply(call: &Value, chain_id: &str, path: &str) -> Value {
    if call["method"] == "eth_chainId" {
        return json!({"jsonrpc": "2.0", "id": call["id"], "result": chain_id});
    }
    json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": format!("not at {path}")}})
}
