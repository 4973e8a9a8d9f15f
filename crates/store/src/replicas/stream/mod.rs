//! One market for services that follow no node: whoever holds the lease publishes what each block changes on a Redis stream, and now and then
//! the market whole.
//!
//! [`Told`] is what every service has at a place in the stream, without any I/O: what is written and what is read are made of it.
//! [`MarketStream`] is the server's side: the lease, the stream, and the snapshot.

mod findings;
mod server;
mod told;

#[cfg(test)]
mod tests;

pub use findings::{Findings, FindingsChange};
pub use server::{Appended, ENTRIES_KEPT, Held, MarketStream, Place, Read, StreamError, StreamHead};
pub use told::{MAX_ENTRY_BYTES, Told};
