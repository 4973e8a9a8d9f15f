//! Tests of a disk that is full, read-only or does not respond, and recovers: no quote is lost, and the failure is
//! reported.

use std::time::Duration;

use braid_store::{DiskState, QuoteRecord, QuoteStore, StoreError};
use uuid::Uuid;

use super::mount::Mount;

/// Longer than the test's disk takes if it accepts quotes at all.
const PATIENCE: Duration = Duration::from_secs(60);

fn big(id: Uuid) -> QuoteRecord {
    QuoteRecord { keep_until_ms: 9, body: id.as_bytes().repeat(256).into() }
}

/// Stores quotes and waits for the disk. Returns their ids and whether the disk has each.
async fn put(store: &QuoteStore, count: usize, patience: Duration) -> (Vec<Uuid>, Vec<bool>) {
    let (mut ids, mut safe) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let id = Uuid::now_v7();
        store.put(id, big(id)).unwrap();
        safe.push(store.stored(id, patience).await);
        ids.push(id);
    }
    (ids, safe)
}

fn all_found(store: &QuoteStore, ids: &[Uuid]) {
    for id in ids {
        assert_eq!(store.get(*id).unwrap(), Some(big(*id)));
    }
}

#[tokio::test]
async fn a_full_disk_keeps_quotes_in_memory_and_takes_them_once_there_is_room() {
    let Some(mount) = Mount::in_memory(1_024) else { return };
    let store = QuoteStore::open(mount.path()).unwrap();
    mount.fill(100_000);
    let (mut ids, safe) = put(&store, 100, PATIENCE).await;
    let taken = safe.iter().take_while(|safe| **safe).count();
    assert!((1..25).contains(&taken) && safe[taken..].iter().all(|safe| !safe), "{safe:?}");
    assert_eq!((store.state(), store.waiting().0), (DiskState::Failing, 100 - taken));
    assert!(store.flush().unwrap_err().to_string().contains("No space left"));
    all_found(&store, &ids);
    // A first start on a full disk also succeeds.
    let next = tempfile::tempdir_in(mount.path()).unwrap();
    assert!(QuoteStore::open(next.path()).is_ok());

    mount.empty();
    store.flush().unwrap();
    assert_eq!((store.state(), store.waiting()), (DiskState::Ok, (0, 0)));
    let (more, safe) = put(&store, 10, PATIENCE).await;
    assert!(safe.iter().all(|safe| *safe));
    drop(store);
    ids.extend(more);
    all_found(&QuoteStore::open(mount.path()).unwrap(), &ids);
}

#[tokio::test]
async fn a_read_only_disk_keeps_quotes_in_memory_and_takes_them_once_it_is_writable() {
    let Some(mount) = Mount::in_memory(1_024) else { return };
    let store = QuoteStore::open(mount.path()).unwrap();
    mount.writable(false);
    let (ids, safe) = put(&store, 10, PATIENCE).await;
    assert!(safe.iter().all(|safe| !safe));
    assert!(store.flush().unwrap_err().to_string().contains("Read-only"));
    all_found(&store, &ids);
    mount.writable(true);
    store.flush().unwrap();
    assert_eq!(store.state(), DiskState::Ok);
    drop(store);
    all_found(&QuoteStore::open(mount.path()).unwrap(), &ids);
}

#[tokio::test]
async fn a_disk_that_does_not_answer_is_waited_for_once_and_loses_nothing() {
    let Some(mount) = Mount::on_disk(16) else { return };
    let store = QuoteStore::open(mount.path()).unwrap();
    let frozen = mount.freeze();
    let (mut ids, safe) = put(&store, 1, Duration::from_millis(50)).await;
    assert_eq!((safe, store.state()), (vec![false], DiskState::Slow));
    // Later quotes do not wait for the disk; with this patience the test would not end.
    let (more, safe) = put(&store, 50, Duration::from_secs(1_000_000)).await;
    assert!(safe.iter().all(|safe| !safe));
    ids.extend(more);
    all_found(&store, &ids);

    drop(frozen);
    store.flush().unwrap();
    let (more, safe) = put(&store, 3, PATIENCE).await;
    assert_eq!((safe, store.state()), (vec![true; 3], DiskState::Ok));
    ids.extend(more);
    drop(store);
    all_found(&QuoteStore::open(mount.path()).unwrap(), &ids);
}

#[tokio::test]
async fn memory_for_quotes_is_bounded_and_what_was_accepted_stays() {
    let Some(mount) = Mount::in_memory(1_024) else { return };
    let store = QuoteStore::with_limit(mount.path(), 100_000).unwrap();
    mount.writable(false);
    let (ids, _) = put(&store, 20, PATIENCE).await;
    let mut refused = 0;
    for _ in 0..20 {
        let id = Uuid::now_v7();
        match store.put(id, big(id)) {
            Ok(()) => {}
            Err(error @ StoreError::Backlog { .. }) => {
                assert!(error.to_string().contains("the disk does not accept quotes"), "{error}");
                assert_eq!(store.get(id).unwrap(), None);
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused >= 15 && store.waiting().1 <= 100_000, "{refused} {:?}", store.waiting());
    all_found(&store, &ids);
    // Expired quotes are removed to make room, although the disk accepts nothing.
    assert!(store.prune(10).unwrap() >= 20);
    put(&store, 20, PATIENCE).await;
}
