//! Tests of what an operator monitors and configures: settings, logs, metrics and traces of a running service.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use super::node::FakeNode;
use super::{braid, fails, fails_with, get, listening_on, terminate};

/// A service that uses a fake node.
struct Served {
    child: Child,
    log: BufReader<ChildStderr>,
    address: String,
    _node: FakeNode,
    dir: tempfile::TempDir,
}

impl Served {
    fn start(options: impl FnOnce(&mut Command, &std::path::Path)) -> Self {
        let (node, dir) = (FakeNode::start("0x1"), tempfile::tempdir().unwrap());
        let secret = dir.path().join("node-url");
        std::fs::write(&secret, node.url()).unwrap();
        let mut command = braid(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
        command.arg("--rpc-url-file").arg(&secret).arg("--data-dir").arg(dir.path()).stderr(Stdio::piped());
        options(&mut command, dir.path());
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let address = listening_on(&mut log);
        Self { child, log, address, _node: node, dir }
    }

    /// Reads the log up to a line that contains all of these parts.
    fn logged(&mut self, parts: &[&str]) {
        let mut line = String::new();
        while !parts.iter().all(|part| line.contains(part)) {
            line.clear();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "the log ended without {parts:?}");
        }
    }

    fn stop(mut self) {
        terminate(&self.child);
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{rest}");
    }
}

