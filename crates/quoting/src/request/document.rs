//! The OpenAPI schemas of declared objects and queries.

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{RefOr, Required};

use crate::json::Json;

/// A field that clients send.
pub struct Field {
    /// Its name in JSON, or in a query.
    pub name: &'static str,
    /// Its documentation for clients.
    pub about: String,
    /// True if it must be given.
    pub required: bool,
    /// Schema of its values.
    pub schema: RefOr<Schema>,
}

impl Field {
    /// Describes the field as a property, nullable unless required.
    fn property(self) -> RefOr<Schema> {
        let Self { about, required, mut schema, .. } = self;
        let or_null = |kind: &mut SchemaType| {
            if let (false, SchemaType::Type(one)) = (required, &*kind) {
                *kind = SchemaType::Array(vec![one.clone(), Type::Null]);
            }
        };
        match &mut schema {
            RefOr::Ref(reference) => reference.description = about,
            RefOr::T(Schema::Object(object)) => {
                object.description = Some(about);
                or_null(&mut object.schema_type);
            }
            RefOr::T(Schema::Array(array)) => {
                array.description = Some(about);
                or_null(&mut array.schema_type);
            }
            RefOr::T(_) => {}
        }
        match schema {
            RefOr::Ref(reference) if !required => {
                let null = ObjectBuilder::new().schema_type(Type::Null);
                Schema::from(OneOfBuilder::new().item(reference).item(null)).into()
            }
            schema => schema,
        }
    }

    /// Describes the field as a parameter of a query, allowed to be empty unless required. A list is a string with commas.
    fn parameter(self) -> Parameter {
        let schema = match self.schema {
            RefOr::T(Schema::Array(_)) => ObjectBuilder::new().schema_type(Type::String).into(),
            schema => schema,
        };
        let required = if self.required { Required::True } else { Required::False };
        let parameter = ParameterBuilder::new().name(self.name).parameter_in(ParameterIn::Query).required(required);
        let mut parameter = parameter.description(Some(self.about)).schema(Some(schema)).build();
        if !self.required {
            parameter.extensions.get_or_insert_default().insert("allowEmptyValue".into(), true.into());
        }
        parameter
    }

    /// Returns whether it takes a list.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.schema, RefOr::T(Schema::Array(_)))
    }

    /// Converts a parameter's text to the JSON value of a body.
    pub(super) fn value(&self, text: &str) -> Json {
        match &self.schema {
            RefOr::T(Schema::Array(_)) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Json::List(parts.map(|part| Json::Text(part.into())).collect())
            }
            RefOr::T(Schema::Object(object)) if object.schema_type == SchemaType::Type(Type::Integer) => number(text),
            _ => Json::Text(text.into()),
        }
    }
}

/// Reads a whole number; other text stays text.
fn number(text: &str) -> Json {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let huge = || text.parse().ok().filter(|_| is_whole).map(Json::Huge);
    text.parse().ok().map(Json::Integer).or_else(huge).unwrap_or_else(|| Json::Text(text.into()))
}

/// Describes an object by its fields.
pub(super) fn object(about: String, fields: Vec<Field>) -> RefOr<Schema> {
    let object = ObjectBuilder::new().description(Some(about));
    let add = |object: ObjectBuilder, field: Field| {
        let (name, required) = (field.name, field.required);
        let object = object.property(name, field.property());
        if required { object.required(name) } else { object }
    };
    fields.into_iter().fold(object, add).into()
}

/// Describes the parameters of a query.
pub(super) fn parameters(fields: Vec<Field>) -> Vec<Parameter> {
    fields.into_iter().map(Field::parameter).collect()
}
