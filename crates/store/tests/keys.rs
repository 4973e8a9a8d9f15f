//! The life of an API key.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use braid_store::{KeyStore, StoreError};

#[test]
fn a_key_is_shown_once_and_kept_as_a_hash() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let (key, record) = keys.create("bot", 1_000).unwrap();

    let kept = std::fs::read_to_string(dir.path().join("keys.json")).unwrap();
    assert!(!kept.contains(key.reveal()));
    assert!(kept.contains(&record.id.0));
    assert_eq!(keys.check(key.reveal()).unwrap(), Some(record));
    assert_eq!(keys.check("another").unwrap(), None);
}

#[test]
fn another_process_makes_and_revokes_a_key_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let server = KeyStore::open(dir.path()).unwrap();
    let cli = KeyStore::open(dir.path()).unwrap();

    let (key, record) = cli.create("bot", 1).unwrap();
    assert!(server.check(key.reveal()).unwrap().is_some());

    cli.revoke(&record.id.0, 2).unwrap();
    assert_eq!(server.check(key.reveal()).unwrap(), None);
    assert_eq!(server.list().unwrap()[0].revoked_at_s, Some(2));
}

#[test]
fn revoking_twice_keeps_the_first_time_and_an_unknown_id_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let (_, record) = keys.create("bot", 1).unwrap();
    keys.revoke(&record.id.0, 2).unwrap();
    assert_eq!(keys.revoke(&record.id.0, 3).unwrap().revoked_at_s, Some(2));
    assert!(matches!(keys.revoke("key_x", 3), Err(StoreError::UnknownKey(id)) if id == "key_x"));
}

#[test]
fn keys_given_at_the_start_work_beside_those_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap().with_fixed("demo", "demo-key");
    assert_eq!(keys.check("demo-key").unwrap().unwrap().name, "demo");
    assert!(!dir.path().join("keys.json").exists());
}

#[test]
fn a_damaged_key_file_opens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let (key, _) = keys.create("bot", 1).unwrap();
    std::fs::write(dir.path().join("keys.json"), "{").unwrap();
    assert!(matches!(keys.check(key.reveal()), Err(StoreError::DamagedKeys { .. })));
}

#[test]
fn a_name_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    for name in ["", "a\nb", &"x".repeat(65)] {
        assert!(matches!(keys.create(name, 1), Err(StoreError::BadKeyName(_))), "{name:?}");
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    KeyStore::open(dir.path()).unwrap().create("bot", 1).unwrap();
    let mode = std::fs::metadata(dir.path().join("keys.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}
