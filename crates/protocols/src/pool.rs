//! The hot side of a protocol: a pool and the questions that routing asks of it.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::{ExecutionBlock, TokenId};
use serde::{Deserialize, Serialize};

use crate::{Product, SwapError, balancer, curve, erc4626, fluid, lido, morpho, uniswap_v2, uniswap_v3, vault::Trades};

/// The most coins that a pool of any product has.
pub const MAX_COINS: usize = 8;

/// Version of what the fields of the states mean. Raise it when a field keeps its name and type and changes its meaning: what
/// older versions stored is then read from the chain again. Fields that come, go or change their type are noticed without it.
pub const STATE_MEANING: u32 = 3;

/// One pool of a market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// The pool's address.
    pub address: Address,
    /// Its product.
    pub product: Product,
    /// Its coins in the contract's order.
    pub coins: ArrayVec<TokenId, MAX_COINS>,
    /// What it holds.
    pub state: PoolState,
}

/// The state of a pool, as far as it decides what a swap pays.
///
/// Two products that run the same code share a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolState {
    /// Ether and WETH, one to one.
    WrappedEther,
    /// Constant product with a fee, two coins.
    UniswapV2(uniswap_v2::State),
    /// Concentrated liquidity, two coins.
    UniswapV3(uniswap_v3::State),
    /// A vault: coin 0 is the asset, coin 1 the share.
    Erc4626(Box<erc4626::State>),
    /// A pool of Balancer's second vault.
    BalancerV2(Arc<balancer::v2::State>),
    /// A pool of Balancer's third vault.
    BalancerV3(Arc<balancer::v3::State>),
    /// A buffer of Balancer's third vault: coin 0 is the asset, coin 1 the share that wraps it.
    BalancerV3Buffer(Arc<balancer::v3::buffer::State>),
    /// A Curve pool of any kind.
    Curve(Arc<curve::State>),
    /// Lido, whichever of its doors the product is.
    Lido(lido::State),
    /// A MetaMorpho vault: coin 0 is the asset, coin 1 the share.
    Metamorpho(Arc<morpho::MetaMorpho>),
    /// Fluid's collateral and debt around a centre price, two coins.
    FluidDexT1(fluid::dex::State),
    /// A lending share of Fluid: coin 0 is the asset, coin 1 the share.
    FluidFToken(Box<fluid::ftoken::State>),
    /// A Vault V2 of Morpho: coin 0 is the asset, coin 1 the share.
    VaultV2(Arc<morpho::VaultV2>),
}

/// What a swap pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// What the pool pays out, in atomic units, as its contract rounds.
    pub amount_out: U256,
    /// What the step costs, in gas units, as part of a route that the proxy runs.
    pub gas_units: u64,
    /// The pool afterwards.
    pub after: After,
}

/// The words of a pool's state that a swap changed: enough to price a second swap in the same route.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "it lives on the stack of a solve, where a box would have to be allocated"
)]
pub enum After {
    /// Nothing changes.
    Unchanged,
    /// New reserves.
    UniswapV2(uniswap_v2::After),
    /// New price, tick and liquidity in range.
    UniswapV3(uniswap_v3::After),
    /// What Balancer's second vault holds for the pool.
    BalancerV2(balancer::v2::After),
    /// What Balancer's third vault holds for the pool.
    BalancerV3(balancer::v3::After),
    /// What a buffer holds, and what it did to the vault behind it.
    BalancerV3Buffer(balancer::v3::buffer::After),
    /// What a Curve pool holds, and its prices.
    Curve(curve::After),
    /// The whole of a vault's numbers.
    Erc4626(erc4626::After),
    /// Lido's totals, which both of its doors depend on.
    Lido(lido::State),
    /// What was done to the vault, in order.
    Metamorpho(Trades),
    /// New words of a pool and of its tokens in the liquidity layer.
    FluidDexT1(fluid::dex::After),
    /// New words of a share's token in the liquidity layer.
    FluidFToken(fluid::ftoken::After),
    /// What was done to the vault, in order.
    VaultV2(Trades),
}

impl Pool {
    /// What a swap of `amount_in` of coin `coin_in` for coin `coin_out` pays in the given block, to the wei.
    ///
    /// Consumes all of the input or says why not.
    ///
    /// # Errors
    /// [`SwapError`] exactly where the contract, called the way the proxy calls it, would revert or leave input unspent.
    pub fn swap(&self, at: &ExecutionBlock, coin_in: u8, coin_out: u8, amount_in: U256) -> Result<Swap, SwapError> {
        self.swap_after(at, &After::Unchanged, coin_in, coin_out, amount_in)
    }

