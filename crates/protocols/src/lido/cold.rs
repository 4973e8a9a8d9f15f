//! Following of Lido's two fixed contracts: stETH, and the wrapper wstETH, which listens to it.

use alloy_primitives::{Address, B256, Log, U256};
use alloy_sol_types::{SolEvent, sol};
use braid_primitives::{ExecutionBlock, NATIVE_ETHER, PoolKey};

use super::{STETH, State, WSTETH, continuous::pair_curve, reader, step::step_code};
use crate::{
    DecodeError, Discovered, Freshness, Product, Protocol, SharesPaid, StateReader, Step, StepCode, Swap, SwapError,
    continuous::PairCurve, reading,
};

sol! {
    event Submitted(address indexed sender, uint256 amount, address referral);
    event TokenRebased(uint256 indexed reportTimestamp, uint256 timeElapsed, uint256 preTotalShares, uint256 preTotalEther, uint256 postTotalShares, uint256 postTotalEther, uint256 sharesMintedAsFees);
    event ETHDistributed(uint256 indexed reportTimestamp, uint256 preCLBalance, uint256 postCLBalance, uint256 withdrawalsWithdrawn, uint256 executionLayerRewardsWithdrawn, uint256 postBufferedEther);
    event ELRewardsReceived(uint256 amount);
    event WithdrawalsReceived(uint256 amount);
    event SharesBurnt(address indexed account, uint256 preRebaseTokenAmount, uint256 postRebaseTokenAmount, uint256 sharesAmount);
    event ExternalSharesMinted(address indexed receiver, uint256 amountOfShares);
    event ExternalSharesBurnt(uint256 amountOfShares);
    event ExternalEtherTransferredToBuffer(uint256 amount);
    event ExternalBadDebtInternalized(uint256 amountOfShares);
    event DepositedValidatorsChanged(uint256 depositedValidators);
    event StakingPaused();
    event StakingResumed();
    event StakingLimitSet(uint256 maxStakeLimit, uint256 stakeLimitIncreasePerBlock);
    event StakingLimitRemoved();
    event Stopped();
    event Resumed();
}

/// Events of stETH that change the worth of a share or the staking status.
const TOPICS: &[B256] = &[
    Submitted::SIGNATURE_HASH,
    TokenRebased::SIGNATURE_HASH,
    ETHDistributed::SIGNATURE_HASH,
    ELRewardsReceived::SIGNATURE_HASH,
    WithdrawalsReceived::SIGNATURE_HASH,
    SharesBurnt::SIGNATURE_HASH,
    ExternalSharesMinted::SIGNATURE_HASH,
    ExternalSharesBurnt::SIGNATURE_HASH,
    ExternalEtherTransferredToBuffer::SIGNATURE_HASH,
    ExternalBadDebtInternalized::SIGNATURE_HASH,
    DepositedValidatorsChanged::SIGNATURE_HASH,
    StakingPaused::SIGNATURE_HASH,
    StakingResumed::SIGNATURE_HASH,
    StakingLimitSet::SIGNATURE_HASH,
    StakingLimitRemoved::SIGNATURE_HASH,
    Stopped::SIGNATURE_HASH,
    Resumed::SIGNATURE_HASH,
];

/// Record of staking, or of the wrapper.
#[derive(Clone, Copy, Debug)]
pub struct Lido {
    product: Product,
    pool: Address,
    coins: [Address; 2],
}

/// Staking: ether to stETH.
pub static LIDO_STETH: Lido = Lido { product: Product::LidoSteth, pool: STETH, coins: [NATIVE_ETHER, STETH] };

/// Wrapping: stETH to wstETH, and back.
pub static LIDO_WSTETH: Lido = Lido { product: Product::LidoWsteth, pool: WSTETH, coins: [STETH, WSTETH] };

impl Lido {
    fn stakes(&self) -> bool {
        self.product == Product::LidoSteth
    }

    /// Returns `Some` for stETH, which counts in shares.
    fn keeps(&self, coin: u8) -> Option<()> {
        (coin == u8::from(self.stakes())).then_some(())
    }
}

impl Protocol for Lido {
    type State = State;
    type After = State;

    fn product(&self) -> Product {
        self.product
    }

    fn fixed_pools(&self) -> Vec<Discovered> {
        let coins = self.coins.to_vec();
        vec![Discovered { key: self.pool.into(), product: self.product, coins, fee_pips: 0, tick_spacing: 0 }]
    }

    fn freshness_topics(&self) -> &'static [B256] {
        TOPICS
    }

    fn listens_to(&self, _state: &State) -> Vec<Address> {
        vec![STETH]
    }

    fn apply(&self, _state: &mut State, log: &Log) -> Result<Freshness, DecodeError> {
        let matters = log.address == STETH && log.topics().first().is_some_and(|topic0| TOPICS.contains(topic0));
        Ok(if matters { Freshness::Stale } else { Freshness::Unaffected })
    }

    fn reader(&self, _pool: &Discovered) -> Box<dyn StateReader> {
        let pool = self.pool;
        reading::reader(pool, move |reading| reader::read(pool, reading))
    }

    fn swap(&self, state: &State, Step { pool, at, route, sale }: Step<'_>) -> Result<Swap, SwapError> {
        let state = route.change::<State>(self.shares_state_at(pool, state)).unwrap_or(state);
        state.swap(self.stakes(), at, sale.coin_in, sale.amount_in)
    }

    fn shares_state_at(&self, _pool: PoolKey, _state: &State) -> PoolKey {
        STETH.into()
    }

    /// Returns true: the stake limit grows with each block.
    fn depends_on_time(&self, _state: &State) -> bool {
        true
    }

    fn fee_pips(&self, _state: &State) -> Option<u32> {
        Some(0)
    }

    fn curve(&self, state: &State, _coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
        pair_curve(state, self.stakes(), at)
    }

    fn shares_of(&self, state: &State, after: Option<&State>, coin: u8, amount: U256) -> Option<U256> {
        self.keeps(coin)?;
        after.unwrap_or(state).shares_of(amount).ok()
    }

    fn worth_of_shares(&self, state: &State, after: Option<&State>, coin: u8, shares: U256) -> Option<U256> {
        self.keeps(coin)?;
        after.unwrap_or(state).pooled_ether_of(shares).ok()
    }

    fn shares_behind(&self, state: &State, after: Option<&State>, coin: u8, amount: U256) -> Option<U256> {
        self.keeps(coin)?;
        after.unwrap_or(state).shares_behind(amount).ok()
    }

    fn share_tokens(&self) -> &'static [Address] {
        &[STETH]
    }

    fn takes_share_tokens(&self) -> bool {
        true
    }

    /// Staking mints the shares of the ether paid in.
    fn shares_paid(&self) -> SharesPaid {
        if self.stakes() { SharesPaid::OfAmountIn } else { SharesPaid::OfAmountOut }
    }

    fn step_code(&self, _pool: Address, _state: &State, coin_in: u8, _coin_out: u8) -> StepCode {
        step_code(self.stakes(), coin_in)
    }
}
