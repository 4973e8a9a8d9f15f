//! How long a block takes from its logs in memory to the next market: 300 changed pools of 10,000.
//!
//! `cargo run --release -p braid-ethereum --example apply_block`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use alloy::{
    primitives::{
        Address, I256, Log, U256,
        aliases::{I24, U112, U160},
    },
    sol_types::SolEvent,
};
use braid_ethereum::{Catalog, apply_logs};
use braid_market::{Market, Tokens};
use braid_primitives::{B256, Block, Token, TokenId};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2, uniswap_v3};

alloy::sol! {
    event Sync(uint112 reserve0, uint112 reserve1);
    event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick);
    event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1);
}

const POOLS: u32 = 10_000;
const TOKENS: u32 = 3_000;
const CHANGED: u32 = 300;
const BLOCKS: usize = 200;

fn main() {
    let market = market();
    let logs = logs();
    let catalog = Catalog::new(Product::ALL);
    let mut kept = std::collections::VecDeque::from([Arc::new(market)]);
    let mut micros = Vec::with_capacity(BLOCKS);
    for number in 0..BLOCKS as u64 {
        let base = Arc::clone(kept.back().unwrap());
        let started = Instant::now();
        let change = apply_logs(&catalog, &base, &BTreeSet::new(), &logs);
        assert_eq!((change.changed.len(), change.stale.len()), (CHANGED as usize, 0));
        let next = base.next(block(number), Arc::clone(base.tokens()), change.changed).unwrap();
        kept.push_back(Arc::new(next));
        if kept.len() > 65 {
            kept.pop_front();
        }
        micros.push(started.elapsed().as_micros());
    }
    micros.sort_unstable();
    let (median, worst) = (micros[BLOCKS / 2], micros[BLOCKS - 1]);
    println!("{CHANGED} of {POOLS} pools changed by {} logs: median {median} µs, worst {worst} µs", logs.len());
}

fn address(index: u32) -> Address {
    Address::left_padding_from(&(index + 0x10_000).to_be_bytes())
}

fn block(number: u64) -> Block {
    let hash = B256::left_padding_from(&number.to_be_bytes());
    Block { number, hash, parent_hash: hash, timestamp: 0, base_fee_per_gas_wei: 1, gas_used: 0, gas_limit: 1 }
}

/// Every third pool is concentrated, with 200 ticks.
fn market() -> Market {
    let mut tokens = Tokens::new();
    for index in 0..TOKENS {
        let address = Address::left_padding_from(&(index + 1).to_be_bytes());
        tokens.insert(Token { address, symbol: String::new(), name: String::new(), decimals: 18 });
    }
    let pool = |index: u32| Pool {
        key: address(index).into(),
        product: if index.is_multiple_of(3) { Product::UniswapV3 } else { Product::UniswapV2 },
        coins: [TokenId(index % TOKENS), TokenId((index * 7 + 1) % TOKENS)].into_iter().collect(),
        state: if index.is_multiple_of(3) { concentrated() } else { pair() },
    };
    let pools = (0..POOLS * 2).map(pool).filter(|pool| pool.coins[0] != pool.coins[1]).take(POOLS as usize);
    Market::new(block(0), Arc::new(tokens), pools).unwrap()
}

fn pair() -> PoolState {
    PoolState::UniswapV2(uniswap_v2::State { reserve0: 1_000_000, reserve1: 1_000_000, fee_bps: 30 })
}

fn concentrated() -> PoolState {
    let tick =
        |index: i32| uniswap_v3::Tick::new(index * 60, if index < 0 { 1_000 } else { -1_000 }, 1_000_000).unwrap();
    PoolState::UniswapV3(uniswap_v3::State {
        sqrt_price_x96: U256::from(1u8) << 96,
        tick: 0,
        liquidity: 99_000,
        fee_pips: 3_000,
        fee_protocol: 0,
        tick_spacing: 60,
        ticks: (-100..100).map(tick).collect(),
    })
}

/// One event for each of the first pools; every ninth pool is minted into as well, which copies its ticks.
fn logs() -> Vec<Log> {
    let mut logs = Vec::new();
    for index in 0..CHANGED {
        let emitter = address(index);
        if !index.is_multiple_of(3) {
            let reserve = U112::from(2_000_000 + index);
            logs.push(log(emitter, &Sync { reserve0: reserve, reserve1: reserve }));
            continue;
        }
        if index.is_multiple_of(9) {
            let (lower, upper) = (I24::try_from(600).unwrap(), I24::try_from(1_200).unwrap());
            let owner = Address::ZERO;
            logs.push(log(
                emitter,
                &Mint {
                    sender: owner,
                    owner,
                    tickLower: lower,
                    tickUpper: upper,
                    amount: 1,
                    amount0: U256::ZERO,
                    amount1: U256::ZERO,
                },
            ));
        }
        logs.push(log(
            emitter,
            &Swap {
                sender: Address::ZERO,
                recipient: Address::ZERO,
                amount0: I256::ONE,
                amount1: I256::MINUS_ONE,
                sqrtPriceX96: U160::from(1) << 96,
                liquidity: 99_000,
                tick: I24::ZERO,
            },
        ));
    }
    logs
}

fn log(address: Address, event: &impl SolEvent) -> Log {
    Log { address, data: event.encode_log_data() }
}
