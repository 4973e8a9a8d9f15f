//! The quote request.

use braid_execution::PartnerFee;
use braid_primitives::{Address, BPS, GasTier, NATIVE_ETHER, PoolKey, U256, WETH};
use braid_protocols::Product;
use serde::{Deserialize, Serialize};

use super::declare::{Request as _, request};
use super::kind::{Account, Amount, Chain, FeeBps, Flag, Integer, Kind, List, Pool, Text, Tier, Token, nested};
use super::parse::AskedToken;
use crate::json::{Json, Object, Reader};
use crate::problem::{FieldCode, FieldError, Problem};

/// Most inputs, and most outputs, of a quote.
pub const MAX_ENTRIES: usize = 6;

/// Longest `ttl_s`, in seconds.
pub const MAX_TTL_S: u16 = 900;

/// Largest `max_hops`.
pub const MAX_HOPS: u8 = 8;

/// `max_hops` of a request that does not state it.
pub const DEFAULT_HOPS: u8 = 4;

/// Longest `exclude_pools`, `exclude_protocols` and `include_protocols`.
const MAX_FILTERS: usize = 256;

/// The whole output value, in basis points.
const ALL_BPS: u16 = 10_000;

/// The share of an output, in basis points.
const SHARE: Integer<u16> = Integer(1..=ALL_BPS);

/// The approvals that an answer lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    /// All, satisfied or not.
    #[default]
    All,
    /// Those that are not known to be satisfied.
    Missing,
}

request! {
    /// A swap to quote.
    pub struct QuoteRequest as "QuoteBody" {
        /// Tokens to sell, all different.
        pub inputs: Vec<InputEntry> = List(nested::<InputEntry>(), 1..=MAX_ENTRIES), required, then check_amounts;
        /// Tokens to buy, all different, none of them an input. Their `ratio_bps` sum to 10000. Or the only output has an exact `amount`,
        /// and the only input has none: then the least input is sold for it.
        pub outputs: Vec<OutputEntry> = List(nested::<OutputEntry>(), 1..=MAX_ENTRIES), required, then check_entries;
        /// Account that holds the inputs and sends the transaction.
        pub taker: Address = Account, required;
        /// Account that receives the outputs; not the contract of one of them, nor that of wrapped ether for an output in ether, where it would
        /// be lost. Default: the taker.
        pub recipient: Address = Account, like(taker), then check_recipient;
        /// Largest acceptable slippage, in basis points, of the outputs, or of the input for an exact output. Default 100.
        pub slippage_tolerance_bps: u16 = Integer(0..=5_000_u16), default(100);
        /// Most pools on a path from an input to an output; wrapping ether does not count. Where paths of a route share a token, tokens may
        /// cross from one to the other and pass more. Default 4.
        pub max_hops: u8 = Integer(1..=MAX_HOPS), default(DEFAULT_HOPS);
        /// Most steps in the route, wrapping ether included. Default 40; up to 64 are accepted, and more than 40 count as 40.
        pub max_steps: Option<u16> = Integer(1..=64_u16), optional;
        /// Ids or family names of protocols to exclude; `issues` lists the unknown ones. `wrapped_ether` stays usable.
        pub exclude_protocols: Vec<String> = List(Text, 0..=MAX_FILTERS), default(Vec::new());
        /// Ids or family names of the only protocols to use; `issues` lists the unknown ones. They are an error if there is no route.
        pub include_protocols: Option<Vec<String>> = List(Text, 0..=MAX_FILTERS), optional;
        /// Pools to exclude: a contract's address and, if the contract holds many pools, a slash and the pool's id. Without an id all pools of
        /// such a contract are excluded. A warning lists the unknown ones.
        pub exclude_pools: Vec<PoolKey> = List(Pool, 0..=MAX_FILTERS), default(Vec::new());
        /// `slow`, `standard` (default), `fast` or `urgent`.
        pub gas_priority: GasTier = Tier, default(GasTier::Standard);
        /// Seconds for which the quote can be built, and for which a built transaction can run at least: time for multisigs and hardware wallets.
        /// Prices move more in a longer time: see the warning `LONG_TTL`. Default: the service's lifetime of quotes, 120 unless configured.
        pub ttl_s: Option<u16> = Integer(10..=MAX_TTL_S), optional;
        /// Simulate the transaction. Default false.
        pub simulate: bool = Flag, default(false);
        /// Read the taker's balances and allowances. Default true. With an explicit `true`, `approvals` lists only those not known to be satisfied.
        "check_allowances" => pub asked_check_allowances: Option<bool> = Flag, optional;
        /// Make Permit2 typed data. Default true.
        pub include_permit2: bool = Flag, default(true);
        /// Give dollar values. Default false.
        pub include_usd_pricing: bool = Flag, default(false);
        /// Explain the route. Default false.
        pub explain: bool = Flag, default(false);
        /// A fee for the integrator. Default none.
        pub partner_fee: Option<PartnerFeeRequest> = nested::<PartnerFeeRequest>(), optional, then check_partner;
    }

    /// A token to sell.
    pub struct InputEntry as "InputBody" {
        /// Always 1.
        pub chain_id: u64 = Chain, required;
        /// Token; `0xEeee…EEeE` or the zero address for ether.
        "address" => pub token: AskedToken = Token, required;
        /// Atomic units, decimal, above zero. Required, but not allowed if the output is exact.
        pub amount: Option<U256> = Amount, optional;
    }

    /// A token to buy.
    pub struct OutputEntry as "OutputBody" {
        /// Always 1.
        pub chain_id: u64 = Chain, required;
        /// Token; `0xEeee…EEeE` or the zero address for ether.
        "address" => pub token: AskedToken = Token, required;
        /// Share of the total output value, in basis points. Required, unless the output is exact.
        pub ratio_bps: Option<u16> = SHARE, optional;
        /// Exact output, instead of `ratio_bps`: the least that the recipient gets, in atomic units, decimal, above zero.
        pub amount: Option<U256> = Amount, optional;
    }

    /// A fee for the integrator, paid in the same transaction.
    pub struct PartnerFeeRequest as "PartnerFeeBody" {
        /// Basis points.
        "partner_fee_bps" => pub bps: u16 = FeeBps, required;
        /// Account that receives the fee; not the contract of a token that the fee is taken in, nor that of wrapped ether for a fee in ether,
        /// where it would be lost.
        "partner_recipient" => pub recipient: Address = Account, required;
        /// Take the fee from each output instead of from each input. Default false.
        "partner_fee_on_output" => pub on_output: bool = Flag, default(false);
    }
}

