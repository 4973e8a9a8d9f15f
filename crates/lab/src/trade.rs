//! A sale that is sent to a service again and again, each time a little larger: a service keeps the solutions of a block,
//! and what is measured is solving.

use braid_primitives::{Address, U256};
use serde_json::json;

/// Atomic units from which an amount is made larger: a few units more are then nothing.
const LEAST_UNITS: u64 = 100_000;

/// A sale of one token for another.
pub(crate) struct Trade {
    pub(crate) sold: Address,
    pub(crate) amount: U256,
    pub(crate) bought: Address,
    /// Whether the request asks for a simulation.
    pub(crate) simulate: bool,
}

impl Trade {
    /// Returns the body of a request for it, with an amount that is `more` atomic units larger.
    pub(crate) fn body(&self, more: u64) -> String {
        let more = if self.amount < U256::from(LEAST_UNITS) { 0 } else { more };
        let amount = self.amount.saturating_add(U256::from(more));
        json!({
            "inputs": [{"chain_id": 1, "address": self.sold, "amount": amount.to_string()}],
            "outputs": [{"chain_id": 1, "address": self.bought, "ratio_bps": 10000}],
            "taker": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "simulate": self.simulate,
        })
        .to_string()
    }
}
