//! Lists the accounts and storage words that calls touch, with `eth_createAccessList`, so that all of them can be read
//! at once.
//!
//! Most nodes accept state overrides in such a call, as in `eth_call`: ether of the sender, storage words, code.
//! Without them a swap for which nobody has the balance would end before it touches anything.

use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::{Address, B256, Bytes, U256};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    client::Request,
    connect::Node,
    health::Class,
    member::Member,
    wire::{at, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_createAccessList";

/// Most gas of a call, in gas units: nodes allow 10 million or more.
const MOST_GAS: u64 = 10_000_000;

/// Ether of the sender during a call, in wei: some nodes charge it for gas.
const SENDER_WEI: U256 = U256::from_limbs([0, 1 << 32, 0, 0]);

/// A call, and the state overrides for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchingCall {
    /// Sender.
    pub from: Address,
    /// Contract called.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
    /// Ether sent, in wei.
    pub value_wei: U256,
    /// Gas limit, in gas units.
    pub gas_limit: u64,
    /// Code of accounts.
    pub codes: BTreeMap<Address, Bytes>,
    /// Storage words.
    pub words: BTreeMap<(Address, U256), U256>,
}

/// Accounts and storage words that calls touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Accounts.
    pub accounts: BTreeSet<Address>,
    /// Storage words.
    pub words: BTreeSet<(Address, U256)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccessList {
    access_list: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    address: Address,
    #[serde(default)]
    storage_keys: Vec<B256>,
}

impl Node {
    /// Lists what calls touch in the state after a block, in one message; `None` if the node does not support it, which
    /// is remembered.
    ///
    /// # Errors
    /// [`NodeError`] when the node does not answer.
    pub async fn touched(&self, block_hash: B256, calls: &[TouchingCall]) -> Result<Option<Touched>, NodeError> {
        self.ask(Class::Heavy, |member| member.touched(block_hash, calls)).await
    }
}

impl Member {
    async fn touched(&self, block_hash: B256, calls: &[TouchingCall]) -> Result<Option<Touched>, NodeError> {
        if self.lists_access.get() == Some(&false) {
            return Ok(None);
        }
        let requests: Vec<Request> = calls.iter().map(|call| request(block_hash, call)).collect();
        let mut touched = Touched::default();
        for answer in self.connection.batch(&requests).await? {
            match answer.and_then(|raw| parse::<AccessList>(METHOD, &raw)) {
                Ok(list) => touched.add(list),
                Err(error) if error.is_unknown_block() || error.is_rate_limit() => return Err(error),
                Err(error) if error.is_missing_method() => {
                    if self.lists_access.set(false).is_ok() {
                        tracing::debug!(node = self.name, %error, "the node makes no access lists");
                    }
                    return Ok(None);
                }
                // Some nodes list nothing for a call that reverts; the lists of the other calls are enough.
                Err(_) => {}
            }
        }
        Ok(Some(touched))
    }
}

impl Touched {
    fn add(&mut self, list: AccessList) {
        for Item { address, storage_keys } in list.access_list {
            self.accounts.insert(address);
            self.words.extend(storage_keys.into_iter().map(|key| (address, U256::from_be_bytes(key.0))));
        }
    }
}

/// Asks what a call touches, with its state overrides.
fn request(block_hash: B256, call: &TouchingCall) -> Request {
    let mut overrides: BTreeMap<Address, Value> = BTreeMap::new();
    let mut set = |account: Address, what: &str, value: Value| {
        overrides.entry(account).or_insert_with(|| json!({}))[what] = value;
    };
    set(call.from, "balance", json!(SENDER_WEI.saturating_add(call.value_wei)));
    for (account, code) in &call.codes {
        set(*account, "code", json!(code));
    }
    let mut words: BTreeMap<Address, BTreeMap<B256, B256>> = BTreeMap::new();
    for ((account, slot), word) in &call.words {
        words.entry(*account).or_default().insert(B256::from(*slot), B256::from(*word));
    }
    for (account, words) in words {
        set(account, "stateDiff", json!(words));
    }
    let gas = U256::from(call.gas_limit.min(MOST_GAS));
    let asked = json!({ "from": call.from, "to": call.to, "data": call.data, "value": call.value_wei, "gas": gas });
    Request { method: METHOD, params: json!([asked, at(block_hash), overrides]) }
}
