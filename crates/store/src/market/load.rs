//! Reads the database, and puts one that cannot be used aside.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{PoolKey, Token};
use braid_protocols::{Pool, Product};
use redb::{ReadTransaction, ReadableDatabase as _, ReadableTable as _, TableError};
use serde::de::DeserializeOwned;

use super::damage::Damage;
use super::disk::{self, Disk};
use super::record::{self, JournalEntry, KnownPool, Layout, ListRecord, Position, SourceSpan};
use super::sum::Sum;
use crate::StoreError;

/// What the follower knows, as it stood at one block.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Every pool and token at the block. Pools are in the order of keys.
    pub market: Arc<Market>,
    /// Pools whose state was read for that very block rather than carried to it by logs.
    pub read: Vec<PoolKey>,
    /// Every pool that was ever announced.
    pub known: Vec<KnownPool>,
    /// Where the search for pools stands.
    pub sources: Vec<SourceSpan>,
    /// How far lists of pools have been read; none in a database from before there were any.
    pub lists: Vec<ListRecord>,
    /// The newest blocks that were stored, ascending, each with the pools that changed since the one before.
    pub journal: Vec<JournalEntry>,
}

/// What was found when the database was opened.
#[derive(Debug)]
pub enum Found {
    /// Nothing: this is a first start.
    Nothing,
    /// A market.
    Market(Box<Saved>),
    /// Something that cannot be used; it was put aside, and the market will be read from the chain again.
    Unusable(Damage),
}

enum Failure {
    Store(StoreError),
    Damage(Damage),
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl<E: Into<redb::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Damage(Damage::Broken { reason: error.into().to_string() })
    }
}

/// Opens or creates the database at a path, and reads what it holds.
pub(super) fn open(path: &Path) -> Result<(Disk, Found), StoreError> {
    if !path.exists() {
        return Ok((Disk::open(path)?, Found::Nothing));
    }
    let unwritable = |source| StoreError::Unwritable { path: path.to_path_buf(), source };
    OpenOptions::new().read(true).write(true).open(path).map_err(unwritable)?;
    let damage = match open_and_read(path) {
        Ok((disk, saved)) => {
            return Ok((disk, saved.map_or(Found::Nothing, |saved| Found::Market(Box::new(saved)))));
        }
        Err(Failure::Store(error)) => return Err(error),
        Err(Failure::Damage(damage)) => damage,
    };
    std::fs::rename(path, aside(path)).map_err(unwritable)?;
    Ok((Disk::open(path)?, Found::Unusable(damage)))
}

/// Where an unusable database goes, in place of an older one.
pub(super) fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".unusable");
    PathBuf::from(name)
}

fn open_and_read(path: &Path) -> Result<(Disk, Option<Saved>), Failure> {
    let disk = match Disk::open(path) {
        Ok(disk) => disk,
        Err(error @ StoreError::InUse { .. }) => return Err(Failure::Store(error)),
        Err(error) => return Err(Damage::Broken { reason: error.to_string() }.into()),
    };
    let saved = read(&disk)?;
    Ok((disk, saved))
}

/// What a database holds; `None` before its first transaction.
pub(super) fn read(disk: &Disk) -> Result<Option<Saved>, Damage> {
    read_all(disk).map_err(|failure| match failure {
        Failure::Damage(damage) => damage,
        Failure::Store(error) => Damage::Broken { reason: error.to_string() },
    })
}

