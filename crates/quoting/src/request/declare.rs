//! Declares the bodies and queries of clients. A declaration gives both the parser and the OpenAPI schema.

use super::document::Field;
use crate::json::{Item, Json, Reader, child, quoted};
use crate::problem::{FieldCode, Problem};

/// An object that clients send, as a body or as the parameters of a query. [`request!`] declares it.
pub trait Request: Sized {
    /// Name of its schema in the OpenAPI document.
    const NAME: &'static str;

    /// Names of its fields.
    const FIELDS: &'static [&'static str];

    /// Describes its fields.
    fn fields() -> Vec<Field>;

    /// Reads an object; `None` if it is wrong, with every mistake recorded.
    fn read(r: &mut Reader, item: &Item<'_>) -> Option<Self>;

    /// Reads a whole body.
    ///
    /// # Errors
    /// A problem that names every wrong field.
    fn parse(body: &Json) -> Result<Self, Problem> {
        let mut r = Reader::default();
        let read = Self::read(&mut r, &Item { value: body, pointer: String::new() });
        r.finish(read)
    }

    /// Reads the parameters of a query. An empty parameter counts as absent, and an absent required one as empty. A list may
    /// be given in several parameters.
    ///
    /// # Errors
    /// A problem that names every wrong parameter, including unknown and repeated ones.
    fn parse_query(pairs: &[(String, String)]) -> Result<Self, Problem> {
        let mut r = Reader::default();
        let unknown = pairs.iter().filter(|(name, _)| !Self::FIELDS.contains(&name.as_str()));
        for (name, _) in unknown.take(MAX_UNKNOWN) {
            let detail = format!("there is no parameter {} here, only {}", quoted(name), Self::FIELDS.join(", "));
            r.wrong(&child("", name), FieldCode::UnknownField, detail);
        }
        let mut members = Vec::new();
        for field in Self::fields() {
            let given = pairs.iter().filter(|(name, text)| name == field.name && !text.is_empty());
            let texts: Vec<&str> = given.map(|(_, text)| text.as_str()).collect();
            if texts.len() > 1 && !field.is_list() {
                let detail = format!("the parameter {} is given {} times", field.name, texts.len());
                r.wrong(&child("", field.name), FieldCode::DuplicateField, detail);
            } else if !texts.is_empty() || field.required {
                members.push((field.name.to_owned(), field.value(&texts.join(","))));
            }
        }
        let read = Self::read(&mut r, &Item { value: &Json::Map(members), pointer: String::new() });
        r.finish(read)
    }
}

/// Most unknown parameters that an answer names.
const MAX_UNKNOWN: usize = 16;

/// Declares objects that clients send: for each field its documentation for clients, its Rust name and type, its
/// [`Kind`](super::kind::Kind) of value, and its presence.
///
/// A `required` field must be given. An absent or `null` field is `None` if `optional`, has a value if `default(…)`, and has
/// the value of another field if `like(…)`. A string in front is the name in JSON, if it differs. `then` names a check that
/// runs after the field is read.
macro_rules! request {
    ($(
        $(#[doc = $about:literal])+
        pub struct $type:ident as $schema:literal {$(
            $(#[doc = $doc:literal])+
            $($name:literal =>)? pub $field:ident: $value:ty = $kind:expr, $presence:ident $(($default:expr))? $(, then $check:path)?;
        )+}
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $type {$(
            $(#[doc = $doc])+
            pub $field: $value,
        )+}

        impl $crate::request::Request for $type {
            const NAME: &'static str = $schema;
            const FIELDS: &'static [&'static str] = &[$($crate::request::declare::name!($field $($name)?)),+];

            fn fields() -> Vec<$crate::request::document::Field> {
                vec![$($crate::request::document::Field {
                    name: $crate::request::declare::name!($field $($name)?),
                    about: [$($doc.trim()),+].join("\n"),
                    required: stringify!($presence) == "required",
                    schema: $kind.schema(),
                }),+]
            }

            fn read(r: &mut $crate::json::Reader, item: &$crate::json::Item<'_>) -> Option<Self> {
                let object = r.object(item.value, &item.pointer, Self::FIELDS)?;
                // read every field before returning, to record all mistakes
                $(
                    let name = $crate::request::declare::name!($field $($name)?);
                    let $field: Option<$value> =
                        $crate::request::declare::field!(r, object, name, $kind, $presence $(($default))?);
                    $($check(r, &object);)?
                )+
                Some(Self { $($field: $field?),+ })
            }
        }

        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let about = [$($about.trim()),+].join("\n");
                $crate::request::document::object(about, <Self as $crate::request::Request>::fields())
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $schema.into()
            }

            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
                $($kind.add_schemas(schemas);)+
            }
        }

        impl utoipa::IntoParams for $type {
            fn into_params(
                _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
            ) -> Vec<utoipa::openapi::path::Parameter> {
                $crate::request::document::parameters(<Self as $crate::request::Request>::fields())
            }
        }
    )+};
}

/// Expands to a field's name in JSON.
macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// Reads a field; `None` if it is wrong.
macro_rules! field {
    ($r:ident, $object:ident, $name:ident, $kind:expr, required) => {
        $r.required(&$object, $name).and_then(|item| $kind.read($r, &item))
    };
    ($r:ident, $object:ident, $name:ident, $kind:expr, optional) => {
        match $object.get($name) {
            Some(item) => $kind.read($r, &item).map(Some),
            None => Some(None),
        }
    };
    ($r:ident, $object:ident, $name:ident, $kind:expr, default($default:expr)) => {
        $crate::request::declare::field!($r, $object, $name, $kind, like(Some($default)))
    };
    ($r:ident, $object:ident, $name:ident, $kind:expr, like($other:expr)) => {
        match $object.get($name) {
            Some(item) => $kind.read($r, &item),
            None => $other,
        }
    };
}

pub(super) use {field, name, request};
