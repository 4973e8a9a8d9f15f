//! The build request.

use braid_primitives::Bytes;
use uuid::Uuid;

use super::declare::request;
use super::kind::{Flag, Integer, Kind as _, QuoteId, Signature};

request! {
    /// A quote to build.
    pub struct BuildRequest as "BuildBody" {
        /// The quote.
        pub quote_id: Uuid = QuoteId, required;
        /// The taker's signature of the quote's `permit2.eip712`.
        pub permit2_signature: Option<Bytes> = Signature, optional;
        /// Simulate the transaction. Default false.
        pub simulate: bool = Flag, default(false);
        /// Last second at which the transaction may run, unix seconds.
        "deadline" => pub deadline_s: Option<u64> = Integer(1..=u64::MAX), optional;
    }
}
