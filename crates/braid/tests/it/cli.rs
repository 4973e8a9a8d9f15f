//! Tests of the command line: every mistake gives one clear sentence and no backtrace.

mod node;
mod operated;
mod tls;

use std::collections::BTreeSet;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use node::FakeNode;

fn braid(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(args).env_clear().env("RUST_BACKTRACE", "1");
    command
}

/// Runs `braid serve` on a free port, which must fail, and returns the error.
fn refused(rpc_url: &str, data_dir: &Path, listen: &str) -> String {
    refused_with(1, rpc_url, data_dir, listen)
}

fn refused_with(code: i32, rpc_url: &str, data_dir: &Path, listen: &str) -> String {
    let data_dir = data_dir.to_str().unwrap();
    let args = ["serve", "--rpc-url", rpc_url, "--data-dir", data_dir, "--listen", listen, "--log", "error"];
    fails_with(code, &braid(&args).output().unwrap())
}

/// Returns the only line of a command that failed.
fn fails(output: &Output) -> String {
    fails_with(1, output)
}

/// Returns the only line of a command that ended with this exit code.
fn fails_with(code: i32, output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
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
        let said = refused_with(4, &format!("{scheme}://{free}/secret-token"), dir.path(), "127.0.0.1:0");
        assert!(said.contains(&free.to_string()) && said.contains("cannot reach the node"), "{said}");
        assert!(!said.contains("secret-token"), "{said}");
    }
    let said = refused_with(4, "/no/such/socket.ipc", dir.path(), "127.0.0.1:0");
    assert!(said.contains("node"), "{said}");
}

#[test]
fn what_is_no_address_of_a_node_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let said = refused_with(2, "ftp://node.example", dir.path(), "127.0.0.1:0");
    assert!(said.contains("expected http://"), "{said}");
}

/// Such a node made `braid quote` and `braid swap` wait for ever without a word.
#[test]
fn a_node_that_refuses_everything_is_told_and_an_interrupted_swap_leaves_no_file() {
    let (node, dir) = (FakeNode::start("0x1"), tempfile::tempdir().unwrap());
    // A test in the background of a script inherits that interrupts are ignored: only the swap, which handles them, is interrupted.
    let cases = [("-TERM", &["quote", "1", "ETH", "USDC"], None), ("-INT", &["swap", "1", "ETH", "USDC"], Some(130))];
    for (signal, words, code) in cases {
        let mut command = braid(&[&words[..], &["--rpc-url", &node.url()]].concat());
        command.env("TMPDIR", dir.path()).env("BRAID_PRIVATE_KEY", "01".repeat(32)).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        std::io::BufRead::read_line(&mut stderr, &mut said).unwrap();
        assert!(said.starts_with("waiting for the node's market: "), "{said}");
        let interrupted = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(interrupted.success());
        stderr.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), code, "{said}");
        assert_eq!(code.is_some(), said.ends_with("braid: interrupted: nothing was sent\n"), "{said}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// A list of nodes, as `braid serve` takes it, was read as one URL with an invalid port.
#[test]
fn a_command_with_one_node_uses_the_first_of_several() {
    let dir = tempfile::tempdir().unwrap();
    let (node, file) = (FakeNode::start("0xa"), dir.path().join("nodes"));
    let urls = format!("{},http://127.0.0.1:1/secret", node.url());
    std::fs::write(&file, urls.replace(',', "\n")).unwrap();
    for words in [&["swap", "1", "ETH", "USDC"][..], &["proxy", "verify"], &["market", "save", "a.market"]] {
        for (variable, value) in [("BRAID_RPC_URL", urls.as_str()), ("BRAID_RPC_URL_FILE", file.to_str().unwrap())] {
            let mut command = braid(words);
            command.env(variable, value).env("BRAID_PRIVATE_KEY", "01".repeat(32)).current_dir(dir.path());
            let said = fails(&command.output().unwrap());
            assert!(said.contains("chain 10"), "{words:?}: {said}");
        }
    }
    // The advice was an option that `braid swap` does not have.
    let mut swap = braid(&["swap", "1", "ETH", "USDC", "--rpc-url", &urls]);
    let said = fails(&swap.env("BRAID_PRIVATE_KEY", "01".repeat(32)).output().unwrap());
    assert!(said.ends_with("is on chain 10, not 1: name a node of that chain"), "{said}");
    let output = braid(&["doctor"]).env("BRAID_RPC_URL", &urls).current_dir(dir.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(&format!("bad   node     {}: ", node.url())), "{text}");
    assert!(lines[1].starts_with("bad   node     http://127.0.0.1:1: ") && !text.contains("secret"), "{text}");
}

#[test]
fn a_node_of_another_chain_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let node = FakeNode::start("0xa");
    let said = refused(&node.url(), dir.path(), "127.0.0.1:0");
    assert!(said.contains("serves chain 10") && said.contains("chain 1 only"), "{said}");
}

