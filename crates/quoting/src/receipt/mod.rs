//! Receipts of best execution: everything that an answer was made of, so that anyone can work it out again offline.
//!
//! What is needed besides the answer is kept in memory while the quote is open ([`Receipts`]); the document
//! ([`Receipt`]) is written when somebody asks for it, and [`verify`] works the answer out again: its amounts from the
//! pools in the receipt alone, the choice of the route and the certificate from the whole market.

mod again;
mod compare;
mod document;
mod evidence;
mod kept;
mod verify;

pub use document::{FORMAT, Made, MarketPart, Receipt, Settings};
pub use evidence::{Evidence, MeasuredGas};
pub use kept::{MarketFile, Receipts};
pub use verify::{Finding, NoReceipt, Verdict, verify};
