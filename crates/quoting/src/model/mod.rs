//! The answers of the contract, field by field. Every documented field is always written; `null` says "not asked for" or
//! "not known".

mod build;
mod explanation;
mod quote;
mod text;
pub mod words;

pub use build::{BuildAnswer, BuiltInput, BuiltOutput, Call, RpcTransaction, Transaction};
pub use explanation::{
    ExcludedProtocol, Exclusions, Explanation, Gain, GasShare, MarginalPrice, SingleRoute, SingleStep, StepPrice,
};
pub use quote::{
    AllowanceIssue, Approval, ApprovalCall, BalanceIssue, BlockRef, Bought, Certificate, CostStep, Costs,
    EstimatedInput, EstimatedOutput, ExactOutput, Excluded, FeeConfig, InputEcho, Issues, OutputEcho, Path, PathStep,
    PathToken, Permit2, QuoteAnswer, ReferencePrice, Revert, SimulatedOutput, Simulation, SimulationStatus, TypedData,
    TypedDomain, TypedField, Warning,
};
pub use text::{Amount, Eip55, PoolName, Quantity};
