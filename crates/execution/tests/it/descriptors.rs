//! Compares the descriptors with which a wallet explains a call or a signature (ERC-7730) with the ABI and the typed
//! data. A descriptor must name only existing values, and state for every value whether it is shown.

use std::collections::BTreeSet;
use std::path::Path;

use alloy::json_abi::{JsonAbi, Param};
use braid_devnet::accounts::TAKER;
use braid_execution::{Order, Permit, TokenAmount, permit2, proxy};
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256, WETH};
use serde_json::Value;

fn descriptor(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/erc7730").join(name);
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// Adds the paths of all values in some parameters, with `[]` for the entries of a list.
fn leaves(params: &[Param], under: &str, found: &mut BTreeSet<String>) {
    for param in params {
        let list = if param.ty.ends_with("[]") { ".[]" } else { "" };
        let path = format!("{under}{}{list}", param.name);
        match param.components.is_empty() {
            true => drop(found.insert(path)),
            false => leaves(&param.components, &format!("{path}."), found),
        }
    }
}

/// Does the same for a type of typed data.
fn leaves_of_type(types: &Value, name: &str, under: &str, found: &mut BTreeSet<String>) {
    for field in types[name].as_array().unwrap() {
        let (kind, field) = (field["type"].as_str().unwrap(), field["name"].as_str().unwrap());
        let (inner, list) = kind.strip_suffix("[]").map_or((kind, ""), |inner| (inner, ".[]"));
        let path = format!("{under}{field}{list}");
        match types.get(inner) {
            None => drop(found.insert(path)),
            Some(_) => leaves_of_type(types, inner, &format!("{path}."), found),
        }
    }
}

fn strings(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|entry| entry.as_str().unwrap().to_owned()).collect()
}

/// Checks that every value is either shown or declared as hidden, that no other value is named, and that the token of
/// every amount exists.
fn check(format: &Value, all: &BTreeSet<String>, what: &str) {
    let fields = format["fields"].as_array().unwrap();
    let shown: BTreeSet<String> = fields.iter().map(|field| field["path"].as_str().unwrap().to_owned()).collect();
    let hidden = strings(&format["excluded"]);
    assert_eq!(shown.len(), fields.len(), "{what}: a value is shown twice");
    assert!(shown.is_disjoint(&hidden), "{what}: a value is shown and hidden");
    assert_eq!(&(&shown | &hidden), all, "{what}");
    assert!(strings(&format["required"]).is_subset(&shown), "{what}: a value that must be shown is not");
    for field in fields.iter().filter(|field| field["format"] == "tokenAmount") {
        let token = field["params"]["tokenPath"].as_str().unwrap();
        assert!(all.contains(token), "{what}: {token} is no token");
    }
}

fn ether_is_shown_as_ether(descriptor: &Value) {
    let ether = descriptor["metadata"]["constants"]["ether"].as_str().unwrap();
    assert_eq!(ether.parse::<Address>().unwrap(), NATIVE_ETHER);
}

#[test]
fn every_call_is_shown_as_the_abi_has_it() {
    let descriptor = descriptor("calldata-braid.json");
    let abi: JsonAbi = serde_json::from_value(proxy::abi_json().clone()).unwrap();
    let deployment = &descriptor["context"]["contract"]["deployments"][0];
    assert_eq!(deployment["address"].as_str().unwrap(), proxy::address().to_checksum(None));
    assert_eq!(deployment["chainId"], 1);
    ether_is_shown_as_ether(&descriptor);
    let formats = descriptor["display"]["formats"].as_object().unwrap();
    let mut described = BTreeSet::new();
    for (signature, format) in formats {
        let known = abi.functions().find(|function| named(function) == *signature);
        let function = known.unwrap_or_else(|| panic!("the proxy has no {signature}"));
        let mut all = BTreeSet::new();
        leaves(&function.inputs, "", &mut all);
        check(format, &all, signature);
        described.insert(function.name.clone());
    }
    let callback = "balancerV3UnlockCallback";
    let calls: BTreeSet<String> = abi.functions().map(|f| f.name.clone()).filter(|name| name != callback).collect();
    assert_eq!(described, calls);
}

/// Returns a function's signature with the names of its parameters.
fn named(function: &alloy::json_abi::Function) -> String {
    let list: Vec<String> = function.inputs.iter().map(param).collect();
    format!("{}({})", function.name, list.join(","))
}

fn param(param: &Param) -> String {
    if param.components.is_empty() {
        return format!("{} {}", param.ty, param.name);
    }
    let list: Vec<String> = param.components.iter().map(self::param).collect();
    format!("({}){} {}", list.join(","), param.ty.trim_start_matches("tuple"), param.name)
}

#[test]
fn every_signature_is_shown_as_the_typed_data_has_it() {
    let descriptor = descriptor("eip712-braid-permit2.json");
    ether_is_shown_as_ether(&descriptor);
    let context = &descriptor["context"]["eip712"];
    assert_eq!(context["deployments"][0]["address"].as_str().unwrap(), permit2::ADDRESS.to_checksum(None));
    assert_eq!(descriptor["metadata"]["constants"]["proxy"].as_str().unwrap(), proxy::address().to_checksum(None));
    let entry = |token| TokenAmount { token, amount: U256::ONE };
    let permit = Permit { owner: TAKER, nonce: U256::ZERO, deadline: 1, sender: TAKER };
    for (place, inputs) in [vec![entry(WETH)], vec![entry(WETH), entry(TAKER)]].into_iter().enumerate() {
        let outputs = vec![entry(permit2::ADDRESS)];
        let order = Order { inputs, outputs, recipient: TAKER, deadline: 1, partner_fee: None };
        let typed = permit2::typed_data(&order, &Bytes::new(), &permit).unwrap().eip712;
        let primary = typed["primaryType"].as_str().unwrap();
        assert_eq!(context["domain"]["name"], typed["domain"]["name"]);
        assert_eq!(context["schemas"][place]["primaryType"], typed["primaryType"]);
        assert_eq!(context["schemas"][place]["types"], typed["types"]);
        let mut all = BTreeSet::new();
        leaves_of_type(&typed["types"], primary, "", &mut all);
        check(&descriptor["display"]["formats"][primary], &all, primary);
    }
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/internals/security.md")).unwrap();
    let files = std::fs::read_dir(root.join("contracts/test")).unwrap().map(|file| file.unwrap().path());
    let tests: Vec<String> =
        files.filter(|file| file.is_file()).map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let named: Vec<&str> =
        page.split('`').filter(|word| word.starts_with("test_") || word.starts_with("testFuzz_")).collect();
    assert!(named.len() > 20);
    for name in named {
        assert!(tests.iter().any(|file| file.contains(&format!("function {name}("))), "no test {name}");
    }
}
