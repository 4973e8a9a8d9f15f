//! The answers to paths and methods that do not exist.

use braid_quoting::{Code, Problem};

use super::auth::MayRead;
use super::problem::Refusal;

/// The answer to a path that does not exist: counted, like any read.
pub async fn not_found(_: MayRead) -> Refusal {
    Refusal(Problem::new(Code::NotFound, "there is nothing at this path"))
}

/// The answer to a method that a path does not take: counted, like any read.
pub async fn method_not_allowed(_: MayRead) -> Refusal {
    Refusal(Problem::new(Code::MethodNotAllowed, "this path does not take this method"))
}
