//! What the command line answers: one clear sentence for whatever is wrong, and no backtrace.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod node;

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use node::FakeNode;

fn braid(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(args).env_clear().env("RUST_BACKTRACE", "1");
    command
}

/// Runs `braid serve` on a free port, which must fail.
fn refused(rpc_url: &str, data_dir: &Path, listen: &str) -> String {
    let data_dir = data_dir.to_str().unwrap();
    let args = ["serve", "--rpc-url", rpc_url, "--data-dir", data_dir, "--listen", listen, "--log", "error"];
    fails(&braid(&args).output().unwrap())
}

/// The one sentence of a command that failed.
fn fails(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!said.contains("backtrace") && !said.contains("panicked"), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0].strip_prefix("braid: ").unwrap().to_owned()
}

#[test]
fn a_node_that_cannot_be_reached_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for scheme in ["http", "ws"] {
        let said = refused(&format!("{scheme}://{free}/secret-token"), dir.path(), "127.0.0.1:0");
        assert!(said.contains(&free.to_string()) && said.contains("cannot reach the node"), "{said}");
        assert!(!said.contains("secret-token"), "{said}");
    }
    let said = refused("/no/such/socket.ipc", dir.path(), "127.0.0.1:0");
    assert!(said.contains("node"), "{said}");
}

#[test]
fn what_is_no_address_of_a_node_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let said = refused("ftp://node.example", dir.path(), "127.0.0.1:0");
    assert!(said.contains("expected http://"), "{said}");
}

#[test]
fn a_node_of_another_chain_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let node = FakeNode::start("0xa");
    let said = refused(&node.url(), dir.path(), "127.0.0.1:0");
    assert!(said.contains("serves chain 10") && said.contains("chain 1 only"), "{said}");
}

#[test]
fn a_port_in_use_is_named_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = refused("http://127.0.0.1:1", dir.path(), &address);
    assert!(said.contains(&address) && said.contains("--listen"), "{said}");
}

#[test]
fn a_data_directory_that_cannot_be_written_is_named_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plain-file");
    std::fs::write(&file, "").unwrap();
    let said = refused("http://127.0.0.1:1", &file, "127.0.0.1:0");
    assert!(said.contains("plain-file") && said.contains("--data"), "{said}");
}

#[test]
fn a_data_directory_in_use_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let _owner = braid_store::QuoteStore::open(dir.path()).unwrap();
    let said = refused("http://127.0.0.1:1", dir.path(), "127.0.0.1:0");
    assert!(said.contains("in use by another process"), "{said}");
}

