//! Tests of what `braid mcp` answers to lines that are no requests. No service is asked.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Sends lines, closes the input, and returns the answers. The program must end with success.
fn answers(lines: &[&str]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(["mcp", "--api", "http://127.0.0.1:9"]).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let (mut input, text) = (process.stdin.take().unwrap(), lines.join("\n"));
    let sent = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = process.wait_with_output().unwrap();
    sent.join().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn begin(revision: &str) -> String {
    let client =
        json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": client}).to_string()
}

/// Returns the codes of the errors without an id, sorted.
fn codes(answers: &[Value]) -> Vec<i64> {
    let unnamed = answers.iter().filter(|answer| answer.get("id") == Some(&Value::Null));
    let mut codes: Vec<i64> = unnamed.map(|answer| answer["error"]["code"].as_i64().unwrap()).collect();
    codes.sort_unstable();
    codes
}

fn answer_to<'a>(answers: &'a [Value], id: &Value) -> &'a Value {
    let found = answers.iter().find(|answer| answer["id"] == *id);
    found.unwrap_or_else(|| panic!("no answer to {id}: {answers:#?}"))
}

#[test]
fn what_is_no_request_is_answered_by_the_codes_of_json_rpc_and_the_session_goes_on() {
    let long = format!("{{\"long\": \"{}\"}}", "x".repeat(2 << 20));
    let begin = begin("2025-06-18");
    let answers = answers(&[
        "hello",
        &begin,
        r#"{"jsonrpc": "2.0", "id": 1, "#,
        "[]",
        r#"[{"jsonrpc": "2.0", "id": 2, "method": "ping"}]"#,
        "7",
        &long,
        "",
        r#"{"id": 3, "method": "ping"}"#,
        r#"{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {}}"#,
        r#"{"jsonrpc": "2.0", "id": 5, "method": "no/such"}"#,
        // answered although the input ends here, without a line's end
        r#"{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "prices", "arguments": {"tokens": ["USDC"]}}}"#,
    ]);
    assert_eq!(codes(&answers), [-32_700, -32_700, -32_600, -32_600, -32_600, -32_600], "{answers:#?}");
    for (id, code) in [(3, -32_600), (4, -32_602), (5, -32_601)] {
        assert_eq!(answer_to(&answers, &json!(id))["error"]["code"], code, "{answers:#?}");
    }
    assert_eq!(answer_to(&answers, &json!("begin"))["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer_to(&answers, &json!(6))["result"]["isError"], true);
    assert_eq!(answers.len(), 11, "{answers:#?}");
}

#[test]
fn a_batch_is_answered_by_one_line_in_the_revision_that_has_batches() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(["mcp", "--api", "http://127.0.0.1:9"]).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(process.stdout.take().unwrap()));
    writeln!(input, "{}", begin("2025-03-26")).unwrap();
    let begun: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(begun["result"]["protocolVersion"], "2025-03-26");
    let request = |id: u64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method});
    writeln!(input, "{}", json!([request(1, "ping"), request(2, "tools/list"), {"jsonrpc": "2.0"}])).unwrap();
    drop(input);
    let batch: Vec<Value> = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert!(lines.next().is_none() && process.wait().unwrap().success());
    assert_eq!((batch.len(), codes(&batch)), (3, vec![-32_600]));
    assert!(answer_to(&batch, &json!(2))["result"]["tools"].is_array() && !answer_to(&batch, &json!(1)).is_null());
}
