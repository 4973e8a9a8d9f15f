//! The fields of an answer that the picture shows.

use braid_primitives::U256;
use serde::Deserialize;

use crate::model::Amount;

#[derive(Debug, Deserialize)]
pub(super) struct Quote {
    pub block: Block,
    pub estimated_inputs: Vec<Input>,
    pub estimated_outputs: Vec<Output>,
    pub path: Path,
    pub certificate: Option<Certificate>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Block {
    pub number: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Input {
    pub token: String,
    pub expected_amount: Amount,
}

#[derive(Debug, Deserialize)]
pub(super) struct Output {
    pub token: String,
    pub decimals: u8,
    pub expected_amount: Amount,
    pub reference_price: Option<Price>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Price {
    pub value: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Path {
    pub tokens: Vec<Token>,
    pub steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Token {
    pub address: String,
    pub symbol: String,
    pub decimals: u8,
}

#[derive(Debug, Deserialize)]
pub(super) struct Step {
    pub protocol: String,
    pub pool: String,
    pub token_in: String,
    pub token_out: String,
    pub amount_in: Amount,
    pub amount_out: Amount,
    pub share_bps: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Certificate {
    pub gap_bps: f64,
    pub pools_covered: u32,
}

impl Quote {
    /// Returns a token of the route.
    pub(super) fn token(&self, address: &str) -> Option<&Token> {
        self.path.tokens.iter().find(|token| token.address == address)
    }
}

impl Output {
    /// Returns the output's value at its reference price; without a price, its amount in whole tokens.
    pub(super) fn value(&self) -> f64 {
        let price = self.reference_price.as_ref().and_then(|price| price.value.parse().ok()).unwrap_or(1.0);
        let scale = U256::from(10u8).checked_pow(U256::from(self.decimals)).map_or(f64::MAX, f64::from);
        f64::from(self.expected_amount.0) / scale * price
    }
}