fn read_all(disk: &Disk) -> Result<Option<Saved>, Failure> {
    let transaction = disk.database().begin_read()?;
    let meta = match transaction.open_table(disk::META) {
        Ok(meta) => meta,
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (Some(layout), Some(position)) = (meta.get(disk::LAYOUT)?, meta.get(disk::POSITION)?) else {
        return Err(Damage::Broken { reason: "it does not say what it is".into() }.into());
    };
    let layout: Layout = record::decode("the layout", layout.value())?;
    if !layout.is_readable() {
        let reason = format!("{layout:?}, expected {:?}", Layout::present());
        return Err(Damage::Layout { what: "the layout", reason }.into());
    }
    let position: Position = record::decode("the position", position.value())?;
    let tables = Tables::read(&transaction)?;
    if record::read_sum(&position.sum) != Some(tables.sum.0) {
        return Err(Damage::Sum.into());
    }
    tables.saved(&position).map(Some)
}

/// Every record as bytes, and their sum.
struct Tables {
    pools: Vec<Vec<u8>>,
    tokens: Vec<Vec<u8>>,
    known: Vec<Vec<u8>>,
    sources: Vec<Vec<u8>>,
    journal: Vec<(u64, Vec<u8>)>,
    read: Vec<u8>,
    lists: Vec<Vec<u8>>,
    sum: Sum,
}

impl Tables {
    fn read(transaction: &ReadTransaction) -> Result<Self, Failure> {
        let mut sum = Sum::default();
        let mut all = disk::TABLES.into_iter().map(|name| records(transaction, name, &mut sum));
        let mut next = || all.next().unwrap_or_else(|| Ok(Vec::new()));
        let (pools, tokens, known, sources, journal, read) = (next()?, next()?, next()?, next()?, next()?, next()?);
        let lists = next()?;
        drop(all);
        let values = |records: Vec<(Vec<u8>, Vec<u8>)>| records.into_iter().map(|(_, value)| value).collect();
        let height = |key: Vec<u8>| u64::from_be_bytes(key.try_into().unwrap_or_default());
        Ok(Self {
            pools: values(pools),
            tokens: values(tokens),
            known: values(known),
            sources: values(sources),
            journal: journal.into_iter().map(|(key, value)| (height(key), value)).collect(),
            read: read.into_iter().next().map(|(_, value)| value).unwrap_or_default(),
            lists: values(lists),
            sum,
        })
    }

    fn saved(self, position: &Position) -> Result<Saved, Failure> {
        let pools: Vec<Pool> = decode_all("a pool", &self.pools)?;
        check_forms(&pools, &self.pools)?;
        let mut tokens = Tokens::new();
        for token in decode_all::<Token>("a token", &self.tokens)? {
            tokens.insert(token);
        }
        let counts = (pools.len() as u64, tokens.len() as u64);
        let market = Market::new(position.block, Arc::new(tokens), pools)
            .map_err(|error| Damage::Broken { reason: error.to_string() })?;
        if counts != (position.pools, position.tokens) || market.pools().len() as u64 != position.pools {
            return Err(Damage::Broken { reason: "pools or tokens are missing".into() }.into());
        }
        let journal = self.journal.iter().map(|(number, bytes)| JournalEntry::decode(*number, bytes));
        Ok(Saved {
            market: Arc::new(market),
            read: record::decode_keys("the pools read", &self.read)?,
            known: decode_all("a known pool", &self.known)?,
            sources: decode_all("a source", &self.sources)?,
            lists: decode_all("a list of pools", &self.lists)?,
            journal: journal.collect::<Result<_, _>>()?,
        })
    }
}

type Record = (Vec<u8>, Vec<u8>);

fn records(transaction: &ReadTransaction, name: &'static str, sum: &mut Sum) -> Result<Vec<Record>, Failure> {
    let mut records = Vec::new();
    let table = match transaction.open_table(disk::table(name)) {
        // Written before there were lists: they are read from the chain as at a first start.
        Err(TableError::TableDoesNotExist(_)) if name == disk::LISTS => return Ok(records),
        table => table?,
    };
    for entry in table.iter()? {
        let (key, value) = entry?;
        sum.add(name, key.value(), value.value());
        records.push((key.value().to_vec(), value.value().to_vec()));
    }
    Ok(records)
}

fn decode_all<T: DeserializeOwned>(what: &'static str, records: &[Vec<u8>]) -> Result<Vec<T>, Damage> {
    records.iter().map(|bytes| record::decode(what, bytes)).collect()
}

/// Whether this version writes pools as they were written: the first of every product must become the same bytes. A field that
/// went, or came with a default, is noticed here; any other change of layout already when it was read.
fn check_forms(pools: &[Pool], records: &[Vec<u8>]) -> Result<(), Failure> {
    for product in Product::ALL {
        let first = pools.iter().zip(records).find(|(pool, _)| pool.product == *product);
        if let Some((pool, bytes)) = first
            && record::encode(pool).ok().as_ref() != Some(bytes)
        {
            let reason = format!("the fields of {} differ", product.name());
            return Err(Damage::Layout { what: "a pool", reason }.into());
        }
    }
    Ok(())
}
