//! `POST /v1/quote`: the answer.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::words::{Override, Tier};
use super::{Amount, Eip55, Explanation, PoolName};

/// A quote.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct QuoteAnswer {
    /// Id of the quote, for `POST /v1/build`.
    pub quote_id: Uuid,
    /// Time of the quote, RFC 3339.
    pub created_at: String,
    /// Time from which the quote cannot be built, RFC 3339.
    pub expires_at: String,
    /// Lifetime, in milliseconds.
    pub ttl_ms: u64,
    /// Block of the market that was quoted on.
    pub block: BlockRef,
    /// Account that sends the transaction.
    pub taker: Eip55,
    /// Account that receives the outputs.
    pub recipient: Eip55,
    /// Inputs of the request.
    pub inputs: Vec<InputEcho>,
    /// Outputs of the request.
    pub outputs: Vec<OutputEcho>,
    /// Slippage tolerance of the request, or the default.
    pub slippage_tolerance_bps: u16,
    /// Amount of each input that is sold.
    pub estimated_inputs: Vec<EstimatedInput>,
    /// Amount of each output that arrives.
    pub estimated_outputs: Vec<EstimatedOutput>,
    /// The exact output; `null` unless the request has one.
    pub exact_output: Option<ExactOutput>,
    /// Value lost of the whole trade at the reference prices, in basis points of the inputs' value, without a partner's fee.
    pub total_price_impact_bps: Option<i64>,
    /// Cost of gas.
    pub costs: Costs,
    /// The route.
    pub path: Path,
    /// Ids of the route's protocols, in the order of first use.
    pub protocols_used: Vec<&'static str>,
    /// Fees.
    pub fee_config: FeeConfig,
    /// One entry per ERC-20 input, in order, satisfied or not. With `check_allowances: true` in the request, only those not known to be
    /// satisfied.
    pub approvals: Vec<Approval>,
    /// Message to sign instead of approving the proxy.
    pub permit2: Option<Permit2>,
    /// Balances and allowances that the taker lacks, and unknown protocol names.
    pub issues: Issues,
    /// Upper bound of the value of any route; if `null`, the warning `CERTIFICATE_UNAVAILABLE` states the reason.
    pub certificate: Option<Certificate>,
    /// Result of the simulation; `null` unless requested.
    pub simulation: Option<Simulation>,
    /// Warnings to the caller.
    pub warnings: Vec<Warning>,
    /// Explanation of the route; `null` unless requested.
    pub explanation: Option<Explanation>,
}

/// A block by number, hash and time.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct BlockRef {
    /// Height.
    pub number: u64,
    /// Hash.
    #[schema(value_type = String)]
    pub hash: braid_primitives::B256,
    /// Unix seconds.
    pub timestamp: u64,
}

/// An input of the request.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct InputEcho {
    /// Chain.
    pub chain_id: u64,
    /// Token.
    pub address: Eip55,
    /// Atomic units; `null` if the output is exact.
    pub amount: Option<Amount>,
}

/// An output of the request.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OutputEcho {
    /// Chain.
    pub chain_id: u64,
    /// Token.
    pub address: Eip55,
    /// Share of the output value in basis points; 10000 if the output is exact.
    pub ratio_bps: u16,
    /// Atomic units; `null` unless the output is exact.
    pub amount: Option<Amount>,
}

/// Amount of an input that is sold.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EstimatedInput {
    /// Token, in the form that the request used.
    pub token: Eip55,
    /// Chain.
    pub chain_id: u64,
    /// Ticker.
    pub symbol: String,
    /// Decimals.
    pub decimals: u8,
    /// Amount sold on the quote's market, with a partner's fee.
    pub expected_amount: Amount,
    /// The most that the proxy takes. What is not sold stays with the payer or is returned in the same transaction.
    pub maximum_amount: Amount,
}

/// An exact output.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExactOutput {
    /// Amount of the request: the recipient gets no less, or the transaction reverts.
    pub amount: Amount,
    /// Form of the purchase.
    pub bought: Bought,
    /// Input that buys exactly this along the route on the quote's market, with a partner's fee.
    pub needed_input: Amount,
}

/// Form of a purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bought {
    /// The proxy buys exactly the amount, and sells what it costs when the transaction runs, at most the maximum.
    Exactly,
    /// The proxy sells the maximum, and what that buys beyond the amount goes to the recipient.
    AtLeast,
}

/// Amount of an output that arrives.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EstimatedOutput {
    /// Token, in the form that the request used.
    pub token: Eip55,
    /// Chain.
    pub chain_id: u64,
    /// Ticker.
    pub symbol: String,
    /// Decimals.
    pub decimals: u8,
    /// Amount that arrives on the quote's market, after fees.
    pub expected_amount: Amount,
    /// The least that the proxy accepts.
    pub minimum_amount: Amount,
    /// Requested share, in basis points.
    pub ratio_bps: u16,
    /// Share of the value at the reference prices, in basis points.
    pub realized_ratio_bps: Option<u64>,
    /// Mid price on the quote's market.
    pub reference_price: Option<ReferencePrice>,
    /// Value lost of this output at the reference prices, in basis points, without a partner's fee.
    pub price_impact_bps: Option<i64>,
    /// Dollars; `null` unless requested.
    pub usd_value: Option<f64>,
}

