//! Balancer V3: its vault, factories, and weighted and stable pools, all with the real code.

use alloy::{
    primitives::{Address, B256, U256, keccak256},
    sol,
    sol_types::SolValue,
};

use super::{Batch, placement::Placement};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses as at,
    rpc::{Rpc, Tx},
    tokens::{self, Token},
};

sol! {
    struct TokenConfig { address token; uint8 tokenType; address rateProvider; bool paysYieldFees; }
    struct Roles { address pauseManager; address swapFeeManager; address poolCreator; }
    interface IWeighted {
        function create(
            string name, string symbol, TokenConfig[] tokens, uint256[] weights, Roles roles, uint256 fee, address hooks,
            bool donations, bool onlyProportional, bytes32 salt
        ) external returns (address);
    }
    interface IStable {
        function create(
            string name, string symbol, TokenConfig[] tokens, uint256 amp, Roles roles, uint256 fee, address hooks,
            bool donations, bool onlyProportional, bytes32 salt
        ) external returns (address);
    }
    function fill(address pool, address[] tokens, uint256[] amounts) external;
}

const FOUR_YEARS: u32 = 126_144_000;
const NINETY_DAYS: u32 = 7_776_000;
/// The vault's smallest trade, in 18 decimals, and its smallest wrap, in atomic units, as on mainnet.
const LEAST_TRADE: u64 = 1_000_000;
const LEAST_WRAP: u64 = 10_000;
/// The protocol's shares of swap fees and of yield.
const SWAP_FEE_SHARE_PERCENT: u64 = 50;
const YIELD_FEE_SHARE_PERCENT: u64 = 10;

/// A pool: its amplification if it is a stable pool, its coins with their shares of the value in tenths of a percent,
/// the fee in hundredths of a basis point, and its value in thousands of dollars.
struct Spec(Option<u64>, &'static [(&'static str, u64)], u64, f64);

const POOLS: [Spec; 9] = [
    Spec(None, &[("AAVE", 800), ("wstETH", 200)], 3_000, 9_000.0),
    Spec(None, &[("WBTC", 500), ("WETH", 500)], 2_000, 14_000.0),
    Spec(None, &[("LDO", 300), ("ENS", 300), ("COMP", 400)], 5_000, 4_000.0),
    Spec(Some(1_000), &[("USDC", 500), ("USDT", 500)], 50, 20_000.0),
    Spec(Some(300), &[("wstETH", 500), ("WETH", 500)], 100, 30_000.0),
    Spec(Some(1_000), &[("waEthUSDC", 500), ("waEthUSDT", 500)], 20, 25_000.0),
    Spec(Some(800), &[("gtUSDCp", 500), ("waEthUSDT", 500)], 30, 16_000.0),
    Spec(Some(700), &[("v2USDC", 500), ("waEthUSDT", 500)], 20, 12_000.0),
    Spec(Some(600), &[("DAI", 250), ("USDC", 250), ("USDe", 250), ("PYUSD", 250)], 200, 10_000.0),
];

/// Coins and their rate providers.
const RATE_PROVIDERS: [(Address, Address); 5] = [
    (at::WSTETH, at::WSTETH_RATE_PROVIDER),
    (at::WA_USDC, at::WA_USDC_RATE_PROVIDER),
    (at::WA_USDT, at::WA_USDT_RATE_PROVIDER),
    (at::GAUNTLET_USDC_PRIME, at::GAUNTLET_RATE_PROVIDER),
    (at::VAULT_V2_USDC, at::VAULT_V2_RATE_PROVIDER),
];

fn percent(whole: u64) -> U256 {
    U256::from(whole) * U256::from(10).pow(U256::from(16))
}

/// Returns the contracts in stages. The constructors of a stage call only contracts of earlier stages.
pub(super) fn placements() -> [Vec<Placement>; 4] {
    let vault = at::BALANCER_V3_VAULT;
    let windows = (U256::from(FOUR_YEARS), U256::from(NINETY_DAYS));
    let admin = (vault, windows.0, windows.1, U256::from(LEAST_TRADE), U256::from(LEAST_WRAP));
    let fees = (vault, percent(SWAP_FEE_SHARE_PERCENT), percent(YIELD_FEE_SHARE_PERCENT));
    let parts = (at::BALANCER_V3_VAULT_EXTENSION, at::BALANCER_V2_AUTHORIZER, at::BALANCER_V3_FEE_CONTROLLER);
    let factory = (vault, windows.0, String::new(), String::new()).abi_encode_params();
    [
        vec![
            ("BalancerV3VaultAdmin", at::BALANCER_V3_VAULT_ADMIN, admin.abi_encode_params()),
            ("BalancerV3ProtocolFeeController", at::BALANCER_V3_FEE_CONTROLLER, fees.abi_encode_params()),
        ],
        vec![(
            "BalancerV3VaultExtension",
            at::BALANCER_V3_VAULT_EXTENSION,
            (vault, at::BALANCER_V3_VAULT_ADMIN).abi_encode_params(),
        )],
        vec![("BalancerV3Vault", vault, parts.abi_encode_params())],
        vec![
            ("BalancerV3Weighted", at::BALANCER_V3_WEIGHTED, factory.clone()),
            ("BalancerV3Stable", at::BALANCER_V3_STABLE, factory),
            ("BalancerV3Filler", at::BALANCER_V3_FILLER, vec![]),
        ],
    ]
}