impl Drop for Served {
    /// Ends the processes that a failed test has left.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_logged_changes_without_a_restart() {
    let mut served = Served::start(|command, dir| {
        std::fs::write(dir.join("braid.toml"), "log = \"info\"").unwrap();
        command.arg("--config").arg(dir.join("braid.toml"));
    });
    let hang_up = |served: &Served, file: &str| {
        std::fs::write(served.dir.path().join("braid.toml"), file).unwrap();
        let status = Command::new("kill").args(["-HUP", &served.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    };
    hang_up(&served, "log = \"debug\"");
    served.logged(&["the log filter was reloaded", "debug"]);
    get(&served.address, "/health");
    served.logged(&["DEBUG", "request", "/health"]);

    hang_up(&served, "log = \"no such level\"");
    served.logged(&["could not be reloaded", "no such level"]);
    get(&served.address, "/health");
    served.logged(&["DEBUG", "request", "/health"]);
    served.stop();
}

/// A supervisor may stop a service at any moment, also before its node has answered.
#[test]
fn a_service_that_starts_stops_when_it_is_told_to() {
    let (node, dir) = (TcpListener::bind("127.0.0.1:0").unwrap(), tempfile::tempdir().unwrap());
    let mut command = braid(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--rpc-url").arg(format!("http://{}", node.local_addr().unwrap())).arg("--data-dir").arg(dir.path());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let asked = node.accept().unwrap();
    terminate(&child);
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{log}");
    assert!(log.contains("stopping"), "{log}");
    drop(asked);
}

#[test]
fn metrics_can_have_a_port_of_their_own() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let served = Served::start(|command, _| {
        command.args(["--metrics-listen", &port.to_string()]);
    });
    assert!(get(&served.address, "/metrics").starts_with("HTTP/1.1 404"));
    let metrics = get(&port.to_string(), "/metrics");
    for line in [
        "braid_quoting 0",
        "braid_following 0",
        "braid_publishing 0",
        "braid_build_info{version=",
        "braid_node_call_seconds_bucket{",
    ] {
        assert!(metrics.lines().any(|found| found.starts_with(line)), "{line}\n{metrics}");
    }
    assert!(metrics.trim_end().ends_with("# EOF"), "{metrics}");
    assert!(get(&port.to_string(), "/v1/chains").starts_with("HTTP/1.1 404"));
    served.stop();
}

/// The service must have every metric that alerts and dashboard use, and the documents' table must list them all.
#[test]
fn alerts_and_dashboard_name_metrics_that_there_are() {
    let read = |path: &str| std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let names = |text: &str| -> BTreeSet<String> {
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let words = text.split(|c| !is_name(c)).filter(|word| word.starts_with("braid_"));
        let plain = |word: &str| {
            ["_bucket", "_count", "_sum"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word).to_owned()
        };
        words.map(plain).collect()
    };
    let page = read("docs/operate/production.md");
    let documented = names(page.split("\n## Metrics, alerts, traces\n").nth(1).unwrap().split("\n## ").next().unwrap());
    let asked = names(&(read("packaging/prometheus/alerts.yml") + &read("packaging/grafana/braid.json")));
    assert!(asked.len() > 20, "{asked:?}");
    for name in &asked {
        assert!(documented.contains(name), "{name} is asked for and not in docs/operate/production.md");
    }
    let served = Served::start(|_, _| ());
    let metrics = get(&served.address, "/metrics");
    let kinds = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let ending = |kind: &str| {
        if kind == "counter" {
            "_total"
        } else if kind == "info" {
            "_info"
        } else {
            ""
        }
    };
    let there: BTreeSet<String> = kinds.map(|(name, kind)| format!("{name}{}", ending(kind))).collect();
    assert!(there.len() > 20, "{metrics}");
    for name in &there {
        assert!(documented.contains(name), "{name} is served and not in docs/operate/production.md");
    }
    // These appear only after the first market and the first request.
    let later = ["braid_market_", "braid_http_", "braid_simulation_", "braid_node_fault"];
    for name in documented.iter().filter(|name| !later.iter().any(|start| name.starts_with(start))) {
        assert!(there.contains(name), "{name} is documented and not served: {there:?}");
    }
    served.stop();
}

/// The service would ignore a variable that it does not know.
#[test]
fn what_is_packaged_sets_variables_that_the_service_knows() {
    let help = String::from_utf8(braid(&["serve", "--help"]).output().unwrap().stdout).unwrap();
    let mut seen = 0;
    let mut open = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        // The build sets the commit.
        for word in words.filter(|word| word.starts_with("BRAID_") && *word != "BRAID_COMMIT") {
            let is_known = ["=", "]"].iter().any(|end| help.contains(&format!("[env: {word}{end}")));
            assert!(is_known, "{word} in {}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

/// Starts a substitute for an OpenTelemetry collector, which passes on what is posted to it.
fn collector() -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, (sender, posted)) = (listener.local_addr().unwrap(), channel());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (mut reader, mut stream) = (BufReader::new(stream.try_clone().unwrap()), stream);
            let (sender, mut line, mut length) = (sender.clone(), String::new(), 0);
            std::thread::spawn(move || {
                while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                    let head = std::mem::take(&mut line).to_ascii_lowercase();
                    if let Some(value) = head.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if head.trim().is_empty() {
                        let mut body = vec![0; length];
                        reader.read_exact(&mut body).unwrap();
                        drop(sender.send(body));
                        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                    }
                }
            });
        }
    });
    (address, posted)
}

#[test]
fn traces_go_to_the_collector_that_the_environment_names() {
    let (address, posted) = collector();
    let endpoint = format!("http://{address}");
    let served = Served::start(|command, _| {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    });
    assert!(get(&served.address, "/v1/tokens").starts_with("HTTP/1.1 503"));
    // The end of the process sends the remaining spans.
    served.stop();
    let sent: Vec<u8> = posted.try_iter().flatten().collect();
    for part in ["braid", "request", "/v1/tokens", "node call", "eth_chainId"] {
        assert!(sent.windows(part.len()).any(|found| found == part.as_bytes()), "{part}");
    }
}

