//! Tests of Fluid's pools and fTokens with their own code, in the versions of the project's list of deployments. Our
//! stand-ins fill the contracts. Then the code of the layer's proxy and its module, of the pool and of the fToken
//! replaces theirs. See `docs/internals/protocols/fluid.md`.

use alloy_primitives::{Address, Bytes, U256, address, keccak256};
use alloy_sol_types::{SolValue, sol};
use braid_protocols::fluid::LIQUIDITY;

use crate::{
    fluid_bytecode::{DEPLOYER, ETHER, POOL, Turns, World, share, word, worlds},
    support::{
        chain::{Chain, OWNER},
        deployed,
    },
};

sol! {
    struct Implementations { address shift; address admin; address colOperations; address debtOperations; address perfectOperationsAndSwapOut; }
    struct ConstantViews {
        uint256 dexId;
        address liquidity;
        address factory;
        Implementations implementations;
        address deployerContract;
        address token0;
        address token1;
        bytes32 supplyToken0Slot;
        bytes32 borrowToken0Slot;
        bytes32 supplyToken1Slot;
        bytes32 borrowToken1Slot;
        bytes32 exchangePriceToken0Slot;
        bytes32 exchangePriceToken1Slot;
        uint256 oracleMapping;
    }
    function addImplementation(address implementation, bytes4[] calldata selectors) external;
    function operate(address token, int256 supply, int256 loan, address withdrawTo, address borrowTo, bytes data) external payable returns (uint256, uint256);
}

const MODULE: Address = address!("8bd91778fcF8bcF4e578710C9F5AD9bC852DC103");
const SHIFT: Address = address!("4ECb836267b8b6473B34E244c82A6AA0749FFB9b");
const ELSEWHERE: Address = Address::repeat_byte(0x77);

/// Replaces the stand-in by the layer's proxy with the module that operates, and writes the interest rates in its
/// format.
fn place_layer(chain: &mut Chain, [proxy, module]: [&Bytes; 2], tokens: &[Address], highest: u64) {
    chain.construct(LIQUIDITY, proxy, &(OWNER, ELSEWHERE).abi_encode());
    chain.construct(MODULE, module, &[]);
    let selectors = vec![alloy_primitives::FixedBytes(<operateCall as alloy_sol_types::SolCall>::SELECTOR)];
    chain.send(LIQUIDITY, &addImplementationCall { implementation: MODULE, selectors }).unwrap();
    for token in tokens {
        // The first version of the rate data: at zero utilization, at the kink, and at full utilization, in basis
        // points.
        let rates = [(0, 1), (4, highest / 100), (20, 8_000), (36, highest / 2), (52, highest)];
        let rates = word(&rates.map(|(at, value)| (at, U256::from(value))));
        chain.set_word(LIQUIDITY, keccak256((*token, U256::from(6)).abi_encode()).into(), rates);
    }
}

/// Returns the storage slot of the pool's balance of a token in the layer.
fn of_pool(mapping: u64, token: Address) -> alloy_primitives::B256 {
    keccak256((token, keccak256((POOL, U256::from(mapping)).abi_encode())).abi_encode())
}

fn place_pool(world: &mut World, [pool, shift]: [&Bytes; 2]) {
    let [token0, token1] = world.tokens;
    let price = |token: Address| keccak256((token, U256::from(5)).abi_encode());
    let implementations = Implementations {
        shift: SHIFT,
        admin: ELSEWHERE,
        colOperations: ELSEWHERE,
        debtOperations: ELSEWHERE,
        perfectOperationsAndSwapOut: ELSEWHERE,
    };
    let constants = ConstantViews {
        dexId: U256::ONE,
        liquidity: LIQUIDITY,
        factory: OWNER,
        implementations,
        deployerContract: DEPLOYER,
        token0,
        token1,
        supplyToken0Slot: of_pool(8, token0),
        borrowToken0Slot: of_pool(9, token0),
        supplyToken1Slot: of_pool(8, token1),
        borrowToken1Slot: of_pool(9, token1),
        exchangePriceToken0Slot: price(token0),
        exchangePriceToken1Slot: price(token1),
        oracleMapping: U256::ZERO,
    };
    world.chain.construct(SHIFT, shift, &DEPLOYER.abi_encode());
    world.chain.construct(POOL, pool, &constants.abi_encode());
}

#[test]
fn fluids_own_pool_pays_what_the_model_says() {
    let names = ["FluidLiquidity", "FluidUserModule", "FluidDexT1", "FluidDexT1Shift"];
    let Some([proxy, module, pool, shift]) = deployed::initcodes(names) else { return };
    let mut all = Turns::default();
    for seed in 0..worlds(12, 1_600) {
        let mut world = World::new(seed);
        let highest = world.random.below(30_000);
        let tokens = world.tokens;
        place_layer(&mut world.chain, [&proxy, &module], &tokens, highest);
        place_pool(&mut world, [&pool, &shift]);
        world.deployed = true;
        world.trade(&mut all);
    }
    all.check("Fluid's own DEX T1");
}

#[test]
fn fluids_own_share_pays_what_the_model_says() {
    let names = ["FluidLiquidity", "FluidUserModule", "FluidFToken", "FluidFTokenEther"];
    let Some([proxy, module, plain, of_ether]) = deployed::initcodes(names) else { return };
    let (mut paid, mut refused) = (0, 0);
    for seed in 0..worlds(12, 600) {
        let (some, others) = share(seed, |chain, asset, stored, highest| {
            place_layer(chain, [&proxy, &module], &[stored], highest);
            // The constructor writes prices and names again. Before it, there has been only negligible interest.
            let code = if stored == ETHER { &of_ether } else { &plain };
            chain.construct(POOL, code, &(LIQUIDITY, OWNER, asset).abi_encode());
        });
        (paid, refused) = (paid + some, refused + others);
    }
    println!("Fluid's own fTokens: {paid} paid, {refused} refused");
    assert!(paid > refused && refused > 0);
}
