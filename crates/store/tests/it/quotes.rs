//! Tests of stored quotes: they are found at once, survive a restart, and are removed when they expire.

mod mount;
mod small_disk;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_store::quotes::QUOTE_DIR;
use braid_store::{DiskState, QuoteRecord, QuoteStore, StoreError};
use tempfile::TempDir;
use uuid::Uuid;

fn record(keep_until_ms: u64, text: &str) -> QuoteRecord {
    QuoteRecord { keep_until_ms, body: Arc::from(text.as_bytes()) }
}

#[test]
fn a_quote_is_found_the_instant_it_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
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

/// Returns the only file of quotes in a data directory.
fn only_file(dir: &Path) -> PathBuf {
    let files = std::fs::read_dir(dir.join(QUOTE_DIR)).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Returns a data directory as a crash or a bad disk leaves it, with these bytes in the file of quotes.
fn with_file(name: &OsStr, bytes: &[u8]) -> (TempDir, QuoteStore) {
    let dir = tempfile::tempdir().unwrap();
    let quotes = dir.path().join(QUOTE_DIR);
    std::fs::create_dir(&quotes).unwrap();
    std::fs::write(quotes.join(name), bytes).unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
    (dir, store)
}

/// Stores some quotes, and returns their ids with the name and the contents of the file.
fn some_quotes(count: usize) -> (Vec<Uuid>, OsString, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
    let ids: Vec<Uuid> = (0..count).map(|_| Uuid::now_v7()).collect();
    for id in &ids {
        store.put(*id, record(9, &id.to_string())).unwrap();
        store.flush().unwrap();
    }
    // Read while the store is open, as after a crash.
    let file = only_file(dir.path());
    (ids, file.file_name().unwrap().into(), std::fs::read(file).unwrap())
}

/// Returns those of the quotes that are found. Each must be the stored one.
fn found(store: &QuoteStore, ids: &[Uuid]) -> Vec<Uuid> {
    let kept = |id: &&Uuid| {
        let found = store.get(**id).unwrap();
        assert!(found.is_none() || found == Some(record(9, &id.to_string())), "{found:?}");
        found.is_some()
    };
    ids.iter().filter(kept).copied().collect()
}

#[test]
fn a_crash_at_any_byte_keeps_every_quote_before_it() {
    let (ids, name, bytes) = some_quotes(4);
    let each = bytes.len() / ids.len();
    for len in 0..=bytes.len() {
        let (_dir, store) = with_file(&name, &bytes[..len]);
        assert_eq!(found(&store, &ids), ids[..len / each], "cut at byte {len}");
    }
}

#[test]
fn a_damaged_byte_costs_at_most_the_quote_that_it_is_in() {
    let (ids, name, bytes) = some_quotes(4);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        let (_dir, store) = with_file(&name, &damaged);
        let lost = at / (bytes.len() / ids.len());
        let others = [&ids[..lost], &ids[lost + 1..]].concat();
        assert_eq!(found(&store, &ids), others, "damaged at byte {at}");
        store.put(ids[lost], record(9, &ids[lost].to_string())).unwrap();
        store.flush().unwrap();
        assert_eq!(found(&store, &ids), ids, "and quotes go on");
    }
}

#[test]
fn files_that_are_no_quotes_do_not_stop_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let quotes = dir.path().join(QUOTE_DIR);
    std::fs::create_dir(&quotes).unwrap();
    // The file in which earlier versions stored quotes.
    let former = dir.path().join("quotes.redb");
    std::fs::write(&former, vec![0xff; 100_000]).unwrap();
    for name in ["something", "x-y.quotes", "00000000000000000009-0011223344556677.quotes"] {
        std::fs::write(quotes.join(name), vec![0xaa; 5_000]).unwrap();
    }
    std::fs::create_dir(quotes.join("00000000000000000009-0011223344556678.quotes")).unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
    let id = Uuid::now_v7();
    store.put(id, record(9, "kept")).unwrap();
    store.flush().unwrap();
    assert!(!former.exists(), "it holds nothing that this version could read, and would never shrink");
}

#[test]
fn a_quote_that_is_given_anew_replaces_the_first_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
    let id = Uuid::now_v7();
    for text in ["first", "second"] {
        store.put(id, record(9, text)).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    assert_eq!(QuoteStore::open(dir.path()).unwrap().get(id).unwrap(), Some(record(9, "second")));
}

