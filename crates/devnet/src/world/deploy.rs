//! Places the tokens and the protocols' contracts at their mainnet addresses.

use alloy::{
    primitives::{B256, Bytes, U256, keccak256},
    sol_types::SolValue,
};
use serde_json::json;

use super::{
    Batch, SUPPLY_USD,
    placement::{Placement, initcode, mismatch, place, set_code},
    shape,
};
use crate::{
    DevnetError, abi,
    accounts::MAKER,
    addresses::{self as at, WETH9},
    kit::{Bundle, Code},
    rpc::{Rpc, Tx},
    tokens::{Kind, TOKENS, Token},
};

pub(super) async fn everything(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    check_init_code(bundle, "UniswapV2Pair", at::UNISWAP_V2_INIT_CODE_HASH)?;
    check_init_code(bundle, "UniswapV3Pool", at::UNISWAP_V3_INIT_CODE_HASH)?;
    check_init_code(bundle, "PancakeV3Pool", at::PANCAKE_V3_INIT_CODE_HASH)?;
    for (name, address) in
        [("Permit2", at::PERMIT2), ("Multicall3", at::MULTICALL3), ("Create2Deployer", at::CREATE2_DEPLOYER)]
    {
        set_code(rpc, address, &runtime(bundle, name)?).await?;
    }
    let mut placements = protocols();
    placements.extend(pancakeswap(bundle)?);
    placements.extend(
        TOKENS
            .iter()
            .filter(|t| !matches!(t.kind, Kind::WrappedEther | Kind::Vault | Kind::Wrapped | Kind::PoolShare))
            .map(token),
    );
    place(rpc, bundle, &placements).await?;
    // The constructors of these read their assets' decimals and approve them.
    place(rpc, bundle, &super::morpho::placements()).await?;
    place(rpc, bundle, &super::vaults::placements()).await?;
    for stage in super::balancer::placements().into_iter().chain(super::balancer_v3::placements()) {
        place(rpc, bundle, &stage).await?;
    }
    place(rpc, bundle, &super::fluid::placements()).await?;
    place(rpc, bundle, &super::vault_v2::vault_placements()).await?;
    place(rpc, bundle, &super::vault_v2::adapter_placements()).await?;
    place(rpc, bundle, &super::balancer_v3::rate_providers()).await?;
    check_weth(rpc).await?;
    enable_lowest_fee(rpc).await
}

fn protocols() -> Vec<Placement> {
    let v3 = (at::UNISWAP_V3_FACTORY, WETH9);
    let eth_label = B256::right_padding_from(b"ETH");
    vec![
        ("WETH9", WETH9, vec![]),
        ("UniswapV2Factory", at::UNISWAP_V2_FACTORY, MAKER.abi_encode()),
        ("UniswapV2Router02", at::UNISWAP_V2_ROUTER, (at::UNISWAP_V2_FACTORY, WETH9).abi_encode_params()),
        ("SushiV2Factory", at::SUSHI_V2_FACTORY, MAKER.abi_encode()),
        ("SushiV2Router", at::SUSHI_V2_ROUTER, (at::SUSHI_V2_FACTORY, WETH9).abi_encode_params()),
        ("UniswapV3Factory", at::UNISWAP_V3_FACTORY, vec![]),
        ("NFTDescriptor", at::NFT_DESCRIPTOR, vec![]),
        (
            "NonfungibleTokenPositionDescriptor",
            at::UNISWAP_V3_POSITION_DESCRIPTOR,
            (WETH9, eth_label).abi_encode_params(),
        ),
        (
            "NonfungiblePositionManager",
            at::UNISWAP_V3_POSITION_MANAGER,
            (v3.0, v3.1, at::UNISWAP_V3_POSITION_DESCRIPTOR).abi_encode_params(),
        ),
        ("QuoterV2", at::QUOTER_V2, v3.abi_encode_params()),
        ("SwapRouter", at::SWAP_ROUTER, v3.abi_encode_params()),
        (
            "SwapRouter02",
            at::SWAP_ROUTER_02,
            (at::UNISWAP_V2_FACTORY, v3.0, at::UNISWAP_V3_POSITION_MANAGER, WETH9).abi_encode_params(),
        ),
        ("TickLens", at::TICK_LENS, vec![]),
        ("UniswapV3Filler", at::UNISWAP_V3_FILLER, vec![]),
        ("UniswapV3Factory", at::SUSHI_V3_FACTORY, vec![]),
        (
            "NonfungiblePositionManager",
            at::SUSHI_V3_POSITION_MANAGER,
            (at::SUSHI_V3_FACTORY, WETH9, at::UNISWAP_V3_POSITION_DESCRIPTOR).abi_encode_params(),
        ),
        ("QuoterV2", at::SUSHI_V3_QUOTER, (at::SUSHI_V3_FACTORY, WETH9).abi_encode_params()),
        ("SwapRouter", at::SUSHI_V3_ROUTER, (at::SUSHI_V3_FACTORY, WETH9).abi_encode_params()),
    ]
}

