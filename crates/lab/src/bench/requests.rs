//! The requests of a run: read from a file or generated for a market.

use std::path::Path;

use crate::out;
use braid_market::{Market, Tokens};
use braid_primitives::{TokenId, U256};
use eyre::{Result, WrapErr, eyre};
use serde::Deserialize;
use serde_json::Value;

use super::generate::Random;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: String,
    /// The tokens sold, with amounts in atomic units.
    pub(crate) inputs: Vec<(TokenId, U256)>,
    /// The tokens bought, with their shares of the value in basis points, which sum to 10,000.
    pub(crate) outputs: Vec<(TokenId, u16)>,
    /// The gas price of this request in wei, if the file states one.
    pub(crate) gas_price_wei: Option<u64>,
}

/// A trade as files contain it: a request, an order of a recorded market, or a basket (`docs/internals/baskets.md`).
#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    id: Value,
    #[serde(default, alias = "sell_token")]
    token_in: String,
    #[serde(default, alias = "buy_token")]
    token_out: String,
    #[serde(default, alias = "sell_amount")]
    amount_in: String,
    #[serde(default)]
    inputs: Vec<Input>,
    #[serde(default)]
    outputs: Vec<Output>,
    #[serde(default)]
    gas_price_wei: Value,
}

#[derive(Deserialize)]
struct Input {
    token: String,
    amount: String,
}

#[derive(Deserialize)]
struct Output {
    token: String,
    ratio_bps: u16,
}

/// Reads requests from a list, or from an object with `requests` or `orders`. Skips requests with a token that the
/// market does not know or with nothing to trade, and prints how many.
pub(crate) fn read(path: &Path, market: &Market) -> Result<Vec<Asked>> {
    let text = std::fs::read_to_string(path).wrap_err_with(|| format!("cannot read {}", path.display()))?;
    let mut value: Value = serde_json::from_str(&text).wrap_err_with(|| format!("{} is not JSON", path.display()))?;
    let list = match value {
        Value::Array(_) => value,
        Value::Object(ref mut object) => ["requests", "orders"]
            .iter()
            .find_map(|key| object.remove(*key))
            .ok_or_else(|| eyre!("{} has neither requests nor orders", path.display()))?,
        _ => return Err(eyre!("{} is neither a list nor an object", path.display())),
    };
    let entries: Vec<Entry> = serde_json::from_value(list).wrap_err_with(|| format!("in {}", path.display()))?;
    let count = entries.len();
    let asked: Vec<Asked> =
        entries.into_iter().enumerate().filter_map(|(at, entry)| asked(at, entry, market)).collect();
    if asked.len() < count {
        out::line(format_args!(
            "skipped {} of {count} requests: an unknown token, or nothing to trade",
            count - asked.len()
        ))?;
    }
    Ok(asked)
}

fn asked(at: usize, entry: Entry, market: &Market) -> Option<Asked> {
    let token = |text: &str| market.tokens().id(text.parse().ok()?);
    let (inputs, outputs) = if entry.inputs.is_empty() && entry.outputs.is_empty() {
        (vec![(token(&entry.token_in)?, entry.amount_in.parse().ok()?)], vec![(token(&entry.token_out)?, 10_000)])
    } else {
        let inputs = entry.inputs.iter().map(|input| Some((token(&input.token)?, input.amount.parse().ok()?)));
        let outputs = entry.outputs.iter().map(|output| Some((token(&output.token)?, output.ratio_bps)));
        (inputs.collect::<Option<Vec<_>>>()?, outputs.collect::<Option<Vec<_>>>()?)
    };
    let id = match entry.id {
        Value::String(id) => id,
        Value::Number(id) => id.to_string(),
        _ => at.to_string(),
    };
    let gas_price_wei = match entry.gas_price_wei {
        Value::String(wei) => wei.parse().ok(),
        Value::Number(wei) => wei.as_u64(),
        _ => None,
    };
    let asked = Asked { id, inputs, outputs, gas_price_wei };
    asked.is_sound().then_some(asked)
}

/// The maximum number of inputs, and of outputs, of a basket: the API's limits.
const MOST: usize = 6;

