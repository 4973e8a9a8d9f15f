//! PancakeSwap V3. Its pools run Uniswap V3's arithmetic. They differ in the `Swap` event, the width of the protocol
//! fee, the callback's name (`docs/internals/program.md`), and the gas of a swap.

use alloy_primitives::{B256, LogData, U256, address, b256};
use alloy_sol_types::{SolEvent, sol};

use crate::{
    Product, Source,
    step::Factory,
    uniswap_v3::{self, After, BURN, INITIALIZE, Logs, MINT, gas::Costs},
};

sol! {
    event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint128 protocolFeesToken0, uint128 protocolFeesToken1);
}

const SWAP: B256 = b256!("19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83");

/// PancakeSwap V3 on mainnet.
///
/// Source: PancakeSwap's deployment list. A test recomputes the address from a known pool by CREATE2.
pub static PANCAKESWAP_V3: uniswap_v3::PoolProtocol = uniswap_v3::PoolProtocol {
    product: Product::PancakeswapV3,
    sources: &[Source {
        emitter: address!("0BFbCF9fa4f9C56B0F40a671Ad40E0805A091865"),
        topic0: uniswap_v3::POOL_CREATED,
        deployment_block: 16_950_686,
    }],
    logs: Logs::with_swap(SWAP, &[INITIALIZE, SWAP, MINT, BURN], price_after),
    costs: COSTS,
    factory: Factory {
        number: 4,
        // the factory deploys pools through this contract
        deployer: address!("41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9"),
        init_code_hash: b256!("6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2"),
    },
};

/// Gas units of a swap: more than Uniswap's, because the lock and the protocol fee are in a separate slot, and the pool
/// checks for a liquidity mining pool.
///
/// Measured on the pool's own bytecode next to Uniswap's, without a liquidity mining pool; `tests/it/gas.rs` holds the
/// difference.
pub const COSTS: Costs = Costs {
    swap_gas_units: Costs::UNISWAP.swap_gas_units + 10_200,
    tick_moved_gas_units: Costs::UNISWAP.tick_moved_gas_units,
    word_gas_units: Costs::UNISWAP.word_gas_units + 300,
    tick_gas_units: Costs::UNISWAP.tick_gas_units + 470,
};

/// Decodes price, tick and liquidity after a swap from its event.
fn price_after(data: &LogData) -> Option<After> {
    let event = Swap::decode_log_data_validate(data).ok()?;
    let (sqrt_price_x96, tick) = (U256::from(event.sqrtPriceX96), event.tick.as_i32());
    Some(After { sqrt_price_x96, tick, liquidity: event.liquidity })
}
