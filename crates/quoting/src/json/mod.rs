//! JSON as the client wrote it: nothing is lost that a validator must complain about.
//!
//! Keys named twice are kept, integers are told from other numbers, nesting is bounded by the parser. Validation then
//! walks the tree and collects every mistake instead of stopping at the first.

mod read;
mod value;

pub use read::{Item, Object, Reader};
pub(crate) use read::{child, quoted};
pub use value::{Json, ParseError, parse};
