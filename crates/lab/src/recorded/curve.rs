//! Curve's pools in recorded markets.

use std::sync::Arc;

use braid_primitives::Address;
use braid_protocols::PoolState;
use braid_protocols::curve::crypto::{self, ClassicTwo, Kind};
use braid_protocols::curve::{Model, State};
use serde_json::Value;

use super::json::{Reason, TokensOf, list, maybe, parse, require, text};
use crate::states::{Fields, curve as states};

/// Reads a pool.
pub(super) fn pool(entry: &Value, _tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    let model = match text(entry, "kind") {
        "curve_stable" | "curve_stableswap" | "curve_lending" => stable(entry, false)?,
        "curve_stableswap_ng" => stable(entry, true)?,
        "curve_meta" => meta(entry, false)?,
        "curve_meta_ng" => meta(entry, true)?,
        "curve_tricrypto2" => crypto(entry, Kind::Tricrypto)?,
        "curve_tricrypto_ng" => crypto(entry, Kind::TricryptoNg)?,
        "curve_twocrypto_ng" => crypto(entry, Kind::TwocryptoNg)?,
        "curve_twocrypto_stableswap_math" => crypto(entry, Kind::TwocryptoStable)?,
        "curve_crypto_meta" => crypto(entry, Kind::Cryptoswap(ClassicTwo::Factory))?,
        _ => return Err("kind not covered".into()),
    };
    let ether = braid_primitives::NATIVE_ETHER;
    let is_ether = |coin: &Value| parse::<Address>(coin) == Some(ether);
    let ether_coin = list(entry, "tokens")?.iter().position(is_ether).and_then(|coin| u8::try_from(coin).ok());
    let base_pool = entry.get("base_pool").and_then(|base| maybe(base, "address"));
    let state = State { model, ether_coin, base_pool, has_oracle: false, steth: None };
    state.validate().map_err(|what| format!("impossible state, {what}"))?;
    Ok(Arc::new(state).into())
}

/// Returns the coins of a pool. Those of a metapool are its own, followed by its base pool's.
pub(super) fn coins(entry: &Value) -> Result<Vec<&Value>, Reason> {
    let mut coins: Vec<&Value> = list(entry, "tokens")?.iter().collect();
    if text(entry, "kind").starts_with("curve_meta") {
        coins.extend(list(entry.get("base_pool").unwrap_or(&Value::Null), "tokens")?);
    }
    Ok(coins)
}

fn stable(entry: &Value, next: bool) -> Result<Model, Reason> {
    require(entry, &["fee"])?;
    Ok(Model::Stable(states::stable(&Fields::of(entry), next)?))
}

fn meta(entry: &Value, next: bool) -> Result<Model, Reason> {
    require(entry, &["fee"])?;
    require(entry.get("base_pool").unwrap_or(&Value::Null), &["fee", "total_supply"])?;
    Ok(Model::Meta(states::meta(&Fields::of(entry), next)?))
}

fn crypto(entry: &Value, kind: Kind) -> Result<Model, Reason> {
    require(entry, &["mid_fee", "out_fee"])?;
    if kind == Kind::TwocryptoStable && entry.get("fee_policy").is_some_and(|policy| !policy.is_null()) {
        return Err("a fee that another contract decides".into());
    }
    // In a recorded market, a pool's prices change only by the recorded updates.
    Ok(Model::Crypto(crypto::State { repricing: None, ..states::crypto(&Fields::of(entry), kind)? }))
}
