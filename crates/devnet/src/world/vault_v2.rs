//! A Vault V2 of USDC with two adapters, one for Morpho Blue's markets and one for the MetaMorpho vault, and a small
//! idle balance.

use alloy::{
    primitives::{Address, Bytes, U256, aliases::U96, keccak256},
    sol,
    sol_types::SolValue,
};

use super::{Batch, morpho, placement::Placement};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses as at,
    rpc::{Rpc, Tx},
    tokens,
};

sol! {
    function addAdapter(address account) external;
    function setCaps(bytes idData, uint128 absolute, uint128 relative) external;
    function setLiquidityAdapterAndData(address adapter, bytes data) external;
    function setRates(uint64 maxRate, uint96 performanceFee, uint96 managementFee) external;
    function allocate(address adapter, bytes data, uint256 assets) external;
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function announce(address vault) external;
}

const WAD: u128 = 1_000_000_000_000_000_000;
const YEAR_SECONDS: u128 = 365 * 86_400;

/// The amounts lent to each market, deposited in the MetaMorpho vault, and left idle, in dollars. New deposits go to
/// the last market.
const LENT_USD: [u64; 3] = [400_000_000, 300_000_000, 1_500_000_000];
const IN_VAULT_USD: u64 = 200_000_000;
const IDLE_USD: u64 = 40_000_000;

fn adapters() -> [Address; 2] {
    ["a Vault V2's adapter of markets", "a Vault V2's adapter of a vault"]
        .map(|label| Address::from_word(keccak256(label)))
}

fn dollars(whole: u64) -> U256 {
    U256::from(whole) * U256::from(1_000_000_u64)
}

/// Returns the vault and its factory.
pub(super) fn vault_placements() -> Vec<Placement> {
    let usdc = tokens::by_symbol("USDC").address;
    let names = ("Vault V2 of USDC (stand-in)".to_owned(), "v2USDC".to_owned());
    vec![
        ("StandInVaultV2", at::VAULT_V2_USDC, (usdc, MAKER, names.0, names.1).abi_encode_params()),
        ("StandInVaultV2Factory", at::VAULT_V2_FACTORY, vec![]),
    ]
}

/// Returns the adapters, whose constructors ask their vault for its asset. Morpho's contracts must be placed already.
pub(super) fn adapter_placements() -> Vec<Placement> {
    let [markets, inner] = adapters();
    vec![
        ("StandInMarketAdapter", markets, (at::VAULT_V2_USDC, at::MORPHO_BLUE).abi_encode_params()),
        ("StandInVaultAdapter", inner, (at::VAULT_V2_USDC, at::GAUNTLET_USDC_PRIME).abi_encode_params()),
    ]
}

/// Deposits, allocates, and announces the vault.
pub(super) async fn fill(rpc: &Rpc) -> Result<(), DevnetError> {
    let (vault, [markets, inner]) = (at::VAULT_V2_USDC, adapters());
    let params = morpho::market_params();
    let mut batch = Batch::new(rpc);
    let approve = IErc20::approveCall { spender: vault, value: U256::MAX };
    let usdc = tokens::by_symbol("USDC").address;
    batch.send("approving a Vault V2", Tx::call(MAKER, usdc, &approve).gas(100_000)).await?;
    for account in [markets, inner] {
        batch.send("an adapter", Tx::call(MAKER, vault, &addAdapterCall { account }).gas(300_000)).await?;
    }
    let this = |adapter: Address| ("this".to_owned(), adapter).abi_encode_params();
    let mut ids = vec![this(markets), this(inner)];
    for market in &params {
        ids.push(("collateralToken".to_owned(), market.collateralToken).abi_encode_params());
        ids.push(("this/marketParams".to_owned(), markets, market.clone()).abi_encode_params());
    }
    for id in ids {
        let absolute = dollars(3_000_000_000).to::<u128>();
        let call = setCapsCall { idData: id.into(), absolute, relative: WAD / 100 * 95 };
        batch.send("caps", Tx::call(MAKER, vault, &call).gas(300_000)).await?;
    }
    let total = LENT_USD.iter().sum::<u64>() + IN_VAULT_USD + IDLE_USD;
    let call = depositCall { assets: dollars(total), receiver: MAKER };
    batch.send("filling a Vault V2", Tx::call(MAKER, vault, &call).gas(1_000_000)).await?;
    for (market, lent) in params.iter().zip(LENT_USD) {
        let call = allocateCall { adapter: markets, data: market.abi_encode().into(), assets: dollars(lent) };
        batch.send("lending of a Vault V2", Tx::call(MAKER, vault, &call).gas(2_000_000)).await?;
    }
    let call = allocateCall { adapter: inner, data: Bytes::new(), assets: dollars(IN_VAULT_USD) };
    batch.send("depositing of a Vault V2", Tx::call(MAKER, vault, &call).gas(3_000_000)).await?;
    let [_, _, liquid] = &params;
    let call = setLiquidityAdapterAndDataCall { adapter: markets, data: liquid.abi_encode().into() };
    batch.send("where deposits go", Tx::call(MAKER, vault, &call).gas(1_000_000)).await?;
    // A maximum rate of 20 percent a year, a performance fee of 10 percent, and a management fee of 1 percent a year.
    let call = setRatesCall {
        maxRate: u64::try_from(WAD / 5 / YEAR_SECONDS).unwrap_or_default(),
        performanceFee: U96::from(WAD / 10),
        managementFee: U96::from(WAD / 100 / YEAR_SECONDS),
    };
    batch.send("rates of a Vault V2", Tx::call(MAKER, vault, &call).gas(2_000_000)).await?;
    let call = announceCall { vault };
    batch.send("announcing a Vault V2", Tx::call(MAKER, at::VAULT_V2_FACTORY, &call).gas(300_000)).await?;
    batch.mine().await
}
