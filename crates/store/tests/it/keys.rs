//! Tests of the life of an API key.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use braid_store::{KeyState, KeyStore, KeyTerms, StoreError};
use proptest::prelude::*;

/// The time at which the tests check keys, in Unix seconds.
const NOW_S: u64 = 10_000;

#[test]
fn a_key_is_shown_once_and_kept_as_a_hash() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let (key, record) = keys.create("bot", KeyTerms::default(), 1_000).unwrap();

    let kept = std::fs::read_to_string(dir.path().join("keys.json")).unwrap();
    assert!(!kept.contains(key.reveal()));
    assert!(kept.contains(&record.id.0));
    assert_eq!(keys.check(key.reveal(), NOW_S).unwrap(), Some(record));
    assert_eq!(keys.check("another", NOW_S).unwrap(), None);
}

#[test]
fn another_process_makes_and_revokes_a_key_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let server = KeyStore::open(dir.path()).unwrap();
    let cli = KeyStore::open(dir.path()).unwrap();

    let (key, record) = cli.create("bot", KeyTerms::default(), 1).unwrap();
    assert!(server.check(key.reveal(), NOW_S).unwrap().is_some());

    cli.revoke(&record.id.0, 2).unwrap();
    assert_eq!(server.check(key.reveal(), NOW_S).unwrap(), None);
    assert_eq!(server.list().unwrap()[0].revoked_at_s, Some(2));
}

/// A key that root made locked the service out of all keys, which runs as another user. Only root can test this.
#[test]
fn what_root_writes_belongs_to_the_owner_of_the_directory() {
    const OTHER: u32 = 65_534;
    let dir = tempfile::tempdir().unwrap();
    let chown = |path: &Path, uid| std::os::unix::fs::chown(path, Some(uid), Some(uid));
    if chown(dir.path(), OTHER).is_err() {
        return;
    }
    let keys = KeyStore::open(dir.path()).unwrap();
    let owners = || ["keys.json", "keys.lock"].map(|name| std::fs::metadata(dir.path().join(name)).unwrap().uid());
    keys.create("bot", KeyTerms::default(), 1).unwrap();
    assert_eq!(owners(), [OTHER; 2]);
    // Where the directory is root's, for instance a volume, the owner of the file keeps it.
    chown(dir.path(), 0).unwrap();
    keys.create("guest", KeyTerms::default(), 1).unwrap();
    assert_eq!(owners(), [OTHER; 2]);
}

#[test]
fn revoking_twice_keeps_the_first_time_and_an_unknown_id_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let (_, record) = keys.create("bot", KeyTerms::default(), 1).unwrap();
    keys.revoke(&record.id.0, 2).unwrap();
    assert_eq!(keys.revoke(&record.id.0, 3).unwrap().revoked_at_s, Some(2));
    assert!(matches!(keys.revoke("key_x", 3), Err(StoreError::UnknownKey(id)) if id == "key_x"));
}

#[test]
fn keys_given_at_the_start_work_beside_those_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap().with_fixed("demo", "demo-key");
    assert_eq!(keys.check("demo-key", NOW_S).unwrap().unwrap().name, "demo");
    assert!(!dir.path().join("keys.json").exists());
}

#[test]
fn a_damaged_key_file_opens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let (key, _) = keys.create("bot", KeyTerms::default(), 1).unwrap();
    let path = dir.path().join("keys.json");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, "{").unwrap();
    for _ in 0..2 {
        let error = keys.check(key.reveal(), NOW_S).unwrap_err().to_string();
        assert!(error.contains("keys.json is damaged"), "{error}");
    }
    assert!(!keys.is_healthy());
    std::fs::write(&path, whole).unwrap();
    assert!(keys.check(key.reveal(), NOW_S).unwrap().is_some() && keys.is_healthy());
}