#[tokio::test]
async fn a_quote_that_is_said_to_be_stored_is_found_by_whoever_opens_the_files_next() {
    let dir = tempfile::tempdir().unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
    let mut ids = Vec::new();
    for _ in 0..50 {
        let id = Uuid::now_v7();
        store.put(id, record(9, &id.to_string())).unwrap();
        assert!(store.stored(id, Duration::from_secs(60)).await);
        ids.push(id);
    }
    assert_eq!((store.state(), store.waiting()), (DiskState::Ok, (0, 0)));
    let file = only_file(dir.path());
    let (_dir, copy) = with_file(file.file_name().unwrap(), &std::fs::read(&file).unwrap());
    assert_eq!(found(&copy, &ids), ids);
}

#[test]
fn pruning_gives_all_the_room_back_and_takes_less_time_than_writing() {
    const QUOTES: u64 = 20_000;
    let dir = tempfile::tempdir().unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
    let body: Arc<[u8]> = vec![7; 2_000].into();
    let before = Instant::now();
    // Ten minutes of quotes.
    for n in 0..QUOTES {
        let record = QuoteRecord { keep_until_ms: 1_000_000 + n * 30, body: Arc::clone(&body) };
        store.put(Uuid::from_u128(u128::from(n)), record).unwrap();
    }
    store.flush().unwrap();
    let writing = before.elapsed();
    let held = size(dir.path());
    assert!((40_000_000..42_000_000).contains(&held), "{held} bytes of files");
    let before = Instant::now();
    assert_eq!(store.prune(1_000_000).unwrap(), 0);
    let some = store.prune(1_300_000).unwrap();
    assert!((6_000..10_000).contains(&some), "{some} went at half of the time");
    assert_eq!(store.prune(2_000_000).unwrap() + some, 20_000);
    let pruning = before.elapsed();
    assert_eq!(size(dir.path()), 0);
    assert!(pruning < writing, "{pruning:?} to prune, {writing:?} to write");
    eprintln!("{QUOTES} quotes of 2,000 bytes: {held} bytes, written in {writing:?}, pruned in {pruning:?}");
}

/// A file that could not be deleted kept all later ones, so that the directory grew without end.
#[test]
fn a_file_that_cannot_be_deleted_keeps_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = QuoteStore::open(dir.path()).unwrap();
    store.put(Uuid::now_v7(), record(1_000, "first")).unwrap();
    store.flush().unwrap();
    // A directory in its place cannot be removed as a file, whoever asks.
    let first = only_file(dir.path());
    std::fs::remove_file(&first).unwrap();
    std::fs::create_dir(&first).unwrap();
    for minute in 1..4 {
        store.put(Uuid::now_v7(), record(1_000 + minute * 100_000, "later")).unwrap();
        store.flush().unwrap();
    }
    assert!(matches!(store.prune(1_000_000), Err(StoreError::Unwritable { .. })), "it is reported");
    assert_eq!(only_file(dir.path()), first);
    std::fs::remove_dir(&first).unwrap();
    assert_eq!(store.prune(1_000_000).unwrap(), 1);
}

/// Returns the size of the files of quotes, in bytes.
fn size(dir: &Path) -> u64 {
    std::fs::read_dir(dir.join(QUOTE_DIR)).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, run it by name"]
async fn how_long_a_quote_waits_for_the_disk() {
    let dir = tempfile::tempdir_in(std::env::var("MEASURED_DIR").unwrap()).unwrap();
    let store = Arc::new(QuoteStore::open(dir.path()).unwrap());
    for clients in [1, 8, 64] {
        let before = Instant::now();
        let tasks: Vec<_> = (0..clients)
            .map(|_| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    let mut waits = Vec::new();
                    for _ in 0..1_000 / clients {
                        let id = Uuid::now_v7();
                        let begun = Instant::now();
                        store.put(id, QuoteRecord { keep_until_ms: 9, body: vec![7; 1_500].into() }).unwrap();
                        assert!(store.stored(id, Duration::from_secs(60)).await);
                        waits.push(begun.elapsed());
                    }
                    waits
                })
            })
            .collect();
        let mut waits = Vec::new();
        for task in tasks {
            waits.extend(task.await.unwrap());
        }
        waits.sort();
        let rate = waits.len() as f64 / before.elapsed().as_secs_f64();
        eprintln!(
            "{clients} at once: {rate:.0} quotes a second, waiting p50 {:?}, p99 {:?}",
            waits[waits.len() / 2],
            waits[waits.len() * 99 / 100]
        );
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_what_is_stored() {
    use std::os::unix::fs::PermissionsExt as _;

    let above = tempfile::tempdir().unwrap();
    let dir = above.path().join("braid-data");
    braid_store::prepare_dir(&dir).unwrap();
    QuoteStore::open(&dir).unwrap();
    for made in [dir.clone(), dir.join("quotes")] {
        let mode = std::fs::metadata(&made).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", made.display());
    }
    // A directory that the operator created keeps its permissions.
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o750)).unwrap();
    braid_store::prepare_dir(&dir).unwrap();
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o750);
}
