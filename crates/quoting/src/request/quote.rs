//! The quote request.

use braid_execution::PartnerFee;
use braid_primitives::{Address, BPS, GasTier, PoolKey, U256};
use braid_protocols::Product;
use serde::{Deserialize, Serialize};

use super::declare::{Request as _, request};
use super::kind::{Account, Amount, Chain, FeeBps, Flag, Integer, Kind as _, List, Pool, Text, Tier, Token, nested};
use super::parse::AskedToken;
use crate::json::{Item, Object, Reader};
use crate::problem::{FieldCode, FieldError, Problem};

/// Most inputs, and most outputs, of one quote.
pub const MAX_ENTRIES: usize = 6;

/// The longest time that a request may ask for, in seconds.
pub const MAX_TTL_S: u16 = 900;

/// Longest `exclude_pools`, `exclude_protocols` and `include_protocols`.
const MAX_FILTERS: usize = 256;

/// All of an output's value, in basis points.
const ALL_BPS: u16 = 10_000;

/// Which approvals an answer lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    /// Every one, in place or not.
    #[default]
    All,
    /// Those that are not known to be in place.
    Missing,
}

request! {
    /// What to swap.
    pub struct QuoteRequest as "QuoteBody" {
        /// Tokens to sell, all different.
        pub inputs: Vec<InputEntry> = List(nested::<InputEntry>(), 1..=MAX_ENTRIES), required, then check_amounts;
        /// Tokens to buy, all different, none of them an input. Their `ratio_bps` sum to 10000; or one output has an exact `amount`,
        /// and the one input has none: then as little as possible is sold for it.
        pub outputs: Vec<OutputEntry> = List(nested::<OutputEntry>(), 1..=MAX_ENTRIES), required, then check_entries;
        /// Who holds the inputs and sends the transaction.
        pub taker: Address = Account, required;
        /// Who receives the outputs. Default: the taker.
        pub recipient: Address = Account, like(taker);
        /// Largest acceptable slippage, in basis points: how much less may be paid, or for an exact output how much more may be sold. Default 100.
        pub slippage_tolerance_bps: u16 = Integer(0..=5_000_u16), default(100);
        /// Longest chain of steps from an input to an output. Default 4.
        pub max_hops: u8 = Integer(1..=8_u8), default(4);
        /// Most steps in the route, wrapping ether included. Default and maximum: what the service allows, 40 unless it is configured.
        pub max_steps: Option<u16> = Integer(1..=64_u16), optional;
        /// Ids or family names of protocols to exclude, but not `wrapped_ether`; `issues` lists the unknown ones.
        pub exclude_protocols: Vec<String> = List(Text, 0..=MAX_FILTERS), default(Vec::new()), then check_excluded;
        /// Ids or family names of the only protocols to use; `issues` lists the unknown ones, which are an error where there is no route without them.
        pub include_protocols: Option<Vec<String>> = List(Text, 0..=MAX_FILTERS), optional;
        /// Pools to exclude: a contract's address, and a slash and the pool's id where the contract holds many.
        pub exclude_pools: Vec<PoolKey> = List(Pool, 0..=MAX_FILTERS), default(Vec::new());
        /// `slow`, `standard` (default), `fast` or `urgent`.
        pub gas_priority: GasTier = Tier, default(GasTier::Standard);
        /// Seconds for which the quote can be built, and then for which its order is good at least: time for multisigs and hardware wallets.
        /// Prices move the further the longer that is, of which the warning `LONG_TTL` tells. Default: what the service sets, 120 unless it is configured.
        pub ttl_s: Option<u16> = Integer(10..=MAX_TTL_S), optional;
        /// Simulate the transaction. Default false.
        pub simulate: bool = Flag, default(false);
        /// Read the taker's balances and allowances. Default true. Where `true` is given, `approvals` lists only what is not known to be in place.
        "check_allowances" => pub asked_check_allowances: Option<bool> = Flag, optional;
        /// Make Permit2 typed data. Default true.
        pub include_permit2: bool = Flag, default(true);
        /// Give dollar values. Default false.
        pub include_usd_pricing: bool = Flag, default(false);
        /// Explain the route. Default false.
        pub explain: bool = Flag, default(false);
        /// A fee for the integrator. Default none.
        pub partner_fee: Option<PartnerFeeRequest> = nested::<PartnerFeeRequest>(), optional;
    }

    /// A token to sell.
    pub struct InputEntry as "InputBody" {
        /// Always 1.
        pub chain_id: u64 = Chain, required;
        /// Token; `0xEeee…EEeE` or the zero address for ether.
        "address" => pub token: AskedToken = Token, required;
        /// Atomic units, decimal, above zero. Required, unless the output is exact: then leave it out.
        pub amount: Option<U256> = Amount, optional;
    }

    /// A token to buy.
    pub struct OutputEntry as "OutputBody" {
        /// Always 1.
        pub chain_id: u64 = Chain, required;
        /// Token; `0xEeee…EEeE` or the zero address for ether.
        "address" => pub token: AskedToken = Token, required;
        /// Share of the total output value, in basis points. Required, unless the output is exact.
        pub ratio_bps: Option<u16> = Integer(1..=10_000_u16), optional;
        /// Exact output: the least that the recipient gets, in atomic units, decimal, above zero. In place of `ratio_bps`.
        pub amount: Option<U256> = Amount, optional;
    }

    /// A fee for the integrator, paid in the same transaction.
    pub struct PartnerFeeRequest as "PartnerFeeBody" {
        /// Basis points.
        "partner_fee_bps" => pub bps: u16 = FeeBps, required;
        /// Who gets it.
        "partner_recipient" => pub recipient: Address = Account, required;
        /// Taken from each output instead of from each input. Default false.
        "partner_fee_on_output" => pub on_output: bool = Flag, default(false);
    }
}

