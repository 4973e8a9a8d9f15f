//! Resolves token names through a service.

use braid_primitives::{Address, NATIVE_ETHER, U256};
use eyre::Result;
use serde_json::{Value, json};

use crate::address;
use crate::api::Api;
use crate::exit::usage;
use crate::quote::words;
use crate::similar::{question, similar};
use crate::source::{plain, which};
use crate::units::{amount_of, format_units};

/// A token that the user named.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub address: Address,
    pub symbol: String,
    pub decimals: u8,
    /// Number of other tokens with its symbol, if it was named by symbol.
    pub others: usize,
}

impl Named {
    /// Returns a note on the chosen token, if several have its symbol.
    pub(crate) fn note(&self) -> Option<String> {
        (self.others > 0).then(|| which(&self.symbol, self.address, self.others))
    }

    pub(crate) fn amount(&self, units: U256) -> String {
        format!("{} {}", format_units(units, self.decimals), self.symbol)
    }
}

/// Tokens and amounts of a swap.
#[derive(Debug)]
pub(crate) struct Sides {
    pub inputs: Vec<Named>,
    pub outputs: Vec<Named>,
    pub terms: Terms,
}

/// Amounts of a swap, on one of its sides.
#[derive(Debug)]
pub(crate) enum Terms {
    /// Amounts of the inputs, and shares of the outputs in basis points.
    Sale { amounts: Vec<U256>, shares_bps: Vec<u16> },
    /// Exact amount of the output.
    Purchase { amount: U256 },
}

impl Sides {
    /// Resolves the tokens of a parsed swap.
    pub(crate) async fn of(api: &Api, asked: &words::Asked) -> Result<Self> {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let terms = match asked {
            words::Asked::Sale { inputs: sold, outputs: bought } => {
                let mut amounts = Vec::new();
                for (amount, name) in sold {
                    let token = token(api, name).await?;
                    amounts.push(amount_of(amount, &token.symbol, token.decimals)?);
                    inputs.push(token);
                }
                for (name, _) in bought {
                    outputs.push(token(api, name).await?);
                }
                Terms::Sale { amounts, shares_bps: bought.iter().map(|(_, bps)| *bps).collect() }
            }
            words::Asked::Purchase { pay, buy: (amount, name) } => {
                inputs.push(token(api, pay).await?);
                let bought = token(api, name).await?;
                let amount = amount_of(amount, &bought.symbol, bought.decimals)?;
                outputs.push(bought);
                Terms::Purchase { amount }
            }
        };
        Ok(Self { inputs, outputs, terms })
    }

    /// Returns every token, inputs first.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &Named> {
        self.inputs.iter().chain(&self.outputs)
    }

    /// Returns the inputs and outputs of a request.
    pub(crate) fn request(&self) -> Value {
        let entries = |tokens: &[Named]| -> Vec<Value> {
            tokens.iter().map(|token| json!({"chain_id": 1, "address": token.address})).collect()
        };
        let (mut inputs, mut outputs) = (entries(&self.inputs), entries(&self.outputs));
        match &self.terms {
            Terms::Sale { amounts, shares_bps } => {
                inputs.iter_mut().zip(amounts).for_each(|(entry, amount)| entry["amount"] = json!(amount.to_string()));
                outputs.iter_mut().zip(shares_bps).for_each(|(entry, bps)| entry["ratio_bps"] = json!(bps));
            }
            Terms::Purchase { amount } => {
                outputs.iter_mut().for_each(|entry| entry["amount"] = json!(amount.to_string()));
            }
        }
        json!({"inputs": inputs, "outputs": outputs})
    }
}

/// Finds a token by address, or by symbol: the best known one if several have it.
pub(crate) async fn token(api: &Api, name: &str) -> Result<Named> {
    let address = if address::is_meant(name) { Some(address::parse(name).map_err(usage)?) } else { None };
    if name.eq_ignore_ascii_case("ETH") || address.is_some_and(|address| address.is_zero()) {
        return Ok(Named { address: NATIVE_ETHER, symbol: "ETH".into(), decimals: 18, others: 0 });
    }
    let rows = search(api, name).await?;
    let is_it = |row: &&Value| {
        ["symbol", "address"].iter().any(|key| row[*key].as_str().is_some_and(|is| is.eq_ignore_ascii_case(name)))
    };
    let mut same = rows.iter().filter(is_it);
    let Some(row) = same.next() else { return Err(usage(unknown(api, name).await?)) };
    Ok(Named {
        address: row["address"].as_str().unwrap_or_default().parse()?,
        symbol: plain(row["symbol"].as_str().unwrap_or_default()),
        decimals: row["decimals"].as_u64().and_then(|places| u8::try_from(places).ok()).unwrap_or_default(),
        others: same.count(),
    })
}

/// Returns the service's tokens whose symbol or name has a text in it, the best known first.
async fn search(api: &Api, text: &str) -> Result<Vec<Value>> {
    let mut page = api.get("/v1/tokens", &[("chain_id", "1"), ("search", text), ("limit", "200")]).await?;
    Ok(page["tokens"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// Says that a service knows no token of a name, and which one may have been meant.
async fn unknown(api: &Api, name: &str) -> Result<String> {
    let begins: String = name.chars().take(2).collect();
    let near = if address::is_meant(name) { Vec::new() } else { search(api, &begins).await? };
    let symbols: Vec<String> = near.iter().filter_map(|row| row["symbol"].as_str()).map(plain).collect();
    let meant = question(&similar(name, symbols.iter().map(String::as_str)));
    Ok(format!("the service knows no token {name:?}.{meant} A token can be named by its address too"))
}
