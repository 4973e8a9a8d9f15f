//! Schemas of strings that are one of a few words.

use braid_primitives::GasTier;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::Code;

/// Declares schemas of strings: documentation, name in the OpenAPI document, and words.
macro_rules! words {
    ($($(#[doc = $doc:literal])+ $type:ident as $name:literal: $words:expr;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug)]
        pub struct $type;

        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                let about = [$($doc.trim()),+].join("\n");
                let text = ObjectBuilder::new().schema_type(Type::String).description(Some(about));
                text.enum_values(Some($words)).into()
            }
        }

        impl ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
        }
    )+};
}

words! {
    /// Priority of inclusion, which decides the gas price.
    Tier as "GasTier": GasTier::ALL.map(GasTier::name);

    /// Way in which the proxy gets the inputs.
    Authorization as "Authorization": ["allowance", "permit2", "native"];

    /// State that was missing and added for a simulation: the taker's balance or allowance, the proxy's code.
    Override as "Override": ["balance", "allowance", "code"];

    /// Stable code of a problem.
    ProblemCode as "ProblemCode": Code::ALL.iter().map(|code| code.meaning().name);
}
