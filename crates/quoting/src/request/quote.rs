//! The quote request.

use braid_execution::{MAX_PARTNER_FEE_BPS, PartnerFee};
use braid_primitives::{Address, BPS, GasTier, U256};

use super::{AskedToken, Rules};
use crate::json::{Item, Json, Object, Reader};
use crate::problem::{FieldCode, Problem};

/// Most inputs, and most outputs, of one quote.
pub const MAX_ENTRIES: usize = 6;

/// Longest `exclude_pools`, `exclude_protocols` and `include_protocols`.
const MAX_FILTERS: usize = 256;

/// The fields that a quote request may have.
pub const QUOTE_FIELDS: &[&str] = &[
    "inputs",
    "outputs",
    "taker",
    "slippage_tolerance_bps",
    "recipient",
    "max_hops",
    "exclude_protocols",
    "include_protocols",
    "exclude_pools",
    "gas_priority",
    "simulate",
    "check_allowances",
    "include_permit2",
    "include_usd_pricing",
    "explain",
    "partner_fee",
];

/// A token to sell and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputEntry {
    /// The token.
    pub token: AskedToken,
    /// Atomic units, above zero.
    pub amount: U256,
}

/// A token to buy and its share of the output's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputEntry {
    /// The token.
    pub token: AskedToken,
    /// Basis points, 1 to 10000; all entries sum to 10000.
    pub ratio_bps: u16,
}

/// A quote request that keeps every rule which needs no market to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteRequest {
    /// 1 to 6 distinct tokens.
    pub inputs: Vec<InputEntry>,
    /// 1 to 6 distinct tokens, none of them an input.
    pub outputs: Vec<OutputEntry>,
    /// Who holds the inputs and sends the transaction.
    pub taker: Address,
    /// Who receives the outputs.
    pub recipient: Address,
    /// Basis points, 0 to 5000.
    pub slippage_tolerance_bps: u16,
    /// Longest chain of steps, 1 to 8.
    pub max_hops: u8,
    /// Names of protocols or families to leave out; may be unknown.
    pub exclude_protocols: Vec<String>,
    /// Names of the only protocols or families to use, if given.
    pub include_protocols: Option<Vec<String>>,
    /// Pools to leave out.
    pub exclude_pools: Vec<Address>,
    /// The tier that prices gas.
    pub gas_priority: GasTier,
    /// Whether a simulation is asked for.
    pub simulate: bool,
    /// Whether to read the taker's balances and allowances.
    pub check_allowances: bool,
    /// Whether to make Permit2 typed data.
    pub include_permit2: bool,
    /// Whether to give dollar values.
    pub include_usd_pricing: bool,
    /// Whether to explain the route.
    pub explain: bool,
    /// The integrator's fee.
    pub partner_fee: Option<PartnerFee>,
}

impl QuoteRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// A problem that names every wrong field.
    pub fn read(body: &Json, rules: &Rules) -> Result<Self, Problem> {
        let mut reader = Reader::default();
        let request = reader.object(body, "", QUOTE_FIELDS).and_then(|object| read(&mut reader, &object, rules));
        reader.finish(request)
    }
}

fn read(r: &mut Reader, object: &Object<'_>, rules: &Rules) -> Option<QuoteRequest> {
    // every field is read before any is given up on, so that all mistakes are found
    let inputs = entries(r, object, "inputs", input);
    let outputs = entries(r, object, "outputs", output);
    check_tokens(r, inputs.as_deref(), outputs.as_deref());
    check_ratios(r, outputs.as_deref());
    let taker = r.required(object, "taker").and_then(|item| r.account(&item, rules));
    let recipient = optional(object, "recipient", taker, |item| r.account(&item, rules).map(Some));
    let slippage_tolerance_bps = optional(object, "slippage_tolerance_bps", 100, |item| r.integer(&item, 0, 5_000));
    let max_hops = optional(object, "max_hops", 4, |item| r.integer(&item, 1, 8));
    let exclude_protocols = optional(object, "exclude_protocols", Vec::new(), |item| names(r, &item));
    let include_protocols = optional(object, "include_protocols", None, |item| names(r, &item).map(Some));
    let exclude_pools = optional(object, "exclude_pools", Vec::new(), |item| addresses(r, &item));
    let gas_priority = optional(object, "gas_priority", GasTier::Standard, |item| tier(r, &item));
    let simulate = optional(object, "simulate", false, |item| r.flag(&item));
    let check_allowances = optional(object, "check_allowances", true, |item| r.flag(&item));
    let include_permit2 = optional(object, "include_permit2", true, |item| r.flag(&item));
    let include_usd_pricing = optional(object, "include_usd_pricing", false, |item| r.flag(&item));
    let explain = optional(object, "explain", false, |item| r.flag(&item));
    let partner_fee = optional(object, "partner_fee", None, |item| partner_fee(r, &item, rules).map(Some));
    Some(QuoteRequest {
        inputs: inputs?.into_iter().collect::<Option<_>>()?,
        outputs: outputs?.into_iter().collect::<Option<_>>()?,
        taker: taker?,
        recipient: recipient??,
        slippage_tolerance_bps: slippage_tolerance_bps?,
        max_hops: max_hops?,
        exclude_protocols: exclude_protocols?,
        include_protocols: include_protocols?,
        exclude_pools: exclude_pools?,
        gas_priority: gas_priority?,
        simulate: simulate?,
        check_allowances: check_allowances?,
        include_permit2: include_permit2?,
        include_usd_pricing: include_usd_pricing?,
        explain: explain?,
        partner_fee: partner_fee?,
    })
}

