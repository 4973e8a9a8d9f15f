//! Requests in the document. What reads them is `braid_quoting::request`, which tells every mistake at once; a test holds the two together.
#![allow(dead_code, reason = "these types are read by the document's generator alone")]

use utoipa::ToSchema;

/// Names of the request schemas: their fields may be left out where they have a default.
pub const NAMES: [&str; 8] = [
    "QuoteBody",
    "InputBody",
    "OutputBody",
    "PartnerFeeBody",
    "BuildBody",
    "BalancesBody",
    "AllowancesBody",
    "AllowanceBody",
];

/// What to swap.
#[derive(Clone, Debug, ToSchema)]
pub struct QuoteBody {
    /// Tokens to sell, all different.
    #[schema(min_items = 1, max_items = 6)]
    inputs: Vec<InputBody>,
    /// Tokens to buy, all different, none of them an input. Their `ratio_bps` sum to 10000.
    #[schema(min_items = 1, max_items = 6)]
    outputs: Vec<OutputBody>,
    /// Who holds the inputs and sends the transaction.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    taker: String,
    /// Largest acceptable slippage, in basis points. Default 100.
    #[schema(minimum = 0, maximum = 5000)]
    slippage_tolerance_bps: Option<u16>,
    /// Who receives the outputs. Default: the taker.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    recipient: Option<String>,
    /// Longest chain of steps from an input to an output. Default 4.
    #[schema(minimum = 1, maximum = 8)]
    max_hops: Option<u8>,
    /// Ids or family names of protocols to leave out; unknown ones are told in `issues`.
    #[schema(max_items = 256)]
    exclude_protocols: Option<Vec<String>>,
    /// Ids or family names of the only protocols to use.
    #[schema(max_items = 256)]
    include_protocols: Option<Vec<String>>,
    /// Addresses of pools to leave out.
    #[schema(max_items = 256)]
    exclude_pools: Option<Vec<String>>,
    /// `slow`, `standard` (default), `fast` or `urgent`.
    #[schema(pattern = "^(slow|standard|fast|urgent)$")]
    gas_priority: Option<String>,
    /// Simulate the transaction. Default false.
    simulate: Option<bool>,
    /// Read the taker's balances and allowances. Default true.
    check_allowances: Option<bool>,
    /// Make Permit2 typed data. Default true.
    include_permit2: Option<bool>,
    /// Give dollar values. Default false.
    include_usd_pricing: Option<bool>,
    /// Explain the route. Default false.
    explain: Option<bool>,
    /// A fee for the integrator. Default none.
    partner_fee: Option<PartnerFeeBody>,
}

/// A token to sell.
#[derive(Clone, Debug, ToSchema)]
pub struct InputBody {
    /// Always 1.
    #[schema(minimum = 1, maximum = 1)]
    chain_id: u64,
    /// Token; `0xEeee…EEeE` or the zero address for ether.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    address: String,
    /// Atomic units, decimal, above zero.
    #[schema(pattern = "^[1-9][0-9]{0,77}$")]
    amount: String,
}

/// A token to buy.
#[derive(Clone, Debug, ToSchema)]
pub struct OutputBody {
    /// Always 1.
    #[schema(minimum = 1, maximum = 1)]
    chain_id: u64,
    /// Token; `0xEeee…EEeE` or the zero address for ether.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    address: String,
    /// Share of the total output value, in basis points.
    #[schema(minimum = 1, maximum = 10000)]
    ratio_bps: u16,
}

/// A fee for the integrator, paid in the same transaction.
#[derive(Clone, Debug, ToSchema)]
pub struct PartnerFeeBody {
    /// Basis points.
    #[schema(minimum = 1, maximum = 300)]
    partner_fee_bps: u16,
    /// Who gets it.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    partner_recipient: String,
    /// Taken from each output instead of from each input. Default false.
    partner_fee_on_output: Option<bool>,
}

/// What to build.
#[derive(Clone, Debug, ToSchema)]
pub struct BuildBody {
    /// The quote.
    #[schema(format = Uuid)]
    quote_id: String,
    /// The taker's signature of the quote's `permit2.eip712`.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$")]
    permit2_signature: Option<String>,
    /// Simulate the transaction. Default false.
    simulate: Option<bool>,
    /// The last second at which the transaction may run, unix seconds.
    #[schema(minimum = 1)]
    deadline: Option<u64>,
}

/// Whose balances to read.
#[derive(Clone, Debug, ToSchema)]
pub struct BalancesBody {
    /// Always 1.
    #[schema(minimum = 1, maximum = 1)]
    chain_id: u64,
    /// The account.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    owner: String,
    /// Token addresses.
    #[schema(min_items = 1, max_items = 100)]
    tokens: Vec<String>,
}

/// Whose allowances to read.
#[derive(Clone, Debug, ToSchema)]
pub struct AllowancesBody {
    /// Always 1.
    #[schema(minimum = 1, maximum = 1)]
    chain_id: u64,
    /// The account.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    owner: String,
    /// What to read.
    #[schema(min_items = 1, max_items = 100)]
    allowances: Vec<AllowanceBody>,
}

/// A token and who may take it.
#[derive(Clone, Debug, ToSchema)]
pub struct AllowanceBody {
    /// Token.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    token: String,
    /// Who may take it.
    #[schema(pattern = "^0x[0-9a-fA-F]{40}$")]
    spender: String,
}
