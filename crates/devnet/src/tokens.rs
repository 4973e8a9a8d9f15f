//! The tokens of the local chain, with mainnet's addresses, decimals and quirks.
//!
//! Balances are in a plain `mapping(address => uint256)` at [`Token::balance_slot`], which is the real token's slot
//! where that is known.

use alloy::primitives::{Address, B256, U256, address, b256, keccak256};

use crate::DevnetError;

/// The implementation of a token on the local chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The real WETH9.
    WrappedEther,
    /// A plain ERC-20: returns true or reverts.
    Standard,
    /// Like Tether: returns nothing, and a nonzero allowance can be changed only to zero.
    NoReturn,
    /// Like Maker: name and symbol are `bytes32`.
    Bytes32,
    /// Like STASIS Euro: returns false where others revert.
    FalseOnFailure,
    /// A vault, or staked ether. It is created with the vaults.
    Vault,
    /// A vault whose balances are in the ERC-7201 namespace of OpenZeppelin's upgradeable tokens, such as Aave's
    /// wrapped tokens.
    Wrapped,
    /// The share token of a pool, created with the pool and minted to its liquidity providers.
    PoolShare,
}

/// One token.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// The contract's symbol.
    pub symbol: &'static str,
    /// The contract's name.
    pub name: &'static str,
    /// Mainnet address.
    pub address: Address,
    /// The number of decimals.
    pub decimals: u8,
    /// The price of a whole token in dollars when the world is built. It decides only the amounts and prices of pools.
    pub price_usd: f64,
    /// The storage slot of the mapping of balances; for a [`Kind::Wrapped`] token, the offset in its namespace.
    pub balance_slot: u64,
    /// The implementation on the local chain.
    pub kind: Kind,
}

/// The ERC-7201 storage location of `openzeppelin.storage.ERC20`, where OpenZeppelin's upgradeable tokens keep
/// balances.
const UPGRADEABLE_BALANCES: B256 = b256!("52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00");

impl Token {
    /// Returns the storage slot of the balance of `owner`.
    #[must_use]
    pub fn balance_storage_key(&self, owner: Address) -> B256 {
        let mut preimage = [0_u8; 64];
        preimage[12..32].copy_from_slice(owner.as_slice());
        let slot = if self.kind == Kind::Wrapped { UPGRADEABLE_BALANCES } else { U256::from(self.balance_slot).into() };
        preimage[32..].copy_from_slice(slot.as_slice());
        keccak256(preimage)
    }

    /// Returns `whole` tokens in atomic units, or the largest integer if that does not fit.
    #[must_use]
    pub fn units(&self, whole: u64) -> U256 {
        U256::from(whole).saturating_mul(U256::from(10).pow(U256::from(self.decimals)))
    }
}

const fn token(
    symbol: &'static str,
    name: &'static str,
    address: Address,
    decimals: u8,
    price_usd: f64,
    (kind, balance_slot): (Kind, u64),
) -> Token {
    Token { symbol, name, address, decimals, price_usd, balance_slot, kind }
}

const fn standard(slot: u64) -> (Kind, u64) {
    (Kind::Standard, slot)
}