#[test]
fn log_answers_metrics_and_traces_show_no_secret() {
    let (address, posted) = collector();
    let mut served = Served::start(|command, dir| {
        let file = dir.join("node-url");
        let url = std::fs::read_to_string(&file).unwrap();
        let url = url.replace("http://", "http://operator:hidden-password@") + "/v3/hidden-path?key=hidden-query";
        std::fs::write(file, url).unwrap();
        command.env("BRAID_API_KEYS", "hidden-key").env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"));
        command.args(["--log", "trace"]);
    });
    // The node's error, which contains its path.
    served.logged(&["not at"]);
    let mut said = String::new();
    for path in ["/ready", "/metrics", "/v1/tokens", "/v1/quote?api-key=hidden-in-the-path"] {
        said += &get(&served.address, path);
    }
    for header in ["x-api-key: hidden-key", "authorization: Bearer hidden-wrong-key"] {
        let mut stream = std::net::TcpStream::connect(&served.address).unwrap();
        let head = "POST /v1/quote HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json";
        write!(stream, "{head}\r\n{header}\r\ncontent-length: 2\r\n\r\n{{}}").unwrap();
        stream.read_to_string(&mut said).unwrap();
    }
    terminate(&served.child);
    served.log.read_to_string(&mut said).unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0), "{said}");
    let traces: Vec<u8> = posted.try_iter().flatten().collect();
    said += &String::from_utf8_lossy(&traces);
    for part in ["TRACE", "/v1/quote", "VALIDATION_FAILED", "braid_node_call_seconds", "node call"] {
        assert!(said.contains(part), "{part}");
    }
    if let Some(line) = said.lines().find(|line| line.contains("hidden")) {
        panic!("{line}");
    }
}

/// At the level at which everything is logged, the websocket library logs the first message to a node, with path and
/// password.
#[test]
fn a_websocket_that_is_opened_shows_no_secret_in_the_log() {
    let (node, dir) = (TcpListener::bind("127.0.0.1:0").unwrap(), tempfile::tempdir().unwrap());
    let address = node.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in node.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let _ = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).count();
            drop(stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"));
        }
    });
    let mut command = braid(&["serve", "--listen", "127.0.0.1:0", "--log", "trace,tungstenite::handshake=trace"]);
    command.arg("--rpc-url").arg(format!("ws://operator:hidden-password@{address}/hidden-path?key=hidden-query"));
    let output = command.arg("--data-dir").arg(dir.path()).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && log.contains("TRACE"), "{log}");
    // The second is `operator:hidden-password` as HTTP encodes it.
    for secret in ["hidden", "b3BlcmF0b3I6aGlkZGVuLXBhc3N3b3Jk"] {
        assert_eq!(log.lines().find(|line| line.contains(secret)), None);
    }
}

#[test]
fn a_configuration_is_checked_without_starting_and_shows_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let (file, path) = (dir.path().join("braid.toml"), dir.path().join("braid.toml"));
    let path = path.to_str().unwrap();
    std::fs::write(&file, "rate-limit = 7\nrpc-url = [\"https://node.example/secret\"]").unwrap();
    let check = |args: &[&str]| {
        let words = [&["config", "check", "--config", path], args].concat();
        braid(&words).env("BRAID_API_KEYS", "hidden").output().unwrap()
    };
    let output = check(&["--burst-limit", "9"]);
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{output:?}");
    let row = |name: &str| said.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap_or_default();
    assert!(row("rate-limit").ends_with("file") && row("rate-limit").contains(" 7 "), "{said}");
    assert!(row("burst-limit").ends_with("command line"), "{said}");
    assert!(row("api-key").ends_with("environment, BRAID_API_KEYS"), "{said}");
    assert!(row("quote-ttl-s").ends_with("default"), "{said}");
    assert!(!said.contains("secret") && !said.contains("hidden"), "{said}");

    assert!(fails_with(2, &check(&["--find-vaults", "--audit-every-ms", "0"])).contains("self-audit"));
    assert!(fails_with(2, &check(&["--metrics-listen", "127.0.0.1:8080"])).contains("its own"));
    std::fs::write(&file, "rate-limt = 7").unwrap();
    let output = check(&[]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("no option rate-limt"));
}

