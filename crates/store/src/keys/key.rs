//! A key, its hash and its record.

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::StoreError;

/// A new key in plain text. It has no `Debug` and no `Display`, so that it cannot reach a log by accident.
pub struct ApiKey(String);

impl ApiKey {
    /// Makes a key: `braid_` and 32 random bytes in hex.
    pub(crate) fn random() -> Result<Self, StoreError> {
        Ok(Self(format!("braid_{}", hex::encode(random_bytes::<32>()?))))
    }

    /// Returns the key itself, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// The public name of a key. It gives no access.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(pub String);

impl KeyId {
    /// Makes an id: `key_` and 6 random bytes in hex.
    pub(crate) fn random() -> Result<Self, StoreError> {
        Ok(Self(format!("key_{}", hex::encode(random_bytes::<6>()?))))
    }
}

/// SHA-256 of a key. A key has 256 random bits, so that no slow hash is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Hashes a key in plain text.
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// Compares two hashes in a time that does not depend on where they differ.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Serialize for KeyHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.0))
    }
}

impl<'de> Deserialize<'de> for KeyHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = hex::decode_to_array(&text).ok().filter(|_| text.len() == 64);
        hash.map(Self).ok_or_else(|| serde::de::Error::custom("a key hash is 64 hex digits"))
    }
}

/// Limits of a key. The service's own limits apply where one is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyTerms {
    /// Calls a minute.
    #[serde(default)]
    pub per_min: Option<u32>,
    /// Calls in each window of one second.
    #[serde(default)]
    pub burst: Option<u32>,
    /// When the key expires, in unix seconds.
    #[serde(default)]
    pub expires_at_s: Option<u64>,
}

/// A replaced secret that is still accepted for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retiring {
    /// SHA-256 of the old key.
    pub hash: KeyHash,
    /// When it expires, in unix seconds.
    pub until_s: u64,
}

/// Whether a key gives access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It gives access.
    Active,
    /// It expired.
    Expired,
    /// It was revoked.
    Revoked,
}

/// A key as it is stored, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Public id.
    pub id: KeyId,
    /// Name, given by its maker.
    pub name: String,
    /// SHA-256 of the key.
    pub hash: KeyHash,
    /// When it was made, in unix seconds.
    pub created_at_s: u64,
    /// When it was revoked, in unix seconds.
    #[serde(default)]
    pub revoked_at_s: Option<u64>,
    /// When its secret was last replaced, in unix seconds.
    #[serde(default)]
    pub rotated_at_s: Option<u64>,
    /// The secret before that, while it is accepted.
    #[serde(default)]
    pub retiring: Option<Retiring>,
    /// Its limits.
    #[serde(flatten)]
    pub terms: KeyTerms,
}

impl KeyRecord {
    pub(crate) fn new(id: KeyId, name: &str, hash: KeyHash, terms: KeyTerms, created_at_s: u64) -> Self {
        let name = name.into();
        Self { id, name, hash, created_at_s, revoked_at_s: None, rotated_at_s: None, retiring: None, terms }
    }

    /// Takes over revocation and a newer secret from another record of the same key.
    pub(crate) fn learn(&mut self, other: Self) {
        let revoked = [self.revoked_at_s, other.revoked_at_s].into_iter().flatten().min();
        // The hash decides between two secrets of one second, whatever the order of the records.
        let newer = (other.rotated_at_s, other.hash.0) > (self.rotated_at_s, self.hash.0);
        if newer {
            *self = other;
        }
        self.revoked_at_s = revoked;
    }

    /// Returns whether the key gives access at a time, in unix seconds.
    pub fn state(&self, now_s: u64) -> KeyState {
        match (self.revoked_at_s, self.terms.expires_at_s) {
            (Some(_), _) => KeyState::Revoked,
            (None, Some(expires_at_s)) if now_s >= expires_at_s => KeyState::Expired,
            _ => KeyState::Active,
        }
    }

    /// Returns whether a secret is this key's at a time. Both hashes are compared whatever the result of the first.
    pub(crate) fn opens(&self, hash: &KeyHash, now_s: u64) -> bool {
        let present = self.hash.matches(hash);
        let old = self.retiring.is_some_and(|old| old.hash.matches(hash) & (now_s < old.until_s));
        (present | old) & (self.state(now_s) == KeyState::Active)
    }
}

/// Returns random bytes of the operating system.
fn random_bytes<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| StoreError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_its_text_form() {
        let hash = KeyHash::of("demo-key");
        let text = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<KeyHash>(&text).unwrap(), hash);
        assert!(serde_json::from_str::<KeyHash>("\"abc\"").is_err());
    }

    #[test]
    fn the_hash_is_sha_256() {
        // FIPS 180-2, appendix B.1.
        let expected = "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"";
        assert_eq!(serde_json::to_string(&KeyHash::of("abc")).unwrap(), expected);
    }

    #[test]
    fn two_keys_differ_and_carry_256_bits() {
        let (a, b) = (ApiKey::random().unwrap(), ApiKey::random().unwrap());
        assert_ne!(a.reveal(), b.reveal());
        assert_eq!(a.reveal().len(), "braid_".len() + 64);
    }
}
