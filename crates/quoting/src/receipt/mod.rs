//! Receipts of best execution: all inputs of an answer, so that anyone can recompute it offline.
//!
//! [`Receipts`] keeps the inputs in memory while the quote is open. The document, [`Receipt`], is written on request.
//! [`verify`] recomputes the answer: its amounts from the pools in the receipt, the choice of the route and the
//! certificate from the whole market.

mod compare;
mod document;
mod evidence;
mod kept;
mod recompute;
mod verify;

pub use document::{FORMAT, MarketPart, Receipt, Settings, Version};
pub(crate) use evidence::Evidence;
pub use evidence::MeasuredGas;
pub use kept::{MarketFile, Receipts};
pub use verify::{Finding, NoReceipt, Verdict, verify};
