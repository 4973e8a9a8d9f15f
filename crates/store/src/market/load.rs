//! Reads the database, and renames one that cannot be used.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{B256, PoolKey, Token};
use braid_protocols::{Pool, Product};
use redb::{ReadTransaction, ReadableDatabase as _, ReadableTable as _, TableError};
use serde::de::DeserializeOwned;

use super::damage::Damage;
use super::disk::{self, Disk};
use super::record::{self, JournalEntry, KnownPool, Layout, ListRecord, Position, SourceSpan};
use super::sum::Sum;
use crate::StoreError;

/// What the follower knew at one block.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Every pool and token at the block, pools in the order of their keys.
    pub market: Arc<Market>,
    /// Pools whose state was read at that block, not updated from logs.
    pub read: Vec<PoolKey>,
    /// Every pool that was ever announced.
    pub known: Vec<KnownPool>,
    /// Progress of the search for pools.
    pub sources: Vec<SourceSpan>,
    /// Progress of reading lists of pools.
    pub lists: Vec<ListRecord>,
    /// The newest stored blocks, ascending, each with the pools that changed since the one before.
    pub journal: Vec<JournalEntry>,
    /// Heights and hashes of a few blocks older than those.
    pub anchors: Vec<(u64, B256)>,
}

/// Content of the database when it was opened.
#[derive(Debug)]
pub enum Found {
    /// Nothing, at a first start.
    Nothing,
    /// A market.
    Market(Box<Saved>),
    /// Something unusable. It was renamed, and the market will be read from the chain again.
    Unusable(Damage),
}

/// Why a database could not be read.
#[derive(Debug)]
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
        let error: redb::Error = error.into();
        let damage = broken(&error);
        let error = StoreError::from(error);
        if error.is_of_system() { Self::Store(error) } else { damage.into() }
    }
}

fn broken(reason: &impl ToString) -> Damage {
    Damage::Broken { reason: reason.to_string() }
}

/// Opens or creates the database at a path, and reads what it holds.
pub(super) fn open(path: &Path) -> Result<(Disk, Found), StoreError> {
    if !path.exists() {
        return Ok((Disk::open(path)?, Found::Nothing));
    }
    let unwritable = |source| StoreError::Unwritable { path: path.to_path_buf(), source };
    check_access(path)?;
    let damage = match read_opened(Disk::open(path)) {
        Ok((disk, saved)) => {
            return Ok((disk, saved.map_or(Found::Nothing, |saved| Found::Market(Box::new(saved)))));
        }
        Err(Failure::Store(error)) => return Err(error),
        Err(Failure::Damage(damage)) => damage,
    };
    std::fs::rename(path, aside(path)).map_err(unwritable)?;
    Ok((Disk::open(path)?, Found::Unusable(damage)))
}

/// Returns whether a database holds a usable market. One that is in use is taken to hold one. Changes nothing.
pub(super) fn holds_market(path: &Path) -> Result<bool, StoreError> {
    if !path.exists() {
        return Ok(false);
    }
    check_access(path)?;
    match read_opened(Disk::open(path)) {
        Ok((_, saved)) => Ok(saved.is_some()),
        Err(Failure::Damage(_)) => Ok(false),
        Err(Failure::Store(StoreError::InUse { .. })) => Ok(true),
        Err(Failure::Store(error)) => Err(error),
    }
}

/// Checks that a database's file can be read and written.
pub(super) fn check_access(path: &Path) -> Result<(), StoreError> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map(drop).map_err(|source| StoreError::Unwritable { path: path.to_path_buf(), source })
}

/// Returns the path that an unusable database is renamed to, in place of an older one.
pub(super) fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".unusable");
    PathBuf::from(name)
}

/// Reads what a database holds that was opened, or tells damage from other reasons why it could not be.
fn read_opened(opened: Result<Disk, StoreError>) -> Result<(Disk, Option<Saved>), Failure> {
    let disk = match opened {
        Ok(disk) => disk,
        Err(error) if matches!(error, StoreError::InUse { .. }) || error.is_of_system() => {
            return Err(Failure::Store(error));
        }
        Err(error) => return Err(broken(&error).into()),
    };
    let saved = read(&disk)?;
    Ok((disk, saved))
}