/// Ether per whole token.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReferencePrice {
    /// Always `ETH`.
    pub numeraire: &'static str,
    /// Decimal number.
    pub value: String,
}

/// Cost of gas: units, price per unit, and total.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Costs {
    /// Tier of the gas price.
    #[schema(value_type = Tier)]
    pub gas_priority: &'static str,
    /// Expected gas of the transaction if the recipient holds some of every output already. A recipient's first units of a token cost about
    /// 17,100 more, which `gas_limit` covers and a simulation measures.
    pub total_gas_units: u64,
    /// Gas limit to send the transaction with.
    pub gas_limit: u64,
    /// Base fee of the next block, wei.
    pub base_fee_per_gas: u64,
    /// EIP-1559, wei.
    pub max_fee_per_gas: u64,
    /// EIP-1559, wei.
    pub max_priority_fee_per_gas: u64,
    /// Expected cost in wei.
    pub gas_cost_wei: Amount,
    /// Cost in wei if the whole limit is used at the maximum fee.
    pub max_gas_cost_wei: Amount,
    /// Expected cost in dollars; `null` unless requested.
    pub gas_cost_usd: Option<f64>,
    /// Gas and the partner's fee together, in dollars; `null` unless requested.
    pub total_cost_usd: Option<f64>,
    /// Gas of each step and of the rest of the transaction; sums to the total.
    pub breakdown: Vec<CostStep>,
}

/// Gas of one step.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CostStep {
    /// Step id, or `transaction` for the rest of the transaction.
    pub step: String,
    /// Gas units.
    pub gas_units: u64,
}

/// The route.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Path {
    /// Every token of the route.
    pub tokens: Vec<PathToken>,
    /// Every step, in the order of execution.
    pub steps: Vec<PathStep>,
}

/// A token of the route.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PathToken {
    /// Address, in the form that the request used.
    pub address: Eip55,
    /// Ticker.
    pub symbol: String,
    /// Name.
    pub name: String,
    /// Decimals.
    pub decimals: u8,
    /// Warnings about the token. At present always empty.
    pub warnings: Vec<String>,
}

/// One traversal of one pool.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PathStep {
    /// Id within the quote.
    pub id: String,
    /// Steps that must run before this one.
    pub after: Vec<String>,
    /// Protocol id.
    pub protocol: &'static str,
    /// The pool.
    pub pool: PoolName,
    /// Token in.
    pub token_in: Eip55,
    /// Token out.
    pub token_out: Eip55,
    /// Atomic units.
    pub amount_in: Amount,
    /// Atomic units.
    pub amount_out: Amount,
    /// Share of everything that the route spends of the token in, in basis points.
    pub share_bps: u64,
    /// The pool's fee in basis points, rounded up; `null` if it is not one number.
    pub fee_bps: Option<u64>,
    /// Gas units.
    pub gas_units: u64,
    /// Value lost of this step at the reference prices, in basis points, with the pool's fee.
    pub price_impact_bps: Option<i64>,
}

/// Fees.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FeeConfig {
    /// Always 0: the service takes no fee.
    pub protocol_fee_bps: u16,
    /// The integrator's fee.
    pub partner_fee_bps: u16,
    /// Account that receives it.
    pub partner_recipient: Option<Eip55>,
    /// True if it is taken from the outputs.
    pub partner_fee_on_output: bool,
    /// Always true: amounts above the expected ones go to the recipient.
    pub pass_positive_slippage_to_user: bool,
}

/// An approval that the swap needs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Approval {
    /// Token.
    pub token: Eip55,
    /// Account that may take it.
    pub spender: Eip55,
    /// Allowance that the swap needs: the input's amount. `transactions` allow the proxy exactly this, and Permit2 the largest
    /// amount, so that one approval suffices for all swaps.
    pub amount: Amount,
    /// Allowance at the quote's block; `null` if it was not read.
    pub current_allowance: Option<Amount>,
    /// True if it is enough; `null` if it was not read.
    pub satisfied: Option<bool>,
    /// True if the token refuses to change a non-zero allowance to another non-zero one.
    pub requires_zero_reset: bool,
    /// Transactions to send, in this order.
    pub transactions: Vec<ApprovalCall>,
}

/// A transaction that the taker sends.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ApprovalCall {
    /// Contract.
    pub to: Eip55,
    /// Calldata.
    #[schema(value_type = String)]
    pub data: braid_primitives::Bytes,
    /// Wei.
    pub value: Amount,
}

/// A message to sign instead of approving the proxy.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Permit2 {
    /// Permit2's contract.
    pub contract: Eip55,
    /// Approvals of Permit2, needed once per token.
    pub approvals: Vec<Approval>,
    /// Hash of the message, which the signature signs.
    #[schema(value_type = String)]
    pub hash: braid_primitives::B256,
    /// Unix seconds.
    pub deadline: u64,
    /// The message for `eth_signTypedData_v4`, unchanged.
    #[schema(value_type = TypedData)]
    pub eip712: Value,
}

