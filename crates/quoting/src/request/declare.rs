//! Declaring what clients send once: from the fields follow how they are read and what the document says of them.

use super::document::Field;
use crate::json::{Item, Json, Reader, child, quoted};
use crate::problem::{FieldCode, Problem};

/// An object that clients send, in a body or as the parameters of a query. [`request!`] declares it.
pub trait Request: Sized {
    /// The schema's name in the document.
    const NAME: &'static str;

    /// The names of its fields.
    const FIELDS: &'static [&'static str];

    /// Describes its fields.
    fn fields() -> Vec<Field>;

    /// Reads an object; `None` where it is wrong, with every mistake noted.
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

    /// Reads the parameters of a query, as if empty ones were not there. A list may be given in several parameters. One that is
    /// required and absent is read as if it were empty.
    ///
    /// # Errors
    /// A problem that names every wrong parameter: also the unknown ones, and those that are given twice.
    fn parse_query(pairs: &[(String, String)]) -> Result<Self, Problem> {
        let mut r = Reader::default();
        let unknown = pairs.iter().filter(|(name, _)| !Self::FIELDS.contains(&name.as_str()));
        for (name, _) in unknown.take(MOST_UNKNOWN) {
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
const MOST_UNKNOWN: usize = 16;

/// Declares objects that clients send: for each field what it is to clients (its documentation), its name and type here, the
/// [`Kind`](super::kind::Kind) of value that it takes, and whether it must be there.
///
/// `required` fields must be there, `optional` ones are `None` where they are absent or `null`, `default(…)` ones have a value then, and
/// `like(…)` ones that of another field. A name in front is the field's name in JSON, where it is another one. `then` names a
/// check of what was read so far.
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
                // every field is read before any is given up on, so that all mistakes are found
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

/// A field's name in JSON.
macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// Reads a field: `None` where it is wrong.
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