/// Returns the rate providers of the shares of Morpho's vaults, which must be placed already.
pub(super) fn rate_providers() -> Vec<Placement> {
    let providers =
        [(at::GAUNTLET_USDC_PRIME, at::GAUNTLET_RATE_PROVIDER), (at::VAULT_V2_USDC, at::VAULT_V2_RATE_PROVIDER)];
    providers.map(|(of, provider)| ("StandInErc4626RateProvider", provider, of.abi_encode())).to_vec()
}

/// Returns the coins of all pools, which the filler is approved for.
pub(super) fn approved() -> Vec<&'static str> {
    let mut approved: Vec<&str> = POOLS.iter().flat_map(|spec| spec.1).map(|(symbol, _)| *symbol).collect();
    approved.sort_unstable();
    approved.dedup();
    approved
}

/// Creates the pools and fills them at the tokens' prices.
pub(super) async fn open(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for symbol in approved() {
        let call = IErc20::approveCall { spender: at::BALANCER_V3_FILLER, value: U256::MAX };
        batch.send("approving the filler", Tx::call(MAKER, tokens::find(symbol)?.address, &call).gas(100_000)).await?;
    }
    batch.mine().await?;
    for (place, spec) in (0_u8..).zip(&POOLS) {
        let mut coins = Vec::with_capacity(spec.1.len());
        for (symbol, share) in spec.1 {
            coins.push((tokens::find(symbol)?, *share));
        }
        coins.sort_unstable_by_key(|(token, _)| token.address);
        let pool = create(rpc, spec, &coins, keccak256([place])).await?;
        let call = fillCall {
            pool,
            tokens: coins.iter().map(|(token, _)| token.address).collect(),
            amounts: super::balancer::amounts(spec.3, &coins),
        };
        let mut batch = Batch::new(rpc);
        batch.send("filling a pool of Balancer", Tx::call(MAKER, at::BALANCER_V3_FILLER, &call).gas(4_000_000)).await?;
        batch.mine().await?;
    }
    Ok(())
}

async fn create(rpc: &Rpc, spec: &Spec, coins: &[(&Token, u64)], salt: B256) -> Result<Address, DevnetError> {
    let config = |(token, _): &(&Token, u64)| {
        let provider = RATE_PROVIDERS.iter().find(|(of, _)| *of == token.address).map(|(_, provider)| *provider);
        let (rated, provider) = (provider.is_some(), provider.unwrap_or_default());
        TokenConfig { token: token.address, tokenType: u8::from(rated), rateProvider: provider, paysYieldFees: rated }
    };
    let tokens = coins.iter().map(config).collect();
    let weights = coins.iter().map(|(_, share)| U256::from(*share) * U256::from(10).pow(U256::from(15))).collect();
    let roles = Roles { pauseManager: MAKER, swapFeeManager: MAKER, poolCreator: Address::ZERO };
    let fee = U256::from(spec.2) * U256::from(10).pow(U256::from(12));
    let (name, symbol, hooks) = ("A pool of Balancer".to_owned(), "BPT".to_owned(), Address::ZERO);
    let (donations, only) = (false, false);
    let (pool, tx) = match spec.0 {
        None => {
            let call = IWeighted::createCall {
                name,
                symbol,
                tokens,
                weights,
                roles,
                fee,
                hooks,
                donations,
                onlyProportional: only,
                salt,
            };
            (
                rpc.view_from(MAKER, at::BALANCER_V3_WEIGHTED, &call).await?,
                Tx::call(MAKER, at::BALANCER_V3_WEIGHTED, &call),
            )
        }
        Some(amp) => {
            let amp = U256::from(amp);
            let call = IStable::createCall {
                name,
                symbol,
                tokens,
                amp,
                roles,
                fee,
                hooks,
                donations,
                onlyProportional: only,
                salt,
            };
            (rpc.view_from(MAKER, at::BALANCER_V3_STABLE, &call).await?, Tx::call(MAKER, at::BALANCER_V3_STABLE, &call))
        }
    };
    let mut batch = Batch::new(rpc);
    batch.send("a pool of Balancer", tx.gas(15_000_000)).await?;
    batch.mine().await?;
    Ok(pool)
}