/// Reads what a database holds; `None` before its first transaction.
fn read(disk: &Disk) -> Result<Option<Saved>, Failure> {
    let transaction = disk.database().begin_read()?;
    let meta = match transaction.open_table(disk::META) {
        Ok(meta) => meta,
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (Some(layout), Some(position)) = (meta.get(disk::LAYOUT)?, meta.get(disk::POSITION)?) else {
        return Err(broken(&"it does not say what it is").into());
    };
    let layout: Layout = record::decode("the layout", layout.value())?;
    if !layout.is_readable() {
        let reason = format!("{layout:?}, expected {:?}", Layout::present());
        return Err(Damage::Layout { what: "the layout", reason }.into());
    }
    let position: Position = record::decode("the position", position.value())?;
    let mut sum = Sum::default();
    let tables = disk::TABLES.map(|name| records(&transaction, name, &mut sum));
    let [pools, tokens, known, sources, journal, read, lists] = tables;
    let (pools, tokens, known, sources) = (pools?, tokens?, known?, sources?);
    let (journal, read, lists) = (journal?, read?, lists?);
    if record::read_sum(&position.sum) != Some(sum.0) {
        return Err(Damage::Sum.into());
    }
    let journal = journal.iter().map(|(key, bytes)| JournalEntry::decode(record::height(key), bytes));
    Ok(Some(Saved {
        market: Arc::new(market(&position, &pools, &tokens)?),
        read: record::decode_keys("the pools read", read.first().map_or(&[][..], |(_, bytes)| bytes))?,
        known: decode_all("a known pool", &known)?,
        sources: decode_all("a source", &sources)?,
        lists: decode_all("a list of pools", &lists)?,
        journal: journal.collect::<Result<_, _>>()?,
        anchors: position.anchors,
    }))
}

fn market(position: &Position, pools: &[Record], tokens: &[Record]) -> Result<Market, Damage> {
    let decoded: Vec<Pool> = decode_all("a pool", pools)?;
    check_forms(&decoded, pools)?;
    let mut table = Tokens::new();
    for token in decode_all::<Token>("a token", tokens)? {
        table.insert(token);
    }
    let (pool_count, token_count) = (decoded.len() as u64, table.len() as u64);
    let market = Market::new(position.block, Arc::new(table), decoded).map_err(|error| broken(&error))?;
    if (pool_count, token_count) != (position.pools, position.tokens) || market.pools().len() as u64 != position.pools {
        return Err(broken(&"pools or tokens are missing"));
    }
    Ok(market)
}

type Record = (Vec<u8>, Vec<u8>);

/// Reads a table's keys and values, and adds them to the sum.
fn records(transaction: &ReadTransaction, name: &'static str, sum: &mut Sum) -> Result<Vec<Record>, Failure> {
    let mut records = Vec::new();
    let table = match transaction.open_table(disk::table(name)) {
        // A database from before there were lists: they are read from the chain as at a first start.
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

fn decode_all<T: DeserializeOwned>(what: &'static str, records: &[Record]) -> Result<Vec<T>, Damage> {
    records.iter().map(|(_, bytes)| record::decode(what, bytes)).collect()
}

/// Checks that this version encodes pools as they are stored: the first of every product must become the same bytes.
/// This notices a field that was removed or has a default; decoding notices any other change of layout.
fn check_forms(pools: &[Pool], records: &[Record]) -> Result<(), Damage> {
    for product in Product::ALL {
        let first = pools.iter().zip(records).find(|(pool, _)| pool.product == *product);
        if let Some((pool, (_, bytes))) = first
            && record::encode(pool).ok().as_ref() != Some(bytes)
        {
            let reason = format!("the fields of {} differ", product.name());
            return Err(Damage::Layout { what: "a pool", reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};

    use parking_lot::Mutex;
    use redb::StorageBackend;

    use super::super::tests::write_first;
    use super::*;
    use crate::market::MARKET_FILE;

    /// The content of a file on a disk that fails after some operations.
    #[derive(Debug)]
    struct FailingDisk {
        content: Mutex<Vec<u8>>,
        /// Operations that succeed.
        left: AtomicU64,
        /// Number of the system's error after that.
        number: i32,
    }

    impl FailingDisk {
        fn operate<T>(&self, work: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
            let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            left.map_err(|_| io::Error::from_raw_os_error(self.number))?;
            Ok(work(&mut self.content.lock()))
        }
    }

    impl StorageBackend for FailingDisk {
        fn len(&self) -> io::Result<u64> {
            self.operate(|content| content.len() as u64)
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let offset = usize::try_from(offset).unwrap();
            self.operate(|content| out.copy_from_slice(&content[offset..offset + out.len()]))
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.operate(|content| content.resize(usize::try_from(len).unwrap(), 0))
        }

        fn sync_data(&self) -> io::Result<()> {
            self.operate(|_| ())
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            let offset = usize::try_from(offset).unwrap();
            self.operate(|content| content[offset..offset + data.len()].copy_from_slice(data))
        }
    }

    /// A disk that failed while a sound database was opened made a start throw it away and search from nothing.
    #[test]
    fn a_disk_that_fails_is_no_damage() {
        const INPUT_OUTPUT: i32 = 5;
        const QUOTA_EXCEEDED: i32 = 122;
        let dir = tempfile::tempdir().unwrap();
        write_first(dir.path());
        let path = dir.path().join(MARKET_FILE);
        let content = std::fs::read(&path).unwrap();
        for number in [INPUT_OUTPUT, QUOTA_EXCEEDED] {
            let read_after = |left: u64| {
                let disk = FailingDisk { content: Mutex::new(content.clone()), left: AtomicU64::new(left), number };
                read_opened(Disk::open_with(&path, |builder| builder.create_with_backend(disk)))
            };
            let mut failures = 0;
            let saved = loop {
                match read_after(failures) {
                    Ok((_, saved)) => break saved,
                    Err(Failure::Store(error)) => assert!(error.is_of_system(), "{error}"),
                    Err(Failure::Damage(damage)) => panic!("after {failures} operations: {damage}"),
                }
                failures += 1;
            };
            assert!(failures >= 10 && saved.is_some(), "{failures}");
        }
    }

    #[test]
    fn what_a_damaged_file_leads_the_system_to_refuse_is_damage() {
        const INVALID: i32 = 22;
        let refused = redb::StorageError::Io(io::Error::from_raw_os_error(INVALID));
        assert!(matches!(Failure::from(refused), Failure::Damage(_)));
        let cut = redb::StorageError::Io(io::ErrorKind::UnexpectedEof.into());
        assert!(matches!(Failure::from(cut), Failure::Damage(_)));
    }
}
