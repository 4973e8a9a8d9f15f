//! A market's tokens for search: best known first, with copies of a known symbol last.

use std::collections::HashMap;

use braid_market::Tokens;
use braid_primitives::{Address, NATIVE_ETHER, Token, TokenId, WETH, address, is_native_ether};
use braid_protocols::Product;
use braid_routing::Prepared;

/// Stablecoins that track the dollar: USDC, USDT, DAI, PYUSD, USDS, FRAX.
const STABLECOINS: [Address; 6] = [
    address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    address!("dAC17F958D2ee523a2206206994597C13D831ec7"),
    address!("6B175474E89094C44Da98b954EedeAC495271d0F"),
    address!("6c3ea9036406852006290770BEdFcAbA0e23A0e8"),
    address!("dC035D45d973E3EC169d2276DDab16f1e407384F"),
    address!("853d955aCEf822Db058eb8505911ED77F175b99e"),
];

/// A token with its number of pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The token.
    pub id: TokenId,
    /// Number of its pools whose coins all have a reference price; 0 for a token that has the symbol of a better known one.
    pub pool_count: usize,
    /// The vault's product, if the token is a vault's share.
    pub vault: Option<Product>,
}

impl Entry {
    /// Returns the token's tags: a word, or a kind and a word, as in `type:vault`.
    pub fn tags(&self, token: Address) -> Vec<String> {
        let known = known_tags(token).map(str::to_owned);
        let vault =
            self.vault.map(|product| ["vault".into(), "type:vault".into(), format!("protocol:{}", product.family())]);
        known.chain(vault.into_iter().flatten()).collect()
    }
}

/// Every token, best known first. Built once per block, at the first use.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    entries: Vec<Entry>,
}

impl Directory {
    /// Returns the directory of a market.
    pub fn new(prepared: &Prepared) -> Self {
        let tokens = prepared.market().tokens();
        let mut entries: Vec<Entry> = tokens.iter().map(|(id, token)| entry(prepared, id, token.address)).collect();
        if let [ether, wrapped, ..] = entries.as_mut_slice() {
            // native ether trades in the pools of wrapped ether
            ether.pool_count = wrapped.pool_count;
        }
        entries.sort_by_key(|entry| (std::cmp::Reverse(entry.pool_count), entry.id));
        zero_copies(&mut entries, tokens);
        entries.sort_by_key(|entry| (std::cmp::Reverse(entry.pool_count), entry.id));
        Self { entries }
    }

    /// Searches tokens: exact symbols first, then parts of symbols and names, each best known first.
    pub fn search<'a>(&self, tokens: &'a Tokens, text: &str, tags: &[String]) -> Vec<(Entry, &'a Token)> {
        let text = text.to_lowercase();
        let address =
            text.parse::<Address>().ok().map(|found| if is_native_ether(found) { NATIVE_ETHER } else { found });
        let rank = |token: &Token| -> Option<u8> {
            match address {
                Some(address) => (token.address == address).then_some(0),
                None if token.symbol.to_lowercase() == text => Some(0),
                None => (token.symbol.to_lowercase().contains(&text) || token.name.to_lowercase().contains(&text))
                    .then_some(1),
            }
        };
        let tagged = |entry: &Entry, token: &Token| tags.is_empty() || has_tags(&entry.tags(token.address), tags);
        let known = self.entries.iter().filter_map(|entry| Some((*entry, tokens.get(entry.id)?)));
        let mut found: Vec<_> = known
            .filter(|(entry, token)| tagged(entry, token))
            .filter_map(|(entry, token)| Some((rank(token)?, entry, token)))
            .collect();
        found.sort_by_key(|(rank, ..)| *rank);
        found.into_iter().map(|(_, entry, token)| (entry, token)).collect()
    }
}

/// Returns the tags that a token has by its address.
fn known_tags(token: Address) -> impl Iterator<Item = &'static str> {
    let known = [
        ("native", token == NATIVE_ETHER),
        ("wrapped_native", token == WETH),
        ("stablecoin", STABLECOINS.contains(&token)),
    ];
    known.into_iter().filter_map(|(tag, is_so)| is_so.then_some(tag))
}

/// Returns whether a token has, for each kind among the requested tags, one of the requested tags of that kind. The kind
/// is the part before the colon.
fn has_tags(own: &[String], asked: &[impl AsRef<str>]) -> bool {
    let kind = |tag: &str| tag.split_once(':').map_or("", |(kind, _)| kind).to_owned();
    let asked = || asked.iter().map(AsRef::as_ref);
    asked().all(|tag| asked().any(|other| kind(other) == kind(tag) && own.iter().any(|own| own == other)))
}

fn entry(prepared: &Prepared, id: TokenId, address: Address) -> Entry {
    let market = prepared.market();
    let own = market.pools_of(id).iter().filter_map(|pool| market.pool(*pool)).find(|pool| {
        // a vault is the contract of its own shares
        pool.key.contract == address && pool.product.is_vault()
    });
    Entry { id, pool_count: pool_count(prepared, id), vault: own.map(|pool| pool.product) }
}

fn pool_count(prepared: &Prepared, id: TokenId) -> usize {
    let market = prepared.market();
    let priced = |coin: &TokenId| prepared.reference_price(*coin).is_some();
    let pools = market.pools_of(id).iter().filter_map(|pool| market.pool(*pool));
    pools.filter(|pool| pool.coins.iter().all(priced)).count()
}

/// Sets the pool count of all but the best known token of a symbol to zero.
fn zero_copies(entries: &mut [Entry], tokens: &Tokens) {
    let mut first: HashMap<String, TokenId> = HashMap::new();
    for entry in entries {
        let Some(token) = tokens.get(entry.id) else { continue };
        let known = first.entry(token.symbol.to_lowercase()).or_insert(entry.id);
        if *known != entry.id {
            entry.pool_count = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_kind_of_tag_one_must_fit() {
        let id = TokenId(0);
        let vault = Entry { id, pool_count: 1, vault: Some(Product::MorphoVaultV2) }.tags(Address::ZERO);
        assert_eq!(vault, ["vault", "type:vault", "protocol:morpho"]);
        let has = |tags: &[&str]| has_tags(&vault, tags);
        assert!(has(&["type:vault", "protocol:morpho"]) && has(&["vault"]) && has(&["stablecoin", "vault"]));
        assert!(has(&["protocol:erc4626", "protocol:morpho"]));
        assert!(
            !has(&["type:vault", "protocol:erc4626"]) && !has(&["type:lp", "protocol:morpho"]) && !has(&["native"])
        );
        let plain = Entry { id, pool_count: 1, vault: None };
        assert_eq!(plain.tags(WETH), ["wrapped_native"]);
        assert!(plain.tags(Address::ZERO).is_empty());
    }
}
