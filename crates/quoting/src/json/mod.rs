//! JSON as the client wrote it, for validation.
//!
//! The tree keeps duplicate keys and distinguishes integers from other numbers. The parser bounds nesting. Validation walks
//! the tree and records every mistake instead of stopping at the first.

mod read;
mod value;

pub use read::{Item, Object, Reader};
pub(crate) use read::{child, quoted};
pub use value::{Json, ParseError, parse};
