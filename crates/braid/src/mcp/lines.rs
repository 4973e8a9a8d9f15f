//! Reads the lines of a client, and judges which of them are messages of JSON-RPC 2.0.

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Longest line, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// JSON-RPC's code for a line that is not JSON.
const PARSE_ERROR: i64 = -32_700;

/// JSON-RPC's code for JSON that is no message.
const INVALID_REQUEST: i64 = -32_600;

/// A line of a client.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Nothing to answer.
    Blank,
    /// A message.
    Message(Value),
    /// Several messages, or what stands in their place.
    Batch(Vec<Value>),
    /// No message; the answer that says so.
    Refused(Value),
}

/// Reads the next line; `None` at the end.
pub(super) async fn next(reader: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Line>> {
    let (mut line, mut is_long, mut is_empty) = (Vec::new(), false, true);
    loop {
        let part = reader.fill_buf().await?;
        if part.is_empty() && is_empty {
            return Ok(None);
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let text = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
        is_long |= line.len() + text.len() > MAX_BYTES;
        if !is_long {
            line.extend_from_slice(text);
        }
        let (is_last, read) = (end.is_some() || part.is_empty(), end.map_or(part.len(), |at| at + 1));
        is_empty = false;
        reader.consume(read);
        if is_last {
            break;
        }
    }
    if is_long {
        let text = format!("the line has more than {MAX_BYTES} bytes: send a smaller request");
        return Ok(Some(Line::Refused(error(Value::Null, INVALID_REQUEST, &text))));
    }
    Ok(Some(judge(&line)))
}

/// Judges a line without its end.
fn judge(line: &[u8]) -> Line {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Line::Blank;
    }
    match serde_json::from_slice(line) {
        Err(why) => Line::Refused(error(Value::Null, PARSE_ERROR, &format!("the line is not JSON: {why}"))),
        Ok(Value::Array(messages)) if messages.is_empty() => {
            Line::Refused(error(Value::Null, INVALID_REQUEST, "the batch is empty"))
        }
        Ok(Value::Array(messages)) => Line::Batch(messages),
        Ok(message) => refusal(&message).map_or(Line::Message(message), Line::Refused),
    }
}

/// Returns the answer to JSON that is no message; `None` for a message.
pub(super) fn refusal(message: &Value) -> Option<Value> {
    let why = fault(message)?;
    let id = message.get("id").filter(|id| is_id(id)).cloned().unwrap_or_default();
    Some(error(id, INVALID_REQUEST, &format!("this is no request: {why}")))
}

/// Returns the answer to a batch in a revision of the protocol that has none.
pub(super) fn no_batches() -> Value {
    error(Value::Null, INVALID_REQUEST, "this revision of MCP has no batches: send each message on a line of its own")
}

fn fault(message: &Value) -> Option<&'static str> {
    let Some(object) = message.as_object() else { return Some("a message is a JSON object") };
    let has = |name: &str| object.contains_key(name);
    if message["jsonrpc"] != "2.0" {
        return Some("\"jsonrpc\" must be \"2.0\"");
    }
    if has("id") && !is_id(&message["id"]) {
        return Some("\"id\" must be text or an integer");
    }
    if !has("method") {
        let is_response = has("id") && (has("result") || has("error"));
        return (!is_response).then_some("\"method\" is missing");
    }
    if !message["method"].is_string() {
        return Some("\"method\" must be text");
    }
    (has("params") && !message["params"].is_object()).then_some("\"params\" must be an object")
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

fn error(id: Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // small reads, so that lines span several of them
        let mut reader = tokio::io::BufReader::with_capacity(7, text);
        runtime.block_on(async {
            let mut lines = Vec::new();
            while let Some(line) = next(&mut reader).await.unwrap() {
                lines.push(line);
            }
            lines
        })
    }

    /// Returns id and code of a refusal.
    fn refused(text: &str) -> (Value, i64) {
        match all(text.as_bytes()).as_slice() {
            [Line::Refused(answer)] => (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap()),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_code_of_json_rpc() {
        for text in ["hello", "{", "{\"jsonrpc\": \"2.0\"", "\u{7f}"] {
            assert_eq!(refused(text), (Value::Null, PARSE_ERROR), "{text}");
        }
        for text in ["1", "null", "\"hello\"", "[]", "{}", r#"{"jsonrpc": "2.0", "method": "ping", "id": null}"#] {
            assert_eq!(refused(text), (Value::Null, INVALID_REQUEST), "{text}");
        }
        for text in [
            r#"{"id": 7, "method": "ping"}"#,
            r#"{"jsonrpc": "1.0", "id": 7, "method": "ping"}"#,
            r#"{"jsonrpc": "2.0", "id": 7}"#,
            r#"{"jsonrpc": "2.0", "id": 7, "method": 3}"#,
            r#"{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}"#,
        ] {
            assert_eq!(refused(text), (json!(7), INVALID_REQUEST), "{text}");
        }
    }

    #[test]
    fn messages_are_passed_on_whatever_ends_them() {
        let ping = json!({"jsonrpc": "2.0", "id": "a", "method": "ping"});
        let text = format!("\u{feff}{ping}\r\n\n  \n{ping}");
        let expected = [Line::Message(ping.clone()), Line::Blank, Line::Blank, Line::Message(ping.clone())];
        assert_eq!(all(text.as_bytes()), expected);
        assert_eq!(all(format!("[{ping}, 1]\n").as_bytes()), [Line::Batch(vec![ping, json!(1)])]);
        assert_eq!(all(b""), []);
    }

    #[test]
    fn a_line_without_end_takes_no_more_memory_and_the_next_is_read() {
        let mut text = vec![b'x'; 3 * MAX_BYTES];
        text.extend_from_slice(b"\n{\"jsonrpc\": \"2.0\", \"method\": \"a\"}\n");
        let lines = all(&text);
        let Line::Refused(answer) = &lines[0] else { panic!("{lines:?}") };
        assert!(answer["error"]["message"].as_str().unwrap().contains("more than 1048576 bytes"), "{answer}");
        assert_eq!(lines[1..], [Line::Message(json!({"jsonrpc": "2.0", "method": "a"}))]);
    }
}
