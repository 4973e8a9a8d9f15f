//! Curve's pools that factories list and that are not of the usual kinds: metapools of the next generation, and a pool that asks its coins for balances.

use alloy::{
    primitives::{Address, U256},
    sol,
    sol_types::SolValue,
};

use super::{Habits, Meta, OfMany, OfTwo, Stable, StableFactory, WHOLE, coin, decimals, habits, power, stable, units};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses::{self as at},
    kit::Bundle,
    rpc::{Rpc, Tx},
    world::{Batch, deploy},
};

sol! {
    interface Factory {
        function announcePlain(address pool, address[] coins, uint8[] assetTypes) external;
        function announceMeta(address pool, address[] coins, address[] underlying, address base) external;
    }
}

/// A metapool: where it is, its own coin, its base pool with that pool's share and coins.
struct OnTop {
    pool: Address,
    own: &'static str,
    base: Address,
    share: Address,
    coins: &'static [&'static str],
    is_next: bool,
}

const ON_TOP: [OnTop; 2] = [
    OnTop {
        pool: at::CURVE_LISTED_NEXT_META,
        own: "FRAX",
        base: at::CURVE_NG_DOLLARS,
        share: at::CURVE_NG_DOLLARS,
        coins: &["USDC", "USDT"],
        is_next: true,
    },
    OnTop {
        pool: at::CURVE_LISTED_NEXT_META_ON_3POOL,
        own: "USDe",
        base: at::CURVE_3POOL,
        share: at::CURVE_3CRV,
        coins: &["DAI", "USDC", "USDT"],
        is_next: false,
    },
];

const HELD: [&str; 2] = ["FRAX", "LUSD"];

/// Places the pools, fills them, trades in each one way and back, and has the factories announce them.
pub(super) async fn build(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    let name = "Curve.fi (stand-in)".to_owned();
    let mut placements = Vec::new();
    for OnTop { pool, own, base, share, coins, is_next } in ON_TOP {
        let mut terms = stable(&[own], 500, 1_000_000, 50_000_000_000, habits(WHOLE));
        terms.coins.push(share);
        terms.rates.push(power(18));
        let args = (terms, base, U256::from(coins.len()), is_next, name.clone(), format!("{own}-meta"));
        placements.push(("StandInCurveMetaPoolNG", pool, args.abi_encode_params()));
    }
    let held = stable(&HELD, 500, 4_000_000, 0, Habits { held: true, ..habits(WHOLE) });
    placements.push((
        "StandInCurvePlainPool2",
        at::CURVE_LISTED_HELD,
        (held, name, "FRAXLUSD".to_owned()).abi_encode_params(),
    ));
    deploy::place(rpc, bundle, &placements).await?;
    approve(rpc).await?;
    fill(rpc).await?;
    trade(rpc).await?;
    announce(rpc).await
}

async fn approve(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let held = HELD.iter().map(|symbol| (coin(symbol), at::CURVE_LISTED_HELD));
    let own = |top: &OnTop| -> Vec<(Address, Address)> {
        let coins = top.coins.iter().chain([&top.own]).map(|symbol| coin(symbol));
        coins.chain([top.share]).map(|token| (token, top.pool)).collect()
    };
    for (token, spender) in held.chain(ON_TOP.iter().flat_map(own)) {
        let call = IErc20::approveCall { spender, value: U256::MAX };
        batch.send("an allowance for a listed pool", Tx::call(MAKER, token, &call).gas(100_000)).await?;
    }
    batch.mine().await
}

async fn fill(rpc: &Rpc) -> Result<(), DevnetError> {
    let least = U256::ZERO;
    let mut batch = Batch::new(rpc);
    for OnTop { pool, own, .. } in ON_TOP {
        let amounts = vec![units(own, 1_100_000), U256::from(1_000_000) * power(18)];
        let call = OfMany::add_liquidityCall { amounts, least };
        batch.send("filling a metapool", Tx::call(MAKER, pool, &call).gas(3_000_000)).await?;
    }
    let amounts = HELD.map(|symbol| units(symbol, 900_000));
    let call = OfTwo::add_liquidityCall { amounts, least };
    batch.send("filling a listed pool", Tx::call(MAKER, at::CURVE_LISTED_HELD, &call).gas(3_000_000)).await?;
    batch.mine().await
}

async fn trade(rpc: &Rpc) -> Result<(), DevnetError> {
    let least = U256::ZERO;
    for there in [true, false] {
        let mut batch = Batch::new(rpc);
        for OnTop { pool, own, coins, .. } in ON_TOP {
            for (j, symbol) in (1..).zip(coins) {
                let (i, j, decimals) = if there { (0, j, decimals(own)) } else { (j, 0, decimals(symbol)) };
                let call = Meta::exchange_underlyingCall { i, j, dx: U256::from(1_000) * power(decimals), least };
                batch.send("trading in a metapool", Tx::call(MAKER, pool, &call).gas(3_000_000)).await?;
            }
            let (i, j) = if there { (0, 1) } else { (1, 0) };
            let call = Stable::exchangeCall { i, j, dx: U256::from(1_000) * power(18), least };
            batch.send("trading in a metapool", Tx::call(MAKER, pool, &call).gas(3_000_000)).await?;
        }
        let (i, j) = if there { (0, 1) } else { (1, 0) };
        let call = Stable::exchangeCall { i, j, dx: U256::from(1_000) * power(18), least };
        batch.send("trading in a listed pool", Tx::call(MAKER, at::CURVE_LISTED_HELD, &call).gas(3_000_000)).await?;
        batch.mine().await?;
    }
    Ok(())
}

async fn announce(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let dollars = ["USDC", "USDT"].map(coin).to_vec();
    let base = Factory::announcePlainCall { pool: at::CURVE_NG_DOLLARS, coins: dollars, assetTypes: vec![0, 0] };
    batch.send("listing a base pool", Tx::call(MAKER, at::CURVE_NEXT_FACTORY, &base).gas(1_000_000)).await?;
    for OnTop { pool, own, base, share, coins, .. } in ON_TOP {
        let underlying = [own].iter().chain(coins).map(|symbol| coin(symbol)).collect();
        let call = Factory::announceMetaCall { pool, coins: vec![coin(own), share], underlying, base };
        batch.send("listing a metapool", Tx::call(MAKER, at::CURVE_NEXT_FACTORY, &call).gas(1_000_000)).await?;
    }
    let held = StableFactory::announcePlainCall {
        pool: at::CURVE_LISTED_HELD,
        coins: HELD.map(coin).to_vec(),
        implementation: at::CURVE_HELD_IMPLEMENTATION,
    };
    batch.send("listing a plain pool", Tx::call(MAKER, at::CURVE_STABLE_FACTORY, &held).gas(1_000_000)).await?;
    batch.mine().await
}