#[test]
fn a_name_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    for name in ["", "a\nb", &"x".repeat(65)] {
        assert!(matches!(keys.create(name, KeyTerms::default(), 1), Err(StoreError::BadKeyName(_))), "{name:?}");
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    KeyStore::open(dir.path()).unwrap().create("bot", KeyTerms::default(), 1).unwrap();
    let mode = std::fs::metadata(dir.path().join("keys.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}

#[test]
fn a_rotated_key_keeps_its_id_and_terms_and_the_old_secret_for_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let terms = KeyTerms { per_min: Some(60), burst: Some(5), expires_at_s: None };
    let (old, made) = keys.create("bot", terms, 1).unwrap();
    let (new, rotated) = keys.rotate(&made.id.0, 100, 1_000).unwrap();

    assert_eq!((rotated.id.clone(), rotated.name.as_str(), rotated.terms), (made.id, "bot", terms));
    assert_eq!(keys.check(new.reveal(), 1_000).unwrap(), Some(rotated.clone()));
    assert!(keys.check(old.reveal(), 1_099).unwrap().is_some());
    assert_eq!(keys.check(old.reveal(), 1_100).unwrap(), None);

    // The previous secret ends at once if the overlap is zero.
    let (newest, _) = keys.rotate(&rotated.id.0, 0, 1_050).unwrap();
    assert_eq!(keys.check(new.reveal(), 1_050).unwrap(), None);
    assert!(keys.check(newest.reveal(), 1_050).unwrap().is_some());
    // A revocation ends every secret.
    keys.revoke(&rotated.id.0, 1_060).unwrap();
    assert_eq!(keys.check(newest.reveal(), 1_060).unwrap(), None);
    assert!(matches!(keys.rotate(&rotated.id.0, 0, 1_070), Err(StoreError::KeyRevoked(_))));
}

#[test]
fn a_key_expires_at_the_first_instant() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let terms = KeyTerms { expires_at_s: Some(2_000), ..KeyTerms::default() };
    let (key, record) = keys.create("bot", terms, 1_000).unwrap();
    assert!(keys.check(key.reveal(), 1_999).unwrap().is_some());
    assert_eq!(keys.check(key.reveal(), 2_000).unwrap(), None);
    assert_eq!((record.state(1_999), record.state(2_000)), (KeyState::Active, KeyState::Expired));
    assert!(matches!(keys.create("bot", terms, 2_000), Err(StoreError::BadKeyTerms(_))));
}

#[test]
fn keys_of_before_terms_are_still_read() {
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(dir.path()).unwrap();
    let (key, _) = keys.create("bot", KeyTerms::default(), 1).unwrap();
    let path = dir.path().join("keys.json");
    let mut file: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let record = file["keys"][0].as_object_mut().unwrap();
    for field in ["per_min", "burst", "expires_at_s", "rotated_at_s", "retiring"] {
        record.remove(field);
    }
    std::fs::write(&path, file.to_string()).unwrap();
    assert!(KeyStore::open(dir.path()).unwrap().check(key.reveal(), NOW_S).unwrap().is_some());
}

proptest! {
    #[test]
    fn no_text_but_the_key_opens(text in "\\PC{0,80}") {
        let dir = tempfile::tempdir().unwrap();
        let keys = KeyStore::open(dir.path()).unwrap().with_fixed("fixed", "a-fixed-key");
        let (key, _) = keys.create("bot", KeyTerms::default(), 1).unwrap();
        prop_assert_eq!(keys.check(&text, NOW_S).unwrap().is_some(), text == "a-fixed-key");
        let longer = format!("{}{text}", key.reveal());
        prop_assert_eq!(keys.check(&longer, NOW_S).unwrap().is_some(), text.is_empty());
    }

    #[test]
    fn no_text_makes_the_reader_of_the_key_file_panic(text in "\\PC{0,40}|\\{\"version\":1,\"keys\":\\[\\{\\PC{0,60}\\}\\]\\}") {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("keys.json"), &text).unwrap();
        if let Err(error) = KeyStore::open(dir.path()) {
            prop_assert!(matches!(error, StoreError::DamagedKeys { .. }), "{}", error);
        }
    }
}
