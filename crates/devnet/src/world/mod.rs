//! Builds the world on an empty node: contracts, tokens, pools, and the taker's balances.

mod aave;
mod balancer;
mod balancer_v3;
mod buffers;
mod curve;
mod deploy;
mod fluid;
mod history;
mod liquidity;
mod listed;
mod morpho;
mod placement;
pub mod pools;
mod shape;
mod vault_v2;
mod vaults;

use alloy::primitives::{Address, U256};
use serde_json::json;

use crate::{
    DevnetError, accounts, addresses,
    kit::Bundle,
    rpc::{Rpc, Tx},
    tokens::Kind,
};

/// The timestamp of the world's first block, in Unix seconds. It is in the past on every correct clock.
pub(crate) const BIRTH: u64 = 1_735_689_600;

/// The gas limit of a block while the world is built.
pub(crate) const BLOCK_GAS_UNITS: u64 = 1_000_000_000;

/// The gas limit of a block afterwards, as on mainnet.
const USUAL_BLOCK_GAS_UNITS: u64 = 60_000_000;

/// A callback that receives the progress of the build: the number of completed parts, the number of all parts, and the
/// current work.
pub type Progress = std::sync::Arc<dyn Fn(usize, usize, &str) + Send + Sync>;

/// The initial supply of each token, in dollars.
const SUPPLY_USD: f64 = 20e9;
/// The taker's balance of each token, in dollars.
const TAKER_USD: f64 = 1e9;
/// The taker's balance of each pool's share token, in dollars.
const TAKER_SHARES_USD: f64 = 1e7;

/// Builds everything, on a node that mines only by request.
pub(crate) async fn build(rpc: &Rpc, bundle: &Bundle, progress: &Progress) -> Result<(), DevnetError> {
    let report = |done: usize, what: &str| progress(done, 5 + pools::POOLS.len(), what);
    report(0, "placing contracts and tokens at their mainnet addresses");
    purse(rpc, accounts::MAKER, 20_000_000).await?;
    deploy::everything(rpc, bundle).await?;
    wrap(rpc).await?;
    morpho::open(rpc).await?;
    vaults::fill(rpc).await?;
    morpho::borrow(rpc).await?;
    aave::build(rpc, bundle).await?;
    listed::build(rpc, bundle).await?;
    balancer::open(rpc).await?;
    vault_v2::fill(rpc).await?;
    balancer_v3::open(rpc).await?;
    fluid::fill(rpc).await?;
    buffers::open(rpc).await?;
    curve::build(rpc, bundle).await?;
    report(1, "filling the taker's purse");
    purse(rpc, accounts::TAKER, 1_000_000).await?;
    fund_taker(rpc).await?;
    report(2, "opening pools");
    let open = liquidity::open_pools(rpc).await?;
    report(3, "approving what spends the maker's tokens");
    liquidity::approve(rpc).await?;
    for (done, pool) in open.iter().enumerate() {
        liquidity::fill(rpc, pool).await?;
        report(4 + done, "adding liquidity");
    }
    report(4 + open.len(), "trading in every pool");
    history::trade(rpc, &open).await?;
    rpc.call("evm_setBlockGasLimit", json!([U256::from(USUAL_BLOCK_GAS_UNITS)])).await?;
    rpc.call("evm_mine", json!([])).await?;
    report(5 + open.len(), "done");
    Ok(())
}

/// Sets an account's ether balance.
async fn purse(rpc: &Rpc, owner: Address, ether: u64) -> Result<(), DevnetError> {
    let wei = U256::from(ether) * U256::from(10).pow(U256::from(18));
    rpc.call("anvil_setBalance", json!([owner, wei])).await.map(|_| ())
}

/// Wraps part of the maker's ether.
async fn wrap(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let wrap = crate::abi::IErc20::depositCall {};
    let mut deposit = Tx::call(accounts::MAKER, addresses::WETH9, &wrap).gas(100_000);
    deposit.value_wei = U256::from(8_000_000) * U256::from(10).pow(U256::from(18));
    batch.send("wrapping ether", deposit).await?;
    batch.mine().await
}

/// Transfers the taker its balance of every token.
async fn fund_taker(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for token in crate::tokens::TOKENS {
        let usd = if token.kind == Kind::PoolShare { TAKER_SHARES_USD } else { TAKER_USD };
        let value = shape::whole(usd / token.price_usd) * token.units(1);
        let transfer = crate::abi::IErc20::transferCall { to: accounts::TAKER, value };
        batch.send(token.symbol, Tx::call(accounts::MAKER, token.address, &transfer).gas(200_000)).await?;
    }
    batch.mine().await
}

/// Transactions that are mined together and must all succeed.
pub(crate) struct Batch<'a> {
    rpc: &'a Rpc,
    sent: Vec<(String, Address, alloy::primitives::B256)>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(rpc: &'a Rpc) -> Self {
        Self { rpc, sent: Vec::new() }
    }

    pub(crate) async fn send(&mut self, what: &str, tx: Tx) -> Result<(), DevnetError> {
        let hash = self.rpc.submit(&tx).await?;
        self.sent.push((what.to_owned(), tx.to, hash));
        Ok(())
    }

    pub(crate) async fn mine(self) -> Result<(), DevnetError> {
        self.rpc.call("evm_mine", json!([])).await?;
        for (what, to, hash) in self.sent {
            if self.rpc.status(hash).await? != Some(true) {
                return Err(DevnetError::Reverted { what, to });
            }
        }
        Ok(())
    }
}
