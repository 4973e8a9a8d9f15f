//! The two tables of the quote database.

use std::path::Path;
use std::sync::Arc;

use redb::backends::InMemoryBackend;
use redb::{Database, ReadableDatabase as _, TableDefinition};
use uuid::Uuid;

use super::record::QuoteRecord;
use crate::StoreError;
use crate::error::open_error;

/// Id to (keep until, body).
const QUOTES: TableDefinition<'_, u128, (u64, &[u8])> = TableDefinition::new("quotes");

/// (keep until, id): what to drop first.
const EXPIRIES: TableDefinition<'_, (u64, u128), ()> = TableDefinition::new("quote_expiries");

/// Most records dropped in one transaction, so that pruning never holds up the writer for long.
const PRUNE_LIMIT: usize = 4_096;

/// Memory that the database may use for its pages.
const PAGE_CACHE_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Disk {
    database: Database,
}

impl Disk {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let opened = Database::builder().set_cache_size(PAGE_CACHE_BYTES).create(path);
        Self::with_tables(opened.map_err(|error| open_error(path, error))?)
    }

    pub(super) fn in_memory() -> Result<Self, StoreError> {
        Self::with_tables(Database::builder().create_with_backend(InMemoryBackend::new())?)
    }

    fn with_tables(database: Database) -> Result<Self, StoreError> {
        let transaction = database.begin_write()?;
        transaction.open_table(QUOTES)?;
        transaction.open_table(EXPIRIES)?;
        transaction.commit()?;
        Ok(Self { database })
    }

    pub(super) fn insert(&self, batch: &[(Uuid, QuoteRecord)]) -> Result<(), StoreError> {
        let transaction = self.database.begin_write()?;
        {
            let mut quotes = transaction.open_table(QUOTES)?;
            let mut expiries = transaction.open_table(EXPIRIES)?;
            for (id, record) in batch {
                quotes.insert(id.as_u128(), (record.keep_until_ms, &record.body[..]))?;
                expiries.insert((record.keep_until_ms, id.as_u128()), ())?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    pub(super) fn get(&self, id: Uuid) -> Result<Option<QuoteRecord>, StoreError> {
        let quotes = self.database.begin_read()?.open_table(QUOTES)?;
        let found = quotes.get(id.as_u128())?;
        Ok(found.map(|guard| {
            let (keep_until_ms, body) = guard.value();
            QuoteRecord { keep_until_ms, body: Arc::from(body) }
        }))
    }

    pub(super) fn prune(&self, now_ms: u64) -> Result<Vec<Uuid>, StoreError> {
        let old = self.older_than(now_ms)?;
        if old.is_empty() {
            return Ok(Vec::new());
        }
        let transaction = self.database.begin_write()?;
        {
            let mut quotes = transaction.open_table(QUOTES)?;
            let mut expiries = transaction.open_table(EXPIRIES)?;
            for (keep_until_ms, id) in &old {
                quotes.remove(*id)?;
                expiries.remove((*keep_until_ms, *id))?;
            }
        }
        transaction.commit()?;
        Ok(old.into_iter().map(|(_, id)| Uuid::from_u128(id)).collect())
    }

    fn older_than(&self, now_ms: u64) -> Result<Vec<(u64, u128)>, StoreError> {
        let expiries = self.database.begin_read()?.open_table(EXPIRIES)?;
        let mut old = Vec::new();
        for entry in expiries.range(..(now_ms, 0))?.take(PRUNE_LIMIT) {
            old.push(entry?.0.value());
        }
        Ok(old)
    }
}
