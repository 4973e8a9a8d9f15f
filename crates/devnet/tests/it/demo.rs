//! Tests of the demo from a user's side: one command starts it, swaps run in a second process, and nothing is left
//! afterwards.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU16, Ordering},
};

const DEVNET: &str = env!("CARGO_BIN_EXE_braid-devnet");

/// Returns the path of the service's binary beside the demo's. Builds it first when only this crate's tests are run.
fn braid() -> PathBuf {
    let path = PathBuf::from(DEVNET).with_file_name("braid");
    if !path.is_file() {
        let built = Command::new(env!("CARGO")).args(["build", "-p", "braid"]).status().unwrap();
        assert!(built.success());
    }
    path
}

/// Returns a port on which nothing listens, below those that the kernel gives to programs that ask for any: such a program
/// might be given it before the demo listens there.
fn free_port() -> u16 {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 1_000).unwrap() * 10;
    let mut ports = std::iter::repeat_with(|| first + TRIED.fetch_add(1, Ordering::Relaxed));
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// A running demo on free ports.
struct Demo {
    process: Child,
    port: u16,
    node_url: String,
    /// Its output until it was ready.
    welcome: String,
    logs: tempfile::TempDir,
}

impl Demo {
    /// Starts a demo with a block every second.
    fn start() -> Self {
        Self::with_blocks("1")
    }

    /// Starts a demo with a block every `every_s` seconds, or one per transaction if that is zero.
    fn with_blocks(every_s: &str) -> Self {
        let (port, logs) = (free_port(), tempfile::tempdir().unwrap());
        let mut process = Command::new(DEVNET)
            .args(["demo", "--node-port", "0", "--block-time", every_s, "--port", &port.to_string(), "--braid"])
            .arg(braid())
            .arg("--logs")
            .arg(logs.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut welcome = String::new();
        for line in BufReader::new(process.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            welcome.push_str(&line);
            welcome.push('\n');
            if line.starts_with("Ctrl-C") {
                break;
            }
        }
        let node_url = welcome.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
        Self { process, port, node_url, welcome, logs }
    }

    fn swap(&self, from: &str, to: &str, amount: &str) -> Output {
        self.swap_through(&[], from, to, amount)
    }

    fn swap_through(&self, protocols: &[&str], from: &str, to: &str, amount: &str) -> Output {
        let protocols = protocols.iter().flat_map(|id| ["--protocol", id]);
        Command::new(DEVNET)
            .args(["swap", "--from", from, "--to", to, "--amount", amount, "--rpc", &self.node_url, "--api"])
            .arg(format!("http://127.0.0.1:{}", self.port))
            .args(protocols)
            .output()
            .unwrap()
    }

    /// Returns the ids of the products that the service lists.
    fn products(&self) -> BTreeSet<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET /v1/protocols HTTP/1.1\r\nHost: demo\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let body: serde_json::Value =
            serde_json::from_str(&body[body.find('{').unwrap()..=body.rfind('}').unwrap()]).unwrap();
        let families = body["data"].as_array().unwrap().iter();
        let products = families.flat_map(|family| family["products"].as_array().unwrap());
        products.map(|product| product["id"].as_str().unwrap().to_owned()).collect()
    }
}

