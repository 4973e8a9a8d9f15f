//! What calls touch, told by a node that has `eth_createAccessList`: all of it can then be read at once.
//!
//! Most nodes take some state for the length of such a call, as for `eth_call`: a sender's ether, a balance, code. One that does not is not asked:
//! a swap that nobody has the balance for ends before it touches anything.

use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::{Address, B256, Bytes, U256};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    client::Request,
    connect::Node,
    fleet::Member,
    health::Class,
    wire::{at, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_createAccessList";

/// Most gas of a call, in gas units: nodes allow ten million or more.
const MOST_GAS: u64 = 10_000_000;

/// Ether that a sender is lent for a call, in wei: nodes let it pay for gas.
const LENT_WEI: U256 = U256::from_limbs([0, 1 << 32, 0, 0]);

/// A call, and the state that is lent for it.
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
    /// Code that is lent to accounts.
    pub codes: BTreeMap<Address, Bytes>,
    /// Storage words that are lent.
    pub words: BTreeMap<(Address, U256), U256>,
}

/// What calls touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Accounts.
    pub accounts: BTreeSet<Address>,
    /// Storage words.
    pub words: BTreeSet<(Address, U256)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
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
    /// What calls touch in the state after a block, in one message; nothing where the node does not tell. It is asked for that once.
    ///
    /// # Errors
    /// [`NodeError`] when the node does not answer.
    pub async fn touched(&self, block_hash: B256, calls: &[TouchingCall]) -> Result<Option<Touched>, NodeError> {
        self.ask(Class::Heavy, |member| member.touched(block_hash, calls)).await
    }
}

impl Member {
    async fn touched(&self, block_hash: B256, calls: &[TouchingCall]) -> Result<Option<Touched>, NodeError> {
        if self.tells_touched.get() == Some(&false) {
            return Ok(None);
        }
        let requests: Vec<Request> = calls.iter().map(|call| request(block_hash, call)).collect();
        let mut touched = Touched::default();
        for answer in self.connection.batch(&requests).await? {
            match answer.and_then(|raw| parse::<Told>(METHOD, &raw)) {
                Ok(told) => touched.add(told),
                Err(error) if error.is_of_the_block() || error.is_a_rate_limit() => return Err(error),
                Err(error) if error.is_of_the_method() => {
                    if self.tells_touched.set(false).is_ok() {
                        tracing::debug!(node = self.name, %error, "the node does not tell what calls touch");
                    }
                    return Ok(None);
                }
                // of a call that reverts some nodes tell nothing: what they tell of others is enough
                Err(_) => {}
            }
        }
        Ok(Some(touched))
    }
}

impl Touched {
    fn add(&mut self, told: Told) {
        for Item { address, storage_keys } in told.access_list {
            self.accounts.insert(address);
            self.words.extend(storage_keys.into_iter().map(|key| (address, U256::from_be_bytes(key.0))));
        }
    }
}

/// Asks what a call touches on a state of which some is lent.
fn request(block_hash: B256, call: &TouchingCall) -> Request {
    let mut lent: BTreeMap<Address, Value> = BTreeMap::new();
    let mut of = |account: Address, what: &str, value: Value| {
        lent.entry(account).or_insert_with(|| json!({}))[what] = value;
    };
    of(call.from, "balance", json!(LENT_WEI.saturating_add(call.value_wei)));
    for (account, code) in &call.codes {
        of(*account, "code", json!(code));
    }
    let mut words: BTreeMap<Address, BTreeMap<B256, B256>> = BTreeMap::new();
    for ((account, slot), word) in &call.words {
        words.entry(*account).or_default().insert(B256::from(*slot), B256::from(*word));
    }
    for (account, words) in words {
        of(account, "stateDiff", json!(words));
    }
    let gas = U256::from(call.gas_limit.min(MOST_GAS));
    let asked = json!({ "from": call.from, "to": call.to, "data": call.data, "value": call.value_wei, "gas": gas });
    Request { method: METHOD, params: json!([asked, at(block_hash), lent]) }
}