#[test]
fn a_doctor_says_what_is_amiss_and_ends_with_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plain-file");
    std::fs::write(&file, "").unwrap();
    let node = FakeNode::start("0xa");
    let output = braid(&["doctor", "--rpc-url", &node.url(), "--data", file.to_str().unwrap()]).output().unwrap();
    assert_eq!(fails(&output), "2 of 2 checks failed");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("bad   node ") && lines[0].contains("serves chain 10"), "{text}");
    assert!(lines[1].starts_with("bad   store ") && lines[1].contains("plain-file"), "{text}");
}

/// The doctor called a directory good in which no service starts, and did not take the options of `braid serve`.
#[test]
fn a_doctor_checks_the_directory_that_a_start_uses() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("keys.json"), "{").unwrap();
    let (node, data) = (FakeNode::start("0xa"), dir.path().to_str().unwrap());
    let file = dir.path().join("braid.toml");
    std::fs::write(&file, format!("data-dir = {data:?}\nrpc-url = {:?}", node.url())).unwrap();
    let store = |args: &[&str], variable: &str| {
        let mut command = braid(&[&["doctor"], args].concat());
        let output = command.env("BRAID_RPC_URL", node.url()).env(variable, data).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned()
    };
    let by_file = ["--config", file.to_str().unwrap()];
    for (args, variable) in [(&["--data-dir", data][..], "NONE"), (&[], "BRAID_DATA_DIR"), (&by_file, "NONE")] {
        let line = store(args, variable);
        assert!(line.starts_with("bad   store ") && line.contains("keys.json is damaged"), "{args:?}: {line}");
    }
    let missing = dir.path().join("missing");
    let line = store(&["--data", missing.to_str().unwrap()], "NONE");
    assert!(
        line.starts_with("ok    store ") && line.ends_with("`braid serve` makes it") && !missing.exists(),
        "{line}"
    );
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
fn a_snapshot_that_cannot_be_used_is_named_before_a_node_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("data"), dir.path().join("mainnet.snapshot"));
    let (data, name) = (data.to_str().unwrap(), file.to_str().unwrap());
    for command in ["serve", "sync"] {
        let args = ["--rpc-url", "http://127.0.0.1:1", "--data", data, "--log", "error", "--snapshot", name];
        let said = || fails_with(2, &braid(&[&[command], &args[..]].concat()).output().unwrap());
        let _ = std::fs::remove_file(&file);
        assert!(said().contains("No such file"), "{}", said());
        for content in
            [&b""[..], b"PK\x03\x04", b"BRAIDMKT\x02\0\0\0\xff\0\0\0\0\0\0\0", b"BRAIDMKT\x09\0\0\0\0\0\0\0\0\0\0\0"]
        {
            std::fs::write(&file, content).unwrap();
            let said = said();
            assert!(said.contains(name) && said.contains("cannot be used") && said.contains("start without"), "{said}");
        }
    }
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
    let made = braid(&["keys", "--data-dir", data_dir, "create", "bot"]).output().unwrap();
    assert!(String::from_utf8(made.stderr).unwrap().contains(&format!(" for \"bot\" in {data_dir}; keep the key")));
    let key = String::from_utf8(made.stdout).unwrap();
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
    let after = braid(&["keys", "list", "--data", data_dir]).output().unwrap();
    assert!(String::from_utf8(after.stdout).unwrap().contains(" guest"), "the directory stands after the subcommand");
    let over = braid(&["keys", "--data-dir", data_dir, "create", "late", "--expires", "2020-01-01T00:00:00Z"]).output();
    assert!(fails_with(2, &over.unwrap()).contains("the expiry is in the past"));
    let absent = dir.path().join("absent");
    let listed = braid(&["keys", "list", "--data", absent.to_str().unwrap()]).output().unwrap();
    assert!(fails_with(2, &listed).contains("there is no data directory") && !absent.exists());
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

