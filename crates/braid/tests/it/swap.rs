//! Tests of the command line on a real chain: a swap with a local key, and a receipt that is verified after the service
//! has ended.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use braid_devnet::{Devnet, Options, accounts, tokens};
use braid_market::Market;
use braid_primitives::{Address, B256, Block, NATIVE_ETHER, U256};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::service::{KEY, Service};

/// The key of `accounts::TAKER` under the password `hunter2`: scrypt with n = 1024 and AES-128-CTR, in the standard's
/// version 3.
const KEYSTORE: &str = r#"{"version": 3, "id": "3198bc9c-6672-5ab3-d995-4942343ae5b6", "crypto": {"cipher": "aes-128-ctr",
 "cipherparams": {"iv": "000102030405060708090a0b0c0d0e0f"}, "kdf": "scrypt",
 "ciphertext": "8e125e1483a17f45999d60f1931f6495ff7c453712f2f33d4857a5efb7470e3e",
 "kdfparams": {"dklen": 32, "n": 1024, "r": 8, "p": 1, "salt": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"},
 "mac": "a8b6a7661abbf90ade8dfaf466637a280e85360b55d76464a6332f8c61f8e4e9"}}"#;

fn braid(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(args).env_clear();
    command
}

async fn ran(command: Command) -> Output {
    tokio::task::spawn_blocking(move || {
        let mut command = command;
        command.output().unwrap()
    })
    .await
    .unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the exit code and the last line of a command that failed.
fn failed(output: &Output) -> (i32, String) {
    let words = String::from_utf8(output.stderr.clone()).unwrap();
    (output.status.code().unwrap(), words.lines().last().unwrap_or_default().to_owned())
}

fn by_variable(args: &[&str]) -> Command {
    let mut command = braid(args);
    command.env("BRAID_PRIVATE_KEY", accounts::TAKER_KEY.to_string());
    command
}

/// Returns the rest of the line that begins with a word.
fn line<'a>(text: &'a str, word: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(word));
    found.unwrap_or_else(|| panic!("no line of {word}: {text}")).trim()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_is_what_arrives() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let url = chain.http_url();
    let usdc = tokens::by_symbol("USDC").address;
    let blocks = async || chain.rpc().block_number().await.unwrap();

    // A dry run gives a route and a simulation, and sends nothing.
    let before = blocks().await;
    let text = said(&ran(by_variable(&["swap", "1.5", "ETH", "USDC", "--rpc-url", &url])).await);
    assert_eq!(line(&text, "sells"), format!("ETH {NATIVE_ETHER}"), "{text}");
    assert_eq!(line(&text, "buys"), format!("USDC {usdc}"), "{text}");
    assert!(text.contains("\n1.5 ETH  →  ") && text.contains("└─ 100.00%  1.5 WETH"), "{text}");
    assert!(line(&text, "simulation").starts_with("goes through"), "{text}");
    assert!(text.contains("at least") && text.ends_with("Nothing was signed or sent: --send does it.\n"), "{text}");
    assert!(line(&text, "price impact").ends_with('%') && !text.contains("--accept-impact-bps"), "{text}");
    assert_eq!(blocks().await, before);
    assert!(!text.contains("ac0974be"), "the key is not shown");

    // A sale of ether takes one transaction.
    let held = chain.balance_of(usdc, accounts::TAKER).await.unwrap();
    let text = said(&ran(by_variable(&["swap", "1.5", "ETH", "USDC", "--rpc-url", &url, "--send"])).await);
    assert!(line(&text, "received").ends_with("(as quoted, to the last unit)"), "{text}");
    assert_eq!(blocks().await, before + 1);
    let gained = chain.balance_of(usdc, accounts::TAKER).await.unwrap() - held;
    let shown = line(&text, "received").split(' ').next().unwrap().to_owned();
    assert_eq!(units(&shown, 6), gained);

    // A purchase of an exact amount costs at most the stated maximum.
    let held = chain.balance_of(usdc, accounts::TAKER).await.unwrap();
    let text = said(&ran(by_variable(&["swap", "ETH", "3000", "USDC", "--rpc-url", &url, "--send"])).await);
    let of = |word: &str, places| units(line(&text, word).split(' ').next().unwrap(), places);
    assert_eq!(of("at least", 6), units("3000", 6), "{text}");
    assert!(of("sold", 18) > U256::ZERO && of("sold", 18) <= of("at most", 18), "{text}");
    let gained = chain.balance_of(usdc, accounts::TAKER).await.unwrap() - held;
    assert!(gained >= units("3000", 6) && gained == of("received", 6), "{text}");

    // A sale of a token, with an exact approval and a key in a file.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key.txt");
    std::fs::write(&file, accounts::TAKER_KEY.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let args = ["swap", "1000", "USDC", "WETH:60", "ETH:40", "--rpc-url", &url, "--key-file", file, "--send"];
    let text = said(&ran(braid(&args)).await);
    assert!(line(&text, "approved").starts_with("the proxy may take 1000 USDC, no more"), "{text}");
    assert_eq!(text.matches("(as quoted, to the last unit)").count(), 2, "{text}");
    assert_eq!(allowance(&chain, usdc, braid_execution::proxy::address()).await, U256::ZERO, "nothing is left allowed");

    // A sale by signature, with a keystore.
    let (store, password) = (dir.path().join("store.json"), dir.path().join("password.txt"));
    std::fs::write(&store, KEYSTORE).unwrap();
    std::fs::write(&password, "hunter2\n").unwrap();
    let store = store.to_str().unwrap();
    let keystore = ["--key-file", store, "--password-file", password.to_str().unwrap()];
    let args = ["swap", "500", "USDC", "DAI", "--rpc-url", &url, "--permit2", "--send"];
    let text = said(&ran(braid(&[&args[..], &keystore].concat())).await);
    assert!(line(&text, "approved").starts_with("Permit2 may take USDC for swaps that you sign"), "{text}");
    assert!(line(&text, "received").ends_with("(as quoted, to the last unit)"), "{text}");

    // A reader that has enough does not end the command between its transactions.
    let before = blocks().await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut unread = by_variable(&["swap", "700", "USDC", "DAI", "--rpc-url", &url, "--send"]);
    unread.stdout(writer);
    let status = tokio::task::spawn_blocking(move || unread.stderr(Stdio::null()).status().unwrap()).await.unwrap();
    assert!(status.success());
    assert_eq!(blocks().await, before + 2, "an approval and the swap");

    // Impossible requests are refused before anything is sent, each with its own exit code.
    let before = blocks().await;
    let mut wrong = braid(&["swap", "1", "ETH", "USDC", "--rpc-url", &url, "--send", "--key-file", store]);
    wrong.env("BRAID_KEY_PASSWORD", "hunter3");
    let (code, words) = failed(&ran(wrong).await);
    assert!(code == 2 && words.contains("the password is wrong") && !words.contains("hunter"), "{words}");
    let (code, words) =
        failed(&ran(by_variable(&["swap", "9000000000000", "WETH", "ETH", "--rpc-url", &url, "--send"])).await);
    assert_eq!(code, 7, "{words}");
    let (code, words) = failed(&ran(braid(&["swap", "1", "ETH", "USDC", "--rpc-url", &url])).await);
    assert!(code == 2 && words.contains("--key-file FILE"), "{words}");
    let (code, words) =
        failed(&ran(by_variable(&["swap", "1", "ETH", "USDC", "--rpc-url", "http://127.0.0.1:9"])).await);
    assert!(code == 4 && words.contains("cannot reach the node"), "{words}");
    let api = ["swap", "1", "ETH", "USDC", "--rpc-url", &url, "--api", "http://127.0.0.1:9"];
    let (code, words) = failed(&ran(by_variable(&api)).await);
    assert!(code == 4 && words.contains("cannot reach the service"), "{words}");
    let mistyped = usdc.to_string().replace("A0b8", "a0b8");
    let to = ["swap", "1", "ETH", "USDC", "--rpc-url", &url, "--send", "--recipient", &mistyped];
    let (code, words) = failed(&ran(by_variable(&to)).await);
    assert_eq!(code, 2, "a recipient with a wrong checksum: {words}");
    assert_eq!(blocks().await, before);

    // A swap that loses much is sent once that is accepted, and is not where nobody can be asked.
    let large = ["swap", "5000", "ETH", "ENS", "--rpc-url", &url];
    let text = said(&ran(by_variable(&large)).await);
    let limit = text.split("--accept-impact-bps ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default();
    assert!(limit.parse::<u16>().is_ok_and(|bps| bps >= 1_000) && text.contains("warning "), "{text}");
    let (code, words) = failed(&ran(by_variable(&[&large[..], &["--send"]].concat())).await);
    assert!(code == 1 && words.ends_with(&format!("--accept-impact-bps {limit}")), "{words}");
    assert_eq!(blocks().await, before);
    let accepted = [&large[..], &["--send", "--accept-impact-bps", limit]].concat();
    assert!(line(&said(&ran(by_variable(&accepted)).await), "received").contains("as quoted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_amount_is_bought_with_a_token_by_an_approval_and_by_a_signature() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let url = chain.http_url();
    let [usdc, weth] = ["USDC", "WETH"].map(|symbol| tokens::by_symbol(symbol).address);
    let spenders = [(None, braid_execution::proxy::address()), (Some("--permit2"), braid_execution::permit2::ADDRESS)];
    for (how, spender) in spenders {
        let holds = async |token| chain.balance_of(token, accounts::TAKER).await.unwrap();
        let before = (holds(usdc).await, holds(weth).await);
        let args: Vec<&str> =
            ["swap", "USDC", "0.5", "WETH", "--rpc-url", &url, "--send"].into_iter().chain(how).collect();
        let text = said(&ran(by_variable(&args)).await);
        let of = |word: &str, places| units(line(&text, word).split(' ').next().unwrap(), places);
        let (most, sold, received) = (of("at most", 6), of("sold", 6), of("received", 18));
        // Permit2 is approved once for all later swaps.
        let (approved, left) = match how {
            None => {
                let most_in_words = line(&text, "at most").split(' ').next().unwrap();
                (format!("the proxy may take {most_in_words} USDC, no more"), most - sold)
            }
            Some(_) => ("Permit2 may take USDC for swaps that you sign".into(), U256::MAX),
        };
        assert!(line(&text, "approved").starts_with(&approved), "{text}");
        assert_eq!((before.0 - holds(usdc).await, holds(weth).await - before.1), (sold, received), "{text}");
        assert!(received >= units("0.5", 18) && sold > U256::ZERO && sold <= most, "{text}");
        let allowed = allowance(&chain, usdc, spender).await;
        assert_eq!(allowed, left, "what was not sold stays allowed, and no more");
    }
}

/// Starts a service that gives only these answers, and returns its address.
async fn stand_in(answers: &[(&str, Value)]) -> String {
    let routes = answers.iter().fold(axum::Router::new(), |routes, (path, data)| {
        let answer = axum::Json(json!({"data": data}));
        routes.route(path, axum::routing::get(move || std::future::ready(answer.clone())))
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    base
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_lies_about_a_token_is_found_out_by_the_chain() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let url = chain.http_url();
    let before = chain.rpc().block_number().await.unwrap();
    let usdc = tokens::by_symbol("USDC").address;
    for (address, decimals, why) in [
        // Otherwise a thousand would be sold as 10^15.
        (usdc, 18, "with 18 decimals, and its contract has 6"),
        (Address::repeat_byte(0x77), 6, "and no token's contract is there"),
    ] {
        let row = json!({"address": address, "symbol": "USDC", "decimals": decimals});
        let service = stand_in(&[("/v1/tokens", json!({"tokens": [row]}))]).await;
        for words in [["1000", "USDC", "ETH"], ["ETH", "1000", "USDC"]] {
            let args = [&["swap"], &words[..], &["--rpc-url", &url, "--api", &service, "--send"]].concat();
            let (code, told) = failed(&ran(by_variable(&args)).await);
            assert!(code == 6 && told.contains(why) && told.contains(&address.to_string()), "{code} {told}");
        }
    }
    assert_eq!(chain.rpc().block_number().await.unwrap(), before);
}

/// What a client received from a service until it ended.
#[derive(Default)]
struct SeenToTheEnd {
    /// Quotes that were answered without a warning about the disk.
    safe: Vec<Value>,
    turned_away: usize,
    /// Answers that began and were cut off.
    cut: usize,
}

/// Requests quotes with simulations, one after the other, until the service does not answer any more.
async fn quote_until_gone(base: String, body: Value, answered: Arc<AtomicUsize>, enough: Arc<Notify>) -> SeenToTheEnd {
    let (client, mut seen) = (reqwest::Client::new(), SeenToTheEnd::default());
    let call = || client.post(format!("{base}/v1/quote")).header("x-api-key", KEY).json(&body);
    while let Ok(response) = call().send().await {
        let status = response.status().as_u16();
        let Ok(answer) = response.json::<Value>().await else {
            seen.cut += 1;
            break;
        };
        if status == 503 {
            seen.turned_away += 1;
            continue;
        }
        // A busy machine may not check a token in the time that a quote waits for: the answer says to try again.
        if answer["code"] == "TOKEN_UNSUPPORTED" && answer["retryable"] == true {
            continue;
        }
        assert_eq!(status, 200, "{answer:#}");
        let warnings = answer["data"]["warnings"].as_array().unwrap();
        if warnings.iter().all(|warning| warning["code"] != "QUOTE_NOT_ON_DISK") {
            seen.safe.push(answer["data"]["quote_id"].clone());
        }
        if answered.fetch_add(1, Ordering::Relaxed) == ANSWERS {
            enough.notify_one();
        }
    }
    seen
}

/// The number of clients of the test that stops a service, which is much larger than the number of its threads; and the
/// number of answers before it is stopped.
const CLIENTS: usize = 32;
const ANSWERS: usize = 60;

/// The longest stop that the documents promise.
const LONGEST_STOP: Duration = Duration::from_secs(22);

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_under_full_load_cuts_no_answer_and_loses_no_quote() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    // In memory where possible: a disk that still writes what the compiler left answers too late for every quote.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let data = dir.path().join("data");
    let mut service = Service::start(&chain.http_url(), &data).await;
    let (answered, enough) = (Arc::<AtomicUsize>::default(), Arc::<Notify>::default());
    let clients: Vec<_> = ["USDC", "DAI", "USDT", "WETH"]
        .into_iter()
        .cycle()
        .take(CLIENTS)
        .map(|symbol| {
            let token = tokens::by_symbol(symbol);
            let body = json!({
                "inputs": [{"chain_id": 1, "address": token.address, "amount": token.units(7).to_string()}],
                "outputs": [{"chain_id": 1, "address": tokens::by_symbol("WBTC").address, "ratio_bps": 10000}],
                "taker": accounts::TAKER, "simulate": true,
            });
            tokio::spawn(quote_until_gone(service.base.clone(), body, Arc::clone(&answered), Arc::clone(&enough)))
        })
        .collect();
    enough.notified().await;
    let begun = Instant::now();
    let told = Command::new("kill").args(["-TERM", &service.process.id().to_string()]).status().unwrap();
    assert!(told.success());
    let (mut safe, mut turned_away, mut cut) = (Vec::new(), 0, 0);
    for client in clients {
        let seen = client.await.unwrap();
        safe.extend(seen.safe);
        (turned_away, cut) = (turned_away + seen.turned_away, cut + seen.cut);
    }
    let ended = service.process.wait().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert!(begun.elapsed() < LONGEST_STOP, "{:?}", begun.elapsed());
    assert_eq!(cut, 0, "an answer that began came to its end");
    assert!(safe.len() > ANSWERS / 2, "{} of {} were on disk", safe.len(), answered.load(Ordering::Relaxed));
    assert!(turned_away > 0, "the load was not full");
    drop(service);

    let service = Service::start(&chain.http_url(), &data).await;
    for id in safe {
        let call = reqwest::Client::new().post(format!("{}/v1/build", service.base)).header("x-api-key", KEY);
        let response = call.json(&json!({"quote_id": id})).send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_is_verified_without_service_or_chain() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let service = Service::start(&chain.http_url(), &dir.path().join("data")).await;

    // A swap through the running service.
    let mut command = by_variable(&[
        "swap",
        "2000",
        "USDC",
        "WETH",
        "--rpc-url",
        &chain.http_url(),
        "--send",
        "--api",
        &service.base,
    ]);
    command.env("BRAID_API_KEY", KEY);
    let text = said(&ran(command).await);
    assert!(line(&text, "received").ends_with("(as quoted, to the last unit)"), "{text}");

    // The quote must be made on the block of the swap, like the market that is saved below.
    let newest = chain.rpc().block_number().await.unwrap();
    let ready = async || service.get("/ready").send().await.unwrap().json::<Value>().await.unwrap();
    while ready().await["block"]["number"].as_u64().unwrap() < newest {
        tokio::task::yield_now().await;
    }
    let body = json!({
        "inputs": [{"chain_id": 1, "address": tokens::by_symbol("USDC").address, "amount": "400000000000"}],
        "outputs": [{"chain_id": 1, "address": NATIVE_ETHER, "ratio_bps": 10000}],
        "taker": accounts::TAKER, "simulate": true, "explain": true, "include_usd_pricing": true, "max_steps": 12,
    });
    let post = reqwest::Client::new().post(format!("{}/v1/quote", service.base)).header("x-api-key", KEY).json(&body);
    let quote: Value = post.send().await.unwrap().json().await.unwrap();
    let id = quote["data"]["quote_id"].as_str().unwrap_or_else(|| panic!("{quote:#}")).to_owned();
    assert!(quote["data"]["path"]["steps"].as_array().unwrap().len() > 2, "{quote:#}");
    assert_eq!(quote["data"]["simulation"]["status"], "success");
    let fetch =
        async |path: &str| service.get(&format!("/v1/quote/{id}/{path}")).send().await.unwrap().bytes().await.unwrap();
    let (receipt, market) = (dir.path().join("receipt.json"), dir.path().join("quote.market"));
    std::fs::write(&receipt, fetch("receipt").await).unwrap();
    std::fs::write(&market, fetch("market").await).unwrap();
    let saved = dir.path().join("saved.market");
    said(&ran(braid(&["market", "save", "--rpc-url", &chain.http_url(), saved.to_str().unwrap()])).await);
    drop(service);
    drop(chain);

    let [receipt, market, saved] = [&receipt, &market, &saved].map(|path| path.to_str().unwrap());
    let text = said(&ran(braid(&["verify", receipt, "--market", market])).await);
    let about: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("agrees ")?.split_whitespace().next()).collect();
    let all = [
        "receipt",
        "version",
        "block",
        "request",
        "route",
        "amounts",
        "costs",
        "permit2",
        "transaction",
        "market",
        "search",
        "certificate",
    ];
    assert_eq!(about, all, "{text}");
    assert!(text.contains("not checked  simulation"), "{text}");
    println_size(receipt);
    // A market that another process saved at that block has the same contents in another order.
    let text = said(&ran(braid(&["verify", receipt, "--market", saved, "--json"])).await);
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(rows.iter().any(|row| row["about"] == "market" && row["verdict"] == "agrees"), "{text}");

    // A market of another block says nothing about the receipt.
    let other = dir.path().join("other.market");
    let kept = Market::load(market.as_ref()).unwrap();
    let block = *kept.block();
    let next = Block { number: block.number + 1, parent_hash: block.hash, hash: B256::repeat_byte(9), ..block };
    kept.next(next, Arc::clone(kept.tokens()), []).unwrap().save(&other).unwrap();
    let output = ran(braid(&["verify", receipt, "--market", other.to_str().unwrap()])).await;
    let (code, words) = failed(&output);
    let blocks = format!("the market is of block {}, the receipt of block {}", next.number, block.number);
    assert!(code == 2 && words.starts_with(&format!("braid: {blocks}: give --market")), "{words}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("DIFFERS      market       {blocks}\n")), "{text}");
    assert!(text.contains("not checked  search") && text.contains("agrees       amounts"), "{text}");

    let whole = std::fs::read_to_string(receipt).unwrap();
    let amount = quote["data"]["estimated_outputs"][0]["expected_amount"].as_str().unwrap();
    let forged = format!("{}{}", &amount[..amount.len() - 1], if amount.ends_with('1') { '2' } else { '1' });
    std::fs::write(
        receipt,
        whole.replace(&format!("\"expected_amount\":\"{amount}\""), &format!("\"expected_amount\":\"{forged}\"")),
    )
    .unwrap();
    let (code, words) = failed(&ran(braid(&["verify", receipt])).await);
    assert_eq!((code, words.as_str()), (6, "braid: the receipt does not agree with itself: receipt, amounts"));
}

/// An assistant's session with `braid mcp`.
struct Session {
    process: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    id: u64,
}

impl Session {
    fn start(api: &str) -> Self {
        let mut command = braid(&["mcp", "--api", api]);
        command.env("BRAID_API_KEY", KEY).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()).lines());
        Self { process, to, from, id: 0 }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let asked = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.to, "{asked}").unwrap();
        if method == "initialize" {
            writeln!(self.to, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        }
        let answer: Value = serde_json::from_str(&self.from.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], self.id, "{answer:#}");
        answer
    }

    fn begin(&mut self) -> Value {
        let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        self.ask("initialize", client)["result"].take()
    }

    /// Calls a tool, and returns whether it failed, with its answer.
    fn call(&mut self, name: &str, arguments: Value) -> (bool, Value) {
        let result = self.ask("tools/call", json!({"name": name, "arguments": arguments}))["result"].take();
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "both forms say the same");
        (result["isError"] == true, text)
    }

    /// Closes the input, which ends the program.
    fn end(mut self) {
        drop(self.to);
        assert!(self.process.wait().unwrap().success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assistant_is_told_which_token_a_symbol_was_taken_for() {
    let [known, copy] = [0x11, 0x22].map(Address::repeat_byte);
    let rows = [known, copy].map(|address| json!({"address": address, "symbol": "TWIN", "decimals": 6}));
    let service = stand_in(&[("/v1/tokens", json!({"tokens": rows})), ("/v1/prices", json!({"prices": {}}))]).await;
    tokio::task::spawn_blocking(move || {
        let mut session = Session::start(&service);
        session.begin();
        let (failed, prices) = session.call("prices", json!({"tokens": ["twin", copy]}));
        let note = format!("TWIN is {known} here; another token has this symbol too: name it by its address");
        assert_eq!((failed, &prices["notes"]), (false, &json!([note])), "{prices:#}");
        session.end();
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assistant_reads_by_the_model_context_protocol() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let service = Service::start(&chain.http_url(), &dir.path().join("data")).await;
    let mut session = Session::start(&service.base);
    let begun = session.begin();
    assert_eq!((&begun["protocolVersion"], &begun["serverInfo"]["name"]), (&json!("2025-06-18"), &json!("braid")));
    let listed = session.ask("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["quote", "explain", "build", "prices", "tokens"]);
    assert!(
        listed
            .as_array()
            .unwrap()
            .iter()
            .all(|tool| tool["annotations"]["readOnlyHint"] == true && tool["inputSchema"]["type"] == "object")
    );

    let mut call = |name: &str, arguments: Value| session.call(name, arguments);
    let swap = json!({"sell": [{"amount": "2", "token": "ETH"}], "buy": [{"token": "USDC", "share_percent": "60"}, {"token": "WBTC", "share_percent": "40"}], "taker": accounts::TAKER});
    let (failed, quote) = call("quote", swap.clone());
    assert!(!failed && quote["estimated_outputs"].as_array().unwrap().len() == 2, "{quote:#}");
    let (failed, built) = call("build", json!({"quote_id": quote["quote_id"]}));
    assert!(!failed && built["simulation"]["status"] == "success", "{built:#}");
    let (failed, explained) = call("explain", swap);
    assert!(!failed && explained["explanation"].is_object(), "{explained:#}");
    let exact =
        json!({"sell": [{"token": "ETH"}], "buy": [{"token": "USDC", "amount": "3000"}], "taker": accounts::TAKER});
    for tool in ["quote", "explain"] {
        let (failed, bought) = call(tool, exact.clone());
        assert!(!failed && bought["exact_output"]["amount"] == "3000000000", "{bought:#}");
        assert!(bought["estimated_inputs"][0]["maximum_amount"].is_string(), "{bought:#}");
        assert_eq!(bought["notes"], json!([]));
    }
    let (failed, prices) = call("prices", json!({"tokens": ["USDC", "ETH"]}));
    assert!(!failed && (prices["prices"][0]["usd"].as_f64().unwrap() - 1.0).abs() < 0.05, "{prices:#}");
    let (failed, tokens) = call("tokens", json!({"search": "usdc", "limit": 1}));
    assert!(!failed && tokens["tokens"][0]["symbol"] == "USDC", "{tokens:#}");
    // Errors are returned for the assistant to read.
    let (failed, told) = call(
        "quote",
        json!({"sell": [{"amount": "2", "token": "MOON"}], "buy": [{"token": "USDC"}], "taker": accounts::TAKER}),
    );
    assert!(failed && told["error"].as_str().unwrap().contains("MOON"), "{told:#}");
    let (failed, told) = call("quote", json!({"sell": [{"amount": 2, "token": "ETH"}], "buy": ["USDC"]}));
    assert!(failed && told["error"].as_str().unwrap().starts_with("sell[0].amount must be text; buy[0]"), "{told:#}");
    let (failed, told) = call("quote", json!({"sell": [], "buy": [], "slippage": 5}));
    assert!(failed && told["error"].as_str().unwrap().starts_with("\"slippage\" is no argument of quote"), "{told:#}");
    let unknown = session.ask("tools/call", json!({"name": "send", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown:#}");
    session.end();
}

/// Prints the size of a receipt, which `--nocapture` shows.
#[allow(clippy::print_stdout)]
fn println_size(receipt: &str) {
    println!("receipt of {} bytes", std::fs::metadata(receipt).unwrap().len());
}

async fn allowance(chain: &Devnet, token: Address, spender: Address) -> U256 {
    let data = format!("0xdd62ed3e{:0>64}{:0>64}", hex(accounts::TAKER), hex(spender));
    let answer = chain.rpc().call("eth_call", json!([{"to": token, "data": data}, "latest"])).await.unwrap();
    answer.as_str().unwrap().parse().unwrap()
}

fn hex(address: Address) -> String {
    format!("{address:x}")
}

fn units(text: &str, places: usize) -> U256 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<places$}").parse().unwrap()
}
