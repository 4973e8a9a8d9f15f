//! The kinds of values of fields: each has a parser and a schema.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use braid_execution::{MAX_PARTNER_FEE_BPS, proxy};
use braid_primitives::{Address, Bytes, CHAIN_ID, GasTier, NATIVE_ETHER, PoolKey, U256};
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema as _, ToSchema};
use uuid::Uuid;

use super::declare::Request;
use super::parse::{AddressError, AskedToken, parse_address, parse_amount, parse_pool_id, parse_quote_id};
use crate::json::{Item, Json, Reader};
use crate::model::words;
use crate::problem::FieldCode;

/// A kind of value.
pub trait Kind {
    /// The parsed value.
    type Value;

    /// Reads a value that is not `null`; `None` if it is wrong, with every mistake recorded.
    fn read(&self, r: &mut Reader, item: &Item<'_>) -> Option<Self::Value>;

    /// Describes the values.
    fn schema(&self) -> RefOr<Schema>;

    /// Adds the schemas that [`schema`](Self::schema) refers to.
    fn add_schemas(&self, _: &mut Vec<(String, RefOr<Schema>)>) {}
}

/// Longest signature, in bytes: enough for contract wallets with many owners.
const MAX_SIGNATURE_BYTES: usize = 8_192;

fn text(pattern: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).into()
}

fn address() -> RefOr<Schema> {
    text("^0x[0-9a-fA-F]{40}$")
}

fn read_address(r: &mut Reader, item: &Item<'_>, text: &str) -> Option<Address> {
    let (code, detail) = match parse_address(text) {
        Ok(address) => return Some(address),
        Err(AddressError::Shape) => (FieldCode::AddressInvalid, "expected 0x and 40 hex digits"),
        Err(AddressError::Checksum) => {
            let detail = "the mixed case is not the EIP-55 checksum; use the checksum or lower case";
            (FieldCode::AddressChecksumInvalid, detail)
        }
    };
    r.accept(item, None, code, || detail)
}

/// Declares kinds without parameters: the value's type, the schema, and the parser.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident -> $value:ty, $schema:expr, |$r:ident, $item:ident| $read:expr;)+) => {$(
        $(#[doc = $doc])+
        pub struct $name;

        impl Kind for $name {
            type Value = $value;

            fn read(&self, $r: &mut Reader, $item: &Item<'_>) -> Option<$value> {
                $read
            }

            fn schema(&self) -> RefOr<Schema> {
                $schema
            }
        }
    )+};
}

kinds! {
    /// `true` or `false`.
    Flag -> bool, ObjectBuilder::new().schema_type(Type::Boolean).into(), |r, item| r.flag(item);

    /// A string.
    Text -> String, ObjectBuilder::new().schema_type(Type::String).into(), |r, item| r.text(item).map(str::to_owned);

    /// The chain id, which must be 1.
    Chain -> u64, Integer(CHAIN_ID..=CHAIN_ID).schema(), |r, item| {
        let chain = match item.value {
            Json::Integer(chain) if *chain == i128::from(CHAIN_ID) => return Some(CHAIN_ID),
            Json::Integer(chain) => chain.to_string(),
            Json::Huge(chain) => format!("{chain:e}"),
            _ => {
                r.mistyped(item, "an integer");
                return None;
            }
        };
        r.accept(item, None, FieldCode::ChainUnsupported, || format!("only chain {CHAIN_ID} is supported, got {chain}"))
    };

    /// Any address.
    AnyAddress -> Address, address(), |r, item| {
        let text = r.text(item)?;
        read_address(r, item, text)
    };

    /// A pool: its contract's address and, if the contract holds many pools, a slash and the pool's id.
    Pool -> PoolKey, text("^0x[0-9a-fA-F]{40}(/0x[0-9a-fA-F]{64})?$"), |r, item| {
        let text = r.text(item)?;
        let (contract, id) = text.split_once('/').map_or((text, None), |(contract, id)| (contract, Some(id)));
        let contract = read_address(r, item, contract)?;
        let Some(id) = id else { return Some(contract.into()) };
        let detail = "expected the id of a pool after the slash, 0x and 64 hex digits";
        let key = parse_pool_id(id).map(|id| PoolKey::with_id(contract, id));
        r.accept(item, key, FieldCode::AddressInvalid, || detail)
    };

    /// The address of a token; native ether has two.
    Token -> AskedToken, address(), |r, item| AnyAddress.read(r, item).map(AskedToken::new);

    /// The address of an account that can hold tokens: not zero, not the ether placeholder, not the proxy.
    Account -> Address, address(), |r, item| {
        let address = AnyAddress.read(r, item)?;
        let forbidden = match address {
            Address::ZERO => "the zero address",
            NATIVE_ETHER => "the placeholder of native ether",
            other if other == proxy::address() => "the execution proxy",
            _ => return Some(address),
        };
        r.accept(item, None, FieldCode::AddressForbidden, || format!("{forbidden} is not allowed here"))
    };

    /// An amount in atomic units.
    Amount -> U256, text("^[1-9][0-9]{0,77}$"), |r, item| {
        let amount = parse_amount(r.text(item)?);
        let detail = "expected a decimal integer from 1 to 2^256 - 1, without sign, leading zero, point or exponent";
        r.accept(item, amount, FieldCode::AmountInvalid, || detail)
    };

    /// A partner's fee in basis points.
    FeeBps -> u16, Integer(1..=MAX_PARTNER_FEE_BPS).schema(), |r, item| match item.value {
        Json::Integer(bps) if *bps > i128::from(MAX_PARTNER_FEE_BPS) => {
            let detail = || format!("expected 1 to {MAX_PARTNER_FEE_BPS}, got {bps}");
            r.accept(item, None, FieldCode::PartnerFeeExceedsCap, detail)
        }
        Json::Huge(bps) if *bps > 0.0 => {
            let detail = || format!("expected 1 to {MAX_PARTNER_FEE_BPS}, got {bps:e}");
            r.accept(item, None, FieldCode::PartnerFeeExceedsCap, detail)
        }
        _ => Integer(1..=MAX_PARTNER_FEE_BPS).read(r, item),
    };

    /// The id of a quote.
    QuoteId -> Uuid, {
        let format = SchemaFormat::KnownFormat(KnownFormat::Uuid);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }, |r, item| {
        let id = parse_quote_id(r.text(item)?);
        r.accept(item, id, FieldCode::QuoteIdInvalid, || "expected the quote_id of a quote, a UUID")
    };

    /// A signature.
    Signature -> Bytes, text("^0x([0-9a-fA-F]{2})+$"), |r, item| {
        let text = r.text(item)?;
        let plain = text.starts_with("0x") && text.len() <= 2 + 2 * MAX_SIGNATURE_BYTES;
        let bytes = if plain { text.parse::<Bytes>().ok() } else { None };
        let detail = || format!("expected 0x and the hex digits of 1 to {MAX_SIGNATURE_BYTES} bytes");
        r.accept(item, bytes.filter(|bytes| !bytes.is_empty()), FieldCode::HexInvalid, detail)
    };
}

