//! What is asked.

use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize, Serializer};

use crate::{EstimatedInput, EstimatedOutput, Quote};

/// What to swap. The fields that are `None` take the service's defaults.
///
/// A sale sells amounts, [`sell`](Self::sell) and [`buy`](Self::buy); a purchase buys an exact amount,
/// [`pay_with`](Self::pay_with) and [`buy_exactly`](Self::buy_exactly).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QuoteRequest {
    /// Tokens to sell, one to six.
    pub inputs: Vec<Input>,
    /// Tokens to buy, one to six; their shares sum to 10,000. Of a purchase, one with its amount.
    pub outputs: Vec<Output>,
    /// Who holds the inputs and sends the transaction.
    pub taker: Address,
    /// Who receives the outputs: the taker by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient: Option<Address>,
    /// Largest acceptable slippage in basis points: 100 by default, 5,000 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slippage_tolerance_bps: Option<u16>,
    /// Which tier prices the gas: standard by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gas_priority: Option<GasTier>,
    /// Longest chain of steps: 4 by default, 8 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hops: Option<u8>,
    /// Most steps in the route: 40 by default, and at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u8>,
    /// Protocols or products to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_protocols: Vec<String>,
    /// The only protocols or products to use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include_protocols: Vec<String>,
    /// Pools to leave out, as [`Step::pool`](crate::Step::pool) names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_pools: Vec<String>,
    /// How many seconds the quote is good for, 10 to 900: 120 by default. The minimum stands for as long, while the
    /// market moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u16>,
    /// Whether to simulate the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulate: Option<bool>,
    /// Whether to read the taker's balances and allowances; approvals that are in place are then left out. Unsaid, they
    /// are read and all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_allowances: Option<bool>,
    /// Whether to make typed data for Permit2: yes by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_permit2: Option<bool>,
    /// Whether to give dollar values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_usd_pricing: Option<bool>,
    /// Whether to explain the route: [`Quote::explanation`](crate::Quote::explanation).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// A fee for the integrator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner_fee: Option<PartnerFee>,
}

/// What is sold of a token; of a purchase, the token that pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    chain_id: u64,
    address: Address,
    #[serde(serialize_with = "decimal", skip_serializing_if = "Option::is_none")]
    amount: Option<U256>,
}

/// A token to buy, and its share of the value or its exact amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Output {
    chain_id: u64,
    address: Address,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_bps: Option<u16>,
    #[serde(serialize_with = "decimal", skip_serializing_if = "Option::is_none")]
    amount: Option<U256>,
}

/// How eager the sender is to be included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GasTier {
    /// May take minutes.
    Slow,
    /// The next few blocks.
    Standard,
    /// The next block or two.
    Fast,
    /// The next block.
    Urgent,
}

/// A fee for the integrator, paid in the same transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartnerFee {
    /// Basis points, 1 to 300.
    pub partner_fee_bps: u16,
    /// Who gets it.
    pub partner_recipient: Address,
    /// Whether it is taken from each output instead of from each input.
    pub partner_fee_on_output: bool,
}

impl QuoteRequest {
    /// A request of a taker; [`sell`](Self::sell) and [`buy`](Self::buy) say what.
    pub fn new(taker: Address) -> Self {
        Self {
            inputs: Vec::new(),
            outputs: Vec::new(),
            taker,
            recipient: None,
            slippage_tolerance_bps: None,
            gas_priority: None,
            max_hops: None,
            max_steps: None,
            exclude_protocols: Vec::new(),
            include_protocols: Vec::new(),
            exclude_pools: Vec::new(),
            ttl_s: None,
            simulate: None,
            check_allowances: None,
            include_permit2: None,
            include_usd_pricing: None,
            explain: None,
            partner_fee: None,
        }
    }

    /// Returns whether a quote is of this request: somebody in the service's place could answer another one.
    pub(crate) fn is_answered_by(&self, quote: &Quote) -> bool {
        let (sold, bought) = (&quote.estimated_inputs, &quote.estimated_outputs);
        let sells = |(asked, sold): (&Input, &EstimatedInput)| {
            sold.token == asked.address && asked.amount.is_none_or(|amount| sold.maximum_amount == amount)
        };
        let buys = |(asked, bought): (&Output, &EstimatedOutput)| {
            bought.token == asked.address && bought.minimum_amount >= asked.amount.unwrap_or(U256::ONE)
        };
        (quote.taker, quote.recipient) == (self.taker, self.recipient.unwrap_or(self.taker))
            && (sold.len(), bought.len()) == (self.inputs.len(), self.outputs.len())
            && self.inputs.iter().zip(sold).all(sells)
            && self.outputs.iter().zip(bought).all(buys)
    }

    /// Sells an amount of a token, in atomic units.
    #[must_use]
    pub fn sell(mut self, token: Address, amount: U256) -> Self {
        self.inputs.push(Input { chain_id: 1, address: token, amount: Some(amount) });
        self
    }

    /// Buys a token for a share of the value, in basis points: 10,000 where it is the only one.
    #[must_use]
    pub fn buy(mut self, token: Address, ratio_bps: u16) -> Self {
        self.outputs.push(Output { chain_id: 1, address: token, ratio_bps: Some(ratio_bps), amount: None });
        self
    }

    /// Buys exactly an amount of a token, in atomic units, for as little as possible of [`pay_with`](Self::pay_with).
    #[must_use]
    pub fn buy_exactly(mut self, token: Address, amount: U256) -> Self {
        self.outputs.push(Output { chain_id: 1, address: token, ratio_bps: None, amount: Some(amount) });
        self
    }

    /// Pays a purchase with a token.
    #[must_use]
    pub fn pay_with(mut self, token: Address) -> Self {
        self.inputs.push(Input { chain_id: 1, address: token, amount: None });
        self
    }
}

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BuildRequest {
    /// The quote.
    pub quote_id: String,
    /// The taker's signature of the quote's typed data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permit2_signature: Option<Bytes>,
    /// Whether to simulate the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulate: Option<bool>,
    /// The last second at which the transaction may run, unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<u64>,
}

impl BuildRequest {
    /// A build of a quote.
    pub fn new(quote_id: impl Into<String>) -> Self {
        Self { quote_id: quote_id.into(), permit2_signature: None, simulate: None, deadline: None }
    }

    /// With a signature, if there is one.
    #[must_use]
    pub fn signed(self, signature: Option<Bytes>) -> Self {
        Self { permit2_signature: signature, ..self }
    }

    /// With a simulation.
    #[must_use]
    pub fn simulated(self) -> Self {
        Self { simulate: Some(true), ..self }
    }
}

fn decimal<S: Serializer>(amount: &Option<U256>, serializer: S) -> Result<S::Ok, S::Error> {
    match amount {
        Some(amount) => serializer.collect_str(amount),
        None => serializer.serialize_none(),
    }
}
