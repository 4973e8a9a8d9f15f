//! Curve's metapools, which trade one coin against the share of a base pool and, through it, against the base pool's
//! coins.

use alloy::{
    primitives::{Address, U256},
    sol_types::{SolCall, SolValue},
};

use super::{
    Meta, NextFactory, OfMany, OfTwo, Stable, StableFactory, TIMES_N, WHOLE, allow, coin, habits, power, share, stable,
    units,
};
use crate::{
    DevnetError,
    accounts::MAKER,
    addresses::{self as at},
    kit::Bundle,
    rpc::{Rpc, Tx},
    world::{
        Batch,
        placement::{self, Placement},
    },
};

/// A base pool.
struct Base {
    pool: Address,
    share: Address,
    coins: &'static [&'static str],
    is_next: bool,
}

const THREE: Base =
    Base { pool: at::CURVE_3POOL, share: at::CURVE_3CRV, coins: &["DAI", "USDC", "USDT"], is_next: false };
const SBTC: Base =
    Base { pool: at::CURVE_SBTC, share: at::CURVE_SBTC_SHARE, coins: &["renBTC", "WBTC", "sBTC"], is_next: false };
const REN: Base = Base { pool: at::CURVE_REN, share: at::CURVE_REN_SHARE, coins: &["renBTC", "WBTC"], is_next: false };
const DOLLARS: Base =
    Base { pool: at::CURVE_NG_DOLLARS, share: at::CURVE_NG_DOLLARS, coins: &["USDC", "USDT"], is_next: true };

/// The origin of a metapool.
enum Made {
    /// Deployed by hand: it caches the price of the base pool's share, and has a separate share token.
    ByHand(Address),
    /// By the first factory, as a proxy of this implementation.
    Factory(Address),
    /// By the StableSwap-NG factory.
    Next,
}

struct Metapool {
    pool: Address,
    own: &'static str,
    base: Base,
    made: Made,
    amp: u64,
    /// The deposit: whole coins of its own and whole shares of the base pool.
    holds: [u64; 2],
}

const METAPOOLS: [Metapool; 6] = [
    Metapool {
        pool: at::CURVE_GUSD,
        own: "GUSD",
        base: THREE,
        made: Made::ByHand(at::CURVE_GUSD_SHARE),
        amp: 1_000,
        holds: [3_000_000, 3_100_000],
    },
    Metapool {
        pool: at::CURVE_LISTED_META,
        own: "LUSD",
        base: THREE,
        made: Made::Factory(at::CURVE_META_IMPLEMENTATION),
        amp: 200,
        holds: [3_000_000, 3_060_000],
    },
    Metapool {
        pool: at::CURVE_TBTC,
        own: "tBTC",
        base: SBTC,
        made: Made::ByHand(at::CURVE_TBTC_SHARE),
        amp: 200,
        holds: [90, 100],
    },
    Metapool {
        pool: at::CURVE_LISTED_META_ON_REN,
        own: "cbBTC",
        base: REN,
        made: Made::Factory(at::CURVE_META_ON_REN_IMPLEMENTATION),
        amp: 200,
        holds: [70, 64],
    },
    Metapool {
        pool: at::CURVE_LISTED_NEXT_META,
        own: "FRAX",
        base: DOLLARS,
        made: Made::Next,
        amp: 500,
        holds: [1_100_000, 1_000_000],
    },
    Metapool {
        pool: at::CURVE_LISTED_NEXT_META_ON_3POOL,
        own: "USDe",
        base: THREE,
        made: Made::Next,
        amp: 500,
        holds: [1_100_000, 1_000_000],
    },
];

impl Metapool {
    fn placements(&self) -> Vec<Placement> {
        let (own, Base { pool: base, share: base_share, coins, is_next }) = (self.own, &self.base);
        let mut terms = match self.made {
            Made::Next => stable(&[own], self.amp, 1_000_000, 50_000_000_000, habits(WHOLE)),
            _ => stable(&[own], self.amp, 4_000_000, 0, habits(TIMES_N)),
        };
        terms.coins.push(*base_share);
        terms.rates.push(power(18));
        let (count, name, symbol) =
            (U256::from(coins.len()), format!("Curve.fi {own} (stand-in)"), format!("{own}-meta"));
        match self.made {
            Made::ByHand(shares) => vec![
                share(&name, &symbol, shares, self.pool),
                ("StandInCurveMetaPool", self.pool, (terms, shares, *base, count, *is_next).abi_encode_params()),
            ],
            Made::Factory(_) => {
                let args = (terms, *base, count, *is_next, name, symbol).abi_encode_params();
                vec![("StandInCurveFactoryMetaPool", self.pool, args)]
            }
            Made::Next => {
                let args = (terms, *base, count, *is_next, name, symbol).abi_encode_params();
                vec![("StandInCurveMetaPoolNG", self.pool, args)]
            }
        }
    }

