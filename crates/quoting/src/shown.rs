//! Addresses as the client writes them.

use braid_primitives::{Address, NATIVE_ETHER};

use crate::model::Eip55;
use crate::request::QuoteRequest;

/// How addresses are shown to this client: ether in the form that the client used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    ether: Address,
}

impl Shown {
    /// Returns the form that a request used for ether.
    pub fn by(request: &QuoteRequest) -> Self {
        let ether = request.tokens().map(|(_, token)| token).find(|token| token.address == NATIVE_ETHER);
        Self { ether: ether.map_or(NATIVE_ETHER, |token| token.shown) }
    }

    /// Returns a form that was stored.
    pub const fn with_ether(ether: Address) -> Self {
        Self { ether }
    }

    /// Returns the address that stands for ether.
    pub const fn ether(self) -> Address {
        self.ether
    }

    /// Returns a token's address as this client knows it.
    pub fn token(self, address: Address) -> Eip55 {
        Eip55(if address == NATIVE_ETHER { self.ether } else { address })
    }
}