impl QuoteRequest {
    /// Returns whether to read the taker's balances and allowances.
    pub fn check_allowances(&self) -> bool {
        self.asked_check_allowances.unwrap_or(true)
    }

    /// Returns which approvals the answers list.
    pub fn listed(&self) -> Listed {
        if self.asked_check_allowances == Some(true) { Listed::Missing } else { Listed::All }
    }

    /// Lists every token, inputs first, with the JSON pointer of its address.
    pub fn tokens(&self) -> impl Iterator<Item = (String, AskedToken)> {
        let inputs = self.inputs.iter().map(|entry| entry.token).enumerate();
        let outputs = self.outputs.iter().map(|entry| entry.token).enumerate();
        let inputs = inputs.map(|(index, token)| (format!("/inputs/{index}/address"), token));
        inputs.chain(outputs.map(|(index, token)| (format!("/outputs/{index}/address"), token)))
    }

    /// Refuses the request where `wrong` finds a token wrong and says why, with every such token.
    ///
    /// # Errors
    /// A problem with a field of this code for each of them.
    pub fn check_tokens(&self, code: FieldCode, wrong: impl Fn(AskedToken) -> Option<String>) -> Result<(), Problem> {
        let errors = self.tokens().filter_map(|(pointer, token)| Some(FieldError::new(pointer, code, wrong(token)?)));
        let errors: Vec<FieldError> = errors.collect();
        if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
    }

    /// Returns the amount of an exact output.
    pub fn exact_output(&self) -> Option<U256> {
        self.outputs.first()?.amount
    }

    /// Returns how long the quote can be built, in milliseconds, where the service's own time is `service_ttl_ms`.
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
    /// Returns its share of the total output value, in basis points: an exact output is all of it.
    pub fn share_bps(&self) -> u16 {
        self.ratio_bps.unwrap_or(ALL_BPS)
    }
}

/// Refuses to exclude the wrapping of ether, without which pools of WETH have no ether.
fn check_excluded(r: &mut Reader, object: &Object<'_>) {
    let names = entries(object, "exclude_protocols", MAX_FILTERS, |r, item| r.text(item).map(str::to_owned));
    for (index, _) in names
        .iter()
        .enumerate()
        .filter(|(_, name)| name.as_ref().is_some_and(|name| Product::named(name).contains(&Product::WrappedEther)))
    {
        let detail =
            "the wrapping of ether cannot be excluded: it trades at no pool, has no fee and is always one to one";
        r.wrong(&format!("/exclude_protocols/{index}"), FieldCode::ValueUnknown, detail);
    }
}