/// One swap through each product: its id, the token sold, the token bought, and the amount.
const THROUGH_EACH: [[&str; 4]; 26] = [
    ["wrapped_ether", "ETH", "WETH", "3"],
    ["uniswap_v2", "USDC", "WETH", "1234.5"],
    ["sushiswap_v2", "USDC", "WETH", "2345.6"],
    ["uniswap_v3", "USDC", "WETH", "3456.7"],
    ["sushiswap_v3", "USDC", "WETH", "4567.8"],
    ["pancakeswap_v3", "WETH", "USDT", "1.25"],
    ["erc4626", "DAI", "sDAI", "1111.1"],
    ["balancer_v2_weighted", "WETH", "AAVE", "1.5"],
    ["balancer_v2_stable", "DAI", "USDT", "2222.2"],
    ["balancer_v2_composable_stable", "WBTC", "cbBTC", "0.3"],
    ["balancer_v3_weighted", "WBTC", "WETH", "0.2"],
    ["balancer_v3_stable", "USDC", "USDT", "3333.3"],
    ["balancer_v3_buffer", "USDC", "waEthUSDC", "4444.4"],
    ["curve_stableswap", "DAI", "USDC", "5555.5"],
    ["curve_metapool", "GUSD", "USDT", "98.76"],
    ["curve_stableswap_ng", "USDC", "USDT", "6666.6"],
    ["curve_cryptoswap", "WETH", "CRV", "0.7"],
    ["curve_tricrypto", "USDT", "WBTC", "7777.7"],
    ["curve_tricrypto_ng", "USDC", "WBTC", "8888.8"],
    ["curve_twocrypto_ng", "WETH", "INV", "0.9"],
    ["lido_steth", "ETH", "stETH", "1.25"],
    ["lido_wsteth", "stETH", "wstETH", "0.5"],
    ["metamorpho", "USDC", "gtUSDCp", "1234.5"],
    ["fluid_dex_t1", "USDC", "USDT", "2345.6"],
    ["fluid_ftoken", "USDC", "fUSDC", "3456.7"],
    ["morpho_vault_v2", "USDC", "v2USDC", "4567.8"],
];

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn answers(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

#[test]
fn swaps_pay_what_was_quoted_and_a_signal_ends_everything() {
    let mut demo = Demo::start();
    for (from, to, amount) in
        [("USDC", "WETH", "12345.678901"), ("USDT", "ETH", "150000"), ("ETH", "WBTC", "7.5"), ("WBTC", "GUSD", "0.25")]
    {
        let swap = demo.swap(from, to, amount);
        let said = String::from_utf8_lossy(&swap.stdout);
        let log = std::fs::read_to_string(demo.logs.path().join(format!("braid-{}.log", demo.port))).unwrap();
        let errors = String::from_utf8_lossy(&swap.stderr);
        assert!(swap.status.success(), "{from} to {to}: {said}{errors}\n{log}");
        assert!(said.trim_end().ends_with("Equal to the wei."), "{said}");
    }

    let node_port: u16 = demo.node_url.rsplit(':').next().unwrap().parse().unwrap();
    assert!(answers(demo.port) && answers(node_port));
    let id = demo.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(demo.process.wait().unwrap().success());
    assert!(!answers(demo.port) && !answers(node_port));
}

#[test]
fn a_swap_can_be_forced_through_every_product() {
    // One block per transaction, so that none of the fifty transactions waits for a clock.
    let demo = Demo::with_blocks("0");
    let listed: BTreeSet<String> = THROUGH_EACH.iter().map(|[product, ..]| (*product).to_owned()).collect();
    assert_eq!(demo.products(), listed);
    let mut unequal = Vec::new();
    for [product, from, to, amount] in THROUGH_EACH {
        let swap = demo.swap_through(&[product], from, to, amount);
        let said = String::from_utf8_lossy(&swap.stdout).into_owned() + &String::from_utf8_lossy(&swap.stderr);
        if !swap.status.success() || !said.contains("\nEqual to the wei") || !said.contains(product) {
            unequal.push(format!("{product}: {said}"));
        }
    }
    assert!(unequal.is_empty(), "{}", unequal.join("\n"));
}

#[test]
fn the_welcome_can_be_pasted() {
    let demo = Demo::with_blocks("0");
    let lines: Vec<&str> = demo.welcome.lines().filter(|line| line.starts_with("curl ")).collect();
    for (line, path) in lines.iter().zip(["/v1/quote", "/v1/build", "/health", "/ready"]) {
        assert!(line.contains(&format!("http://127.0.0.1:{}{path}", demo.port)), "{line}");
        let checked = Command::new("sh").args(["-n", "-c", line]).status().unwrap();
        assert!(checked.success(), "{line}");
    }
    assert_eq!(lines.len(), 4);
    // The clients' examples sign with it.
    assert!(demo.welcome.contains(&braid_devnet::accounts::TAKER_KEY.to_string()), "{}", demo.welcome);
}

#[test]
fn a_swap_that_cannot_be_had_fails_with_one_sentence() {
    let demo = Demo::with_blocks("0");
    for (from, to, amount, expected) in [
        ("USDC", "NOPE", "1", "the local chain has no token NOPE"),
        ("USDC", "WETH", "1.0000001", "1.0000001 is no amount of USDC"),
        ("USDC", "USDC", "1", "/v1/quote answered 422"),
    ] {
        let swap = demo.swap(from, to, amount);
        let said = String::from_utf8_lossy(&swap.stderr);
        assert_eq!(swap.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: ") && said.contains(expected) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn a_port_in_use_is_named_with_the_variable_that_moves_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let other = free_port().to_string();
    for (api, node, variable) in [(&port, &other, "BRAID_PORT"), (&other, &port, "DEMO_NODE_PORT")] {
        let demo = Command::new(DEVNET)
            .args(["demo", "--port", api, "--node-port", node, "--braid"])
            .arg(braid())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&demo.stderr);
        assert_eq!(demo.status.code(), Some(1), "{said}");
        assert_eq!(
            said.trim_end(),
            format!(
                "error: port {port} of 127.0.0.1 is in use: stop what listens there, or set {variable} to another port"
            )
        );
    }
}

#[test]
fn without_a_service_the_swap_says_what_to_start() {
    let swap =
        Command::new(DEVNET).args(["swap", "--api", &format!("http://127.0.0.1:{}", free_port())]).output().unwrap();
    let said = String::from_utf8_lossy(&swap.stderr);
    assert_eq!(swap.status.code(), Some(1), "{said}");
    assert!(said.contains("does not answer: start it with `make demo`"), "{said}");
}
