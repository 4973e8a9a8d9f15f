//! Declaring a request once: its fields, how each is read, and what the document says of it.

use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};

use crate::json::{Item, Json, Reader};
use crate::problem::Problem;

/// An object that clients send. [`request!`] declares it.
pub trait Body: Sized {
    /// The schema's name in the document.
    const NAME: &'static str;

    /// The fields that it may have.
    const FIELDS: &'static [&'static str];

    /// Reads an object; `None` where it is wrong, with every mistake noted.
    fn read(r: &mut Reader, item: &Item<'_>) -> Option<Self>;

    /// Reads a whole request.
    ///
    /// # Errors
    /// A problem that names every wrong field.
    fn parse(body: &Json) -> Result<Self, Problem> {
        let mut r = Reader::default();
        let read = Self::read(&mut r, &Item { value: body, pointer: String::new() });
        r.finish(read)
    }
}

/// Declares objects that clients send: for each field what it is to clients (its documentation), its name and type here, the
/// [`Kind`](super::kind::Kind) of value that it is, and whether it must be there.
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

        impl $crate::request::Body for $type {
            const NAME: &'static str = $schema;
            const FIELDS: &'static [&'static str] = &[$($crate::request::describe::name!($field $($name)?)),+];

            fn read(r: &mut $crate::json::Reader, item: &$crate::json::Item<'_>) -> Option<Self> {
                let object = r.object(item.value, &item.pointer, Self::FIELDS)?;
                // every field is read before any is given up on, so that all mistakes are found
                $(
                    let name = $crate::request::describe::name!($field $($name)?);
                    let $field: Option<$value> =
                        $crate::request::describe::field!(r, object, name, $kind, $presence $(($default))?);
                    $($check(r, &object);)?
                )+
                Some(Self { $($field: $field?),+ })
            }
        }

        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let object = utoipa::openapi::schema::ObjectBuilder::new();
                let object = object.description(Some([$($about.trim()),+].join("\n")));
                $(
                    let name = $crate::request::describe::name!($field $($name)?);
                    let about = [$($doc.trim()),+].join("\n");
                    let needed = stringify!($presence) == "required";
                    let object = $crate::request::describe::add(object, name, about, needed, $kind.schema());
                )+
                object.into()
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
        $crate::request::describe::field!($r, $object, $name, $kind, like(Some($default)))
    };
    ($r:ident, $object:ident, $name:ident, $kind:expr, like($other:expr)) => {
        match $object.get($name) {
            Some(item) => $kind.read($r, &item),
            None => $other,
        }
    };
}

pub(super) use {field, name, request};

/// Adds a field to an object's schema. A field that is not needed may be `null`.
pub(super) fn add(
    object: ObjectBuilder,
    name: &str,
    about: String,
    needed: bool,
    mut schema: RefOr<Schema>,
) -> ObjectBuilder {
    match &mut schema {
        RefOr::Ref(reference) => reference.description = about,
        RefOr::T(Schema::Object(object)) => {
            object.description = Some(about);
            or_null(&mut object.schema_type, needed);
        }
        RefOr::T(Schema::Array(array)) => {
            array.description = Some(about);
            or_null(&mut array.schema_type, needed);
        }
        RefOr::T(_) => {}
    }
    if needed {
        return object.property(name, schema).required(name);
    }
    match schema {
        RefOr::Ref(reference) => object.property(name, reference_or_null(reference)),
        schema => object.property(name, schema),
    }
}

fn or_null(kind: &mut SchemaType, needed: bool) {
    if let (false, SchemaType::Type(one)) = (needed, &*kind) {
        *kind = SchemaType::Array(vec![one.clone(), Type::Null]);
    }
}

fn reference_or_null(reference: Ref) -> Schema {
    let null = ObjectBuilder::new().schema_type(Type::Null);
    OneOfBuilder::new().item(reference).item(null).into()
}
