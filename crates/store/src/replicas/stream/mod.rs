//! One market for services without a node: the service that holds the lease publishes each block's changes on a Redis
//! stream, and from time to time a snapshot of the whole market.
//!
//! [`StreamState`] is the state of every service at one place of the stream, without I/O: it makes and applies entries.
//! [`MarketStream`] is the connection to the server: the lease, the stream and the snapshot.

mod findings;
mod server;
mod state;

#[cfg(test)]
mod tests;

pub use findings::{Findings, FindingsChange};
pub use server::{Appended, ENTRIES_KEPT, Lease, MarketStream, StreamEntry, StreamError, StreamHead, StreamRead};
pub use state::{MAX_ENTRY_BYTES, StreamState};
