//! The records of the database and their encoding: JSON, whose field names show a change of layout.

use alloy_primitives::hex;
use braid_primitives::{Address, B256, Block, PoolKey};
use braid_protocols::{Discovered, Product};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::damage::Damage;

/// A pool known to discovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "KnownRecord", into = "KnownRecord")]
pub struct KnownPool {
    /// The announcement.
    pub pool: Discovered,
    /// Height of the announcement; 0 for a pool known without one.
    pub announced_at: u64,
    /// Why it is excluded from the market, if it is.
    pub excluded: Option<Exclusion>,
    /// Whether only a snapshot contains it: the chain must confirm it before it joins a market.
    pub unproven: bool,
}

/// Why a known pool is excluded from the market.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// What may end the exclusion.
    pub kind: ExclusionKind,
    /// The reason, for the log.
    pub reason: String,
}

/// What may end the exclusion of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExclusionKind {
    /// The pool, its announcement or a token could not be read: it is read again from time to time.
    Unread,
    /// A list of the configuration excludes it: the lists are applied again at every start.
    Configuration,
    /// It holds less ether than the configured floor: it is read again when it trades.
    Floor,
    /// It is of this product, which is not followed. Its announcement stands for several products.
    Product(Product),
    /// A property that does not change.
    Pool,
}

/// A known pool as it is stored, with the names of its fields on disk. Earlier versions stored no kind of an exclusion.
#[derive(Serialize, Deserialize)]
struct KnownRecord {
    pool: Discovered,
    announced_at: u64,
    #[serde(rename = "left_out")]
    reason: Option<String>,
    #[serde(rename = "left_out_kind", default, skip_serializing_if = "Option::is_none")]
    kind: Option<ExclusionKind>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unproven: bool,
}

impl From<KnownRecord> for KnownPool {
    fn from(record: KnownRecord) -> Self {
        let KnownRecord { pool, announced_at, reason, kind, unproven } = record;
        let kind = |reason: &str| kind.unwrap_or_else(|| kind_of_words(&pool, reason));
        let excluded = reason.map(|reason| Exclusion { kind: kind(&reason), reason });
        Self { pool, announced_at, excluded, unproven }
    }
}

impl From<KnownPool> for KnownRecord {
    fn from(known: KnownPool) -> Self {
        let KnownPool { pool, announced_at, excluded, unproven } = known;
        let (kind, reason) = excluded.map(|excluded| (excluded.kind, excluded.reason)).unzip();
        Self { pool, announced_at, reason, kind, unproven }
    }
}

/// Returns the kind of an exclusion that an earlier version stored, from the words that it used.
fn kind_of_words(pool: &Discovered, reason: &str) -> ExclusionKind {
    // A pool without coins is an entry of a list that could not be described.
    let is_unread = [" answered ", "impossible state of ", " answers, got ", "has no usable decimals"];
    if let Some(denied) = reason.strip_prefix("the configuration denies ") {
        let product = Product::ALL.iter().find(|product| product.id() == denied);
        return product.map_or(ExclusionKind::Configuration, |product| ExclusionKind::Product(*product));
    }
    match reason {
        "the configuration does not allow one of its tokens" => ExclusionKind::Configuration,
        "it holds less ether than the configured floor" => ExclusionKind::Floor,
        _ if !pool.coins.is_empty() && is_unread.iter().any(|part| reason.contains(part)) => ExclusionKind::Unread,
        _ => ExclusionKind::Pool,
    }
}

/// The blocks in which a source's announcements are still to be searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSpan {
    /// Factory or registry.
    pub emitter: Address,
    /// `topic0` of its announcement.
    pub topic0: B256,
    /// First block not searched yet.
    pub next_block: u64,
    /// Last block to search; later ones are followed. Below `next_block` when the search is done.
    pub last_block: u64,
    /// Ranges, ascending and with both ends, whose logs no node gave: the search passed over them and tries them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<(u64, u64)>,
}

/// Progress of reading a contract's list of pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRecord {
    /// The contract.
    pub keeper: Address,
    /// Heights and numbers of entries read by then, ascending. After a reorganisation the list is read again from the
    /// last height that is left.
    pub read: Vec<(u64, u64)>,
}

/// A stored block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Height.
    pub number: u64,
    /// Hash.
    pub hash: B256,
    /// Pools that changed, were added or were removed since the stored block before.
    pub changed: Vec<PoolKey>,
}

/// The state of the database, in a record that changes with every transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Grows by one with every transaction.
    pub(super) sequence: u64,
    pub(super) block: Block,
    /// The sum over all other records, as 32 hex digits.
    pub(super) sum: String,
    pub(super) pools: u64,
    pub(super) tokens: u64,
    /// See [`Change::anchors`](super::Change::anchors). Earlier versions stored none.
    #[serde(default)]
    pub(super) anchors: Vec<(u64, B256)>,
}

/// Layout of the database, by which another version's is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layout {
    /// Version of the tables, raised by hand.
    pub(super) tables: u32,
    /// [`braid_protocols::pool::STATE_MEANING`].
    pub(super) states: u32,
    pub(super) chain_id: u64,
}

impl Layout {
    pub(super) const fn present() -> Self {
        Self { tables: 4, states: braid_protocols::pool::STATE_MEANING, chain_id: braid_primitives::CHAIN_ID }
    }

    /// Returns whether this version reads it. Version 3 of the tables named pools by their addresses.
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

/// Encodes a pool key: the contract, then the id if there is one. Bytes are in the order of the keys.
pub(crate) fn pool_key(key: PoolKey) -> Vec<u8> {
    [key.contract.as_slice(), key.id.as_ref().map_or(&[], B256::as_slice)].concat()
}

/// Encodes pool keys: for each a byte that says whether there is an id, then the bytes of [`pool_key`].
pub(super) fn encode_keys(keys: &[PoolKey]) -> Vec<u8> {
    keys.iter().flat_map(|key| [vec![u8::from(key.id.is_some())], pool_key(*key)].concat()).collect()
}

pub(super) fn decode_keys(what: &'static str, bytes: &[u8]) -> Result<Vec<PoolKey>, Damage> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (key, others) = first_key(rest).ok_or_else(|| Damage::Layout { what, reason: "not a pool key".into() })?;
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
    /// Encodes the hash, then the keys.
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

/// Encodes the key of a source.
pub(super) fn source_key(emitter: Address, topic0: B256) -> Vec<u8> {
    [emitter.as_slice(), topic0.as_slice()].concat()
}

/// Decodes a height, the key of the journal.
pub(super) fn height(key: &[u8]) -> u64 {
    u64::from_be_bytes(key.try_into().unwrap_or_default())
}

pub(crate) fn show_sum(sum: u128) -> String {
    hex::encode(sum.to_be_bytes())
}

pub(super) fn read_sum(text: &str) -> Option<u128> {
    u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32)
}