/// Every token, the most traded first.
#[rustfmt::skip]
pub const TOKENS: &[Token] = &[
    token("WETH", "Wrapped Ether", crate::addresses::WETH9, 18, 3_000.0, (Kind::WrappedEther, 3)),
    token("USDC", "USD Coin", address!("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), 6, 1.0, standard(9)),
    token("USDT", "Tether USD", address!("0xdAC17F958D2ee523a2206206994597C13D831ec7"), 6, 1.0, (Kind::NoReturn, 2)),
    token("DAI", "Dai Stablecoin", address!("0x6B175474E89094C44Da98b954EedeAC495271d0F"), 18, 1.0, standard(2)),
    token("WBTC", "Wrapped BTC", address!("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599"), 8, 90_000.0, standard(0)),
    token("wstETH", "Wrapped liquid staked Ether 2.0 (stand-in)", crate::addresses::WSTETH, 18, 3_600.0, (Kind::Vault, 0)),
    token("stETH", "Liquid staked Ether 2.0 (stand-in)", crate::addresses::STETH, 18, 3_000.0, (Kind::Vault, 0)),
    token("LINK", "ChainLink Token", address!("0x514910771AF9Ca656af840dff83E8264EcF986CA"), 18, 16.0, standard(1)),
    token("UNI", "Uniswap", address!("0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"), 18, 8.5, standard(4)),
    token("MKR", "Maker", address!("0x9f8F72aA9304c8B593d555F12eF6589cC3A579A2"), 18, 1_800.0, (Kind::Bytes32, 1)),
    token("AAVE", "Aave Token", address!("0x7Fc66500c84A76Ad7e9c93437bFc5Ac33E2DDaE9"), 18, 210.0, standard(0)),
    token("CRV", "Curve DAO Token", address!("0xD533a949740bb3306d119CC777fa900bA034cd52"), 18, 0.62, standard(3)),
    token("LDO", "Lido DAO Token", address!("0x5A98FcBEA516Cf06857215779Fd812CA3beF1B32"), 18, 0.95, standard(0)),
    token("PEPE", "Pepe", address!("0x6982508145454Ce325dDbE47a25d4ec3d2311933"), 18, 0.000_010_4, standard(0)),
    token("SHIB", "SHIBA INU", address!("0x95aD61b0a150d79219dCF64E1E6Cc01f0B64C4cE"), 18, 0.000_012_7, standard(0)),
    token("GUSD", "Gemini dollar", address!("0x056Fd409E1d7A124BD7017459dFEa2F387b6d5Cd"), 2, 1.0, standard(0)),
    token("EURS", "STASIS EURS Token", address!("0xdB25f211AB05b1c97D595516F45794528a807ad8"), 2, 1.08, (Kind::FalseOnFailure, 0)),
    token("cbBTC", "Coinbase Wrapped BTC", address!("0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf"), 8, 90_000.0, standard(9)),
    token("FRAX", "Frax", address!("0x853d955aCEf822Db058eb8505911ED77F175b99e"), 18, 0.999, standard(0)),
    token("LUSD", "LUSD Stablecoin", address!("0x5f98805A4E8be255a32880FDeC7F6728C6568bA0"), 18, 1.002, standard(0)),
    token("sUSDe", "Staked USDe (stand-in)", crate::addresses::SUSDE, 18, 1.19, (Kind::Vault, 4)),
    token("USDe", "USDe", address!("0x4c9EDD5852cd905f086C759E8383e09bff1E68B3"), 18, 1.0, standard(2)),
    token("COMP", "Compound", address!("0xc00e94Cb662C3520282E6f5717214004A7f26888"), 18, 46.0, standard(1)),
    token("ENS", "Ethereum Name Service", address!("0xC18360217D8F7Ab5e7c516566761Ea12Ce7F9D72"), 18, 19.0, standard(0)),
    token("PYUSD", "PayPal USD", address!("0x6c3ea9036406852006290770BEdFcAbA0e23A0e8"), 6, 1.0, standard(0)),
    token("rETH", "Rocket Pool ETH", address!("0xae78736Cd615f374D3085123A210448E74Fc6393"), 18, 3_390.0, standard(1)),
    token("sDAI", "Savings Dai (stand-in)", crate::addresses::SDAI, 18, 1.1, (Kind::Vault, 0)),
    token("pufETH", "OpenZeppelin vault at pufETH's address", crate::addresses::PUFETH, 18, 3_150.0, (Kind::Vault, 0)),
    token("sUSD", "Synth sUSD", address!("0x57Ab1ec28D129707052df4dF418D58a2D46d5f51"), 18, 1.0, standard(0)),
    token("renBTC", "renBTC", address!("0xEB4C2781e4ebA804CE9a9803C67d0893436bB27D"), 8, 90_000.0, standard(0)),
    token("sBTC", "Synth sBTC", address!("0xfE18be6b3Bd88A2D2A7f928d00292E7a9963CfC6"), 18, 90_000.0, standard(0)),
    token("tBTC", "tBTC", address!("0x8dAEBADE922dF735c38C80C7eBD708Af50815fAa"), 18, 90_000.0, standard(0)),
    token("INV", "Inverse DAO", address!("0x41D5D79431A913C4aE7d69a668ecdfE5fF9DFB68"), 18, 30.0, standard(0)),
    token("3Crv", "Curve.fi DAI/USDC/USDT (stand-in)", crate::addresses::CURVE_3CRV, 18, 1.0, (Kind::PoolShare, 3)),
    token("fUSDC", "Fluid USDC (stand-in)", crate::addresses::FLUID_FUSDC, 6, 1.0, (Kind::Vault, 0)),
    token("fUSDT", "Fluid USDT (stand-in)", crate::addresses::FLUID_FUSDT, 6, 1.0, (Kind::Vault, 0)),
    token("fWETH", "Fluid WETH (stand-in)", crate::addresses::FLUID_FWETH, 18, 3_000.0, (Kind::Vault, 0)),
    token("waEthUSDC", "Wrapped Aave Ethereum USDC", crate::addresses::WA_USDC, 6, 1.127, (Kind::Wrapped, 0)),
    token("waEthUSDT", "Wrapped Aave Ethereum USDT", crate::addresses::WA_USDT, 6, 1.141, (Kind::Wrapped, 0)),
    token("waEthWETH", "Wrapped Aave Ethereum WETH", crate::addresses::WA_WETH, 18, 3_154.0, (Kind::Wrapped, 0)),
    token("v2USDC", "Vault V2 of USDC (stand-in)", crate::addresses::VAULT_V2_USDC, 18, 1.0, (Kind::Vault, 0)),
    token("USDS", "USDS Stablecoin", address!("0xdC035D45d973E3EC169d2276DDab16f1e407384F"), 18, 1.0, standard(2)),
    token("frxETH", "Frax Ether", address!("0x5E8422345238F34275888049021821E8E08CAa1f"), 18, 2_995.0, standard(0)),
    token("USDf", "Falcon USD", address!("0xFa2B947eEc368f42195f24F36d2aF29f7c24CeC2"), 18, 0.999, standard(0)),
    token("USR", "Resolv USD", address!("0x66a1E37c9b0eAddca17d3662D6c05F4DECf3e110"), 18, 1.0, standard(0)),
    token("GHO", "Gho Token", address!("0x40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f"), 18, 0.999, standard(2)),
    token("ZCHF", "Frankencoin", address!("0xB58E61C3098d85632Df34EecfB899A1Ed80921cB"), 18, 1.24, standard(0)),
    token("USG", "USG", address!("0xB1c2Db5d6cA03FCe73dBd304d320bF76C55Ae1B1"), 18, 1.0, standard(0)),
    token("sUSDS", "Savings USDS (stand-in)", address!("0xa3931d71877C0E7a3148CB7Eb4463524FEc27fbD"), 18, 1.09, (Kind::Vault, 0)),
    token("spUSDC", "Spark Savings USDC (stand-in)", address!("0x28B3a8fb53B741A8Fd78c0fb9A6B2393d896a43d"), 6, 1.09, (Kind::Vault, 0)),
    token("sfrxETH", "Staked Frax Ether (stand-in)", address!("0xaC3E018457B222d93114458476f3E3416Abbe38F"), 18, 3_000.0, (Kind::Vault, 3)),
    token("sUSDC", "Spark USDC Vault (stand-in)", address!("0xBc65ad17c5C0a2A4D159fa5a503f4992c7B545FE"), 18, 1.09, (Kind::Vault, 0)),
    token("sUSDf", "Staked USDf (stand-in)", address!("0xc8CF6D7991f15525488b2A83Df53468D682Ba4B0"), 18, 1.0, (Kind::Wrapped, 0)),
    token("sFRAX", "Staked FRAX (stand-in)", address!("0xA663B02CF0a4b149d2aD41910CB81e23e1c41c32"), 18, 1.0, (Kind::Vault, 3)),
    token("wstUSR", "Wrapped stUSR (stand-in)", address!("0x1202F5C7b4B9E47a1A484E8B270be34dbbC75055"), 18, 1.05, (Kind::Wrapped, 0)),
    token("sGHO", "sGho (stand-in)", address!("0xE1753F2e00940cC31213dd92013cF019DFE4ca1d"), 18, 1.0, (Kind::Wrapped, 0)),
    token("svZCHF", "Savings Vault ZCHF (stand-in)", address!("0xE5F130253fF137f9917C0107659A4c5262abf6b0"), 18, 1.24, (Kind::Vault, 0)),
    token("sUSG", "Savings USG (stand-in)", address!("0xF17D6f98A5C6EAA99d149079984119e0A4EF6900"), 18, 1.0, (Kind::Vault, 0)),
    token("gtUSDCp", "Gauntlet USDC Prime (stand-in)", crate::addresses::GAUNTLET_USDC_PRIME, 18, 1.0, (Kind::Vault, 0)),
];

/// Returns the token with this symbol.
///
/// # Panics
/// When there is none. Use [`find`] for symbols that come from outside.
#[must_use]
#[allow(clippy::panic, reason = "a symbol written in a program, as wrong as a misspelt constant")]
pub fn by_symbol(symbol: &str) -> &'static Token {
    match find(symbol) {
        Ok(token) => token,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the token with this symbol (in any case) or address.
///
/// # Errors
/// [`DevnetError::UnknownToken`].
pub fn find(symbol_or_address: &str) -> Result<&'static Token, DevnetError> {
    let address: Option<Address> = symbol_or_address.parse().ok();
    TOKENS
        .iter()
        .find(|t| t.symbol.eq_ignore_ascii_case(symbol_or_address) || Some(t.address) == address)
        .ok_or_else(|| DevnetError::UnknownToken(symbol_or_address.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_and_addresses_name_one_token_each() {
        for (i, a) in TOKENS.iter().enumerate() {
            for b in &TOKENS[i + 1..] {
                assert_ne!(a.address, b.address, "{} and {}", a.symbol, b.symbol);
                assert!(!a.symbol.eq_ignore_ascii_case(b.symbol), "{}", a.symbol);
            }
        }
    }

    #[test]
    fn every_balance_slot_is_where_funding_tools_look() {
        assert!(TOKENS.iter().all(|t| t.balance_slot < 64));
    }

    #[test]
    fn a_token_is_found_by_symbol_or_address_and_an_unknown_one_is_named() {
        assert_eq!(find("usdc").unwrap().symbol, "USDC");
        assert_eq!(find("0xdac17f958d2ee523a2206206994597c13d831ec7").unwrap().symbol, "USDT");
        assert_eq!(find("NOPE").unwrap_err().to_string(), "the local chain has no token NOPE");
    }
}