#[test]
fn help_teaches_every_command() {
    for (args, expected) in [
        (vec!["--help"], "serve"),
        (vec!["serve", "--help"], "curl -s localhost:8080/ready"),
        (vec!["keys", "create", "--help"], "NAME"),
    ] {
        let output = braid(&args).output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains(expected), "{args:?}");
    }
    let output = braid(&["serve"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--rpc-url"));
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().to_str().unwrap();
    let keys = |args: &[&str]| {
        let output = braid(&[&["keys", "--data-dir", data_dir], args].concat()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let key = keys(&["create", "bot"]);
    assert!(key.starts_with("braid_"));
    let listed = keys(&["list"]);
    assert!(listed.contains("bot") && !listed.contains(key.trim()));
    let id = listed.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let rotated = keys(&["rotate", &id, "--keep-old", "15m"]);
    assert!(rotated.starts_with("braid_") && rotated != key);
    keys(&["revoke", &id]);
    assert!(keys(&["list"]).lines().nth(1).unwrap().contains(" revoked "));
    keys(&["create", "guest", "--rate", "60", "--burst", "5", "--expires", "2100-01-01T00:00:00Z"]);
    let guest = keys(&["list"]).lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(guest.ends_with("2100-01-01T00:00:00Z 60 5 guest"), "{guest}");
    let over = braid(&["keys", "--data-dir", data_dir, "create", "late", "--expires", "2020-01-01T00:00:00Z"]).output();
    assert!(fails(&over.unwrap()).contains("the expiry is over already"));
    let unknown = braid(&["keys", "--data-dir", data_dir, "revoke", "key_x"]).output().unwrap();
    assert!(fails(&unknown).contains("no key key_x"));
}

#[test]
fn the_server_lives_before_its_market_and_stops_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let node = FakeNode::start("0x1");
    let data_dir = dir.path().to_str().unwrap();
    let mut child = braid(&["serve", "--rpc-url", &node.url(), "--data-dir", data_dir, "--listen", "127.0.0.1:0"])
        .args(["--log-format", "json"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let address = listening_on(&mut log);
    assert!(get(&address, "/health").starts_with("HTTP/1.1 200"));
    let ready = get(&address, "/ready");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("\"syncing\""), "{ready}");

    terminate(&child);
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
    assert!(rest.contains("stopped"), "{rest}");
}

/// The address in the first log line that has one; every line must be JSON.
fn listening_on(log: &mut impl std::io::BufRead) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the log ended");
        let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
        if let Some(address) = entry["address"].as_str() {
            return address.to_owned();
        }
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn terminate(child: &Child) {
    let status = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// A file of vectors of our own making: a pair, a trade that must be refused, a protocol that we do not route over.
fn vectors(amount_out: u64) -> String {
    format!(
        r#"{{"entries": [
            {{"protocol": "uniswap_v2", "pool": {{"address": "0xaa", "reserves": ["1000000", "1000000"], "fee_bps": 30,
              "must_fail": [{{"i": 0, "j": 1, "amount_in": "1"}}]}},
              "swaps": [{{"i": 0, "j": 1, "amount_in": "1000", "amount_out": "{amount_out}", "verified": "on-chain"}}]}},
            {{"protocol": "uniswap_v4", "pool": {{"address": "0xbb"}}, "swaps": [{{"i": 0, "j": 1}}]}}]}}"#
    )
}

#[test]
fn vectors_that_hold_are_counted_and_skips_have_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("good.json");
    std::fs::write(&file, vectors(996)).unwrap();
    let output = braid(&["vectors", file.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("good.json: 2 passed (1 of them read from the chain)"), "{said}");
    assert!(said.contains("1  Uniswap V4 is not one of Braid's protocols"), "{said}");
    assert_eq!(said.lines().last(), Some("2 passed, 0 failed, 1 skipped"));
}

#[test]
fn a_vector_that_is_off_is_named_with_pool_row_and_wei() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("off.json");
    std::fs::write(&file, vectors(997)).unwrap();
    let output = braid(&["vectors", file.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let row = "FAILED entry 0 row 0: uniswap_v2 0xaa swap 0→1 of 1000: expected 997, got 996 (-1 wei)";
    assert!(said.contains(row), "{said}");
    assert_eq!(said.lines().last(), Some("1 passed, 1 failed, 1 skipped"));
}

#[test]
fn what_is_no_file_of_vectors_is_told_so_and_malformed_entries_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bad.json");
    let path = file.to_str().unwrap();
    let run = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let output = braid(&["vectors", path]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert!(run("{").contains("not JSON: EOF"));
    assert!(run("[1]").contains("expected an object with a list \"entries\""));
    let said = run(r#"{"entries": [{"protocol": "uniswap_v2", "pool": {"address": "0xcc", "reserves": "many"}}]}"#);
    assert!(said.contains("MALFORMED entry 0: uniswap_v2 0xcc: pool.reserves: expected a list of integers"), "{said}");
    assert!(said.contains("0 passed, 1 failed, 0 skipped"), "{said}");
    let output = braid(&["vectors", "/no/such/file.json"]).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot read /no/such/file.json"));
}

/// The recorded mainnet vectors, where this checkout has them beside it.
#[test]
fn every_recorded_vector_holds() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let Ok(found) = std::fs::read_dir(&dir) else { return println!("skipped: no vectors at {}", dir.display()) };
    let mut files: Vec<String> = found.map(|file| file.unwrap().path().display().to_string()).collect();
    files.retain(|file| file.ends_with(".json"));
    files.sort();
    let args: Vec<&str> = ["vectors"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let output = braid(&args).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    println!("{said}");
    assert!(output.status.success() && said.contains(" passed, 0 failed, "), "{said}");
}

/// A StableSwap pool, for which the script has no formula, of a pair's tokens and as deep, at its price.
fn stable_pool_beside_a_pair(market: &serde_json::Value) -> serde_json::Value {
    let pair = market["pools"].as_array().unwrap().iter().find(|pool| pool["kind"] == "uniswap_v2").unwrap();
    let [held, other] = [0, 1].map(|side| pair["reserves"][side].as_str().unwrap().parse::<f64>().unwrap());
    let rate = format!("{:.0}", 1e18 * held / other);
    serde_json::json!({
        "kind": "curve_stable", "address": "0x00000000000000000000000000000000000000c5", "tokens": pair["tokens"],
        "balances": pair["reserves"], "rates": ["1000000000000000000", rate], "a": "10000", "a_precision": 100, "fee": "4000000",
    })
}

#[test]
fn every_certificate_of_a_market_is_worked_out_again_by_a_script_that_shares_no_code() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (market, json, witness) = (path("market"), path("market.json"), path("witness.jsonl"));
    let done = |args: &[&str]| {
        let output = braid(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    done(&["market", "generate", "--pools", "150", &market]);
    done(&["market", "export", &market, &json]);
    let mut written: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let stable = stable_pool_beside_a_pair(&written);
    written["pools"].as_array_mut().unwrap().push(stable);
    std::fs::write(&json, written.to_string()).unwrap();
    done(&["bench", "--market", &json, "--count", "60", "--no-baselines", "--witness", &witness]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/bound.py");
    let check = |witness: &str| Command::new("python3").arg(&script).args([&json, witness]).output().unwrap();
    let output = check(&witness);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.lines().count() >= 50, "{said}");

    let lines = std::fs::read_to_string(&witness).unwrap();
    let is_sampled = |line: &&str| !line.contains("\"sampled\":[]");
    assert!(
        lines.lines().filter(is_sampled).count() > 5,
        "no bound counts the pool that the script has no formula for"
    );

    // A bound that is too low by a thousandth is found out.
    let lower = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["dual_bound_value_wei"] = (line["dual_bound_value_wei"].as_f64().unwrap() * 0.999).into();
        line.to_string()
    };
    let forged = path("forged.jsonl");
    std::fs::write(&forged, lines.lines().map(lower).collect::<Vec<_>>().join("\n")).unwrap();
    assert_eq!(check(&forged).status.code(), Some(1));
}

#[test]
fn the_pictures_of_the_certificate_are_those_that_the_script_draws() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/figures.py");
    let output = Command::new("python3").arg(script).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_option_of_the_service_is_documented() {
    let help = String::from_utf8(braid(&["serve", "--help"]).output().unwrap().stdout).unwrap();
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/serve.md")).unwrap();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words = |start: &str| -> Vec<String> {
        let found = help.match_indices(start).map(|(at, _)| help[at..].split(|c| !is_name(c)).next().unwrap());
        found.map(str::to_owned).filter(|word| word.len() > start.len()).collect()
    };
    let told = [words("--"), words("BRAID_")].concat();
    assert!(told.len() > 20, "{told:?}");
    for word in told.iter().filter(|word| !["--help", "--version", "--rpc-url"].contains(&word.as_str())) {
        assert!(docs.contains(word.as_str()), "docs/serve.md does not tell of {word}");
    }
}

#[test]
fn a_configuration_file_is_read_and_its_mistakes_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("braid.toml");
    std::fs::write(&file, format!("data-dir = {:?}", dir.path().join("kept"))).unwrap();
    let made = braid(&["keys", "--config", file.to_str().unwrap(), "create", "bot"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    assert!(dir.path().join("kept/keys.json").exists());

    std::fs::write(&file, "rate-limit = 1\nlistn = \"x\"").unwrap();
    let wrong = braid(&["serve"]).env("BRAID_CONFIG", &file).output().unwrap();
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && said.contains("no option listn"), "{said}");
}
