//! Tests of the command line of `braid-lab`.

use std::path::Path;
use std::process::Command;

use crate::support::recording;

fn lab(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid-lab"));
    command.args(args).env_clear().env("RUST_BACKTRACE", "1");
    command
}

/// Returns a file of vectors: a pair, a trade that must be refused, and a protocol that we do not route over.
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
    let output = lab(&["vectors", file.to_str().unwrap()]).output().unwrap();
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
    let output = lab(&["vectors", file.to_str().unwrap()]).output().unwrap();
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
        let output = lab(&["vectors", path]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert!(run("{").contains("not JSON: EOF"));
    assert!(run("[1]").contains("expected an object with a list \"entries\""));
    let said = run(r#"{"entries": [{"protocol": "uniswap_v2", "pool": {"address": "0xcc", "reserves": "many"}}]}"#);
    assert!(said.contains("MALFORMED entry 0: uniswap_v2 0xcc: pool.reserves: expected a list of integers"), "{said}");
    assert!(said.contains("0 passed, 1 failed, 0 skipped"), "{said}");
    let output = lab(&["vectors", "/no/such/file.json"]).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot read /no/such/file.json"));
}

/// Recomputes the recorded mainnet vectors, if they are available.
#[test]
fn every_recorded_vector_holds() {
    let Some(dir) = recording("vectors") else { return };
    let found = std::fs::read_dir(&dir).unwrap();
    let mut files: Vec<String> = found.map(|file| file.unwrap().path().display().to_string()).collect();
    files.retain(|file| file.ends_with(".json"));
    files.sort();
    let args: Vec<&str> = ["vectors"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let output = lab(&args).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    println!("{said}");
    assert!(output.status.success() && said.contains(" passed, 0 failed, "), "{said}");
}

/// Returns a StableSwap pool, for which the script has no formula, with the tokens, the depth and the price of a pair.
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
        let output = lab(args).output().unwrap();
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

    // The script rejects a bound that is lowered by a thousandth.
    let lower = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["dual_bound_value_wei"] = (line["dual_bound_value_wei"].as_f64().unwrap() * 0.999).into();
        line.to_string()
    };
    let forged = path("forged.jsonl");
    std::fs::write(&forged, lines.lines().map(lower).collect::<Vec<_>>().join("\n")).unwrap();
    assert_eq!(check(&forged).status.code(), Some(1));
}

/// The table has a line for the market and for each disturbance, except stale pools, which need another block of the
/// same chain.
#[test]
fn the_zoo_has_a_line_for_each_kind() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("market.braid");
    let path = file.to_str().unwrap();
    assert!(lab(&["market", "generate", "--pools", "60", path]).status().unwrap().success());
    let zoo = |more: &[&str]| {
        let output = lab(&[&["zoo", "--market", path, "--count", "3"], more].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let said = zoo(&[]);
    let kinds = ["undisturbed", "stale", "rebased", "shocked", "dusted", "thin", "gaps", "mixed"];
    let lines: Vec<&str> = said.lines().filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect();
    assert_eq!(lines.len(), kinds.len(), "{said}");
    assert!(lines[1].contains("it needs the same chain at another block"), "{said}");
    // The market itself is given as the other block, so nothing is stale and both lines are equal.
    let stale = zoo(&["--other", path, "--kind", "stale"]);
    let figures = |line: &str| line.split_whitespace().skip(4).map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<&str> = stale.lines().filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect();
    assert_eq!(lines.len(), 2, "{stale}");
    assert_eq!(figures(lines[0]), figures(lines[1]), "{stale}");
}