impl QuoteRequest {
    /// Returns whether to read the taker's balances and allowances.
    pub fn check_allowances(&self) -> bool {
        self.asked_check_allowances.unwrap_or(true)
    }

    /// Returns the approvals that answers list.
    pub fn listed(&self) -> Listed {
        if self.asked_check_allowances == Some(true) { Listed::Missing } else { Listed::All }
    }

    /// Returns whether the request excludes the wrapping of ether.
    pub fn excludes_wrapping(&self) -> bool {
        let products = self.exclude_protocols.iter().flat_map(|name| Product::named(name));
        products.into_iter().any(|product| product.wraps_ether())
    }

    /// Lists every token, inputs first, with the JSON pointer of its address.
    pub fn tokens(&self) -> impl Iterator<Item = (String, AskedToken)> {
        let inputs = self.inputs.iter().map(|entry| entry.token).enumerate();
        let outputs = self.outputs.iter().map(|entry| entry.token).enumerate();
        let inputs = inputs.map(|(index, token)| (format!("/inputs/{index}/address"), token));
        inputs.chain(outputs.map(|(index, token)| (format!("/outputs/{index}/address"), token)))
    }

    /// Refuses the request if `wrong` returns a reason for one of its tokens.
    ///
    /// # Errors
    /// A problem with a field error of this code for each such token.
    pub fn check_tokens(&self, code: FieldCode, wrong: impl Fn(AskedToken) -> Option<String>) -> Result<(), Problem> {
        let errors = self.tokens().filter_map(|(pointer, token)| Some(FieldError::new(pointer, code, wrong(token)?)));
        let errors: Vec<FieldError> = errors.collect();
        if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
    }

    /// Returns the amount of an exact output.
    pub fn exact_output(&self) -> Option<U256> {
        self.outputs.first()?.amount
    }

