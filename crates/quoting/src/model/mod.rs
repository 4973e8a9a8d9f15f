//! The types of the answers. Every documented field is always written; `null` means "not requested" or "not known".

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
