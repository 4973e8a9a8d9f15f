//! Buffers of Balancer V3, one for each kind of wrapped vault.

use alloy::{
    primitives::{Address, U256},
    sol,
};

use super::{Batch, balancer::amounts, balancer_v3};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses as at,
    rpc::{Rpc, Tx},
    tokens,
};

sol! {
    function fillBuffer(address wrapped, address asset, uint256 assets, uint256 shares) external;
    function exchange(address wrapped, address asset, bool wraps, uint256 amount) external returns (uint256 amountOut);
}

/// A buffer: the share, its asset, and its balances of the asset and of shares, each in thousands of dollars. One has
/// hardly any shares, so that wrapping exceeds its balance.
struct Spec(&'static str, &'static str, f64, f64);

const BUFFERS: [Spec; 7] = [
    Spec("pufETH", "WETH", 6_000.0, 7_000.0),
    Spec("sDAI", "DAI", 3_000.0, 50.0),
    Spec("gtUSDCp", "USDC", 2_000.0, 2_500.0),
    Spec("v2USDC", "USDC", 1_500.0, 1_500.0),
    Spec("waEthUSDC", "USDC", 3_000.0, 2_500.0),
    Spec("waEthUSDT", "USDT", 1_200.0, 900.0),
    Spec("fUSDT", "USDT", 1_000.0, 800.0),
];

/// Creates the buffers and trades both ways in each.
pub(super) async fn open(rpc: &Rpc) -> Result<(), DevnetError> {
    // The coins of the vault's pools are approved already, and some tokens refuse a second approval.
    let mut approved = balancer_v3::approved();
    let mut batch = Batch::new(rpc);
    for token in BUFFERS.iter().flat_map(|Spec(share, asset, ..)| [*share, *asset]) {
        if !approved.contains(&token) {
            let call = IErc20::approveCall { spender: at::BALANCER_V3_FILLER, value: U256::MAX };
            let tx = Tx::call(MAKER, tokens::find(token)?.address, &call).gas(100_000);
            batch.send("approving the filler", tx).await?;
            approved.push(token);
        }
    }
    batch.mine().await?;
    for Spec(share, asset, assets_usd, shares_usd) in &BUFFERS {
        let (share, asset) = (tokens::find(share)?, tokens::find(asset)?);
        let (wrapped, asset_address): (Address, Address) = (share.address, asset.address);
        let [assets, shares] = [(asset, *assets_usd), (share, *shares_usd)]
            .map(|(token, thousands)| amounts(thousands, &[(token, 1_000)]).into_iter().sum());
        let call = fillBufferCall { wrapped, asset: asset_address, assets, shares };
        let mut batch = Batch::new(rpc);
        batch.send("making a buffer", Tx::call(MAKER, at::BALANCER_V3_FILLER, &call).gas(4_000_000)).await?;
        for (wraps, token) in [(true, asset), (false, share)] {
            let call = exchangeCall { wrapped, asset: asset_address, wraps, amount: token.units(1) };
            let tx = Tx::call(MAKER, at::BALANCER_V3_FILLER, &call).gas(4_000_000);
            batch.send("trading with a buffer", tx).await?;
        }
        batch.mine().await?;
    }
    Ok(())
}