/// The field's value, or the default where it is absent; `None` where it is wrong.
fn optional<T>(object: &Object<'_>, name: &str, default: T, read: impl FnOnce(Item<'_>) -> Option<T>) -> Option<T> {
    match object.get(name) {
        Some(item) => read(item),
        None => Some(default),
    }
}

/// The entries of `inputs` or `outputs`; an entry that is wrong is `None`, so that the others can still be checked.
fn entries<T>(
    r: &mut Reader,
    object: &Object<'_>,
    name: &str,
    read: impl Fn(&mut Reader, &Item<'_>) -> Option<T>,
) -> Option<Vec<Option<T>>> {
    let list = r.required(object, name)?;
    let items = r.list(&list, 1, MAX_ENTRIES)?;
    Some(items.iter().map(|item| read(r, item)).collect())
}

fn input(r: &mut Reader, item: &Item<'_>) -> Option<InputEntry> {
    let object = r.object(item.value, &item.pointer, &["chain_id", "address", "amount"])?;
    let chain = r.chain(&object);
    let address = r.required(&object, "address").and_then(|item| r.address(&item));
    let amount = r.required(&object, "amount").and_then(|item| r.amount(&item));
    chain.and(Some(InputEntry { token: AskedToken::new(address?), amount: amount? }))
}

fn output(r: &mut Reader, item: &Item<'_>) -> Option<OutputEntry> {
    let object = r.object(item.value, &item.pointer, &["chain_id", "address", "ratio_bps", "amount"])?;
    let chain = r.chain(&object);
    let address = r.required(&object, "address").and_then(|item| r.address(&item));
    if let Some(amount) = object.get("amount") {
        let detail = "an output with an exact amount is not part of v1; give ratio_bps";
        r.wrong(&amount.pointer, FieldCode::ExactOutputUnsupported, detail);
    }
    let ratio_bps = r.required(&object, "ratio_bps").and_then(|item| r.integer(&item, 1, i128::from(BPS)));
    chain.and(Some(OutputEntry { token: AskedToken::new(address?), ratio_bps: ratio_bps? }))
}

fn check_tokens(r: &mut Reader, inputs: Option<&[Option<InputEntry>]>, outputs: Option<&[Option<OutputEntry>]>) {
    let sold: Vec<_> = inputs.unwrap_or(&[]).iter().map(|entry| entry.map(|e| e.token.address)).collect();
    let bought: Vec<_> = outputs.unwrap_or(&[]).iter().map(|entry| entry.map(|e| e.token.address)).collect();
    for (side, tokens) in [("inputs", &sold), ("outputs", &bought)] {
        for (index, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_some()) {
            let pointer = format!("/{side}/{index}/address");
            if tokens.iter().take(index).any(|earlier| earlier == token) {
                r.wrong(&pointer, FieldCode::TokenDuplicate, format!("the token is named twice in {side}"));
            } else if side == "outputs" && sold.contains(token) {
                r.wrong(&pointer, FieldCode::TokenOnBothSides, "the token is an input too");
            }
        }
    }
}

fn check_ratios(r: &mut Reader, outputs: Option<&[Option<OutputEntry>]>) {
    let Some(outputs) = outputs.filter(|list| !list.is_empty()) else { return };
    let ratios: Option<Vec<u64>> = outputs.iter().map(|entry| entry.map(|e| u64::from(e.ratio_bps))).collect();
    let Some(sum) = ratios.map(|ratios| ratios.iter().sum::<u64>()) else { return };
    if sum != BPS {
        r.wrong("/outputs", FieldCode::RatioSumInvalid, format!("ratio_bps must sum to {BPS}, got {sum}"));
    }
}

fn tier(r: &mut Reader, item: &Item<'_>) -> Option<GasTier> {
    let found = GasTier::from_name(r.text(item)?);
    if found.is_none() {
        r.wrong(&item.pointer, FieldCode::ValueUnknown, "expected slow, standard, fast or urgent");
    }
    found
}

fn names(r: &mut Reader, item: &Item<'_>) -> Option<Vec<String>> {
    let items = r.list(item, 0, MAX_FILTERS)?;
    items.iter().map(|item| r.text(item).map(str::to_owned)).collect()
}

fn addresses(r: &mut Reader, item: &Item<'_>) -> Option<Vec<Address>> {
    let items = r.list(item, 0, MAX_FILTERS)?;
    items.iter().map(|item| r.address(item)).collect()
}

fn partner_fee(r: &mut Reader, item: &Item<'_>, rules: &Rules) -> Option<PartnerFee> {
    let known = ["partner_fee_bps", "partner_recipient", "partner_fee_on_output"];
    let object = r.object(item.value, &item.pointer, &known)?;
    let bps = r.required(&object, "partner_fee_bps").and_then(|item| fee_bps(r, &item));
    let recipient = r.required(&object, "partner_recipient").and_then(|item| r.account(&item, rules));
    let on_output = optional(&object, "partner_fee_on_output", false, |item| r.flag(&item));
    Some(PartnerFee { bps: bps?, recipient: recipient?, on_output: on_output? })
}

fn fee_bps(r: &mut Reader, item: &Item<'_>) -> Option<u16> {
    let cap = i128::from(MAX_PARTNER_FEE_BPS);
    match item.value {
        Json::Integer(bps) if *bps > cap => {
            r.wrong(&item.pointer, FieldCode::PartnerFeeExceedsCap, format!("expected 1 to {cap}, got {bps}"));
            None
        }
        _ => r.integer(item, 1, cap),
    }
}
