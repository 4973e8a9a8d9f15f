//! The tables, and the transaction that brings them from one market to the next.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use braid_market::{Changes, Market, Tokens};
use braid_primitives::{Block, PoolKey};
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, StorageError, Table, TableDefinition,
    WriteTransaction,
};

use super::change::Change;
use super::create::{create, is_absent};
use super::record::{self, JournalEntry, Layout, Position};
use super::sum::Sum;
use crate::StoreError;
use crate::error::open_error;

type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// Layout and position: the only table that is not in the sum.
pub(super) const META: Definition = TableDefinition::new("meta");
pub(super) const LAYOUT: &[u8] = b"layout";
pub(super) const POSITION: &[u8] = b"position";

/// Pool key to pool.
pub(super) const POOLS: &str = "pools";
/// Token id (4 bytes, big-endian) to token.
pub(super) const TOKENS: &str = "tokens";
/// Pool key to known pool.
pub(super) const KNOWN: &str = "known";
/// Emitter and topic to the span left to search.
pub(super) const SOURCES: &str = "sources";
/// Contract to the progress of its list. A database from before there were lists has no such table.
pub(super) const LISTS: &str = "lists";
/// Height (8 bytes, big-endian) to hash and changed pools.
pub(super) const JOURNAL: &str = "journal";
/// One record: the pools read at the newest block.
pub(super) const READ: &str = "read";

/// Every table in the sum.
pub(super) const TABLES: [&str; 7] = [POOLS, TOKENS, KNOWN, SOURCES, JOURNAL, READ, LISTS];

/// Blocks whose changed pools are stored, so that a restart after a reorganisation reads only those.
pub const JOURNAL_BLOCKS: usize = 256;

/// Memory for database pages, in bytes.
const PAGE_CACHE_BYTES: usize = 16 << 20;

pub(super) const fn table(name: &'static str) -> Definition {
    TableDefinition::new(name)
}

/// The open database and its state.
#[derive(Debug)]
pub(super) struct Disk {
    database: Database,
    pub(super) sequence: u64,
    pub(super) sum: Sum,
}

