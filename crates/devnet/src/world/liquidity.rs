//! Creates the pools and fills them.

use alloy::primitives::{
    Address, U256,
    aliases::{I24, U24},
};

use super::{
    Batch,
    pools::{POOLS, PoolSpec},
    shape::{self, Dice, Position, Priced},
};
use crate::{
    DevnetError,
    abi::{IErc20, IPositionManager, IV2Factory, IV2Pair, IV3Factory, IV3Filler},
    accounts::MAKER,
    addresses::{
        PANCAKE_V3_ROUTER, SUSHI_V2_ROUTER, SUSHI_V3_ROUTER, SWAP_ROUTER, UNISWAP_V2_ROUTER, UNISWAP_V3_FILLER,
    },
    rpc::{Rpc, Tx},
    tokens::{self, TOKENS},
};

/// The seed of all price offsets and ranges.
const SEED: u64 = 0x0062_7261_6964;

/// The contracts that add liquidity for the maker, and those that trade for it once the pools are filled.
const SPENDERS: [Address; 6] =
    [UNISWAP_V3_FILLER, UNISWAP_V2_ROUTER, SUSHI_V2_ROUTER, SWAP_ROUTER, SUSHI_V3_ROUTER, PANCAKE_V3_ROUTER];

/// A pool on chain that has no liquidity yet.
#[derive(Debug, Clone)]
pub(super) struct OpenPool {
    pub(super) spec: PoolSpec,
    pub(super) priced: Priced,
    positions: Vec<Position>,
    address: Address,
}

pub(super) async fn open_pools(rpc: &Rpc) -> Result<Vec<OpenPool>, DevnetError> {
    let mut dice = Dice::new(SEED);
    let mut planned = Vec::with_capacity(POOLS.len());
    for chunk in POOLS.chunks(16) {
        let mut batch = Batch::new(rpc);
        for spec in chunk {
            let (a, b) = (tokens::find(spec.pair.0)?, tokens::find(spec.pair.1)?);
            let priced = shape::price(spec, a, b, &mut dice);
            let positions = match spec.venue.position_manager() {
                Some(_) => shape::positions(spec, &priced, &mut dice),
                None => Vec::new(),
            };
            batch.send(&format!("opening {spec:?}"), opening(spec, &priced)).await?;
            planned.push(OpenPool { spec: *spec, priced, positions, address: Address::ZERO });
        }
        batch.mine().await?;
    }
    for pool in &mut planned {
        pool.address = address_of(rpc, pool).await?;
    }
    Ok(planned)
}

fn opening(spec: &PoolSpec, priced: &Priced) -> Tx {
    let (token0, token1) = (priced.token0.address, priced.token1.address);
    match spec.venue.position_manager() {
        None => {
            let call = IV2Factory::createPairCall { tokenA: token0, tokenB: token1 };
            Tx::call(MAKER, spec.venue.factory(), &call).gas(6_000_000)
        }
        Some(manager) => {
            let call = IPositionManager::createAndInitializePoolIfNecessaryCall {
                token0,
                token1,
                fee: U24::from(spec.fee_pips),
                sqrtPriceX96: shape::sqrt_price_x96(priced.price),
            };
            Tx::call(MAKER, manager, &call).gas(8_000_000)
        }
    }
}

async fn address_of(rpc: &Rpc, pool: &OpenPool) -> Result<Address, DevnetError> {
    let (token_a, token_b) = (pool.priced.token0.address, pool.priced.token1.address);
    let factory = pool.spec.venue.factory();
    match pool.spec.venue.position_manager() {
        None => rpc.view(factory, &IV2Factory::getPairCall { tokenA: token_a, tokenB: token_b }).await,
        Some(_) => {
            let call = IV3Factory::getPoolCall { tokenA: token_a, tokenB: token_b, fee: U24::from(pool.spec.fee_pips) };
            rpc.view(factory, &call).await
        }
    }
}

/// Approves the filler and the routers for the maker's tokens.
pub(super) async fn approve(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for token in TOKENS {
        for spender in SPENDERS {
            let call = IErc20::approveCall { spender, value: U256::MAX };
            batch.send(token.symbol, Tx::call(MAKER, token.address, &call).gas(100_000)).await?;
        }
    }
    batch.mine().await
}

/// Adds a pool's liquidity in one block.
pub(super) async fn fill(rpc: &Rpc, pool: &OpenPool) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    match pool.spec.venue.position_manager() {
        None => add_reserves(&mut batch, pool).await?,
        Some(_) => {
            for position in &pool.positions {
                let what = format!("position {position:?} of {:?}", pool.spec);
                batch.send(&what, Tx::call(MAKER, UNISWAP_V3_FILLER, &filling(pool, position)).gas(3_000_000)).await?;
            }
        }
    }
    batch.mine().await
}

async fn add_reserves(batch: &mut Batch<'_>, pool: &OpenPool) -> Result<(), DevnetError> {
    let (amount0, amount1) = shape::reserves(&pool.spec, &pool.priced);
    for (token, amount) in [(pool.priced.token0, amount0), (pool.priced.token1, amount1)] {
        let call = IErc20::transferCall { to: pool.address, value: shape::whole(amount) };
        batch.send(token.symbol, Tx::call(MAKER, token.address, &call).gas(200_000)).await?;
    }
    let what = format!("liquidity of {:?}", pool.spec);
    batch.send(&what, Tx::call(MAKER, pool.address, &IV2Pair::mintCall { to: MAKER }).gas(1_000_000)).await
}

fn filling(pool: &OpenPool, position: &Position) -> IV3Filler::fillCall {
    IV3Filler::fillCall {
        pool: pool.address,
        tickLower: I24::try_from(position.tick_lower).unwrap_or(I24::ZERO),
        tickUpper: I24::try_from(position.tick_upper).unwrap_or(I24::ZERO),
        amount0: shape::whole(position.amount0),
        amount1: shape::whole(position.amount1),
    }
}
