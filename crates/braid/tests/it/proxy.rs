//! Tests of `braid proxy` on a real node: the proxy is deployed once and recognised by its code, and an impossible
//! deployment gives a clear error.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use braid_devnet::Kit;
use braid_execution::proxy;

/// Anvil's first account, for which the node signs, and its key.
const ACCOUNT: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const KEY: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

/// An empty chain on a free port. It ends when dropped.
struct Anvil {
    process: Child,
    url: String,
}

impl Anvil {
    fn start(chain_id: &str, more: &[&str]) -> Self {
        let kit = Kit::find(None).unwrap();
        let mut process = Command::new(kit.anvil())
            .args(["--port", "0", "--chain-id", chain_id])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let listening =
            lines.map_while(Result::ok).find_map(|line| line.strip_prefix("Listening on ").map(str::to_owned));
        Self { process, url: format!("http://{}", listening.unwrap()) }
    }

    fn rpc(&self, method: &str, params: &str) {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let sent = reqwest::Client::new().post(&self.url).header("content-type", "application/json").body(body).send();
        let answer = runtime.block_on(async { sent.await.unwrap().text().await.unwrap() });
        assert!(!answer.contains("error"), "{answer}");
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn braid(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.arg("proxy").args(args).env_clear();
    command
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the only line of a command that failed.
fn refused(command: Command) -> String {
    refused_with(1, command)
}

/// Returns the only line of a command that ended with this exit code.
fn refused_with(code: i32, mut command: Command) -> String {
    let output = command.output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words}");
    assert_eq!(words.lines().count(), 1, "{words}");
    words.trim().strip_prefix("braid: ").unwrap().to_owned()
}

#[test]
fn the_address_is_printed_alone() {
    let printed = said(&braid(&["address"]).output().unwrap());
    assert_eq!(printed.trim(), proxy::address().to_string());
}

#[test]
fn an_unlocked_account_deploys_once_and_anyone_can_verify() {
    let node = Anvil::start("1", &[]);
    let on_node = ["--rpc-url", &node.url];
    let missing = refused(braid(&[&["verify"], &on_node[..]].concat()));
    assert!(missing.contains("nothing at") && missing.contains("braid proxy deploy"), "{missing}");

    let deploy = [&["deploy"], &on_node[..], &["--from", ACCOUNT]].concat();
    let first = said(&braid(&deploy).output().unwrap());
    assert!(first.contains("is deployed on chain 1") && first.contains(ACCOUNT) && first.contains(" gas"), "{first}");
    let second = said(&braid(&deploy).output().unwrap());
    assert!(second.contains("was deployed before") && !second.contains("transaction"), "{second}");

    let found = said(&braid(&[&["verify"], &on_node[..]].concat()).output().unwrap());
    assert!(
        found.contains(&proxy::address().to_string()) && found.contains(&proxy::code_hash().to_string()),
        "{found}"
    );
}

#[test]
fn a_private_key_from_a_file_or_the_environment_deploys() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, format!("0x{KEY}\n")).unwrap();
    let node = Anvil::start("1", &[]);
    let by_file = braid(&["deploy", "--rpc-url", &node.url, "--private-key-file", file.to_str().unwrap()]).output();
    assert!(said(&by_file.unwrap()).contains(ACCOUNT));

    let node = Anvil::start("1", &[]);
    let by_environment = braid(&["deploy", "--rpc-url", &node.url]).env("BRAID_PRIVATE_KEY", KEY).output();
    assert!(said(&by_environment.unwrap()).contains(ACCOUNT));
}

#[test]
fn what_is_no_key_is_told_and_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, "not-a-key").unwrap();
    let url = ["--rpc-url", "http://127.0.0.1:1"];
    let by_file = [&["deploy"], &url[..], &["--private-key-file", file.to_str().unwrap()]].concat();
    let words = refused_with(2, braid(&by_file));
    assert!(words.contains("64 hexadecimal digits") && !words.contains("not-a-key"), "{words}");
    let words = refused_with(2, braid(&[&["deploy"], &url[..]].concat()));
    assert!(words.contains("--private-key-file") && words.contains("--from"), "{words}");
    let words = refused_with(4, braid(&["verify", "--rpc-url", "http://127.0.0.1:1/secret-token"]));
    assert!(
        words.contains("cannot reach the node at http://127.0.0.1:1: Connection refused") && !words.contains("secret"),
        "{words}"
    );
}

#[test]
fn a_node_of_another_chain_is_refused_unless_it_is_meant() {
    let node = Anvil::start("31337", &[]);
    let words = refused(braid(&["deploy", "--rpc-url", &node.url, "--from", ACCOUNT]));
    assert!(words.contains("chain 31337, not 1") && words.contains("--chain-id 31337"), "{words}");
    let meant = braid(&["deploy", "--rpc-url", &node.url, "--chain-id", "31337", "--from", ACCOUNT]).output();
    assert!(said(&meant.unwrap()).contains("on chain 31337"));
}

#[test]
fn a_chain_without_the_deployer_and_one_with_other_code_are_told_apart() {
    let node = Anvil::start("1", &["--disable-default-create2-deployer"]);
    let words = refused(braid(&["deploy", "--rpc-url", &node.url, "--from", ACCOUNT]));
    assert!(words.contains("canonical CREATE2 deployer is not on chain 1"), "{words}");

    node.rpc("anvil_setCode", &format!(r#"["{}","0x00"]"#, proxy::address()));
    for command in [vec!["verify"], vec!["deploy", "--from", ACCOUNT]] {
        let words = refused(braid(&[command, vec!["--rpc-url", &node.url]].concat()));
        assert!(words.contains("not the proxy's") && words.contains(&proxy::code_hash().to_string()), "{words}");
    }
}

#[test]
fn an_account_that_cannot_pay_is_told_what_the_node_said() {
    let node = Anvil::start("1", &[]);
    let poor = "0000000000000000000000000000000000000000000000000000000000000001";
    let mut command = braid(&["deploy", "--rpc-url", &node.url]);
    command.env("BRAID_PRIVATE_KEY", poor);
    let words = refused(command);
    assert!(words.contains("refused") && words.to_lowercase().contains("insufficient funds"), "{words}");
}
