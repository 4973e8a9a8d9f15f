//! Answers paths and methods that do not exist.

use braid_quoting::{Code, Problem};

use super::auth::MayRead;
use super::problem::Refusal;

/// Answers a path that does not exist. Counts as a read.
pub async fn not_found(_: MayRead) -> Refusal {
    Refusal(Problem::new(Code::NotFound, "no such path; GET /docs lists the calls"))
}

/// Answers a method that a path does not support. Counts as a read.
pub async fn method_not_allowed(_: MayRead) -> Refusal {
    Refusal(Problem::new(Code::MethodNotAllowed, "this path does not take this method; GET /docs lists the calls"))
}
