//! Identity of a pool.

use std::{fmt, str::FromStr};

use alloy_primitives::{Address, B256, hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Identity of a pool: its contract and, if one contract holds many pools, the pool's id there.
///
/// Keys are ordered by contract, then by id; a key without an id comes first. As text, a key is the contract's EIP-55
/// address, followed by `/` and the id in hexadecimal if there is one. Parsing accepts letters of any case.
///
/// ```
/// # use braid_primitives::{Address, B256, PoolKey};
/// let contract = Address::repeat_byte(0x11);
/// let pool = PoolKey::from(contract);
/// assert_eq!(pool.to_string(), "0x1111111111111111111111111111111111111111");
///
/// let one_of_many = PoolKey::with_id(contract, B256::with_last_byte(7));
/// assert_eq!(one_of_many.to_string().parse(), Ok(one_of_many));
/// assert!(pool < one_of_many);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolKey {
    /// Contract that swaps call and that emits the pool's logs.
    pub contract: Address,
    /// Id of the pool inside the contract; `None` if the contract is one pool.
    pub id: Option<B256>,
}

/// Reason for which a text is not a [`PoolKey`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolKeyError {
    /// The part before the `/` is not `0x` and 40 hexadecimal digits.
    #[error("expected the address of a pool's contract, 0x and 40 hexadecimal digits, got {got:?}")]
    Contract {
        /// The text found.
        got: String,
    },
    /// The part after the `/` is not `0x` and 64 hexadecimal digits.
    #[error("expected the id of a pool, 0x and 64 hexadecimal digits, got {got:?}")]
    Id {
        /// The text found.
        got: String,
    },
}

impl PoolKey {
    /// Returns the key of one of a contract's many pools.
    pub const fn with_id(contract: Address, id: B256) -> Self {
        Self { contract, id: Some(id) }
    }
}

impl From<Address> for PoolKey {
    /// Returns the key of a contract that is one pool.
    fn from(contract: Address) -> Self {
        Self { contract, id: None }
    }
}

impl fmt::Display for PoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.contract.fmt(f)?;
        self.id.map_or(Ok(()), |id| write!(f, "/{}", hex::encode_prefixed(id)))
    }
}

impl FromStr for PoolKey {
    type Err = PoolKeyError;

    fn from_str(text: &str) -> Result<Self, PoolKeyError> {
        let (contract, id) = text.split_once('/').map_or((text, None), |(contract, id)| (contract, Some(id)));
        let contract = digits(contract).ok_or_else(|| PoolKeyError::Contract { got: contract.to_owned() })?;
        let id = id.map(|id| digits(id).ok_or_else(|| PoolKeyError::Id { got: id.to_owned() })).transpose()?;
        Ok(Self { contract: Address::new(contract), id: id.map(B256::new) })
    }
}

/// Parses `0x` and exactly `N` bytes in hexadecimal.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex::decode_to_array(text.strip_prefix("0x").filter(|rest| !rest.starts_with("0x"))?).ok()
}

impl Serialize for PoolKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PoolKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = PoolKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the key of a pool: its contract, or its contract, a slash and its id")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PoolKey, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTRACT: &str = "0xbA1333333333a1BA1108E8412f11850A5C319bA9";

    fn id(byte: u8) -> B256 {
        B256::repeat_byte(byte)
    }

    #[test]
    fn the_text_of_a_key_is_read_back_as_the_key() {
        let contract: PoolKey = CONTRACT.parse().unwrap();
        assert_eq!(contract.to_string(), CONTRACT);
        let text = format!("{CONTRACT}/0x{}", "ab".repeat(32));
        let named = PoolKey::with_id(contract.contract, id(0xab));
        assert_eq!(named.to_string(), text);
        assert_eq!(format!("0x{}", text[2..].to_uppercase().replace("/0X", "/0x")).parse(), Ok(named));
        for key in [contract, named, PoolKey::with_id(Address::ZERO, B256::ZERO)] {
            assert_eq!(key.to_string().parse(), Ok(key));
            let json = serde_json::to_string(&key).unwrap();
            assert_eq!(json, format!("\"{key}\""));
            assert_eq!(serde_json::from_str::<PoolKey>(&json).unwrap(), key);
        }
    }

    #[test]
    fn keys_are_ordered_by_contract_and_then_by_id() {
        let [low, high] = [1, 2].map(Address::repeat_byte);
        let ordered = [
            PoolKey::from(low),
            PoolKey::with_id(low, B256::ZERO),
            PoolKey::with_id(low, id(9)),
            PoolKey::from(high),
            PoolKey::with_id(high, id(1)),
        ];
        assert!(ordered.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn a_text_that_names_no_pool_is_refused_by_the_part_that_is_wrong() {
        let id = format!("0x{}", "00".repeat(32));
        let contracts =
            ["", "/", "0x", &CONTRACT[2..], &CONTRACT[..41], &id, &format!("0x{CONTRACT}"), &format!("/{id}")];
        for text in contracts {
            assert!(matches!(text.parse::<PoolKey>(), Err(PoolKeyError::Contract { .. })), "{text}");
        }
        for id in ["", "0x", "0x00", &id[2..], &id[..65], &format!("{id}/"), &format!("{id}00"), &format!(" {id}")] {
            let text = format!("{CONTRACT}/{id}");
            assert_eq!(text.parse::<PoolKey>(), Err(PoolKeyError::Id { got: id.to_owned() }));
        }
    }
}
