//! Strings that are one of a few words: how the document describes them.

use braid_primitives::GasTier;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::Code;

/// Declares schemas of strings: the name in the document, what they are, and the words.
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
    /// How eager the sender is to be included.
    Tier as "GasTier": GasTier::ALL.map(GasTier::name);

    /// How the proxy gets the inputs.
    Authorization as "Authorization": ["allowance", "permit2", "native"];

    /// What was missing and added for a simulation: the taker's balance or allowance, the proxy's code.
    Override as "Override": ["balance", "allowance", "code"];

    /// Stable code of a problem.
    ProblemCode as "ProblemCode": Code::ALL.iter().map(|code| code.meaning().name);
}
