//! `POST /v1/build`: the answer.

use braid_primitives::Bytes;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::words::Authorization;
use super::{Amount, Approval, Eip55, Issues, Quantity, Simulation, Warning};

/// An unsigned transaction with its approvals and checks.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BuildAnswer {
    /// The quote that was built.
    pub quote_id: Uuid,
    /// The transaction.
    pub transaction: Transaction,
    /// The transaction, ready for `eth_sendTransaction`.
    pub rpc_transaction: RpcTransaction,
    /// The approvals that are not known to be satisfied and then the swap, in order, as the `calls` of `wallet_sendCalls`
    /// (EIP-5792). With a signature the approvals are Permit2's.
    pub calls: Vec<Call>,
    /// Way in which the proxy gets the inputs: `allowance`, `permit2` or `native`.
    #[schema(value_type = Authorization)]
    pub authorization: &'static str,
    /// Last second at which the transaction may run, unix seconds.
    pub deadline: u64,
    /// Inputs, recomputed on the newest market.
    pub estimated_inputs: Vec<BuiltInput>,
    /// Outputs, recomputed on the newest market.
    pub estimated_outputs: Vec<BuiltOutput>,
    /// Approvals that the transaction needs.
    pub approvals: Vec<Approval>,
    /// Balances and allowances that the taker lacks.
    pub issues: Issues,
    /// Result of the simulation; `null` unless requested.
    pub simulation: Option<Simulation>,
    /// Warnings to the caller.
    pub warnings: Vec<Warning>,
}

/// An input, recomputed on the newest market.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BuiltInput {
    /// Token.
    pub token: Eip55,
    /// Chain.
    pub chain_id: u64,
    /// Amount sold on the newest market, with a partner's fee.
    pub expected_amount: Amount,
    /// The most that the proxy takes, as in the quote.
    pub maximum_amount: Amount,
}

/// An output, recomputed on the newest market.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BuiltOutput {
    /// Token.
    pub token: Eip55,
    /// Chain.
    pub chain_id: u64,
    /// Amount that arrives on the newest market, after fees.
    pub expected_amount: Amount,
    /// The least that the proxy accepts, as in the quote.
    pub minimum_amount: Amount,
}

/// An EIP-1559 transaction without a signature.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Transaction {
    /// Chain.
    pub chain_id: u64,
    /// Always 2.
    #[serde(rename = "type")]
    pub kind: u8,
    /// The taker.
    pub from: Eip55,
    /// The proxy.
    pub to: Eip55,
    /// Calldata.
    #[schema(value_type = String)]
    pub data: Bytes,
    /// Wei, 0x-hex.
    pub value: Quantity,
    /// Gas limit.
    pub gas: u64,
    /// Wei.
    pub max_fee_per_gas: u64,
    /// Wei.
    pub max_priority_fee_per_gas: u64,
}

/// A call of a bundle.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Call {
    /// Contract.
    pub to: Eip55,
    /// Calldata.
    #[schema(value_type = String)]
    pub data: Bytes,
    /// Wei.
    pub value: Quantity,
}

/// The transaction with the field names and formats of JSON-RPC.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RpcTransaction {
    /// The taker.
    pub from: Eip55,
    /// The proxy.
    pub to: Eip55,
    /// Calldata.
    #[schema(value_type = String)]
    pub data: Bytes,
    /// Wei.
    pub value: Quantity,
    /// Gas limit.
    pub gas: Quantity,
    /// Wei.
    pub max_fee_per_gas: Quantity,
    /// Wei.
    pub max_priority_fee_per_gas: Quantity,
    /// Chain.
    pub chain_id: Quantity,
    /// Always 0x2.
    #[serde(rename = "type")]
    pub kind: Quantity,
}

impl From<&Transaction> for RpcTransaction {
    fn from(transaction: &Transaction) -> Self {
        Self {
            from: transaction.from,
            to: transaction.to,
            data: transaction.data.clone(),
            value: transaction.value,
            gas: transaction.gas.into(),
            max_fee_per_gas: transaction.max_fee_per_gas.into(),
            max_priority_fee_per_gas: transaction.max_priority_fee_per_gas.into(),
            chain_id: transaction.chain_id.into(),
            kind: u64::from(transaction.kind).into(),
        }
    }
}
