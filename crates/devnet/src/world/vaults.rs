//! Vaults and staked ether: where they are placed and how they are filled. Morpho's markets must be placed already.

use alloy::{
    primitives::{Address, U256},
    sol,
    sol_types::SolValue,
};

use super::{Batch, placement::Placement};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses::{self as at, WETH9},
    rpc::{Rpc, Tx},
    tokens,
};

sol! {
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function setFee(uint96 fee) external;
    function announce(address vault) external;
}

/// 10¹⁸.
const WAD: u64 = 1_000_000_000_000_000_000;

/// The pot's initial rate accumulator and its growth per second, five percent a year, in ray.
const POT_RATE_RAY: [u64; 2] = [1_100_000_000, 0];
const FIVE_PERCENT_RAY: u128 = 1_000_000_001_547_125_957_863_212_448;

fn ether(whole: u64) -> U256 {
    U256::from(whole) * U256::from(WAD)
}

fn dollars(whole: u64) -> U256 {
    U256::from(whole) * U256::from(1_000_000_u64)
}

/// Returns the contracts in the order in which their constructors run.
pub(super) fn placements() -> Vec<Placement> {
    let symbol = |symbol| tokens::by_symbol(symbol).address;
    let pot_rate = U256::from(POT_RATE_RAY[0]) * U256::from(WAD);
    let steth =
        (MAKER, ether(12_000_000), ether(14_400_000), U256::from(150_000_u64) * U256::from(WAD), U256::from(6_400));
    let morpho = "Gauntlet USDC Prime (stand-in)".to_owned();
    let vault = "OpenZeppelin vault at pufETH's address".to_owned();
    vec![
        ("StandInLido", at::STETH, steth.abi_encode_params()),
        ("StandInWstEth", at::WSTETH, (at::STETH, MAKER, ether(5_600_000)).abi_encode_params()),
        ("StandInPot", at::MAKER_POT, (MAKER, pot_rate, U256::from(FIVE_PERCENT_RAY)).abi_encode_params()),
        (
            "StandInSavingsDai",
            at::SDAI,
            (symbol("DAI"), at::MAKER_POT, MAKER, ether(2_000_000_000)).abi_encode_params(),
        ),
        ("StandInStakedUsde", at::SUSDE, (symbol("USDe"), MAKER, ether(4_000_000_000)).abi_encode_params()),
        ("OpenZeppelinVault", at::PUFETH, (WETH9, vault, "pufETH".to_owned()).abi_encode_params()),
        (
            "StandInMetaMorpho",
            at::GAUNTLET_USDC_PRIME,
            (at::MORPHO_BLUE, symbol("USDC"), U256::from(12), MAKER, morpho, "gtUSDCp".to_owned()).abi_encode_params(),
        ),
        ("StandInMetaMorphoFactory", at::METAMORPHO_FACTORY, vec![]),
    ]
}

/// Puts the assets that back the shares into every vault, and announces Morpho's.
pub(super) async fn fill(rpc: &Rpc) -> Result<(), DevnetError> {
    let symbol = |symbol| tokens::by_symbol(symbol).address;
    let (usdc, dai, usde) = (symbol("USDC"), symbol("DAI"), symbol("USDe"));
    let mut batch = Batch::new(rpc);
    let pay = |token: Address, to: Address, value: U256| {
        Tx::call(MAKER, token, &IErc20::transferCall { to, value }).gas(200_000)
    };
    let approve = |token: Address, spender: Address| {
        Tx::call(MAKER, token, &IErc20::approveCall { spender, value: U256::MAX }).gas(100_000)
    };
    // 1.2 stETH for each wstETH, and one more.
    batch.send("backing wstETH", pay(at::STETH, at::WSTETH, ether(6_720_001))).await?;
    batch.send("backing sDAI", pay(dai, at::SDAI, ether(4_000_000_000))).await?;
    batch.send("backing sUSDe", pay(usde, at::SUSDE, ether(4_760_000_000))).await?;
    batch.send("approving the vault of ether", approve(WETH9, at::PUFETH)).await?;
    batch.send("approving the vault of dollars", approve(usdc, at::GAUNTLET_USDC_PRIME)).await?;
    batch.mine().await?;
    let mut batch = Batch::new(rpc);
    let deposit =
        |vault: Address, assets: U256| Tx::call(MAKER, vault, &depositCall { assets, receiver: MAKER }).gas(2_000_000);
    batch.send("filling the vault of ether", deposit(at::PUFETH, ether(700_000))).await?;
    batch.send("a gain of the vault of ether", pay(WETH9, at::PUFETH, ether(35_000))).await?;
    batch.send("filling the vault of dollars", deposit(at::GAUNTLET_USDC_PRIME, dollars(2_500_000_000))).await?;
    let fee = setFeeCall { fee: alloy::primitives::aliases::U96::from(WAD / 10) };
    batch.send("a fee", Tx::call(MAKER, at::GAUNTLET_USDC_PRIME, &fee).gas(1_000_000)).await?;
    let call = announceCall { vault: at::GAUNTLET_USDC_PRIME };
    batch.send("announcing the vault", Tx::call(MAKER, at::METAMORPHO_FACTORY, &call).gas(1_000_000)).await?;
    batch.mine().await
}