/// A message for `eth_signTypedData_v4`; integers of more than 64 bits are decimal strings.
#[derive(Clone, Debug, ToSchema)]
#[allow(dead_code, reason = "documents what the execution crate writes")]
pub struct TypedData {
    /// The fields of each type, `EIP712Domain` among them.
    types: BTreeMap<String, Vec<TypedField>>,
    /// Permit2's domain.
    domain: TypedDomain,
    /// `PermitWitnessTransferFrom`, or with several inputs `PermitBatchWitnessTransferFrom`.
    #[schema(rename = "primaryType")]
    primary_type: String,
    /// The values of the primary type's fields.
    message: BTreeMap<String, Value>,
}

/// A field of a type.
#[derive(Clone, Debug, ToSchema)]
#[allow(dead_code, reason = "documents what the execution crate writes")]
pub struct TypedField {
    /// The field's name.
    name: String,
    /// The field's type.
    r#type: String,
}

/// The contract that verifies the signature.
#[derive(Clone, Debug, ToSchema)]
#[allow(dead_code, reason = "documents what the execution crate writes")]
pub struct TypedDomain {
    /// `Permit2`.
    name: String,
    /// Chain.
    #[schema(rename = "chainId")]
    chain_id: u64,
    /// Permit2's contract.
    #[schema(rename = "verifyingContract")]
    verifying_contract: Eip55,
}

/// Balances and allowances that the taker lacks, and unknown protocol names.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Issues {
    /// Inputs of which the taker holds too little.
    pub balance: Vec<BalanceIssue>,
    /// Inputs that the spender may not take yet.
    pub allowance: Vec<AllowanceIssue>,
    /// Names in the request that no protocol has.
    pub unknown_protocols: Vec<String>,
}

/// An input of which the taker holds too little.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BalanceIssue {
    /// Token.
    pub token: Eip55,
    /// Balance of the taker.
    pub actual: Amount,
    /// Amount that the quote takes.
    pub expected: Amount,
}

/// An input that the spender may not take yet.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AllowanceIssue {
    /// Token.
    pub token: Eip55,
    /// Account that may take it.
    pub spender: Eip55,
    /// Allowance of the spender.
    pub actual: Amount,
    /// Amount that the quote takes.
    pub expected: Amount,
}

/// Upper bound of the value of any route, and the gap to this one.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Certificate {
    /// Upper bound of the value of any route over the covered pools, in wei.
    pub upper_bound_value_wei: Amount,
    /// Value of this route before a partner's fee on outputs, less the gas of its steps, in wei; 0 if that is negative. The gas of the whole
    /// transaction is in `costs`.
    pub achieved_value_wei: Amount,
    /// Gap between the two, in basis points of the gross value.
    pub gap_bps: f64,
    /// Number of pools that the bound covers.
    pub pools_covered: u32,
    /// Pools and paths that the bound does not cover.
    pub excluded: Excluded,
    /// Lower bound of the input for an exact output, `null` otherwise: no route over the covered pools buys it for less, unless its gas costs
    /// more than it saves. `gap_bps` is then the gap between this and `exact_output.needed_input`, and input that is not sold counts as value.
    pub least_input: Option<Amount>,
}

/// Pools and paths that a bound does not cover: routes through them might be worth more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Excluded {
    /// Number of known pools that no quote uses, as in `/ready`.
    pub quarantined: usize,
    /// Number of pools that the request excludes.
    pub filtered: u32,
    /// Longest covered path, in steps.
    pub max_hops: u8,
}

/// Result of a simulation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Simulation {
    /// Status.
    pub status: SimulationStatus,
    /// Block on whose state it ran.
    pub block_number: Option<u64>,
    /// Gas units.
    pub gas_used: Option<u64>,
    /// Amount of each output that arrived at the recipient.
    pub outputs: Vec<SimulatedOutput>,
    /// State that was missing and added; empty for a build.
    #[schema(value_type = Vec<Override>)]
    pub overrides: Vec<&'static str>,
    /// Reason for which the transaction must not be sent; `null` on success.
    pub revert: Option<Revert>,
}

/// Status of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SimulationStatus {
    /// The transaction succeeded.
    Success,
    /// The transaction reverted, or less than the minimum arrived, or the proxy is not deployed.
    Reverted,
    /// There was no simulation.
    Unavailable,
}

/// Amount of an output that arrived in a simulation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SimulatedOutput {
    /// Token.
    pub token: Eip55,
    /// Atomic units.
    pub amount: Amount,
}

/// Reason for which a simulated transaction must not be sent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Revert {
    /// First four bytes of the revert data; `null` if the transaction did not revert.
    pub selector: Option<String>,
    /// Name of the error.
    pub name: Option<String>,
    /// Text for a person.
    pub message: String,
    /// Id of the step of `path` that failed; `null` if the failure is outside the steps, as in the payment of the outputs.
    pub step: Option<String>,
}

/// A warning to the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Warning {
    /// Stable code.
    pub code: &'static str,
    /// Text for a person.
    pub message: String,
}