#[test]
fn with_few_descriptors_a_flood_of_slow_clients_takes_neither_health_nor_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let node = FakeNode::start("0x1");
    let mut child = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 256 && exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_braid"),
            "serve",
            "--rpc-url",
            &node.url(),
        ])
        .args(["--data-dir", dir.path().to_str().unwrap(), "--listen", "127.0.0.1:0", "--log-format", "json"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let address = listening_on(&mut log);
    let mut held = Vec::new();
    for n in 0..500 {
        let mut slow = TcpStream::connect(&address).unwrap();
        slow.write_all(b"GET /health HTTP/1.1\r\nx-slow: ").unwrap();
        held.push(slow);
        if n % 50 == 49 {
            assert!(get(&address, "/health").starts_with("HTTP/1.1 200"), "{n}");
        }
    }
    let begun = std::time::Instant::now();
    terminate(&child);
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    assert!(!rest.contains("cannot be accepted"), "{rest}");
}

/// Returns the address in the first log line that has one. Every line must be JSON.
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

#[test]
fn completions_and_manual_pages_know_every_command() {
    let said = |args: &[&str]| String::from_utf8(braid(args).output().unwrap().stdout).unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&["completions", shell]);
        assert!(["swap", "verify", "key-file"].iter().all(|word| script.contains(word)), "{shell}");
    }
    let page = said(&["man"]);
    assert!(page.contains(".TH braid 1") && page.contains("Exit codes"), "{page}");
    let dir = tempfile::tempdir().unwrap();
    assert!(braid(&["man", "--dir", dir.path().to_str().unwrap()]).status().unwrap().success());
    let swap = std::fs::read_to_string(dir.path().join("braid-swap.1")).unwrap();
    assert!(swap.contains("Nothing is signed or sent without"), "{swap}");
    let wrong = braid(&["no-such-command"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&["--help"]).contains("6  a receipt or an answer of a service differs"));
}

/// Links the binary into a folder of its own, so that only the test's files are next to it.
#[cfg(unix)]
fn alone(dir: &Path) -> PathBuf {
    let binary = dir.join("braid");
    std::fs::hard_link(env!("CARGO_BIN_EXE_braid"), &binary).unwrap();
    binary
}

