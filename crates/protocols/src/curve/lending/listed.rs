//! Listed lending pools, whose lenders are modelled.

use alloy_primitives::{Address, address};

use super::Lender;
use crate::curve::coins::{DAI, SUSD, USDC, USDT};
use crate::{Discovered, Product};

/// A pool, its lender, and each coin with the lender's token for it, if it is lent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    pub(super) pool: Address,
    pub(super) lender: Lender,
    pub(super) coins: &'static [(Address, Option<Address>)],
}

/// Aave's lending pool, second version. Source: Aave's address book.
pub(super) const AAVE: Address = address!("7d2768dE32b0b80b7a3454c06BdAc94A69DDc7A9");
/// Compound's comptroller, second version. Source: Compound's deployment list.
pub(super) const COMPOUND: Address = address!("3d9819210A31b4961b30EF54bE2aeD79B9c9Cd3B");

const ADAI: Address = address!("028171bCA77440897B824Ca71D1c56caC55b68A3");
const AUSDC: Address = address!("BcCA60bB61934080951369a648Fb03DF4F96263C");
const AUSDT: Address = address!("3Ed3B47Dd13EC9a98b44e6204A523E766B225811");
const ASUSD: Address = address!("6C5024Cd4F8A59110119C56f8933403A539555EB");
const CDAI: Address = address!("5d3a536E4D6DbD6114cc1Ead35777bAB948E3643");
const CUSDC: Address = address!("39AA39c021dfbaE8faC545936693aC917d5E7563");

/// Source: Curve's main registry, `get_coins` and `get_underlying_coins`.
const LISTED: &[Listed] = &[
    Listed {
        pool: address!("DeBF20617708857ebe4F679508E7b7863a8A8EeE"),
        lender: Lender::Aave,
        coins: &[(DAI, Some(ADAI)), (USDC, Some(AUSDC)), (USDT, Some(AUSDT))],
    },
    Listed {
        pool: address!("EB16Ae0052ed37f479f7fe63849198Df1765a733"),
        lender: Lender::Aave,
        coins: &[(DAI, Some(ADAI)), (SUSD, Some(ASUSD))],
    },
    Listed {
        pool: address!("A2B47E3D5c44877cca798226B7B8118F9BFb7A56"),
        lender: Lender::Compound,
        coins: &[(DAI, Some(CDAI)), (USDC, Some(CUSDC))],
    },
    Listed {
        pool: address!("52EA46506B9CC5Ef470C5bf89f17Dc28bB35D85C"),
        lender: Lender::Compound,
        coins: &[(DAI, Some(CDAI)), (USDC, Some(CUSDC)), (USDT, None)],
    },
];

impl Lender {
    pub(super) const fn address(self) -> Address {
        match self {
            Self::Aave => AAVE,
            Self::Compound => COMPOUND,
        }
    }
}

pub(super) fn find(pool: Address) -> Option<&'static Listed> {
    LISTED.iter().find(|listed| listed.pool == pool)
}

/// Tells whether a pool is listed.
pub(in crate::curve) fn holds(pool: Address) -> bool {
    find(pool).is_some()
}

/// Returns all listed pools, as pools of the underlying coins.
pub(in crate::curve) fn pools() -> impl Iterator<Item = Discovered> {
    LISTED.iter().map(|listed| {
        let coins = listed.coins.iter().map(|(coin, _)| *coin).collect();
        Discovered::new(listed.pool, Product::CurveStableswap, coins)
    })
}
