//! Quotes are found at once, survive a restart and go when their time is over.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use braid_store::{QuoteRecord, QuoteStore, StoreError};
use uuid::Uuid;

fn record(keep_until_ms: u64, text: &str) -> QuoteRecord {
    QuoteRecord { keep_until_ms, body: Arc::from(text.as_bytes()) }
}

#[test]
fn a_quote_is_found_the_instant_it_is_kept() {
    let store = QuoteStore::in_memory().unwrap();
    for n in 0..1_000u32 {
        let id = Uuid::now_v7();
        let kept = record(1, &n.to_string());
        store.put(id, kept.clone()).unwrap();
        assert_eq!(store.get(id).unwrap(), Some(kept));
    }
    assert_eq!(store.get(Uuid::now_v7()).unwrap(), None);
}

#[test]
fn a_restart_keeps_every_quote() {
    let dir = tempfile::tempdir().unwrap();
    let ids: Vec<Uuid> = (0..200).map(|_| Uuid::now_v7()).collect();
    let store = QuoteStore::open(dir.path()).unwrap();
    for id in &ids {
        store.put(*id, record(9, &id.to_string())).unwrap();
    }
    drop(store);

    let store = QuoteStore::open(dir.path()).unwrap();
    for id in &ids {
        assert_eq!(store.recent(*id), None);
        assert_eq!(store.get(*id).unwrap(), Some(record(9, &id.to_string())));
    }
}

#[test]
fn what_was_flushed_survives_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
    let id = Uuid::now_v7();
    store.put(id, record(9, "safe")).unwrap();
    store.flush().unwrap();
    // the file as a crash would leave it: copied while the process still has it open
    let after = tempfile::tempdir().unwrap();
    std::fs::copy(dir.path().join("quotes.redb"), after.path().join("quotes.redb")).unwrap();
    assert_eq!(QuoteStore::open(after.path()).unwrap().get(id).unwrap(), Some(record(9, "safe")));
}

#[test]
fn pruning_drops_only_what_is_past_its_time() {
    let store = QuoteStore::in_memory().unwrap();
    let (old, young) = (Uuid::now_v7(), Uuid::now_v7());
    store.put(old, record(100, "old")).unwrap();
    store.put(young, record(200, "young")).unwrap();
    store.flush().unwrap();
    assert_eq!(store.prune(100).unwrap(), 0);
    assert_eq!(store.prune(101).unwrap(), 1);
    assert_eq!(store.get(old).unwrap(), None);
    assert!(store.get(young).unwrap().is_some());
}

#[test]
fn a_second_owner_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _first = QuoteStore::open(dir.path()).unwrap();
    assert!(matches!(QuoteStore::open(dir.path()), Err(StoreError::InUse { .. })));
}

#[test]
fn a_directory_that_is_a_file_is_refused_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plain");
    std::fs::write(&path, "").unwrap();
    let error = braid_store::prepare_dir(&path).unwrap_err().to_string();
    assert!(error.contains("plain"), "{error}");
}