    /// Returns the quote's lifetime in milliseconds; `service_ttl_ms` is the service's default.
    pub fn ttl_ms(&self, service_ttl_ms: u64) -> u64 {
        self.ttl_s.map_or(service_ttl_ms, |asked| u64::from(asked) * 1_000)
    }

    /// Returns the fee as the proxy takes it.
    pub fn fee(&self) -> Option<PartnerFee> {
        let fee = self.partner_fee.as_ref()?;
        Some(PartnerFee { bps: fee.bps, recipient: fee.recipient, on_output: fee.on_output })
    }
}

impl OutputEntry {
    /// Returns its share of the total output value, in basis points: 10000 for an exact output.
    pub fn share_bps(&self) -> u16 {
        self.ratio_bps.unwrap_or(ALL_BPS)
    }
}

/// A list of the request, with the names of its entries' fields.
#[derive(Clone, Copy)]
struct Side {
    name: &'static str,
    fields: &'static [&'static str],
}

const INPUTS: Side = Side { name: "inputs", fields: InputEntry::FIELDS };

const OUTPUTS: Side = Side { name: "outputs", fields: OutputEntry::FIELDS };

/// Checks inputs and outputs against each other, as far as they are readable.
fn check_entries(r: &mut Reader, object: &Object<'_>) {
    let [sold, bought] = [INPUTS, OUTPUTS].map(|side| tokens(object, side));
    for (side, tokens) in [(INPUTS, &sold), (OUTPUTS, &bought)] {
        for (index, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_some()) {
            let pointer = format!("/{}/{index}/address", side.name);
            if tokens.iter().take(index).any(|earlier| earlier == token) {
                let detail = format!("the token is named twice in {}", side.name);
                r.wrong(&pointer, FieldCode::TokenDuplicate, detail);
            } else if side.name == OUTPUTS.name && sold.contains(token) {
                r.wrong(&pointer, FieldCode::TokenOnBothSides, "the token is an input too");
            }
        }
    }
    check_shares(r, object);
}

/// Checks that the recipient does not lose an output.
fn check_recipient(r: &mut Reader, object: &Object<'_>) {
    let Some(item) = object.get("recipient") else { return };
    let Some(recipient) = Account.read(&mut Reader::default(), &item) else { return };
    if tokens(object, OUTPUTS).into_iter().flatten().any(|token| loses(recipient, token)) {
        let detail = "the contract of an output token, or of wrapped ether for ether, is not allowed here: what it receives is lost";
        r.wrong(&item.pointer, FieldCode::AddressForbidden, detail);
    }
}

/// Checks that the partner does not lose the fee in a token that it is taken in.
fn check_partner(r: &mut Reader, object: &Object<'_>) {
    let mut again = Reader::default();
    let Some(item) = object.get("partner_fee") else { return };
    let Some(fee) = again.object(item.value, &item.pointer, PartnerFeeRequest::FIELDS) else { return };
    let Some(recipient) = fee.get("partner_recipient").and_then(|item| Account.read(&mut again, &item)) else { return };
    let on_output = fee.get("partner_fee_on_output").map_or(Some(false), |item| Flag.read(&mut again, &item));
    let side = match on_output {
        Some(true) => OUTPUTS,
        Some(false) => INPUTS,
        None => return,
    };
    if tokens(object, side).into_iter().flatten().any(|token| loses(recipient, token)) {
        let detail = "the contract of a token that the fee is taken in, or of wrapped ether for ether, is not allowed here: what it receives is lost";
        r.wrong(&format!("{}/partner_recipient", item.pointer), FieldCode::AddressForbidden, detail);
    }
}

/// Returns whether what an account receives of a token is lost: the account is the token's contract, or that of wrapped ether,
/// which credits ether to its sender, the proxy.
fn loses(account: Address, token: Address) -> bool {
    account == token || (account == WETH && token == NATIVE_ETHER)
}

/// Checks that every input has an amount or, for an exact output, that the only input has none.
fn check_amounts(r: &mut Reader, object: &Object<'_>) {
    let given = given(object, INPUTS, "amount");
    if !is_exact(object) {
        record(r, &given, false, (INPUTS, "amount"), FieldCode::Required, "amount is required");
        return;
    }
    check_alone(r, object, INPUTS);
    let detail = "remove the input's amount: the output's is exact, and the answer states how much is sold at most";
    record(r, &given, true, (INPUTS, "amount"), FieldCode::AmountConflict, detail);
}

