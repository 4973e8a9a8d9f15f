//! SushiSwap. Its V2 pairs run Uniswap V2's code, its V3 pools Uniswap V3's.

use alloy_primitives::{address, b256};

use crate::{Product, Source, step::Factory, uniswap_v2, uniswap_v3};

/// SushiSwap V2 on mainnet.
///
/// Source: SushiSwap's deployment list. A test recomputes the address from a known pair by CREATE2.
pub static SUSHISWAP_V2: uniswap_v2::PairProtocol = uniswap_v2::PairProtocol {
    product: Product::SushiswapV2,
    sources: &[Source {
        emitter: address!("C0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac"),
        topic0: uniswap_v2::PAIR_CREATED,
        deployment_block: 10_794_229,
    }],
    factory: Factory {
        number: 1,
        deployer: address!("C0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac"),
        init_code_hash: b256!("e18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303"),
    },
};

/// SushiSwap V3 on mainnet.
///
/// Source: SushiSwap's deployment list.
pub static SUSHISWAP_V3: uniswap_v3::PoolProtocol = uniswap_v3::PoolProtocol {
    product: Product::SushiswapV3,
    sources: &[Source {
        emitter: address!("bACEB8eC6b9355Dfc0269C18bac9d6E2Bdc29C4F"),
        topic0: uniswap_v3::POOL_CREATED,
        deployment_block: 16_955_547,
    }],
    logs: uniswap_v3::Logs::UNISWAP,
    costs: uniswap_v3::gas::Costs::UNISWAP,
    factory: Factory {
        number: 3,
        deployer: address!("bACEB8eC6b9355Dfc0269C18bac9d6E2Bdc29C4F"),
        init_code_hash: uniswap_v3::POOL_INIT_CODE_HASH,
    },
};
