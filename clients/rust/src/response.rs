//! What is answered. Fields of a newer service are ignored.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::Deserialize;
use serde_json::Value;

use crate::GasTier;

/// Declares answers: public fields, each documented, open to new ones.
macro_rules! answers {
    ($($(#[$about:meta])+ $name:ident { $($(#[$field_about:meta])+ $field:ident: $kind:ty,)+ })+) => {$(
        $(#[$about])+
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_about])+ pub $field: $kind,)+
        }
    )+};
}

/// How a purchase is bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bought {
    /// Exactly the amount arrives. What it costs when the transaction runs is sold. Of a token no more is taken; ether
    /// is sent whole, and what is left comes back.
    Exactly,
    /// The maximum is sold. What it buys beyond the amount arrives too.
    AtLeast,
}

answers! {
    /// A quote.
    Quote {
        /// Names the quote in a build.
        quote_id: String,
        /// Until when it can be built, RFC 3339.
        expires_at: String,
        /// How long it can be built, milliseconds.
        ttl_ms: u64,
        /// Who pays, and sends the transaction.
        taker: Address,
        /// Who gets the outputs.
        recipient: Address,
        /// The block that it is of.
        block: Block,
        /// What leaves the taker.
        estimated_inputs: Vec<EstimatedInput>,
        /// How an exact amount is bought; `None` of a sale.
        exact_output: Option<ExactOutput>,
        /// What arrives.
        estimated_outputs: Vec<EstimatedOutput>,
        /// What the whole trade moves prices by, in basis points.
        total_price_impact_bps: Option<i64>,
        /// What gas costs.
        costs: Costs,
        /// The route.
        path: Path,
        /// Protocols in the route.
        protocols_used: Vec<String>,
        /// Allowances of the proxy, for a build without a signature.
        approvals: Vec<Approval>,
        /// What to sign instead; `None` where nothing can be signed.
        permit2: Option<Permit2>,
        /// What the taker lacks.
        issues: Issues,
        /// How close to the best the route is.
        certificate: Option<Certificate>,
        /// What a simulation saw, where it was asked for.
        simulation: Option<Simulation>,
        /// What a caller should know.
        warnings: Vec<Warning>,
        /// Why the route is the best, where it was asked for.
        explanation: Option<Value>,
    }
    /// An input of a quote.
    EstimatedInput {
        /// The token.
        token: Address,
        /// Its symbol.
        symbol: String,
        /// Its decimals.
        decimals: u8,
        /// What is sold on this block's state.
        expected_amount: U256,
        /// The most that is ever sold.
        maximum_amount: U256,
    }
    /// How an exact amount is bought.
    ExactOutput {
        /// The amount that was asked for.
        amount: U256,
        /// Whether more may arrive.
        bought: Bought,
        /// The least that the route sells for exactly the amount, fees included.
        needed_input: U256,
    }
    /// A block.
    Block {
        /// Its number.
        number: u64,
        /// Its hash.
        hash: B256,
        /// Its time, unix seconds.
        timestamp: u64,
    }
    /// An output of a quote.
    EstimatedOutput {
        /// The token.
        token: Address,
        /// Its symbol.
        symbol: String,
        /// Its decimals.
        decimals: u8,
        /// What the chain pays on this block's state, fees taken off.
        expected_amount: U256,
        /// What it pays at least, or the transaction reverts.
        minimum_amount: U256,
        /// The share of the value that was asked for, in basis points.
        ratio_bps: Option<u16>,
        /// The share that was reached.
        realized_ratio_bps: Option<u16>,
        /// What the trade moves this output's price by, in basis points.
        price_impact_bps: Option<i64>,
        /// Worth in dollars, where it was asked for.
        usd_value: Option<f64>,
    }
    /// Gas, in units, per unit and in total.
    Costs {
        /// The tier that prices it.
        gas_priority: GasTier,
        /// What the transaction is expected to use.
        total_gas_units: u64,
        /// What it is sent with.
        gas_limit: u64,
        /// Wei.
        max_fee_per_gas: u128,
        /// Wei.
        max_priority_fee_per_gas: u128,
        /// Expected cost.
        gas_cost_wei: U256,
        /// Cost if all of the limit is used at the maximum fee.
        max_gas_cost_wei: U256,
        /// Expected cost in dollars, where it was asked for.
        gas_cost_usd: Option<f64>,
        /// Gas and the partner's fee in dollars, where it was asked for.
        total_cost_usd: Option<f64>,
    }
    /// A route.
    Path {
        /// The tokens that it passes.
        tokens: Vec<PathToken>,
        /// Its steps, in an order in which they can run.
        steps: Vec<Step>,
    }
    /// A token of a route.
    PathToken {
        /// Its contract.
        address: Address,
        /// Its symbol.
        symbol: String,
        /// Its decimals.
        decimals: u8,
    }
    /// A step of a route: one swap in one pool.
    Step {
        /// Names the step.
        id: String,
        /// The steps whose outputs it spends.
        after: Vec<String>,
        /// The pool's protocol.
        protocol: String,
        /// The pool: its contract, and a slash and its id where the contract holds many.
        pool: String,
        /// What it sells.
        token_in: Address,
        /// What it buys.
        token_out: Address,
        /// How much it sells.
        amount_in: U256,
        /// How much it buys.
        amount_out: U256,
        /// The part of what is there of the token, in basis points.
        share_bps: u16,
        /// Gas units.
        gas_units: u64,
        /// What it moves the pool's price by, in basis points.
        price_impact_bps: Option<i64>,
    }
    /// What a spender must be allowed to take.
    Approval {
        /// The token.
        token: Address,
        /// Who takes it.
        spender: Address,
        /// How much.
        amount: U256,
        /// What it may take now; `None` where it was not read.
        current_allowance: Option<U256>,
        /// Whether the allowance is enough; `None` where it was not read.
        satisfied: Option<bool>,
        /// What to send, in this order.
        transactions: Vec<Call>,
    }
    /// A call.
    Call {
        /// The contract.
        to: Address,
        /// Calldata.
        data: Bytes,
        /// Wei.
        value: U256,
    }
    /// What to sign instead of approving the proxy.
    Permit2 {
        /// The Permit2 contract.
        contract: Address,
        /// Allowances of Permit2 itself, once per token.
        approvals: Vec<Approval>,
        /// The last second at which the signature counts, unix seconds.
        deadline: u64,
        /// What `eth_signTypedData_v4` takes.
        eip712: Value,
        /// The hash that is signed.
        hash: B256,
    }
    /// What the taker lacks. Never fails a quote or a build.
    Issues {
        /// Inputs that the taker does not hold.
        balance: Vec<BalanceIssue>,
        /// Inputs that the proxy may not take yet.
        allowance: Vec<AllowanceIssue>,
        /// Names in the request that no protocol has.
        unknown_protocols: Vec<String>,
    }
    /// A balance that is too small.
    BalanceIssue {
        /// The token.
        token: Address,
        /// What the taker holds.
        actual: U256,
        /// What the order takes.
        expected: U256,
    }
    /// An allowance that is too small.
    AllowanceIssue {
        /// The token.
        token: Address,
        /// Who takes it.
        spender: Address,
        /// What it may take.
        actual: U256,
        /// What the order takes.
        expected: U256,
    }
    /// How close to the best a route is.
    Certificate {
        /// What the route is worth, net of gas.
        achieved_value_wei: U256,
        /// What no route over the covered pools can exceed.
        upper_bound_value_wei: U256,
        /// The distance, in basis points.
        gap_bps: f64,
        /// Pools that the bound covers.
        pools_covered: u32,
        /// Of a purchase: no route buys the amount for less than this of the input.
        least_input: Option<U256>,
    }
    /// What a simulation saw.
    Simulation {
        /// `success`, `reverted` or `unavailable`.
        status: String,
        /// The block whose state it ran on.
        block_number: Option<u64>,
        /// Gas units.
        gas_used: Option<u64>,
        /// What each output paid.
        outputs: Vec<SimulatedOutput>,
        /// What the taker lacked and was granted: `balance`, `allowance`.
        overrides: Vec<String>,
        /// Why it reverted.
        revert: Option<Revert>,
    }
    /// An output of a simulation.
    SimulatedOutput {
        /// The token.
        token: Address,
        /// What it paid.
        amount: U256,
    }
    /// Why a simulated transaction reverted.
    Revert {
        /// The error's name.
        name: Option<String>,
        /// In words.
        message: String,
        /// The step that failed.
        step: Option<String>,
    }
    /// What a caller should know.
    Warning {
        /// Stable code.
        code: String,
        /// In words.
        message: String,
    }
    /// An unsigned transaction and what belongs to it.
    Built {
        /// The quote that was built.
        quote_id: String,
        /// The transaction.
        transaction: Transaction,
        /// The approvals that are not known to be in place and then the swap: what `wallet_sendCalls` (EIP-5792) takes.
        calls: Vec<Call>,
        /// How the proxy gets the inputs: `allowance`, `permit2` or `native`.
        authorization: String,
        /// The last second at which the transaction may run, unix seconds.
        deadline: u64,
        /// What leaves the taker, worked out again on the newest market.
        estimated_inputs: Vec<BuiltInput>,
        /// The same of what arrives.
        estimated_outputs: Vec<BuiltOutput>,
        /// What must be approved before sending.
        approvals: Vec<Approval>,
        /// What the taker lacks.
        issues: Issues,
        /// What a simulation saw, where it was asked for.
        simulation: Option<Simulation>,
        /// What a caller should know.
        warnings: Vec<Warning>,
    }
    /// An unsigned transaction of type 2.
    Transaction {
        /// Chain.
        chain_id: u64,
        /// The taker.
        from: Address,
        /// The proxy.
        to: Address,
        /// Calldata.
        data: Bytes,
        /// Wei.
        value: U256,
        /// Gas limit.
        gas: u64,
        /// Wei.
        max_fee_per_gas: u128,
        /// Wei.
        max_priority_fee_per_gas: u128,
    }
    /// An input of a build.
    BuiltInput {
        /// The token.
        token: Address,
        /// What is sold on the newest market.
        expected_amount: U256,
        /// The most that is ever sold: that of the quote.
        maximum_amount: U256,
    }
    /// An output of a build.
    BuiltOutput {
        /// The token.
        token: Address,
        /// What the chain pays on the newest market.
        expected_amount: U256,
        /// What it pays at least: that of the quote.
        minimum_amount: U256,
    }
    /// A token.
    Token {
        /// Its contract.
        address: Address,
        /// Its symbol.
        symbol: String,
        /// Its name.
        name: String,
        /// Its decimals.
        decimals: u8,
        /// Pools that hold it; 0 for a copy of a better known token's symbol.
        pool_count: u64,
        /// Such as `stablecoin`.
        tags: Vec<String>,
    }
    /// A family of protocols.
    Family {
        /// Its name, which leaves out or names all of its products.
        name: String,
        /// Its products.
        products: Vec<Product>,
    }
    /// A product.
    Product {
        /// What `exclude_protocols` takes.
        id: String,
        /// Its name.
        product: String,
        /// Pools in the market.
        pools: u64,
    }
    /// Prices. A token without a price is absent.
    Prices {
        /// Dollars per whole token.
        prices: BTreeMap<Address, f64>,
        /// Ether per whole token, decimal.
        prices_eth: BTreeMap<Address, String>,
        /// The block that they are of.
        block: Block,
    }
    /// The newest block and its fees.
    Network {
        /// The newest block.
        block_number: u64,
        /// Base fee of the next block.
        base_fee_wei: u128,
        /// Fees per gas by tier.
        gas_prices: BTreeMap<String, GasPrice>,
    }
    /// Fees per gas, in wei.
    GasPrice {
        /// The most that is paid.
        max_fee_per_gas: u128,
        /// The tip.
        max_priority_fee_per_gas: u128,
    }
    /// Whether quotes are answered.
    Ready {
        /// `ready`, `syncing`, `stale`, `degraded` or `stopping`.
        status: String,
        /// The market's block; `None` before the first.
        block: Option<ReadyBlock>,
        /// Pools in the market.
        pools: u64,
    }
    /// The market's block.
    ReadyBlock {
        /// Its number.
        number: u64,
        /// How long ago it came.
        age_ms: u64,
    }
}
