//! Vectors of every kind of Curve pool.

use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::SwapError;
use braid_protocols::curve::crypto::{self, ClassicTwo, CryptoSwap};
use braid_protocols::curve::stable::{BasePool, MetaState};
use braid_protocols::curve::two_coins_of;

use super::Outcome;
use super::entry::{Entry, Row, RowKind, VectorPool};
use crate::states::{Fields, StateError, curve as states};

struct Stable {
    at: ExecutionBlock,
    pool: BasePool,
}

struct Meta {
    at: ExecutionBlock,
    pool: MetaState,
}

struct Crypto {
    at: ExecutionBlock,
    pool: crypto::State,
}

/// A CryptoSwap pool of two coins whose coin 1 is a base pool's share, traded through a zap.
struct CryptoMeta {
    at: ExecutionBlock,
    pool: crypto::State,
    base: BasePool,
}

/// Reads a StableSwap pool of any generation.
pub(super) fn stable(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    if entry.pool().get("base_pool").is_some() {
        return meta(entry);
    }
    let next = entry.protocol().ends_with("_ng");
    Ok(Box::new(Stable { at: entry.block(), pool: states::base_pool(&entry.pool(), next)? }))
}

/// Reads a metapool and its base pool.
pub(super) fn meta(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    let next = entry.protocol().ends_with("_ng");
    Ok(Box::new(Meta { at: entry.block(), pool: states::meta(&entry.pool(), next)? }))
}

/// Reads a CryptoSwap pool of any kind.
pub(super) fn crypto(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    Ok(Box::new(Crypto { at: entry.block(), pool: states::crypto(&entry.pool(), crypto_kind(entry)?)? }))
}

/// Reads a CryptoSwap pool and the base pool behind its coin 1.
pub(super) fn crypto_meta(entry: &Entry<'_>) -> Result<Box<dyn VectorPool>, StateError> {
    let base = states::base_pool(&entry.pool().object("base_pool")?, false)?;
    Ok(Box::new(CryptoMeta { at: entry.block(), pool: states::crypto(&entry.pool(), crypto_kind(entry)?)?, base }))
}

fn crypto_kind(entry: &Entry<'_>) -> Result<crypto::Kind, StateError> {
    match entry.pool().text("implementation").unwrap_or_else(|| entry.protocol()) {
        "tricrypto-ng" | "curve_tricrypto_ng" => Ok(crypto::Kind::TricryptoNg),
        "tricrypto2" | "curve_tricrypto2" | "curve_tricrypto" => Ok(crypto::Kind::Tricrypto),
        "twocrypto-ng" | "curve_twocrypto_ng" => Ok(crypto::Kind::TwocryptoNg),
        "twocrypto-stableswap" | "curve_twocrypto_stableswap_math" => Ok(crypto::Kind::TwocryptoStable),
        "cryptoswap2" | "curve_cryptoswap2" | "curve_cryptoswap" => {
            Ok(crypto::Kind::Cryptoswap(match entry.pool().text("variant") {
                Some("early") => ClassicTwo::Early,
                Some("tenth") => ClassicTwo::Tenth,
                Some("tenth_loose") => ClassicTwo::TenthLoose,
                Some(_) => ClassicTwo::Factory,
                // The kind is known for the address, as in the reader of the chain.
                None => entry.pool().address("address").ok().and_then(two_coins_of).unwrap_or(ClassicTwo::Factory),
            }))
        }
        other => Err(StateError::Unsupported(format!("no model of a crypto pool of kind {other:?}"))),
    }
}

/// Compares the state after a swap with the one that the row records.
fn judge_after(after: &Fields<'_>, got: &crypto::CryptoAfter, kind: crypto::Kind) -> Outcome {
    let prices = kind.coins() - 1;
    let words: [(&str, &[U256]); 8] = [
        ("balances", &got.balances[..=prices]),
        ("price_scale", &got.price_scale[..prices]),
        ("D", &[got.d]),
        ("virtual_price", &[got.repricing.virtual_price]),
        ("xcp_profit", &[got.repricing.xcp_profit]),
        ("last_prices", &got.repricing.last_prices[..prices]),
        ("last_prices_timestamp", &[U256::from(got.repricing.last_prices_timestamp)]),
        ("price_oracle", got.repricing.price_oracle.as_ref().map_or(&[], |oracle| &oracle[..prices])),
    ];
    for (field, words) in words {
        let Some(value) = after.get(field) else { continue };
        let expected = if value.is_array() { after.list(field) } else { after.u256(field).map(|word| vec![word]) };
        if !words.is_empty() && expected.as_deref() != Ok(words) {
            return Outcome::Differs(format!("{field} {expected:?}"), format!("{words:?}"));
        }
    }
    Outcome::Equal
}

/// Returns the coins and the amount in of a row, or the reason for skipping it.
fn trade(row: &Row<'_>) -> Result<(u8, u8, U256), Outcome> {
    let (coin_in, coin_out) = row.coins().ok_or_else(|| Outcome::Skipped("no coins".to_owned()))?;
    let amount = row.amount("amount_in").ok_or_else(|| Outcome::Skipped("no amount in".to_owned()))?;
    Ok((coin_in, coin_out, amount))
}

