//! Writes integers and addresses in the formats of the API.

use braid_primitives::{Address, PoolKey, U256};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A token amount, a wei total or a 256-bit integer: a decimal string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub U256);

/// An address with its EIP-55 checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eip55(pub Address);

/// A pool: its contract's address with the EIP-55 checksum and, if the contract holds many pools, a slash and the pool's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PoolName(pub PoolKey);

/// An integer as JSON-RPC writes it: 0x and hex digits without leading zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity(pub U256);

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        U256::from_str_radix(&text, 10).map(Self).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Eip55 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut buffer = [0; 42];
        serializer.serialize_str(self.0.to_checksum_raw(&mut buffer, None))
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// Describes a string with a pattern.
fn text(pattern: &str, description: &str, example: &str) -> RefOr<Schema> {
    let object = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    object.description(Some(description)).examples([example]).into()
}

impl PartialSchema for Amount {
    fn schema() -> RefOr<Schema> {
        text("^(0|[1-9][0-9]*)$", "Atomic units or wei, decimal.", "1000000000")
    }
}

impl PartialSchema for Eip55 {
    fn schema() -> RefOr<Schema> {
        text("^0x[0-9a-fA-F]{40}$", "Address with its EIP-55 checksum.", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
    }
}

impl PartialSchema for PoolName {
    fn schema() -> RefOr<Schema> {
        let description =
            "A pool's contract, with its EIP-55 checksum; where it holds many pools, a slash and the pool's id follow.";
        let example = "0x8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8";
        text("^0x[0-9a-fA-F]{40}(/0x[0-9a-f]{64})?$", description, example)
    }
}

impl PartialSchema for Quantity {
    fn schema() -> RefOr<Schema> {
        text("^0x(0|[1-9a-f][0-9a-f]*)$", "Integer as JSON-RPC writes it.", "0x88b80")
    }
}

impl ToSchema for Amount {}
impl ToSchema for Eip55 {}
impl ToSchema for PoolName {}
impl ToSchema for Quantity {}

impl From<U256> for Amount {
    fn from(value: U256) -> Self {
        Self(value)
    }
}

impl From<u64> for Quantity {
    fn from(value: u64) -> Self {
        Self(U256::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_primitives::{B256, WETH};

    #[test]
    fn each_kind_has_its_own_form() {
        fn json(value: &impl Serialize) -> String {
            serde_json::to_string(value).unwrap()
        }
        assert_eq!(json(&Amount(U256::MAX)), format!("\"{}\"", U256::MAX));
        assert_eq!(json(&Eip55(WETH)), "\"0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2\"");
        let pool = PoolName(PoolKey::with_id(WETH, B256::with_last_byte(0xab)));
        assert_eq!(json(&pool), format!("\"{}/0x{}ab\"", WETH.to_checksum(None), "00".repeat(31)));
        assert_eq!(json(&Quantity(U256::ZERO)), "\"0x0\"");
        assert_eq!(json(&Quantity::from(560_000)), "\"0x88b80\"");
    }
}