#[cfg(unix)]
#[test]
fn a_command_of_the_workshop_is_handed_to_the_binary_beside_and_named_where_there_is_none() {
    use std::os::unix::fs::PermissionsExt as _;

    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let binary = alone(dir.path());
    let run = |args: &[&str]| Command::new(&binary).args(args).env_clear().output().unwrap();
    for (args, name) in [
        (&["bench", "--count", "7"][..], "bench"),
        (&["vectors", "a.json"], "vectors"),
        (&["market", "load", "a.json", "a.market"], "market load"),
    ] {
        let said = fails(&run(args));
        assert!(said.starts_with(&format!("`braid {name}` is now `braid-lab {name}`")), "{said}");
    }
    let lab = dir.path().join("braid-lab");
    std::fs::write(&lab, "#!/bin/sh\necho \"$@\"\nexit 3\n").unwrap();
    std::fs::set_permissions(&lab, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = run(&["bench", "--market", "a b.json", "--help"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"bench --market a b.json --help\n"[..]));
}

#[test]
fn a_file_that_is_no_market_file_is_told_what_writes_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("recorded.json");
    std::fs::write(&file, r#"{"tokens": [], "pools": []}"#).unwrap();
    let said = fails_with(2, &braid(&["market", "show", file.to_str().unwrap()]).output().unwrap());
    assert!(said.contains("recorded.json: not a market file; `braid market save FILE` writes one"), "{said}");
}

/// Only one of the two ways to name a market was told.
#[test]
fn a_market_that_is_not_named_is_told_with_every_way_to_name_one() {
    for (words, ways) in [
        (&["market", "save", "a.market"][..], "--rpc-url URL or --data DIR"),
        (&["market", "show"], "FILE or --data DIR"),
        (&["prices", "ETH"], "--rpc-url URL or --market FILE"),
    ] {
        let said = fails_with(2, &braid(words).output().unwrap());
        assert_eq!(said, format!("name a market: {ways}"));
    }
}

#[test]
fn a_file_that_is_no_receipt_is_told_what_gives_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("quote.json");
    std::fs::write(&file, r#"{"data": {"quote_id": "7"}}"#).unwrap();
    let said = fails_with(2, &braid(&["verify", file.to_str().unwrap()]).output().unwrap());
    assert!(said.ends_with("GET /v1/quote/{quote_id}/receipt gives a receipt"), "{said}");
    let said = fails(&braid(&["man", "--dir", file.to_str().unwrap()]).output().unwrap());
    assert!(said.contains("cannot be written to") && said.contains("quote.json"), "{said}");
}

#[test]
fn an_address_of_a_service_without_a_scheme_is_told_how_to_be_written() {
    for command in [&["mcp"][..], &["swap", "1", "ETH", "USDC", "--rpc-url", "http://127.0.0.1:1"]] {
        let output = braid(&[command, &["--api", "localhost:8080"]].concat()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("such as http://127.0.0.1:8080"), "{said}");
    }
}

#[test]
fn a_search_without_a_node_makes_no_directory() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let said = fails_with(2, &braid(&["sync", "--data", data.to_str().unwrap()]).output().unwrap());
    assert!(said.contains("--rpc-url") && !data.exists(), "{said}");
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
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate/running.md")).unwrap();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words = |start: &str| -> Vec<String> {
        let found = help.match_indices(start).map(|(at, _)| help[at..].split(|c| !is_name(c)).next().unwrap());
        found.map(str::to_owned).filter(|word| word.len() > start.len()).collect()
    };
    let told = [words("--"), words("BRAID_")].concat();
    assert!(told.len() > 20, "{told:?}");
    for word in told.iter().filter(|word| !["--help", "--version", "--rpc-url"].contains(&word.as_str())) {
        assert!(docs.contains(word.as_str()), "docs/operate/running.md does not tell of {word}");
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

    // The option stands after the subcommand too, and `braid sync` reads the file.
    let name = file.to_str().unwrap();
    assert!(braid(&["keys", "create", "guest", "--config", name]).status().unwrap().success());
    std::fs::write(&file, format!("data-dir = {:?}\nrpc-url = \"ftp://a\"", dir.path().join("kept"))).unwrap();
    let said = fails_with(2, &braid(&["sync", "--config", name, "--log", "error"]).output().unwrap());
    assert!(said.contains("expected http://"), "{said}");
    // A file that is not there is no fault of a command that does not read it.
    let address = braid(&["proxy", "address"]).env("BRAID_CONFIG", dir.path().join("missing")).status().unwrap();
    assert!(address.success());

    std::fs::write(&file, "rate-limit = 1\nlistn = \"x\"").unwrap();
    let wrong = braid(&["serve"]).env("BRAID_CONFIG", &file).output().unwrap();
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && said.contains("no option listn"), "{said}");
}

#[test]
fn a_service_without_a_node_names_a_redis_server_and_no_node() {
    let dir = tempfile::tempdir().unwrap();
    let said = |more: &[&str]| {
        let args = [&["serve", "--follow", "--data-dir", dir.path().to_str().unwrap()], more].concat();
        fails_with(2, &braid(&args).output().unwrap())
    };
    assert!(said(&[]).contains("name it with --redis"));
    let both = said(&["--redis", "redis://127.0.0.1:1", "--rpc-url", "http://127.0.0.1:1/secret"]);
    assert!(both.contains("--rpc-url cannot take effect") && !both.contains("secret"), "{both}");
}

/// The service must refuse options of the command line, of the environment and of the file in one error, and no others.
#[test]
fn a_service_without_a_node_refuses_every_option_that_needs_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("braid.toml");
    std::fs::write(&file, "redis = \"redis://127.0.0.1:1\"\naudit-every-ms = 500\naudit-calls = 20\nrate-limit = 7")
        .unwrap();
    let mut command =
        braid(&["serve", "--follow", "--vault", "0x83F20F44975D03b1b09e64809B757c47f942BEeA", "--config"]);
    let token = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
    command.arg(&file).args(["--min-ether", "1", "--snapshot", "x", "--simulation-ms", "9"]);
    command.env("BRAID_DENY_TOKENS", token).env("BRAID_FIND_VAULTS", "true").env("BRAID_NODE_CHECK_S", "7");
    let said = fails_with(2, &command.output().unwrap());
    let named: BTreeSet<&str> = said.split([' ', ',']).filter(|word| word.starts_with("--")).collect();
    let expected = [
        "--audit-every-ms",
        "--deny-token",
        "--find-vaults",
        "--follow",
        "--min-ether",
        "--node-check-s",
        "--simulation-ms",
        "--snapshot",
        "--vault",
    ];
    assert_eq!(named, expected.into(), "{said}");
    assert!(said.contains("the service that publishes"), "{said}");
}
