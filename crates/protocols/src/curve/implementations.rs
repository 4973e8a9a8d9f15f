//! Implementations of factory pools: each pool is a proxy of an implementation, whose address the factory returns.

use alloy_primitives::{Address, address};

use super::stable::{BalanceSource, ProductRule, Rules};

/// Pool type of an implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Implementation {
    /// A plain pool with this number of coins.
    Plain { coins: usize, product: ProductRule, balance_source: BalanceSource },
    /// A metapool that requests the price of shares from its base pool in each swap.
    Meta { base: Address, balance_source: BalanceSource },
    /// A type that is not modelled, and the reason.
    Refused(&'static str),
}

const RATES: &str = "its implementation requests rates from oracles";

/// The product term divides by two coins at once, by three and four one after another. Source: `get_D` of
/// `curve-factory`, `plain-2` since its first deployment, `plain-3`, `plain-4`, and `meta`.
const TWO: Implementation =
    Implementation::Plain { coins: 2, product: ProductRule::Whole, balance_source: BalanceSource::Stored };
const THREE: Implementation =
    Implementation::Plain { coins: 3, product: ProductRule::TimesN, balance_source: BalanceSource::Stored };
const FOUR: Implementation =
    Implementation::Plain { coins: 4, product: ProductRule::TimesN, balance_source: BalanceSource::Stored };

/// The same, for pools that read their balances from their coins. Source: `Plain2Balances`, `Plain3Balances`,
/// `Plain4Balances`, and the metapools'.
const TWO_HELD: Implementation =
    Implementation::Plain { coins: 2, product: ProductRule::Whole, balance_source: BalanceSource::Token };
const THREE_HELD: Implementation =
    Implementation::Plain { coins: 3, product: ProductRule::TimesN, balance_source: BalanceSource::Token };
const FOUR_HELD: Implementation =
    Implementation::Plain { coins: 4, product: ProductRule::TimesN, balance_source: BalanceSource::Token };

const fn on(base: Address) -> Implementation {
    Implementation::Meta { base, balance_source: BalanceSource::Stored }
}

const fn held_on(base: Address) -> Implementation {
    Implementation::Meta { base, balance_source: BalanceSource::Token }
}

/// 3pool: DAI, USDC and USDT.
pub(super) const THREE_POOL: Address = address!("bEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7");
/// FRAX/USDC pool.
pub(super) const FRAX_POOL: Address = address!("DcEF968d416a41Cdac0ED8702fAC8128A64241A2");
/// FRAX/USDP pool.
pub(super) const FRAX_USDP_POOL: Address = address!("aE34574AC03A15cd58A92DC79De7B1A0800F1CE3");
/// sBTC pool: renBTC, WBTC and sBTC.
pub(super) const SBTC_POOL: Address = address!("7fC77b5c7614E1533320Ea6DDc2Eb61fa00A9714");
/// renBTC/WBTC pool.
pub(super) const REN_POOL: Address = address!("93054188d876f558f4a66B2EF1d97d16eDf0895B");
/// Second sBTC pool, without renBTC.
pub(super) const SBTC_SECOND_POOL: Address = address!("f253f83AcA21aAbD2A20553AE0BF7F65C755A07F");