/// Returns PancakeSwap V3. Its deployer, position manager and router are stand-ins, because no package contains their
/// code.
fn pancakeswap(bundle: &Bundle) -> Result<[Placement; 4], DevnetError> {
    let factory = at::PANCAKE_V3_FACTORY.abi_encode();
    Ok([
        ("PancakeV3Factory", at::PANCAKE_V3_FACTORY, at::PANCAKE_V3_POOL_DEPLOYER.abi_encode()),
        (
            "StandInPancakeV3PoolDeployer",
            at::PANCAKE_V3_POOL_DEPLOYER,
            (initcode(bundle, "PancakeV3Pool")?.clone(),).abi_encode_params(),
        ),
        ("StandInPancakeV3Periphery", at::PANCAKE_V3_POSITION_MANAGER, factory.clone()),
        ("StandInPancakeV3Periphery", at::PANCAKE_V3_ROUTER, factory),
    ])
}

fn token(token: &Token) -> Placement {
    let supply = shape::whole(SUPPLY_USD / token.price_usd) * token.units(1);
    let text = (token.name.to_owned(), token.symbol.to_owned(), U256::from(token.decimals), MAKER, supply);
    let (name, args) = match (token.kind, token.balance_slot) {
        (Kind::Bytes32, _) => {
            let padded = |text: &str| B256::right_padding_from(text.as_bytes());
            let args = (padded(token.name), padded(token.symbol), U256::from(token.decimals), MAKER, supply);
            ("Bytes32Token", args.abi_encode_params())
        }
        (Kind::NoReturn, _) => ("NoReturnToken", text.abi_encode_params()),
        (Kind::FalseOnFailure, _) => ("FalseOnFailureToken", text.abi_encode_params()),
        (_, 1) => ("TokenAtSlot1", text.abi_encode_params()),
        (_, 2) => ("TokenAtSlot2", text.abi_encode_params()),
        (_, 3) => ("TokenAtSlot3", text.abi_encode_params()),
        (_, 4) => ("TokenAtSlot4", text.abi_encode_params()),
        (_, 9) => ("TokenAtSlot9", text.abi_encode_params()),
        _ => ("TokenAtSlot0", text.abi_encode_params()),
    };
    (name, token.address, args)
}

/// Enables the fee of one basis point, which the factories' owners added after deployment.
async fn enable_lowest_fee(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let call = abi::IV3Factory::enableFeeAmountCall {
        fee: alloy::primitives::aliases::U24::from(100),
        tickSpacing: alloy::primitives::aliases::I24::ONE,
    };
    for factory in [at::UNISWAP_V3_FACTORY, at::SUSHI_V3_FACTORY] {
        batch.send("enabling the fee of one basis point", Tx::call(MAKER, factory, &call).gas(200_000)).await?;
    }
    batch.mine().await
}

fn runtime(bundle: &Bundle, name: &str) -> Result<Bytes, DevnetError> {
    match bundle.get(name) {
        Some(Code::Runtime(code)) => Ok(code.clone()),
        _ => Err(mismatch(&format!("code of {name}"), "nothing", "bytes in the bundle")),
    }
}

fn check_init_code(bundle: &Bundle, name: &str, expected: B256) -> Result<(), DevnetError> {
    let got = keccak256(initcode(bundle, name)?);
    if got == expected {
        return Ok(());
    }
    Err(mismatch(&format!("init code hash of {name}"), &got.to_string(), &expected.to_string()))
}

async fn check_weth(rpc: &Rpc) -> Result<(), DevnetError> {
    let code: Bytes = rpc.get("eth_getCode", json!([WETH9, "latest"])).await?;
    let got = keccak256(&code);
    if got == at::WETH9_CODE_HASH {
        return Ok(());
    }
    Err(mismatch("code hash of WETH9", &got.to_string(), &at::WETH9_CODE_HASH.to_string()))
}