impl Disk {
    /// Opens or creates a database and verifies its pages, but not its records.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, |builder| if is_absent(path) { create(builder, path) } else { builder.open(path) })
    }

    /// Opens the database of a path in a given way, and verifies its pages.
    pub(super) fn open_with(
        path: &Path,
        open: impl FnOnce(&Builder) -> Result<Database, DatabaseError>,
    ) -> Result<Self, StoreError> {
        let mut builder = Database::builder();
        builder.set_cache_size(PAGE_CACHE_BYTES);
        let opened = catch_unwind(AssertUnwindSafe(|| open(&builder))).map_err(|_| StoreError::DamagedDatabase)?;
        Self::with(verified(opened.map_err(|error| open_error(path, error))?)?)
    }

    /// Changes one record, as another version of the program might have written it.
    #[cfg(test)]
    pub(super) fn rewrite(&mut self, name: &'static str, key: &[u8], change: impl FnOnce(&str) -> String) {
        let transaction = self.database.begin_write().unwrap();
        let mut sum = self.sum;
        {
            let mut records = Records::open(&transaction, name, &mut sum).unwrap();
            let old = records.table.get(key).unwrap().unwrap().value().to_vec();
            let new = change(std::str::from_utf8(&old).unwrap());
            assert_ne!(new.as_bytes(), old, "nothing to replace");
            records.put(key, new.as_bytes()).unwrap();
        }
        let mut position = self.position().unwrap().unwrap();
        if name != "meta" {
            position.sum = record::show_sum(sum.0);
            let mut meta = transaction.open_table(META).unwrap();
            meta.insert(POSITION, &record::encode(&position).unwrap()[..]).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn with(database: Database) -> Result<Self, StoreError> {
        let mut disk = Self { database, sequence: 0, sum: Sum::default() };
        let position = disk.position()?;
        if let Some(position) = position {
            let sum = record::read_sum(&position.sum);
            (disk.sequence, disk.sum) = (position.sequence, Sum(sum.unwrap_or_default()));
        }
        Ok(disk)
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Reads the position of the newest transaction; `None` before the first, or if it cannot be decoded.
    fn position(&self) -> Result<Option<Position>, StoreError> {
        let meta = match self.database.begin_read()?.open_table(META) {
            Ok(meta) => meta,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let bytes = meta.get(POSITION)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(bytes.value()).ok()))
    }

    /// Brings the tables from the market `base`, which they hold, to the market of a change.
    pub(super) fn write(&mut self, base: Option<&Market>, change: &Change) -> Result<(), StoreError> {
        let market = &change.market;
        let changes = match base {
            Some(base) => market.changes_since(base),
            None => Changes { changed: market.pools().to_vec(), removed: Vec::new() },
        };
        let mut transaction = self.database.begin_write()?;
        // Makes the start after a crash take milliseconds instead of a scan of the file.
        transaction.set_quick_repair(true);
        let mut sum = self.sum;
        write_pools(&transaction, &mut sum, &changes)?;
        write_tokens(&transaction, &mut sum, base.map(Market::tokens), market.tokens())?;
        write_discovery(&transaction, &mut sum, change)?;
        write_journal(&transaction, &mut sum, *market.block(), change.rolled_back_to, &changes)?;
        let mut read = Records::open(&transaction, READ, &mut sum)?;
        read.put(b"", &record::encode_keys(&change.read))?;
        drop(read);
        let sequence = self.sequence.wrapping_add(1);
        {
            let position = Position {
                sequence,
                block: *market.block(),
                sum: record::show_sum(sum.0),
                pools: market.pools().len() as u64,
                tokens: market.tokens().len() as u64,
                anchors: change.anchors.clone(),
            };
            let mut meta = transaction.open_table(META)?;
            meta.insert(LAYOUT, &record::encode(&Layout::present())?[..])?;
            meta.insert(POSITION, &record::encode(&position)?[..])?;
        }
        transaction.commit()?;
        (self.sequence, self.sum) = (sequence, sum);
        Ok(())
    }
}

/// Refuses a database with a damaged page before anything is written to it. Closing a damaged one writes, panics, and
/// panics again during the unwinding, which ends the process; so it is never closed. This leaks a file and at most
/// [`PAGE_CACHE_BYTES`], once per process.
fn verified(mut database: Database) -> Result<Database, StoreError> {
    match catch_unwind(AssertUnwindSafe(|| database.check_integrity())) {
        Ok(Ok(_)) => Ok(database),
        // A failing disk says nothing about the pages; after such an error closing writes nothing.
        Ok(Err(error @ DatabaseError::Storage(StorageError::Io(_) | StorageError::PreviousIo))) => Err(error.into()),
        Ok(Err(error)) => {
            std::mem::forget(database);
            Err(error.into())
        }
        Err(_) => {
            std::mem::forget(database);
            Err(StoreError::DamagedDatabase)
        }
    }
}

/// A table whose changes update the sum.
struct Records<'t, 's> {
    name: &'static str,
    table: Table<'t, &'static [u8], &'static [u8]>,
    sum: &'s mut Sum,
}

impl<'t, 's> Records<'t, 's> {
    fn open(transaction: &'t WriteTransaction, name: &'static str, sum: &'s mut Sum) -> Result<Self, StoreError> {
        Ok(Self { name, table: transaction.open_table(table(name))?, sum })
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if let Some(old) = self.table.insert(key, value)? {
            self.sum.remove(self.name, key, old.value());
        }
        self.sum.add(self.name, key, value);
        Ok(())
    }

    fn drop_key(&mut self, key: &[u8]) -> Result<(), StoreError> {
        if let Some(old) = self.table.remove(key)? {
            self.sum.remove(self.name, key, old.value());
        }
        Ok(())
    }
}

fn write_pools(transaction: &WriteTransaction, sum: &mut Sum, changes: &Changes) -> Result<(), StoreError> {
    let mut pools = Records::open(transaction, POOLS, sum)?;
    for pool in &changes.removed {
        pools.drop_key(&record::pool_key(*pool))?;
    }
    for pool in &changes.changed {
        pools.put(&record::pool_key(pool.key), &record::encode(pool)?)?;
    }
    Ok(())
}

/// Writes tokens that differ at their position, and removes those beyond the end.
fn write_tokens(
    transaction: &WriteTransaction,
    sum: &mut Sum,
    base: Option<&Arc<Tokens>>,
    tokens: &Arc<Tokens>,
) -> Result<(), StoreError> {
    let mut records = Records::open(transaction, TOKENS, sum)?;
    if base.is_some_and(|base| Arc::ptr_eq(base, tokens)) {
        return Ok(());
    }
    for (id, token) in tokens.iter() {
        if base.and_then(|base| base.get(id)) != Some(token) {
            records.put(&id.0.to_be_bytes(), &record::encode(token)?)?;
        }
    }
    for (id, _) in base.into_iter().flat_map(|base| base.iter()).skip(tokens.len()) {
        records.drop_key(&id.0.to_be_bytes())?;
    }
    Ok(())
}

fn write_discovery(transaction: &WriteTransaction, sum: &mut Sum, change: &Change) -> Result<(), StoreError> {
    let mut known = Records::open(transaction, KNOWN, sum)?;
    for (key, pool) in &change.known {
        let key = record::pool_key(*key);
        match pool {
            Some(pool) => known.put(&key, &record::encode(pool)?)?,
            None => known.drop_key(&key)?,
        }
    }
    drop(known);
    let sources = Records::open(transaction, SOURCES, sum)?;
    replace_all(sources, &change.sources, |span| record::source_key(span.emitter, span.topic0))?;
    let lists = Records::open(transaction, LISTS, sum)?;
    replace_all(lists, &change.lists, |list| list.keeper.to_vec())
}

/// Makes a small table hold these records and no others; unchanged ones are not written.
fn replace_all<T: serde::Serialize>(
    mut records: Records<'_, '_>,
    all: &[T],
    key: impl Fn(&T) -> Vec<u8>,
) -> Result<(), StoreError> {
    let keep: Vec<Vec<u8>> = all.iter().map(key).collect();
    let mut gone = Vec::new();
    for entry in records.table.iter()? {
        let key = entry?.0.value().to_vec();
        if !keep.contains(&key) {
            gone.push(key);
        }
    }
    for key in gone {
        records.drop_key(&key)?;
    }
    for (key, record) in keep.iter().zip(all) {
        let value = record::encode(record)?;
        let same = records.table.get(&key[..])?.is_some_and(|old| old.value() == &value[..]);
        if !same {
            records.put(key, &value)?;
        }
    }
    Ok(())
}

fn write_journal(
    transaction: &WriteTransaction,
    sum: &mut Sum,
    block: Block,
    rolled_back_to: Option<u64>,
    changes: &Changes,
) -> Result<(), StoreError> {
    let mut journal = Records::open(transaction, JOURNAL, sum)?;
    // Replaced blocks, and this block's own entry if it has one.
    let first_gone = rolled_back_to.map_or(block.number, |height| height.saturating_add(1)).min(block.number);
    let mut gone = Vec::new();
    let mut changed: Vec<PoolKey> = changes.changed.iter().map(|pool| pool.key).collect();
    changed.extend(&changes.removed);
    let first = first_gone.to_be_bytes();
    for entry in journal.table.range(&first[..]..)? {
        let (key, value) = entry?;
        let old = JournalEntry::decode(record::height(key.value()), value.value()).ok();
        gone.push(key.value().to_vec());
        // An entry may cover several blocks, of which the first are still in the chain: what changed in them has changed
        // since the stored block before, although it is the same in both markets.
        changed.extend(old.into_iter().flat_map(|old| old.changed));
    }
    for key in gone {
        journal.drop_key(&key)?;
    }
    changed.sort_unstable();
    changed.dedup();
    let entry = JournalEntry { number: block.number, hash: block.hash, changed };
    journal.put(&block.number.to_be_bytes(), &entry.encode())?;
    let mut old = Vec::new();
    for entry in journal.table.iter()?.rev().skip(JOURNAL_BLOCKS) {
        old.push(entry?.0.value().to_vec());
    }
    for key in old {
        journal.drop_key(&key)?;
    }
    Ok(())
}