/// Implementations on mainnet. Source: `curve-js`, `constants/factory/stable`, which names each by its interface.
const IMPLEMENTATIONS: &[(Address, Implementation)] = &[
    (address!("5F890841f657d90E081bAbdB532A05996Af79Fe6"), on(THREE_POOL)),
    (address!("213be373FDff327658139C7df330817DAD2d5bBE"), on(THREE_POOL)),
    (address!("33bB0e62d5e8C688E645Dd46DFb48Cd613250067"), on(FRAX_POOL)),
    (address!("F9B62b61d108232Ef0C9DD143bb3c22c7D4A715a"), on(FRAX_USDP_POOL)),
    (address!("C6A8466d128Fbfd34AdA64a9FFFce325D57C9a52"), on(SBTC_POOL)),
    (address!("ECAaecd9d2193900b424774133B1f51ae0F29d9E"), on(REN_POOL)),
    (address!("008CFa89df5B0c780cA3462fc2602D7F8c7Ac315"), on(SBTC_SECOND_POOL)),
    (
        address!("2f956eEe002B0dEbD468CF2E0490d1aEc65e027F"),
        Implementation::Refused("an implementation with an unknown base pool"),
    ),
    (address!("55Aa9BF126bCABF0bDC17Fa9E39Ec9239e1ce7A9"), held_on(THREE_POOL)),
    (address!("2EB24483Ef551dA247ab87Cf18e1Cc980073032D"), held_on(FRAX_POOL)),
    (address!("B172AC2Fe440B5dA74Dc460e5E9d96bc2BF6261F"), held_on(FRAX_USDP_POOL)),
    (address!("c4C78b08fA0c3d0a312605634461A88184Ecd630"), held_on(SBTC_POOL)),
    (address!("40fD58D44cFE63E8517c9Bb3ac98676838Ea56A8"), held_on(REN_POOL)),
    (address!("AbC533EbCDdeD41215C46ee078C5818B5b0A252F"), held_on(SBTC_SECOND_POOL)),
    (address!("6523Ac15EC152Cb70a334230F6c5d62C5Bd963f1"), TWO),
    (address!("6326DEbBAa15bCFE603d831e7D75f4fc10d9B43E"), TWO),
    (address!("4A4d7868390EF5CaC51cDA262888f34bD3025C3F"), TWO),
    (address!("c629a01eC23AB04E1050500A3717A2a5c0701497"), TWO),
    (address!("847ee1227A9900B73aEeb3a47fAc92c52FD54ed9"), Implementation::Refused(RATES)),
    (address!("94b4DFd9Ba5865Cc931195c99A2db42F3fc5d45B"), TWO),
    (address!("67fe41A94e779CcFa22cff02cc2957DC9C0e4286"), TWO),
    (address!("36Dc03C0e12a1C241306a6A8F327Fe28bA2Be5b0"), Implementation::Refused(RATES)),
    (address!("24D937143d3F5cF04c72bA112735151A8CAE2262"), TWO_HELD),
    (address!("7Ca46A636b02D4aBC66883D7FF164bDE506DC66a"), TWO_HELD),
    (address!("9B52F13DF69D79Ec5aAB6D1aCe3157d29B409cC3"), THREE),
    (address!("8c1aB78601c259E1B43F19816923609dC7d7de9B"), THREE),
    (address!("E5F4b89E0A16578B3e0e7581327BDb4C712E44De"), THREE),
    (address!("50b085f2e5958C4A87baf93A8AB79F6bec068494"), THREE_HELD),
    (address!("5Bd47eA4494e0F8DE6e3Ca10F1c05F55b72466B8"), FOUR),
    (address!("88855cdF2b0A8413D470B86952E726684de915be"), FOUR),
    (address!("aD4753D045D3Aed5C1a6606dFb6a7D7AD67C1Ad7"), FOUR),
    (address!("d35B58386705CE75CE6d09842E38E9BE9CDe5bF6"), FOUR_HELD),
];

/// Returns the pool type of an implementation.
pub(super) fn implementation_of(implementation: Address) -> Implementation {
    let known = IMPLEMENTATIONS.iter().find(|(address, _)| *address == implementation);
    known.map_or(Implementation::Refused("an unknown implementation"), |(_, made)| *made)
}

impl Implementation {
    /// Returns the rounding rules of its pools; `None` for types that are not modelled.
    pub(super) const fn rules(self) -> Option<Rules> {
        match self {
            Self::Plain { product, balance_source, .. } => Some(Rules { balance_source, ..Rules::standard(product) }),
            Self::Meta { balance_source, .. } => Some(Rules { balance_source, ..Rules::standard(ProductRule::TimesN) }),
            Self::Refused(_) => None,
        }
    }
}
