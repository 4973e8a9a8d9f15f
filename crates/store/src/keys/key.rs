//! A key, its hash and its record.

use std::fmt::Write as _;

use rand::TryRngCore as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::StoreError;

/// A new key in the clear. It has no `Debug` and no `Display`, so that it cannot reach a log by accident.
pub struct ApiKey(String);

impl ApiKey {
    /// `braid_` and 32 random bytes of the operating system in hex.
    pub(crate) fn random() -> Result<Self, StoreError> {
        Ok(Self(format!("braid_{}", hex(&random_bytes::<32>()?))))
    }

    /// The key itself, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// The public name of a key: says which one is meant, opens nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(pub String);

impl KeyId {
    pub(crate) fn random() -> Result<Self, StoreError> {
        Ok(Self(format!("key_{}", hex(&random_bytes::<6>()?))))
    }
}

/// SHA-256 of a key. Keys carry 256 random bits, so that no slow hash is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// The hash of a key in the clear.
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// Equality in a time that does not depend on where two hashes differ.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Serialize for KeyHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for KeyHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unhex(&text).map(Self).ok_or_else(|| serde::de::Error::custom("a key hash is 64 hex digits"))
    }
}

/// What is kept of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Public id.
    pub id: KeyId,
    /// The name its maker gave it.
    pub name: String,
    /// SHA-256 of the key.
    pub hash: KeyHash,
    /// When it was made, unix seconds.
    pub created_at_s: u64,
    /// When it was revoked, unix seconds.
    #[serde(default)]
    pub revoked_at_s: Option<u64>,
}

impl KeyRecord {
    pub(crate) fn new(id: KeyId, name: &str, hash: KeyHash, created_at_s: u64) -> Self {
        Self { id, name: name.into(), hash, created_at_s, revoked_at_s: None }
    }
}

/// Bytes from the operating system.
fn random_bytes<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    rand::rngs::OsRng.try_fill_bytes(&mut bytes).map_err(|_| StoreError::NoRandomness)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
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
        // FIPS 180-2, appendix B.1
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