/// Such a service started in silence.
#[test]
fn a_service_that_refuses_every_quote_warns_at_its_start_and_when_it_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let data = ["--data-dir", dir.path().to_str().unwrap()];
    let warns = |options: &[&str]| {
        let warned = [&["config", "check"][..], &["serve", "--listen=127.0.0.1:0"]].map(|command| {
            let args = [command, &["--rpc-url=http://127.0.0.1:1"], &data, options].concat();
            let said = String::from_utf8(braid(&args).output().unwrap().stderr).unwrap();
            said.contains("every quote is refused: make a key with `braid keys create NAME`")
        });
        assert_eq!(warned[0], warned[1], "{options:?}");
        warned[0]
    };
    assert!(warns(&[]));
    assert!(!warns(&["--anonymous-quotes"]) && !warns(&["--api-key", "of-the-test"]));
    assert!(braid(&[&["keys", "create", "bot"][..], &data].concat()).output().unwrap().status.success());
    assert!(!warns(&[]));
}

/// `config check` called a configuration good whose start failed at once. It must find what the start finds, in its words.
#[test]
fn a_check_opens_what_a_start_opens_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (file, folder, data) = (path("plain"), path("folder"), path("new/data"));
    std::fs::write(&file, "not of Braid").unwrap();
    std::fs::create_dir(&folder).unwrap();
    let damaged = path("damaged");
    std::fs::create_dir(&damaged).unwrap();
    std::fs::write(dir.path().join("damaged/keys.json"), "{").unwrap();
    let blocked = path("blocked");
    std::fs::create_dir_all(dir.path().join("blocked/market.redb")).unwrap();
    let missing = path("missing");
    let (under, socket) = (format!("{file}/data"), path("node.ipc"));
    let same = |args: &[&str]| {
        let ran = |words: &[&str]| {
            let given = |name: &str| args.contains(&name);
            let mut command = braid(&[words, args].concat());
            command.args((!given("--rpc-url")).then_some("--rpc-url=http://127.0.0.1:1"));
            command.args((!given("--data-dir")).then(|| format!("--data-dir={data}")));
            let output = command.output().unwrap();
            (fails_with(output.status.code().unwrap(), &output), output.status.code())
        };
        let (checked, started) = (ran(&["config", "check"]), ran(&["serve", "--log=off", "--listen=127.0.0.1:0"]));
        assert_eq!(checked, started, "{args:?}");
        checked.0
    };
    assert!(same(&["--api-key-file", &missing]).contains("cannot read"));
    assert!(same(&["--api-key-file", &folder]).contains("cannot read"));
    assert!(same(&["--rpc-url-file", &missing]).contains("cannot read"));
    assert!(same(&["--snapshot", &missing]).contains("cannot be used"));
    assert!(same(&["--snapshot", &file]).contains("cannot be used"));
    assert!(same(&["--data-dir", &file]).contains("cannot write to"));
    assert!(same(&["--data-dir", &under]).contains("cannot write to"));
    assert!(same(&["--data-dir", &damaged]).contains("is damaged"));
    assert!(same(&["--rpc-url", "ftp://node.example"]).contains("expected http://"));
    assert!(same(&["--rpc-url", &socket]).contains("ipc socket node.ipc"));
    // a start says more of these
    let check = |args: &[&str]| braid(&[&["config", "check", "--rpc-url=http://127.0.0.1:1"], args].concat());
    assert!(fails(&check(&["--data-dir", &blocked]).output().unwrap()).contains("market.redb"));
    let said = fails_with(2, &check(&["--log", "no level", "--data-dir", &data]).output().unwrap());
    assert!(said.contains("--log \"no level\""), "{said}");
    let redis = check(&["--redis", "nonsense", "--data-dir", &data]).output().unwrap();
    assert!(!redis.status.success(), "{redis:?}");
    // What is missing is not made, and a directory in use by a service is no fault.
    let fresh = path("fresh/data");
    assert!(check(&["--data-dir", &fresh]).output().unwrap().status.success() && !dir.path().join("fresh").exists());
    let _owner = braid_store::QuoteStore::open(&dir.path().join("folder")).unwrap();
    assert!(check(&["--data-dir", &folder]).output().unwrap().status.success());
}