    /// As [`Pool::swap`], on the pool as an earlier swap of the same route left it.
    ///
    /// # Errors
    /// As [`Pool::swap`].
    pub fn swap_after(
        &self,
        at: &ExecutionBlock,
        before: &After,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        let n = self.coins.len();
        if usize::from(coin_in) >= n || usize::from(coin_out) >= n || coin_in == coin_out {
            return Err(SwapError::UnknownCoin { coin_in, coin_out });
        }
        if amount_in.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        self.state.swap_after((self.address, self.product), at, before, coin_in, coin_out, amount_in)
    }

    /// The fee on the amount in, in hundredths of a basis point, where it is one number for every trade.
    pub fn fee_pips(&self) -> Option<u32> {
        match &self.state {
            PoolState::WrappedEther => Some(0),
            PoolState::UniswapV2(state) => Some(u32::from(state.fee_bps) * 100),
            PoolState::UniswapV3(state) => Some(state.fee_pips),
            PoolState::BalancerV2(state) => u32::try_from(state.fee_wad() / U256::from(1_000_000_000_000_u64)).ok(),
            PoolState::BalancerV3(state) => match &state.fee {
                balancer::v3::Fee::Static(fee_wad) => u32::try_from(fee_wad / U256::from(1_000_000_000_000_u64)).ok(),
                balancer::v3::Fee::StableSurge { .. } => None,
            },
            PoolState::Curve(_) => None,
            PoolState::BalancerV3Buffer(_)
            | PoolState::Erc4626(_)
            | PoolState::Lido(_)
            | PoolState::Metamorpho(_)
            | PoolState::FluidFToken(_)
            | PoolState::VaultV2(_) => Some(0),
            PoolState::FluidDexT1(state) => Some(state.fees().fee_pips),
        }
    }

    /// Whether what the pool pays changes from block to block without anything happening to it (interest, ramps, limits).
    pub fn depends_on_time(&self) -> bool {
        self.state.depends_on_time()
    }

    /// Where what the pool depends on lies: pools that answer with the same address share their state, so that what a route
    /// does to one is done to the other.
    pub fn shares_state_at(&self) -> Address {
        match &self.state {
            PoolState::Lido(_) => lido::STETH,
            PoolState::Curve(state) => state.stands_on().unwrap_or(self.address),
            _ => self.address,
        }
    }

    /// What a step uses and the transaction gets back at its end, for slots that it writes from zero and back. It is not in a step's
    /// gas, but in what a transaction must be given, and refunds have a cap (EIP-3529).
    pub fn refunded_gas_units(&self, coin_in: u8) -> u64 {
        match &self.state {
            PoolState::Erc4626(state) => state.refunded_gas_units(coin_in == erc4626::ASSET_COIN),
            PoolState::FluidFToken(state) => fluid::ftoken::gas::refunded_gas_units(state),
            _ => 0,
        }
    }

    /// The shares that an amount moves, for a coin of this pool that counts in shares; `None` for others.
    pub fn shares_of(&self, before: &After, token: TokenId, amount: U256) -> Option<U256> {
        self.keeper(before, token)?.shares_of(amount).ok()
    }

    /// What shares of such a coin are worth.
    pub fn worth_of_shares(&self, before: &After, token: TokenId, shares: U256) -> Option<U256> {
        self.keeper(before, token)?.pooled_ether_of(shares).ok()
    }

    /// The shares that a swap of this pool pays in a coin that counts in shares, by the keeper of its rate.
    pub fn shares_paid(
        &self,
        keeper: &Self,
        before: &After,
        token: TokenId,
        (amount_in, amount_out): (U256, U256),
    ) -> Option<U256> {
        match &self.state {
            // staking mints the shares of the ether
            PoolState::Lido(_) if self.product == Product::LidoSteth => keeper.shares_of(before, token, amount_in),
            // the amount is what the shares that moved are worth, not what they stand for
            PoolState::Curve(_) => keeper.keeper(before, token)?.shares_behind(amount_out).ok(),
            _ => keeper.shares_of(before, token, amount_out),
        }
    }

