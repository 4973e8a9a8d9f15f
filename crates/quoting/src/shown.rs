//! Writes token addresses in the client's form.

use braid_primitives::{Address, NATIVE_ETHER};

use crate::model::Eip55;
use crate::request::QuoteRequest;

/// The form of token addresses in answers to a client: ether as the client wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    ether: Address,
}

impl Shown {
    /// Returns the form of a request.
    pub fn by(request: &QuoteRequest) -> Self {
        let ether = request.tokens().map(|(_, token)| token).find(|token| token.address == NATIVE_ETHER);
        Self { ether: ether.map_or(NATIVE_ETHER, |token| token.shown) }
    }

    /// Returns a stored form.
    pub const fn with_ether(ether: Address) -> Self {
        Self { ether }
    }

    /// Returns the address that stands for ether.
    pub const fn ether(self) -> Address {
        self.ether
    }

    /// Returns a token's address in the client's form.
    pub fn token(self, address: Address) -> Eip55 {
        Eip55(if address == NATIVE_ETHER { self.ether } else { address })
    }
}