impl Asked {
    /// Returns whether the router accepts this request: distinct tokens, amounts and shares above zero, and shares that
    /// sum to 10,000.
    fn is_sound(&self) -> bool {
        let tokens = self.inputs.iter().map(|(token, _)| *token).chain(self.outputs.iter().map(|(token, _)| *token));
        let mut tokens: Vec<TokenId> = tokens.collect();
        tokens.sort_unstable();
        let whole: u32 = self.outputs.iter().map(|(_, bps)| u32::from(*bps)).sum();
        (1..=MOST).contains(&self.inputs.len())
            && (1..=MOST).contains(&self.outputs.len())
            && tokens.windows(2).all(|pair| pair.first() != pair.last())
            && self.inputs.iter().all(|(_, amount)| !amount.is_zero())
            && self.outputs.iter().all(|(_, bps)| *bps > 0)
            && whole == 10_000
    }
}

/// Kinds of generated requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Trades as takers make them, of sizes that the tokens' liquidity can take
    Usual,
    /// Trades far beyond it, which drain the tokens' pools
    Drains,
    /// Three inputs to three outputs, of sizes that the tokens' liquidity can take
    Baskets,
    /// Three inputs to three outputs, some of which exceed all that pools hold of a token
    DrainingBaskets,
}

impl Kind {
    /// Returns the name used in tables.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Usual => "usual trades",
            Self::Drains => "drains",
            Self::Baskets => "baskets",
            Self::DrainingBaskets => "draining baskets",
        }
    }
}

/// The sizes of usual trades as powers of ten of ether: about $100 to $50M, uniformly distributed by magnitude.
const USUAL_MAGNITUDES: (f64, f64) = (-1.5, 4.2);
/// The largest usual trade, as a share of all pools' balances of its scarcer token.
const LARGEST_SHARE: f64 = 0.25;
/// The sizes of drains as powers of ten of all pools' balances.
const DRAIN_MAGNITUDES: (f64, f64) = (-0.6, 3.0);
/// Gas prices in gwei. A price is chosen as often as it is listed.
const GAS_GWEI: [u64; 20] = [1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 10, 10, 10, 10, 30, 30];

/// Tokens with a reference price in three classes, each in descending order of depth.
struct Classes {
    hubs: Vec<TokenId>,
    popular: Vec<TokenId>,
    tail: Vec<TokenId>,
}

/// The number of hubs, and the share of the other tokens that are popular.
const HUBS: usize = 8;
const POPULAR: f64 = 0.1;

impl Classes {
    fn of(market: &Market, prepared: &braid_routing::Prepared) -> Self {
        let tokens = market.tokens().iter().map(|(id, _)| id).filter(|id| *id != Tokens::ETHER);
        let mut tokens: Vec<TokenId> = tokens.filter(|id| prepared.reference_price(*id).is_some()).collect();
        let depth = |id: &TokenId| prepared.depth_wei(*id);
        tokens.sort_by(|a, b| depth(b).total_cmp(&depth(a)).then(a.cmp(b)));
        let mut popular = tokens.split_off(HUBS.min(tokens.len()));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a count"
        )]
        let tail = popular.split_off((popular.len() as f64 * POPULAR).ceil() as usize);
        Self { hubs: tokens, popular, tail }
    }

    /// Returns two classes with the frequencies with which takers trade between them, in random order.
    fn pair(&self, random: &mut Random) -> (&[TokenId], &[TokenId]) {
        let draw = random.between(0.0, 1.0);
        let (a, b) = match draw {
            d if d < 0.36 => (&self.hubs, &self.hubs),
            d if d < 0.66 => (&self.hubs, &self.popular),
            d if d < 0.80 => (&self.popular, &self.popular),
            d if d < 0.92 => (&self.hubs, &self.tail),
            _ => (&self.popular, &self.tail),
        };
        if random.chance(0.5) { (a, b) } else { (b, a) }
    }
}