/// Checks that every output has a share and that the shares sum to 10000 or, for an exact output, that it is the only
/// one and has no share.
fn check_shares(r: &mut Reader, object: &Object<'_>) {
    let given = given(object, OUTPUTS, "ratio_bps");
    if is_exact(object) {
        check_alone(r, object, OUTPUTS);
        let detail = "an output has an exact amount or a share, not both";
        record(r, &given, true, (OUTPUTS, "ratio_bps"), FieldCode::AmountConflict, detail);
        return;
    }
    let detail = "ratio_bps is required, or an exact amount";
    record(r, &given, false, (OUTPUTS, "ratio_bps"), FieldCode::Required, detail);
    if let Some(sum) = sum_of_shares(object)
        && sum != BPS
    {
        r.wrong("/outputs", FieldCode::RatioSumInvalid, format!("ratio_bps must sum to {BPS}, got {sum}"));
    }
}

/// Sums the shares of all outputs; `None` if one is absent or wrong, or there are no outputs, or more than are read.
fn sum_of_shares(object: &Object<'_>) -> Option<u64> {
    let ratios: Vec<u16> = each(object, OUTPUTS, "ratio_bps", &SHARE).into_iter().collect::<Option<_>>()?;
    let are_all_read = !ratios.is_empty() && ratios.len() == count(object, OUTPUTS);
    are_all_read.then(|| ratios.into_iter().map(u64::from).sum())
}

fn check_alone(r: &mut Reader, object: &Object<'_>, side: Side) {
    let count = count(object, side);
    if count > 1 {
        let detail = format!("an exact output needs one input and one output, got {count}");
        r.wrong(&format!("/{}", side.name), FieldCode::ExactOutputUnsupported, detail);
    }
}

/// Returns whether an output has an exact amount, readable or not.
fn is_exact(object: &Object<'_>) -> bool {
    given(object, OUTPUTS, "amount").contains(&Some(true))
}

/// Records a mistake at every entry that has a field (`wrong`), or at every one that lacks it (`!wrong`).
fn record(
    r: &mut Reader,
    given: &[Option<bool>],
    wrong: bool,
    (side, name): (Side, &str),
    code: FieldCode,
    detail: &str,
) {
    for (index, _) in given.iter().enumerate().filter(|(_, has)| **has == Some(wrong)) {
        r.wrong(&format!("/{}/{index}/{name}", side.name), code, detail);
    }
}

/// Returns the token of each entry; `None` where it cannot be read.
fn tokens(object: &Object<'_>, side: Side) -> Vec<Option<Address>> {
    each(object, side, "address", &Token).into_iter().map(|token| Some(token?.address)).collect()
}

/// Reads one field of each entry, whatever is wrong with the others; `None` where it is absent or wrong.
fn each<K: Kind>(object: &Object<'_>, side: Side, name: &str, kind: &K) -> Vec<Option<K::Value>> {
    let mut again = Reader::default();
    let read = |entry: Option<Object<'_>>| kind.read(&mut again, &entry?.get(name)?);
    entries(object, side).into_iter().map(read).collect()
}

/// Returns for each entry whether it has a field, readable or not; `None` for an entry that is no object.
fn given(object: &Object<'_>, side: Side, name: &str) -> Vec<Option<bool>> {
    entries(object, side).into_iter().map(|entry| Some(entry?.get(name).is_some())).collect()
}

/// Opens the entries of a list, up to the most that a request may have; `None` for one that is no object. Mistakes are
/// recorded already.
fn entries<'a>(object: &Object<'a>, side: Side) -> Vec<Option<Object<'a>>> {
    let mut again = Reader::default();
    let items = object.get(side.name).and_then(|list| again.list(&list, 1, MAX_ENTRIES)).unwrap_or_default();
    items.iter().map(|item| again.object(item.value, &item.pointer, side.fields)).collect()
}

/// Returns the number of entries of a list, including those beyond the most that a request may have.
fn count(object: &Object<'_>, side: Side) -> usize {
    match object.get(side.name).map(|item| item.value) {
        Some(Json::List(entries)) => entries.len(),
        _ => 0,
    }
}