/// Returns the function that a row records: the first word of `fn`, or of `kind` if there is no `fn`.
fn function<'a>(row: &Row<'a>) -> &'a str {
    let fields = row.fields();
    let text = fields.text("fn").or_else(|| fields.text("kind")).unwrap_or_default();
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
}

fn judge(row: &Row<'_>, got: Result<U256, SwapError>) -> Outcome {
    if row.kind == RowKind::Refusal {
        return row.refused(got);
    }
    // The contract makes a swap with an output of zero, and our model refuses it.
    let for_nothing = got == Err(SwapError::ZeroOutput) && row.amount("amount_out") == Some(U256::ZERO);
    if for_nothing { Outcome::Equal } else { row.compare("amount_out", got) }
}

impl VectorPool for Stable {
    fn check(&self, row: &Row<'_>) -> Outcome {
        if row.kind == RowKind::Check {
            return self.check_view(row);
        }
        let (i, j, amount_in) = match trade(row) {
            Ok(trade) => trade,
            Err(outcome) => return outcome,
        };
        let state = &self.pool.state;
        let function = function(row);
        if function.ends_with("_underlying") {
            return Outcome::Skipped(format!("{function} of a pool that is no metapool is not modelled"));
        }
        if function == "get_dx" {
            let amount_out = row.amount("amount_out").unwrap_or_default();
            return row.compare("amount_in", state.view_in(&self.at, i, j, amount_out));
        }
        // A refusal is that of the swap, since a view may return zero instead.
        let got = if function.starts_with("exchange") || row.kind == RowKind::Refusal {
            state.swap(&self.at, i, j, amount_in).map(|swap| swap.amount_out)
        } else {
            state.view(&self.at, i, j, amount_in)
        };
        judge(row, got)
    }
}

impl Stable {
    fn check_view(&self, row: &Row<'_>) -> Outcome {
        match (row.function(), row.fields().u64_or("i", 0), row.amount("lp_amount")) {
            ("calc_withdraw_one_coin", Ok(coin), Some(shares)) => {
                let coin = u8::try_from(coin).unwrap_or(u8::MAX);
                row.compare("out", self.pool.withdraw_view(&self.at, coin, shares))
            }
            (other, _, _) => Outcome::Skipped(format!("no such check: {other}")),
        }
    }
}

impl VectorPool for Meta {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let (i, j, amount_in) = match trade(row) {
            Ok(trade) => trade,
            Err(outcome) => return outcome,
        };
        let amount = |swap: braid_protocols::curve::stable::MetaSwap| swap.amount_out;
        let function = function(row);
        if function == "get_dx" {
            let amount_out = row.amount("amount_out").unwrap_or_default();
            return row.compare("amount_in", self.pool.view_in(&self.at, i, j, amount_out));
        }
        let swaps = function.starts_with("exchange") || row.kind == RowKind::Refusal;
        let got = match (function.ends_with("_underlying"), swaps) {
            (true, true) => self.pool.swap_underlying(&self.at, i, j, amount_in).map(amount),
            (true, false) => self.pool.view_underlying(&self.at, i, j, amount_in),
            (false, true) => self.pool.swap(&self.at, i, j, amount_in).map(amount),
            (false, false) => self.pool.view(&self.at, i, j, amount_in),
        };
        judge(row, got)
    }
}

impl VectorPool for Crypto {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let (i, j, amount_in) = match trade(row) {
            Ok(trade) => trade,
            Err(outcome) => return outcome,
        };
        if !function(row).starts_with("exchange") && row.kind != RowKind::Refusal {
            return judge(row, self.pool.view(&self.at, i, j, amount_in));
        }
        let swap = self.pool.swap(&self.at, i, j, amount_in);
        let outcome = judge(row, swap.as_ref().map(|swap| swap.amount_out).map_err(Clone::clone));
        match (outcome, swap, row.fields().object("after")) {
            (Outcome::Equal, Ok(CryptoSwap { after: Some(after), .. }), Ok(recorded)) => {
                judge_after(&recorded, &after, self.pool.kind)
            }
            (outcome, _, _) => outcome,
        }
    }
}

impl VectorPool for CryptoMeta {
    fn check(&self, row: &Row<'_>) -> Outcome {
        let (i, j, amount_in) = match trade(row) {
            Ok(trade) => trade,
            Err(outcome) => return outcome,
        };
        let at = &self.at;
        let got = match (i, j) {
            (0, coin @ 1..) => {
                let shares = self.pool.view(at, 0, 1, amount_in);
                shares.and_then(|shares| self.base.withdraw_view(at, coin - 1, shares))
            }
            (coin @ 1.., 0) => {
                let shares = self.base.deposit_view(at, coin - 1, amount_in);
                shares.and_then(|shares| self.pool.view(at, 1, 0, shares))
            }
            _ => return Outcome::Skipped("not a trade through the crypto pool".to_owned()),
        };
        judge(row, got)
    }
}