/// Generates requests between tokens with a reference price: 36% between hubs, 30% between a hub and a popular token,
/// 14% between popular tokens, 12% between a hub and a token of the tail, and 8% between a popular token and one of the
/// tail.
///
/// A usual trade is worth 0.03 to 15,000 ether, uniformly distributed by magnitude. If that exceeds a quarter of all
/// pools' balances of its scarcer token, it is worth 1% to 100% of that limit instead. Trades below 0.03 ether are
/// dropped.
///
/// A basket combines three trades, and its value is divided among its outputs. If an output's share exceeds its limit,
/// the whole basket is worth 1% to 100% of what the scarcest output allows. Draining baskets are not limited.
pub(crate) fn generated(market: &Market, count: usize, seed: u64, kind: Kind) -> Vec<Asked> {
    let prepared = braid_routing::Prepared::new(std::sync::Arc::new(market.clone()));
    if !matches!(kind, Kind::Baskets | Kind::DrainingBaskets) {
        return trades(market, &prepared, count, seed, kind);
    }
    let trades = trades(market, &prepared, count.saturating_mul(4 * TRADES), seed, kind);
    let mut random = Random::new(seed ^ 0xba5c);
    let baskets = trades.chunks_exact(TRADES).filter_map(|trades| {
        let inputs = trades.iter().flat_map(|trade| trade.inputs.iter().copied()).collect();
        let outputs = trades.iter().flat_map(|trade| trade.outputs.iter().map(|(token, _)| *token)).zip(SHARES_BPS);
        let (id, gas_price_wei) = trades.first().map(|trade| (trade.id.clone(), trade.gas_price_wei))?;
        let asked = Asked { id, inputs, outputs: outputs.collect(), gas_price_wei };
        if kind == Kind::DrainingBaskets { Some(asked) } else { asked.within_reach(&prepared, &mut random) }
    });
    baskets.filter(Asked::is_sound).take(count).collect()
}

impl Asked {
    /// Returns the request scaled down to what the pools' balances of each output allow, with the same shares and
    /// proportions; `None` if a part would be below the smallest trade.
    fn within_reach(self, prepared: &braid_routing::Prepared, random: &mut Random) -> Option<Self> {
        let values = self.inputs.iter().map(|(token, amount)| prepared.value_wei(*token, *amount));
        let values = values.collect::<Option<Vec<f64>>>()?;
        let whole: f64 = values.iter().sum();
        let limits = self
            .outputs
            .iter()
            .map(|(token, bps)| LARGEST_SHARE * prepared.payable_wei(*token) / (f64::from(*bps) / 10_000.0));
        let most = limits.fold(f64::INFINITY, f64::min);
        let factor = if whole > most { most / whole * 10_f64.powf(random.between(-2.0, 0.0)) } else { 1.0 };
        let least = 10_f64.powf(USUAL_MAGNITUDES.0) * 1e18;
        let parts =
            values.iter().copied().chain(self.outputs.iter().map(|(_, bps)| whole * f64::from(*bps) / 10_000.0));
        if parts.into_iter().any(|part| part * factor < least) {
            return None;
        }
        let scaled = |amount: U256| U256::try_from(f64::from(amount) * factor).unwrap_or_default();
        let inputs = self.inputs.iter().map(|(token, amount)| (*token, scaled(*amount))).collect();
        Some(Self { inputs, ..self })
    }
}

/// The number of trades in a generated basket, and the shares of its outputs.
const TRADES: usize = 3;
const SHARES_BPS: [u16; TRADES] = [5_000, 3_000, 2_000];

fn trades(market: &Market, prepared: &braid_routing::Prepared, count: usize, seed: u64, kind: Kind) -> Vec<Asked> {
    let mut random = Random::new(seed ^ 0x5eed);
    let classes = Classes::of(market, prepared);
    let mut asked = Vec::with_capacity(count);
    for _ in 0..count.saturating_mul(100) {
        if asked.len() >= count {
            break;
        }
        let (inputs, outputs) = classes.pair(&mut random);
        if inputs.is_empty() || outputs.is_empty() {
            continue;
        }
        let (input, output) = (random.pick(inputs), random.pick(outputs));
        let held = prepared.payable_wei(input).min(prepared.payable_wei(output)) / 1e18;
        let (low, high) = USUAL_MAGNITUDES;
        let ether = match kind {
            Kind::Usual | Kind::Baskets | Kind::DrainingBaskets => {
                let ether = 10_f64.powf(random.between(low, high));
                let most = LARGEST_SHARE * held;
                if ether > most { most * 10_f64.powf(random.between(-2.0, 0.0)) } else { ether }
            }
            Kind::Drains => held * 10_f64.powf(random.between(DRAIN_MAGNITUDES.0, DRAIN_MAGNITUDES.1)),
        };
        let gas_price_wei = Some(random.pick(&GAS_GWEI) * 1_000_000_000);
        let Some(price_wei) = prepared.value_wei(input, U256::from(1)).filter(|_| input != output) else { continue };
        let amount = U256::try_from(ether * 1e18 / price_wei).unwrap_or_default();
        if !amount.is_zero() && ether >= 10_f64.powf(low) {
            let id = asked.len().to_string();
            asked.push(Asked { id, inputs: vec![(input, amount)], outputs: vec![(output, 10_000)], gas_price_wei });
        }
    }
    asked
}