/// Checks inputs and outputs against each other, as far as they could be read.
fn check_entries(r: &mut Reader, object: &Object<'_>) {
    let outputs = entries(object, "outputs", MAX_ENTRIES, OutputEntry::read);
    let inputs = entries(object, "inputs", MAX_ENTRIES, InputEntry::read);
    let sold: Vec<_> = inputs.iter().map(|entry| entry.as_ref().map(|e| e.token.address)).collect();
    let bought: Vec<_> = outputs.iter().map(|entry| entry.as_ref().map(|e| e.token.address)).collect();
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
    check_shares(r, object, &outputs);
}

/// Every input has an amount; but an exact output is bought with one input, whose amount follows.
fn check_amounts(r: &mut Reader, object: &Object<'_>) {
    let given = given(object, "inputs", InputEntry::FIELDS, "amount");
    if !is_exact(object) {
        note(r, &given, false, ("inputs", "amount"), FieldCode::Required, "amount is required");
        return;
    }
    check_alone(r, "/inputs", given.len());
    let detail = "the output's amount is exact, so that the input has none: the answer says how much is sold at most";
    note(r, &given, true, ("inputs", "amount"), FieldCode::AmountConflict, detail);
}

/// Every output has a share, and these are all of the value; but an exact output is alone and has none.
fn check_shares(r: &mut Reader, object: &Object<'_>, outputs: &[Option<OutputEntry>]) {
    let given = given(object, "outputs", OutputEntry::FIELDS, "ratio_bps");
    if is_exact(object) {
        check_alone(r, "/outputs", given.len());
        let detail = "an output has an exact amount or a share, not both";
        note(r, &given, true, ("outputs", "ratio_bps"), FieldCode::AmountConflict, detail);
        return;
    }
    note(r, &given, false, ("outputs", "ratio_bps"), FieldCode::Required, "ratio_bps is required, or an exact amount");
    let ratios: Option<Vec<u64>> = outputs.iter().map(|entry| Some(u64::from(entry.as_ref()?.ratio_bps?))).collect();
    if let Some(sum) = ratios.filter(|ratios| !ratios.is_empty()).map(|ratios| ratios.iter().sum::<u64>())
        && sum != BPS
    {
        r.wrong("/outputs", FieldCode::RatioSumInvalid, format!("ratio_bps must sum to {BPS}, got {sum}"));
    }
}

fn check_alone(r: &mut Reader, pointer: &str, count: usize) {
    if count > 1 {
        let detail = format!("an exact output needs one input and one output, got {count}");
        r.wrong(pointer, FieldCode::ExactOutputUnsupported, detail);
    }
}

/// Returns whether an output has an exact amount, which may be one that cannot be read.
fn is_exact(object: &Object<'_>) -> bool {
    given(object, "outputs", OutputEntry::FIELDS, "amount").contains(&Some(true))
}

/// Returns which entries have a field, whether it can be read or not; `None` for what is no object.
fn given(object: &Object<'_>, side: &str, known: &[&str], name: &str) -> Vec<Option<bool>> {
    entries(object, side, MAX_ENTRIES, |r, item| Some(r.object(item.value, &item.pointer, known)?.get(name).is_some()))
}

/// Notes a mistake at every entry that has a field, or at every one that has not.
fn note(
    r: &mut Reader,
    given: &[Option<bool>],
    wrong: bool,
    (side, name): (&str, &str),
    code: FieldCode,
    detail: &str,
) {
    for (index, _) in given.iter().enumerate().filter(|(_, has)| **has == Some(wrong)) {
        r.wrong(&format!("/{side}/{index}/{name}"), code, detail);
    }
}

/// Returns the entries of a list, those that are wrong as `None`. Their mistakes were noted when they were first read.
fn entries<T>(
    object: &Object<'_>,
    name: &str,
    most: usize,
    read: impl Fn(&mut Reader, &Item<'_>) -> Option<T>,
) -> Vec<Option<T>> {
    let mut again = Reader::default();
    let items = object.get(name).and_then(|list| again.list(&list, 1, most)).unwrap_or_default();
    items.iter().map(|item| read(&mut again, item)).collect()
}