/// The name of a gas tier.
pub struct Tier;

impl Kind for Tier {
    type Value = GasTier;

    fn read(&self, r: &mut Reader, item: &Item<'_>) -> Option<GasTier> {
        let tier = GasTier::from_name(r.text(item)?);
        r.accept(item, tier, FieldCode::ValueUnknown, || "expected slow, standard, fast or urgent")
    }

    fn schema(&self) -> RefOr<Schema> {
        Ref::from_schema_name(words::Tier::name()).into()
    }

    fn add_schemas(&self, schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((words::Tier::name().into(), words::Tier::schema()));
    }
}

/// A whole number within bounds.
pub struct Integer<T>(pub RangeInclusive<T>);

impl<T: Copy + TryFrom<i128> + Into<u64>> Kind for Integer<T> {
    type Value = T;

    fn read(&self, r: &mut Reader, item: &Item<'_>) -> Option<T> {
        let [min, max] = [self.0.start(), self.0.end()].map(|bound| i128::from((*bound).into()));
        r.integer(item, min, max)
    }

    fn schema(&self) -> RefOr<Schema> {
        // omit a bound that is the type's own
        let bound = |bound: &T| usize::try_from((*bound).into()).ok().filter(|bound| *bound != usize::MAX);
        let format = if size_of::<T>() < size_of::<u64>() { KnownFormat::Int32 } else { KnownFormat::Int64 };
        let integer = ObjectBuilder::new().schema_type(Type::Integer).format(Some(SchemaFormat::KnownFormat(format)));
        integer.minimum(bound(self.0.start())).maximum(bound(self.0.end())).into()
    }
}

/// A list of a kind, with a range of lengths.
pub struct List<K>(pub K, pub RangeInclusive<usize>);

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;

    fn read(&self, r: &mut Reader, item: &Item<'_>) -> Option<Vec<K::Value>> {
        let items = r.list(item, *self.1.start(), *self.1.end())?;
        // read every entry, to record all mistakes
        let entries: Vec<_> = items.iter().map(|item| self.0.read(r, item)).collect();
        entries.into_iter().collect()
    }

    fn schema(&self) -> RefOr<Schema> {
        let least = Some(*self.1.start()).filter(|least| *least > 0);
        let list = ArrayBuilder::new().items(self.0.schema());
        RefOr::T(list.min_items(least).max_items(Some(*self.1.end())).into())
    }

    fn add_schemas(&self, schemas: &mut Vec<(String, RefOr<Schema>)>) {
        self.0.add_schemas(schemas);
    }
}

/// A nested object.
pub struct Nested<T>(PhantomData<T>);

/// Returns the kind of a nested object.
pub const fn nested<T>() -> Nested<T> {
    Nested(PhantomData)
}

impl<T: Request + ToSchema> Kind for Nested<T> {
    type Value = T;

    fn read(&self, r: &mut Reader, item: &Item<'_>) -> Option<T> {
        T::read(r, item)
    }

    fn schema(&self) -> RefOr<Schema> {
        Ref::from_schema_name(T::NAME).into()
    }

    fn add_schemas(&self, schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::NAME.into(), T::schema()));
        T::schemas(schemas);
    }
}
