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
    /// Names the quote to `POST /v1/build`.
    pub quote_id: Uuid,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339; from then on the quote cannot be built.
    pub expires_at: String,
    /// Milliseconds between the two.
    pub ttl_ms: u64,
    /// The market that was quoted on.
    pub block: BlockRef,
    /// Who sends the transaction.
    pub taker: Eip55,
    /// Who receives the outputs.
    pub recipient: Eip55,
    /// As asked.
    pub inputs: Vec<InputEcho>,
    /// As asked.
    pub outputs: Vec<OutputEcho>,
    /// As asked, or the default.
    pub slippage_tolerance_bps: u16,
    /// What of each input is sold.
    pub estimated_inputs: Vec<EstimatedInput>,
    /// What each output pays.
    pub estimated_outputs: Vec<EstimatedOutput>,
    /// Only where the request has an exact output.
    pub exact_output: Option<ExactOutput>,
    /// Distance of the whole trade from the reference prices; a partner's fee, which `fee_config` tells, is no part of it.
    pub total_price_impact_bps: Option<i64>,
    /// Gas.
    pub costs: Costs,
    /// The route.
    pub path: Path,
    /// Ids of the route's protocols, in the order of first use.
    pub protocols_used: Vec<&'static str>,
    /// Fees.
    pub fee_config: FeeConfig,
    /// One entry per ERC-20 input, in order, satisfied or not; where the request says `check_allowances: true`, those that are not known to be
    /// satisfied.
    pub approvals: Vec<Approval>,
    /// What to sign instead of approving the proxy.
    pub permit2: Option<Permit2>,
    /// What the taker lacks, and names that are not known.
    pub issues: Issues,
    /// How close to the best the route is; where it is `null`, the warning `CERTIFICATE_UNAVAILABLE` says why.
    pub certificate: Option<Certificate>,
    /// Only where asked for.
    pub simulation: Option<Simulation>,
    /// What a caller should know.
    pub warnings: Vec<Warning>,
    /// Why this route; only where asked for.
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

/// An input as asked.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct InputEcho {
    /// Chain.
    pub chain_id: u64,
    /// Token.
    pub address: Eip55,
    /// Atomic units; `null` where the output is exact.
    pub amount: Option<Amount>,
}

/// An output as asked.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OutputEcho {
    /// Chain.
    pub chain_id: u64,
    /// Token.
    pub address: Eip55,
    /// Share of the output's value; all of it where the output is exact.
    pub ratio_bps: u16,
    /// Atomic units, where the output is exact.
    pub amount: Option<Amount>,
}

/// What of an input is sold.
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
    /// What is sold on the quote's market, a partner's fee included.
    pub expected_amount: Amount,
    /// The most that the proxy takes; what of it is not sold stays with the payer or comes back in the same transaction.
    pub maximum_amount: Amount,
}

/// An exact output, and how it is met.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExactOutput {
    /// What was asked for: the recipient gets no less, or the transaction reverts.
    pub amount: Amount,
    /// How it is bought.
    pub bought: Bought,
    /// What the route would sell of the input to buy exactly this on the quote's market, a partner's fee included.
    pub needed_input: Amount,
}

/// How an exact output is bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bought {
    /// Exactly: the proxy sells what the amount costs when the transaction runs, at most the maximum.
    Exactly,
    /// At least: the proxy sells the maximum, and what that buys beyond the amount goes to the recipient.
    AtLeast,
}

/// What an output pays.
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
    /// What the chain pays on the quote's market, after fees.
    pub expected_amount: Amount,
    /// The least that the proxy accepts.
    pub minimum_amount: Amount,
    /// Share asked for.
    pub ratio_bps: u16,
    /// Share reached, at the reference prices.
    pub realized_ratio_bps: Option<u64>,
    /// Mid price on the quote's market.
    pub reference_price: Option<ReferencePrice>,
    /// Distance of this output from the reference prices, without a partner's fee.
    pub price_impact_bps: Option<i64>,
    /// Only where asked for.
    pub usd_value: Option<f64>,
}

/// Ether per whole token.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReferencePrice {
    /// Always `ETH`.
    pub numeraire: &'static str,
    /// Decimal.
    pub value: String,
}

/// Gas, in units, per unit and in total.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Costs {
    /// The tier that priced the gas.
    #[schema(value_type = Tier)]
    pub gas_priority: &'static str,
    /// What the transaction is expected to use where the recipient holds some of every output already. The first units of a token cost about
    /// 17,100 more, which `gas_limit` covers and a simulation measures.
    pub total_gas_units: u64,
    /// What it should be sent with.
    pub gas_limit: u64,
    /// Base fee of the next block, wei.
    pub base_fee_per_gas: u64,
    /// EIP-1559, wei.
    pub max_fee_per_gas: u64,
    /// EIP-1559, wei.
    pub max_priority_fee_per_gas: u64,
    /// Expected cost.
    pub gas_cost_wei: Amount,
    /// Cost if all of the limit is used at the maximum fee.
    pub max_gas_cost_wei: Amount,
    /// Only where asked for.
    pub gas_cost_usd: Option<f64>,
    /// Gas and the partner's fee together; only where asked for.
    pub total_cost_usd: Option<f64>,
    /// Where the units go; sums to the total.
    pub breakdown: Vec<CostStep>,
}

