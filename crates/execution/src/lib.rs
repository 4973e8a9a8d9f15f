//! From a route to everything that its transaction needs: order, program, calldata, approvals, Permit2 message, fees,
//! gas.
//!
//! Pure: no I/O, no clock, no node. What the proxy enforces and how a program is packed is specified in
//! `docs/internals/program.md`; the amounts are the route's, and encoding refuses a route that the proxy would not run
//! to the wei as stated.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod abi;
mod amounts;
pub mod approvals;
pub mod fees;
pub mod gas;
mod order;
mod partner;
pub mod permit2;
pub mod program;
pub mod proxy;
pub mod revert;

pub use abi::{calldata, calldata_with_permit2, execute_calldata, execute_with_permit2_calldata, received};
pub use amounts::{MAX_SLIPPAGE_BPS, maximum_amount, minimum_amount};
pub use gas::{Authorization, GasEstimate};
pub use order::{MAX_AMOUNT, MAX_TOKENS, Order, OrderError, TokenAmount};
pub use partner::{MAX_PARTNER_FEE_BPS, PartnerFee};
pub use permit2::Permit;
pub use program::{Destination, EncodeError, Program, ProgramStep, encode_program, encode_purchase};
