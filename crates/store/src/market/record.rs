//! The records of the database, and how they are written: JSON, whose field names say when a layout changed.

use alloy_primitives::hex;
use braid_primitives::{Address, B256, Block, PoolKey};
use braid_protocols::Discovered;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::damage::Damage;

/// A pool that discovery knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownPool {
    /// What the factory said.
    pub pool: Discovered,
    /// Height of the announcement; 0 for a pool that needs none.
    pub announced_at: u64,
    /// Why it is not in the market, where it was tried and is not.
    pub left_out: Option<String>,
    /// Whether only a snapshot said that it exists: the chain is asked before it joins a market.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unproven: bool,
}

/// Which blocks a source still has to be looked up in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSpan {
    /// Factory or registry.
    pub emitter: Address,
    /// `topic0` of its announcement.
    pub topic0: B256,
    /// First block that is not searched yet.
    pub next_block: u64,
    /// Last block to search: later ones were followed. Below `next_block` when the search is over.
    pub last_block: u64,
}

/// How far a list of pools, kept by a contract, has been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRecord {
    /// The contract that keeps it.
    pub keeper: Address,
    /// Height and number of entries read by then, ascending: a list that grew in a block that is replaced is read again from the entry before.
    pub read: Vec<(u64, u64)>,
}

/// A block that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Height.
    pub number: u64,
    /// Hash.
    pub hash: B256,
    /// Pools that changed, came or went since the stored block before.
    pub changed: Vec<PoolKey>,
}

/// What the database says of itself, in one record that changes with every transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Grows by one with every transaction.
    pub(super) sequence: u64,
    pub(super) block: Block,
    /// The sum over all other records, as 32 hex digits.
    pub(super) sum: String,
    pub(super) pools: u64,
    pub(super) tokens: u64,
}

/// What decides whether another version's database can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layout {
    /// Of the tables; raised by hand.
    pub(super) tables: u32,
    /// [`braid_protocols::pool::STATE_MEANING`].
    pub(super) states: u32,
    pub(super) chain_id: u64,
}

impl Layout {
    pub(super) const fn present() -> Self {
        Self { tables: 4, states: braid_protocols::pool::STATE_MEANING, chain_id: braid_primitives::CHAIN_ID }
    }

    /// Tells whether this version reads it. Version 3 named pools by addresses in keys and in the journal.
    pub(super) fn is_readable(&self) -> bool {
        *self == Self::present()
    }
}

pub(super) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, crate::StoreError> {
    serde_json::to_vec(value).map_err(|error| crate::StoreError::Encoding { reason: error.to_string() })
}

pub(super) fn decode<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, Damage> {
    serde_json::from_slice(bytes).map_err(|error| Damage::Layout { what, reason: error.to_string() })
}

/// The key of a table of pools: the contract, then the id where there is one. Their order is that of the keys.
pub(crate) fn pool_key(key: PoolKey) -> Vec<u8> {
    [key.contract.as_slice(), key.id.as_ref().map_or(&[], B256::as_slice)].concat()
}

/// Keys of pools one after another: whether there is an id, in a byte, then the bytes of [`pool_key`].
pub(super) fn encode_keys(keys: &[PoolKey]) -> Vec<u8> {
    keys.iter().flat_map(|key| [vec![u8::from(key.id.is_some())], pool_key(*key)].concat()).collect()
}

pub(super) fn decode_keys(what: &'static str, bytes: &[u8]) -> Result<Vec<PoolKey>, Damage> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (key, others) =
            first_key(rest).ok_or_else(|| Damage::Layout { what, reason: "no key of a pool".into() })?;
        keys.push(key);
        rest = others;
    }
    Ok(keys)
}

fn first_key(bytes: &[u8]) -> Option<(PoolKey, &[u8])> {
    let (has_id, rest) = bytes.split_first()?;
    let (contract, rest) = rest.split_first_chunk::<20>()?;
    let contract = Address::from(*contract);
    if *has_id == 0 {
        return Some((contract.into(), rest));
    }
    let (id, rest) = rest.split_first_chunk::<32>()?;
    Some((PoolKey::with_id(contract, B256::from(*id)), rest))
}

impl JournalEntry {
    /// The hash, then the keys.
    pub(super) fn encode(&self) -> Vec<u8> {
        [self.hash.as_slice(), &encode_keys(&self.changed)].concat()
    }

    pub(super) fn decode(number: u64, bytes: &[u8]) -> Result<Self, Damage> {
        let Some((hash, rest)) = bytes.split_at_checked(32) else {
            return Err(Damage::Layout { what: "the journal", reason: format!("{} bytes", bytes.len()) });
        };
        Ok(Self { number, hash: B256::from_slice(hash), changed: decode_keys("the journal", rest)? })
    }
}

/// A key of the table of sources.
pub(super) fn source_key(emitter: Address, topic0: B256) -> [u8; 52] {
    let mut key = [0; 52];
    key[..20].copy_from_slice(emitter.as_slice());
    key[20..].copy_from_slice(topic0.as_slice());
    key
}

pub(crate) fn show_sum(sum: u128) -> String {
    hex::encode(sum.to_be_bytes())
}

pub(super) fn read_sum(text: &str) -> Option<u128> {
    u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32)
}