    fn keeper<'a>(&'a self, before: &'a After, token: TokenId) -> Option<&'a lido::State> {
        let PoolState::Lido(state) = &self.state else { return None };
        let counts_in_shares = if self.product == Product::LidoSteth { 1 } else { 0 };
        if self.coins.get(counts_in_shares) != Some(&token) {
            return None;
        }
        Some(if let After::Lido(after) = before { after } else { state })
    }

    /// The position of a token among the pool's coins.
    pub fn coin_index(&self, token: TokenId) -> Option<u8> {
        let index = self.coins.iter().position(|coin| *coin == token)?;
        u8::try_from(index).ok()
    }
}

impl PoolState {
    /// What a swap pays, for a pool at an address, of a product.
    pub(crate) fn swap_after(
        &self,
        (address, product): (Address, Product),
        at: &ExecutionBlock,
        before: &After,
        coin_in: u8,
        coin_out: u8,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        match (self, before) {
            (PoolState::WrappedEther, _) => Ok(crate::wrapped_ether::swap(coin_in, amount_in)),
            (PoolState::UniswapV2(state), After::UniswapV2(after)) => state.with(after).swap(coin_in == 0, amount_in),
            (PoolState::UniswapV2(state), _) => state.swap(coin_in == 0, amount_in),
            (PoolState::UniswapV3(state), After::UniswapV3(after)) => state.swap_from(after, coin_in == 0, amount_in),
            (PoolState::UniswapV3(state), _) => state.swap(coin_in == 0, amount_in),
            (PoolState::Erc4626(_), After::Erc4626(state)) => state.swap(at, coin_in, amount_in),
            (PoolState::Erc4626(state), _) => state.swap(at, coin_in, amount_in),
            (PoolState::BalancerV2(state), before) => {
                let before = if let After::BalancerV2(after) = before { Some(after) } else { None };
                state.swap(at, before, coin_in, coin_out, amount_in)
            }
            (PoolState::BalancerV3(state), before) => {
                let before = if let After::BalancerV3(after) = before { Some(after) } else { None };
                state.step(at, before, coin_in, coin_out, amount_in)
            }
            (PoolState::BalancerV3Buffer(state), before) => {
                let before = if let After::BalancerV3Buffer(after) = before { Some(after) } else { None };
                state.swap(at, before, coin_in, amount_in)
            }
            (PoolState::Curve(state), before) => {
                let before = if let After::Curve(after) = before { Some(after) } else { None };
                state.swap(address, at, before, coin_in, coin_out, amount_in)
            }
            (PoolState::Lido(_), After::Lido(state)) | (PoolState::Lido(state), _) => {
                state.swap(product == Product::LidoSteth, at, coin_in, amount_in)
            }
            (PoolState::Metamorpho(vault), After::Metamorpho(trades)) => vault.step(at, trades, coin_in, amount_in),
            (PoolState::Metamorpho(vault), _) => vault.step(at, &Trades::default(), coin_in, amount_in),
            (PoolState::FluidDexT1(state), After::FluidDexT1(after)) => {
                state.swap_after(after, at, coin_in == 0, amount_in)
            }
            (PoolState::FluidDexT1(state), _) => state.swap(at, coin_in == 0, amount_in),
            (PoolState::FluidFToken(state), After::FluidFToken(after)) => {
                state.with(after).swap(at, coin_in, amount_in)
            }
            (PoolState::FluidFToken(state), _) => state.swap(at, coin_in, amount_in),
            (PoolState::VaultV2(vault), After::VaultV2(trades)) => vault.step(at, trades, coin_in, amount_in),
            (PoolState::VaultV2(vault), _) => vault.step(at, &Trades::default(), coin_in, amount_in),
        }
    }

    /// Whether what a pool in this state pays changes from block to block without anything happening to it.
    pub(crate) fn depends_on_time(&self) -> bool {
        match self {
            PoolState::WrappedEther | PoolState::UniswapV2(_) | PoolState::UniswapV3(_) => false,
            PoolState::BalancerV2(state) => state.depends_on_time(),
            PoolState::BalancerV3(state) => state.depends_on_time(),
            PoolState::BalancerV3Buffer(state) => state.vault.state.depends_on_time(),
            PoolState::Curve(state) => state.depends_on_time(),
            PoolState::Erc4626(state) => state.accrual != erc4626::Accrual::None,
            // the stake limit grows by the block, interest by the second
            PoolState::Lido(_)
            | PoolState::Metamorpho(_)
            | PoolState::FluidDexT1(_)
            | PoolState::FluidFToken(_)
            | PoolState::VaultV2(_) => true,
        }
    }
}
