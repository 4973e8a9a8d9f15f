//! Tokens by name, as a service knows them.

use braid_primitives::{Address, NATIVE_ETHER, U256};
use eyre::{Result, eyre};
use serde_json::{Value, json};

use crate::api::Api;
use crate::quote::words;
use crate::source::{plain, say_which};
use crate::units::{format_units, parse_units};

/// A token that was named.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub address: Address,
    pub symbol: String,
    pub decimals: u8,
}

impl Named {
    pub(crate) fn amount(&self, units: U256) -> String {
        format!("{} {}", format_units(units, self.decimals), self.symbol)
    }
}

/// What is sold and bought.
#[derive(Debug)]
pub(crate) struct Sides {
    pub sold: Vec<(Named, U256)>,
    pub bought: Vec<Named>,
    shares_bps: Vec<u16>,
}

impl Sides {
    /// Finds what words name.
    pub(crate) async fn of(api: &Api, asked: &words::Asked) -> Result<Self> {
        let mut sold = Vec::new();
        for (amount, name) in &asked.inputs {
            let token = token(api, name).await?;
            let units = parse_units(amount, token.decimals).filter(|units| !units.is_zero());
            let units = units.ok_or_else(|| {
                eyre!(
                    "{amount:?} is no amount of {}: a decimal number with at most {} places",
                    token.symbol,
                    token.decimals
                )
            })?;
            sold.push((token, units));
        }
        let mut bought = Vec::new();
        for (name, _) in &asked.outputs {
            bought.push(token(api, name).await?);
        }
        Ok(Self { sold, bought, shares_bps: asked.outputs.iter().map(|(_, bps)| *bps).collect() })
    }

    /// The inputs and outputs of a request.
    pub(crate) fn request(&self) -> Value {
        let sold = |(token, units): &(Named, U256)| json!({"chain_id": 1, "address": token.address, "amount": units.to_string()});
        let bought = |(token, bps): (&Named, &u16)| json!({"chain_id": 1, "address": token.address, "ratio_bps": bps});
        json!({
            "inputs": self.sold.iter().map(sold).collect::<Vec<_>>(),
            "outputs": self.bought.iter().zip(&self.shares_bps).map(bought).collect::<Vec<_>>(),
        })
    }
}

/// A token by address, or by symbol: the best known where several share it, which is said.
pub(crate) async fn token(api: &Api, name: &str) -> Result<Named> {
    if name.eq_ignore_ascii_case("ETH") {
        return Ok(Named { address: NATIVE_ETHER, symbol: "ETH".into(), decimals: 18 });
    }
    let page = api.get("/v1/tokens", &[("chain_id", "1"), ("search", name), ("limit", "200")]).await?;
    let rows = page["tokens"].as_array().map_or(&[][..], Vec::as_slice);
    let is_it = |row: &&Value| {
        ["symbol", "address"].iter().any(|key| row[*key].as_str().is_some_and(|is| is.eq_ignore_ascii_case(name)))
    };
    let mut same = rows.iter().filter(is_it);
    let row = same.next().ok_or_else(|| eyre!("the service knows no token {name:?}"))?;
    let others = same.count();
    let named = Named {
        address: row["address"].as_str().unwrap_or_default().parse()?,
        symbol: plain(row["symbol"].as_str().unwrap_or_default()),
        decimals: row["decimals"].as_u64().and_then(|places| u8::try_from(places).ok()).unwrap_or_default(),
    };
    if others > 0 {
        say_which(&named.symbol, named.address, others);
    }
    Ok(named)
}