/// Gas of one step.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CostStep {
    /// Step id, or `transaction` for what surrounds the steps.
    pub step: String,
    /// Units.
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
    /// What is odd about it.
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
    /// Share of all that the route spends of the token in.
    pub share_bps: u64,
    /// The pool's fee, where it is one number.
    pub fee_bps: Option<u64>,
    /// Units.
    pub gas_units: u64,
    /// Distance from the reference prices, fee included.
    pub price_impact_bps: Option<i64>,
}

/// Fees.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FeeConfig {
    /// The service takes nothing.
    pub protocol_fee_bps: u16,
    /// The integrator's fee.
    pub partner_fee_bps: u16,
    /// Who gets it.
    pub partner_recipient: Option<Eip55>,
    /// Whether it is taken from the outputs.
    pub partner_fee_on_output: bool,
    /// What exceeds the expectation goes to the recipient.
    pub pass_positive_slippage_to_user: bool,
}

/// What a spender must be allowed to take.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Approval {
    /// Token.
    pub token: Eip55,
    /// Who takes it.
    pub spender: Eip55,
    /// What the swap needs: the input's amount. `transactions` allow the proxy exactly this, and Permit2 the largest amount,
    /// so that it is approved once.
    pub amount: Amount,
    /// At the quote's block; `null` where it was not read.
    pub current_allowance: Option<Amount>,
    /// Whether it is enough; `null` where it was not read.
    pub satisfied: Option<bool>,
    /// Whether the token refuses to change one allowance into another.
    pub requires_zero_reset: bool,
    /// To send, in this order.
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

/// What to sign instead of approving the proxy.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Permit2 {
    /// Permit2.
    pub contract: Eip55,
    /// Allowances of Permit2 itself, once per token.
    pub approvals: Vec<Approval>,
    /// What the signature signs.
    #[schema(value_type = String)]
    pub hash: braid_primitives::B256,
    /// Unix seconds.
    pub deadline: u64,
    /// For `eth_signTypedData_v4`, as it stands.
    #[schema(value_type = TypedData)]
    pub eip712: Value,
}

/// A message as `eth_signTypedData_v4` takes it; integers of more than 64 bits are decimal strings.
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
    /// What is signed, by the fields of the primary type.
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

/// Who verifies a signature.
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

/// What the taker lacks, and names that are not known.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Issues {
    /// Inputs that the taker does not hold.
    pub balance: Vec<BalanceIssue>,
    /// Inputs that the proxy may not take yet.
    pub allowance: Vec<AllowanceIssue>,
    /// Names in the request that no protocol has.
    pub unknown_protocols: Vec<String>,
}

/// An input that the taker does not hold.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BalanceIssue {
    /// Token.
    pub token: Eip55,
    /// What the taker holds.
    pub actual: Amount,
    /// What the quote takes.
    pub expected: Amount,
}

/// An input that the proxy may not take yet.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AllowanceIssue {
    /// Token.
    pub token: Eip55,
    /// Who takes it.
    pub spender: Eip55,
    /// What it may take.
    pub actual: Amount,
    /// What the quote takes.
    pub expected: Amount,
}

/// How close to the best the route is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Certificate {
    /// No route over the covered pools could have been worth more.
    pub upper_bound_value_wei: Amount,
    /// What the route is worth, net of gas.
    pub achieved_value_wei: Amount,
    /// The distance, in basis points of the gross value.
    pub gap_bps: f64,
    /// Pools that the bound covers.
    pub pools_covered: u32,
    /// What the bound does not cover.
    pub excluded: Excluded,
    /// Only where the output is exact: no route over the covered pools buys it for less of the input, unless its gas costs more than it saves.
    /// Then `gap_bps` is the distance of `exact_output.needed_input` from this, and an input that is not sold counts as value.
    pub least_input: Option<Amount>,
}

/// What a bound leaves out, by reason: routes through such pools, and longer ones, might be worth more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Excluded {
    /// Known pools that no quote uses, as in `/ready`.
    pub quarantined: usize,
    /// Pools that the request leaves out.
    pub filtered: u32,
    /// Chains of more steps than this.
    pub max_hops: u8,
}

/// What a simulation saw.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Simulation {
    /// How it ended.
    pub status: SimulationStatus,
    /// The block whose state it ran on.
    pub block_number: Option<u64>,
    /// Units.
    pub gas_used: Option<u64>,
    /// What arrived at the recipient of each output.
    pub outputs: Vec<SimulatedOutput>,
    /// What was missing and added; nothing in a build.
    #[schema(value_type = Vec<Override>)]
    pub overrides: Vec<&'static str>,
    /// Why it must not be sent.
    pub revert: Option<Revert>,
}

/// How a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SimulationStatus {
    /// The transaction went through.
    Success,
    /// The transaction reverted, or paid less than the minimum, or met no proxy.
    Reverted,
    /// There was no simulation.
    Unavailable,
}

/// What an output paid in a simulation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SimulatedOutput {
    /// Token.
    pub token: Eip55,
    /// Atomic units.
    pub amount: Amount,
}

/// Why a simulated transaction must not be sent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Revert {
    /// First four bytes of the revert data; `null` where it did not revert by itself.
    pub selector: Option<String>,
    /// Name of the error.
    pub name: Option<String>,
    /// In words.
    pub message: String,
    /// The step of `path` that failed; `null` where none did, as in the payment of the outputs.
    pub step: Option<String>,
}

/// What a caller should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Warning {
    /// Stable code.
    pub code: &'static str,
    /// In words.
    pub message: String,
}
