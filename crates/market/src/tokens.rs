//! The token table.

use braid_primitives::{Address, NATIVE_ETHER, Token, TokenId, WETH};

use crate::shared::{Chunks, Index};

/// Append-only table of tokens. An id, once assigned, always names the same token.
///
/// Native ether is always token 0 and WETH token 1. Clones share storage.
#[derive(Clone, Debug)]
pub struct Tokens {
    list: Chunks<Token>,
    by_address: Index<Address>,
}

impl Tokens {
    /// Id of native ether.
    pub const ETHER: TokenId = TokenId(0);
    /// Id of wrapped ether.
    pub const WETH: TokenId = TokenId(1);

    /// Returns a table with ether and wrapped ether.
    pub fn new() -> Self {
        let mut tokens = Self { list: Chunks::default(), by_address: Index::default() };
        tokens.insert(Token::native_ether());
        tokens.insert(Token { address: WETH, symbol: "WETH".into(), name: "Wrapped Ether".into(), decimals: 18 });
        tokens
    }

    /// Returns the id of a token, and adds the token if its address is new. The entry of a known address does not
    /// change. Both placeholders of native ether are one token.
    pub fn insert(&mut self, token: Token) -> TokenId {
        if let Some(id) = self.id(token.address) {
            return id;
        }
        let id = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.by_address.insert(token.address, id);
        self.list.push(token);
        TokenId(id)
    }

    /// Returns the id of an address; both placeholders of native ether are recognised.
    pub fn id(&self, address: Address) -> Option<TokenId> {
        let address = if braid_primitives::is_native_ether(address) { NATIVE_ETHER } else { address };
        self.by_address.get(&address).map(TokenId)
    }

    /// Returns the token with an id.
    pub fn get(&self, id: TokenId) -> Option<&Token> {
        self.list.get(id.index())
    }

    /// Returns every token, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (TokenId, &Token)> {
        self.list.iter().zip(0u32..).map(|(token, id)| (TokenId(id), token))
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Tells whether the table is empty; it never is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(byte: u8, symbol: &str) -> Token {
        Token { address: Address::with_last_byte(byte), symbol: symbol.into(), name: String::new(), decimals: 6 }
    }

    #[test]
    fn ids_are_positions_and_never_change() {
        let mut tokens = Tokens::new();
        let first = tokens.insert(token(1, "A"));
        let second = tokens.insert(token(2, "B"));
        assert_eq!(tokens.insert(token(1, "other")), first);
        assert_eq!(tokens.get(first).unwrap().symbol, "A", "what was known stays");
        assert_eq!(tokens.iter().map(|(id, _)| id).collect::<Vec<_>>(), [Tokens::ETHER, Tokens::WETH, first, second]);
    }

    #[test]
    fn ether_is_one_token_by_both_of_its_names() {
        let mut tokens = Tokens::new();
        assert_eq!(tokens.id(Address::ZERO), Some(Tokens::ETHER));
        assert_eq!(tokens.insert(Token { address: Address::ZERO, ..token(0, "ETH") }), Tokens::ETHER);
        assert_eq!(tokens.id(WETH), Some(Tokens::WETH));
        assert_eq!(tokens.len(), 2);
    }
}