    fn fill(&self) -> Vec<u8> {
        let ([own, shares], least) = (self.holds, U256::ZERO);
        let amounts = [units(self.own, own), U256::from(shares) * power(18)];
        match self.made {
            Made::Next => OfMany::add_liquidityCall { amounts: amounts.to_vec(), least }.abi_encode(),
            _ => OfTwo::add_liquidityCall { amounts, least }.abi_encode(),
        }
    }

    /// Returns a trade with the share and one with each coin of the base pool, each of a two-thousandth of the pool's
    /// balance.
    fn trades(&self, there: bool) -> Vec<Vec<u8>> {
        let ([own, shares], part, least) = (self.holds, U256::from(2_000), U256::ZERO);
        let own_units = units(self.own, own) / part;
        let (i, j, dx) = if there { (0, 1, own_units) } else { (1, 0, U256::from(shares) * power(18) / part) };
        let mut calls = vec![Stable::exchangeCall { i, j, dx, least }.abi_encode()];
        for (k, symbol) in (1..).zip(self.base.coins) {
            let (i, j, dx) = if there { (0, k, own_units) } else { (k, 0, units(symbol, own) / part) };
            calls.push(Meta::exchange_underlyingCall { i, j, dx, least }.abi_encode());
        }
        calls
    }

    /// Returns the call that makes the factory announce the pool; `None` for a pool that was deployed by hand.
    fn announcement(&self) -> Option<Tx> {
        let pool = self.pool;
        let coins = vec![coin(self.own), self.base.share];
        let underlying = [self.own].iter().chain(self.base.coins).map(|symbol| coin(symbol)).collect();
        match self.made {
            Made::ByHand(_) => None,
            Made::Factory(implementation) => {
                let call = StableFactory::announceMetaCall { pool, coins, underlying, implementation };
                Some(Tx::call(MAKER, at::CURVE_STABLE_FACTORY, &call))
            }
            Made::Next => {
                let call = NextFactory::announceMetaCall { pool, coins, underlying, base: self.base.pool };
                Some(Tx::call(MAKER, at::CURVE_NEXT_FACTORY, &call))
            }
        }
    }
}

/// Places the pools, fills them, trades in each one way and back, and makes the factories announce them.
pub(super) async fn build(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    placement::place(rpc, bundle, &METAPOOLS.iter().flat_map(Metapool::placements).collect::<Vec<_>>()).await?;
    let mut batch = Batch::new(rpc);
    for meta in &METAPOOLS {
        let coins = meta.base.coins.iter().chain([&meta.own]).map(|symbol| coin(symbol));
        for token in coins.chain([meta.base.share]) {
            allow(&mut batch, token, meta.pool).await?;
        }
    }
    batch.mine().await?;
    let send = |meta: &Metapool, data: Vec<u8>| Tx {
        from: MAKER,
        to: meta.pool,
        data: data.into(),
        value_wei: U256::ZERO,
        gas_units: Some(3_000_000),
    };
    let mut batch = Batch::new(rpc);
    for meta in &METAPOOLS {
        batch.send(&format!("filling the metapool of {}", meta.own), send(meta, meta.fill())).await?;
    }
    batch.mine().await?;
    for there in [true, false] {
        let mut batch = Batch::new(rpc);
        for meta in &METAPOOLS {
            for data in meta.trades(there) {
                batch.send(&format!("trading in the metapool of {}", meta.own), send(meta, data)).await?;
            }
        }
        batch.mine().await?;
    }
    let mut batch = Batch::new(rpc);
    for announcement in METAPOOLS.iter().filter_map(Metapool::announcement) {
        batch.send("listing a metapool", announcement.gas(1_000_000)).await?;
    }
    batch.mine().await
}
