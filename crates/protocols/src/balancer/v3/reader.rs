//! Reads a pool of the V3 vault in one round, and the vaults on which its rates depend in further rounds.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::sol;
use arrayvec::ArrayVec;

use super::{
    Amplification, Coin, Fee, Generation, PoolKind, State, VAULT,
    factories::{FACTORIES, STABLE_SURGE_HOOKS},
    followed::FollowedReader,
    hooks::InSwaps,
};
use crate::{
    DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader,
    answers::{Answers, MULTICALL3, Question, ask, calls, impossible, narrow},
    pool::MAX_COINS,
    vault::Vault,
};

sol! {
    struct TokenInfo { uint8 tokenType; address rateProvider; bool paysYieldFees; }
    struct LiquidityFlags { bool disableUnbalancedLiquidity; bool enableAdd; bool enableRemove; bool enableDonation; }
    struct PoolConfig {
        LiquidityFlags liquidityManagement; uint256 staticSwapFeePercentage; uint256 aggregateSwapFeePercentage;
        uint256 aggregateYieldFeePercentage; uint40 tokenDecimalDiffs; uint32 pauseWindowEndTime; bool isPoolRegistered;
        bool isPoolInitialized; bool isPoolPaused; bool isPoolInRecoveryMode;
    }
    struct Hooks {
        bool enableHookAdjustedAmounts; bool shouldCallBeforeInitialize; bool shouldCallAfterInitialize;
        bool shouldCallComputeDynamicSwapFee; bool shouldCallBeforeSwap; bool shouldCallAfterSwap;
        bool shouldCallBeforeAddLiquidity; bool shouldCallAfterAddLiquidity;
        bool shouldCallBeforeRemoveLiquidity; bool shouldCallAfterRemoveLiquidity;
        address hooksContract;
    }
    struct Ramp { uint64 startValue; uint64 endValue; uint32 startTime; uint32 endTime; }
    function getPoolTokenInfo(address pool) external view
        returns (address[] tokens, TokenInfo[] tokenInfo, uint256[] balancesRaw, uint256[] lastBalancesLiveScaled18);
    function getPoolTokenRates(address pool) external view returns (uint256[] decimalScalingFactors, uint256[] tokenRates);
    function getPoolConfig(address pool) external view returns (PoolConfig config);
    function getHooksConfig(address pool) external view returns (Hooks config);
    function isPoolPaused(address pool) external view returns (bool);
    function isVaultPaused() external view returns (bool);
    function isPoolFromFactory(address pool) external view returns (bool);
    function getNormalizedWeights() external view returns (uint256[]);
    function getMinTokenBalances() external view returns (uint256[]);
    function getAmplificationState() external view returns (Ramp state, uint256 precision);
    function getSurgeThresholdPercentage(address pool) external view returns (uint256);
    function getMaxSurgeFeePercentage(address pool) external view returns (uint256);
    function getCurrentBlockTimestamp() external view returns (uint256);
}

const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Reader of one pool.
pub(super) struct PoolReader {
    pool: Discovered,
    asked: Vec<Question>,
    /// State of an earlier reading, from which constants are reused.
    was: Option<Arc<State>>,
    /// Vaults on which rates depend.
    followed: FollowedReader,
    /// State of the pool itself and its time; coins with rate providers.
    itself: Option<(State, u64)>,
    rated: ArrayVec<bool, MAX_COINS>,
}

impl PoolReader {
    pub(super) fn new(pool: &Discovered) -> Self {
        Self {
            pool: pool.clone(),
            asked: Vec::new(),
            was: None,
            followed: FollowedReader::new(&pool.coins),
            itself: None,
            rated: ArrayVec::new(),
        }
    }

    /// Returns a reader that reuses the constants of an earlier reading.
    pub(super) fn again(pool: &Discovered, was: &Arc<State>) -> Self {
        Self::knowing(pool, was, |_| false)
    }

    /// Returns a one-round reader for a block without a relevant log: vaults whose logs reveal every change are
    /// unchanged.
    pub(super) fn each_block(pool: &Discovered, was: &Arc<State>) -> Self {
        Self::knowing(pool, was, |vault| !vault.reads_each_block())
    }

    fn knowing(pool: &Discovered, was: &Arc<State>, stands: impl Fn(&Vault) -> bool) -> Self {
        let followed = FollowedReader::again(&pool.coins, &was.followed, stands);
        Self { was: Some(Arc::clone(was)), followed, ..Self::new(pool) }
    }

    fn impossible(&self, what: &'static str) -> DecodeError {
        impossible(self.pool.key.contract, what)
    }

    fn round(&self) -> Vec<Question> {
        let pool = self.pool.key.contract;
        let mut asked = vec![
            ask(VAULT, &getPoolTokenInfoCall { pool }),
            ask(VAULT, &getPoolTokenRatesCall { pool }),
            ask(VAULT, &getPoolConfigCall { pool }),
            ask(VAULT, &getHooksConfigCall { pool }),
            ask(VAULT, &isPoolPausedCall { pool }),
            ask(VAULT, &isVaultPausedCall {}),
            ask(MULTICALL3, &getCurrentBlockTimestampCall {}),
        ];
        if self.pool.product == Product::BalancerV3Weighted {
            if self.was.is_none() {
                asked.push(ask(pool, &getNormalizedWeightsCall {}));
                asked.push(ask(pool, &getMinTokenBalancesCall {}));
            }
        } else {
            asked.push(ask(pool, &getAmplificationStateCall {}));
            // ask every modelled hook; one that is not the pool's does not know the pool
            for hook in STABLE_SURGE_HOOKS {
                asked.push(ask(hook, &getSurgeThresholdPercentageCall { pool }));
                asked.push(ask(hook, &getMaxSurgeFeePercentageCall { pool }));
            }
        }
        if self.was.is_some() {
            return asked;
        }
        asked.extend(self.factories().map(|(factory, ..)| ask(*factory, &isPoolFromFactoryCall { pool })));
        asked
    }

    /// Returns the factories of the product.
    fn factories(&self) -> impl Iterator<Item = &'static (Address, Product, Generation)> {
        let product = self.pool.product;
        FACTORIES.iter().filter(move |(_, of, _)| *of == product)
    }

    /// Decodes the pool's state, and the block's time.
    fn understand(&mut self, answers: &mut Answers<'_>) -> Result<(State, u64), DecodeError> {
        let info = answers.next::<getPoolTokenInfoCall>()?;
        let rates = answers.next::<getPoolTokenRatesCall>()?;
        let config = answers.next::<getPoolConfigCall>()?;
        let hooks = answers.next::<getHooksConfigCall>()?;
        let hooks = InSwaps {
            hook: hooks.hooksContract,
            for_the_fee: hooks.shouldCallComputeDynamicSwapFee,
            before: hooks.shouldCallBeforeSwap,
            after: hooks.shouldCallAfterSwap,
        };
        let (pool_paused, vault_paused) = (answers.next::<isPoolPausedCall>()?, answers.next::<isVaultPausedCall>()?);
        let timestamp = answers.next::<getCurrentBlockTimestampCall>()?;
        let timestamp = narrow(self.pool.key.contract, timestamp, "a time beyond 64 bits")?;
        let kind = self.kind(answers)?;
        let fee = self.fee(&config, &hooks, answers)?;
        let mut generation = self.was.as_ref().map(|was| was.generation);
        for (.., release) in self.factories().filter(|_| self.was.is_none()) {
            if answers.try_next::<isPoolFromFactoryCall>() == Some(true) {
                generation = Some(*release);
            }
        }
        let generation = generation.ok_or_else(|| self.impossible("not created by a known factory"))?;
        if !hooks.modelled() {
            return Err(self.impossible("it has an unknown hook"));
        }
        let n = self.pool.coins.len();
        let lengths =
            [info.tokenInfo.len(), info.balancesRaw.len(), info.lastBalancesLiveScaled18.len(), rates.tokenRates.len()];
        if info.tokens != self.pool.coins
            || lengths != [n; 4]
            || rates.decimalScalingFactors.len() != n
            || n > MAX_COINS
        {
            return Err(self.impossible("other coins than announced"));
        }
        let coins = (0..n).map(|k| Coin {
            balance: info.balancesRaw[k],
            last_live: info.lastBalancesLiveScaled18[k],
            factor: rates.decimalScalingFactors[k],
            rate: rates.tokenRates[k],
            pays_yield_fee: info.tokenInfo[k].paysYieldFees,
        });
        self.rated = info.tokenInfo.iter().take(n).map(|info| !info.rateProvider.is_zero()).collect();
        let state = State {
            pool: self.pool.key.contract,
            coins: coins.collect(),
            kind,
            generation,
            fee,
            aggregate_swap_fee_wad: config.aggregateSwapFeePercentage,
            aggregate_yield_fee_wad: config.aggregateYieldFeePercentage,
            paused: pool_paused || vault_paused || !config.isPoolInitialized,
            recovery: config.isPoolInRecoveryMode,
            rated: self.rated.contains(&true),
            followed: Arc::default(),
        };
        state.validate().map_err(|what| self.impossible(what))?;
        Ok((state, timestamp))
    }

    fn kind(&self, answers: &mut Answers<'_>) -> Result<PoolKind, DecodeError> {
        if let Some(PoolKind::Weighted { weights, least_balances }) = self.was.as_ref().map(|was| &was.kind) {
            return Ok(PoolKind::Weighted { weights: weights.clone(), least_balances: least_balances.clone() });
        }
        if self.pool.product == Product::BalancerV3Weighted {
            let weights = answers.next::<getNormalizedWeightsCall>()?;
            let least_balances = answers.try_next::<getMinTokenBalancesCall>().unwrap_or_default();
            let sum = weights.iter().fold(U256::ZERO, |sum, weight| sum.saturating_add(*weight));
            if weights.len() != self.pool.coins.len() || sum != WAD {
                return Err(self.impossible("weights that do not fit its coins"));
            }
            let (weights, least_balances): (ArrayVec<_, MAX_COINS>, _) =
                (weights.into_iter().take(MAX_COINS).collect(), least_balances.into_iter().take(MAX_COINS).collect());
            return Ok(PoolKind::Weighted { weights, least_balances });
        }
        let answer = answers.next::<getAmplificationStateCall>()?;
        if answer.precision != U256::from(1_000) {
            return Err(self.impossible("an amplification of another precision"));
        }
        Ok(PoolKind::Stable(Amplification {
            start_value: answer.state.startValue,
            end_value: answer.state.endValue,
            start_time: u64::from(answer.state.startTime),
            end_time: u64::from(answer.state.endTime),
        }))
    }

    /// Decodes the static fee, or the hook's parameters.
    fn fee(&self, config: &PoolConfig, hooks: &InSwaps, answers: &mut Answers<'_>) -> Result<Fee, DecodeError> {
        let static_wad = config.staticSwapFeePercentage;
        let mut fee = Fee::Static(static_wad);
        if self.pool.product == Product::BalancerV3Weighted {
            return if hooks.for_the_fee { Err(self.impossible("it has an unknown hook")) } else { Ok(fee) };
        }
        for hook in STABLE_SURGE_HOOKS {
            let said = (
                answers.try_next::<getSurgeThresholdPercentageCall>(),
                answers.try_next::<getMaxSurgeFeePercentageCall>(),
            );
            if !hooks.for_the_fee || hooks.hook != hook {
                continue;
            }
            let (Some(threshold_wad), Some(most_wad)) = said else {
                return Err(self.impossible("a hook without its surge parameters"));
            };
            if threshold_wad >= WAD || most_wad > WAD {
                return Err(self.impossible("a surge fee above 100%"));
            }
            fee = Fee::StableSurge { static_wad, most_wad, threshold_wad };
        }
        Ok(fee)
    }
}

impl StateReader for PoolReader {
    fn start(&mut self) -> ReadProgress {
        self.asked = self.round();
        ReadProgress::Calls([calls(&self.asked), self.followed.start()].concat())
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let short = DecodeError::AnswerCount { expected: asked.len(), got: answers.len() };
        let (own, of_vaults) = answers.split_at_checked(asked.len()).ok_or(short.clone())?;
        if !asked.is_empty() {
            let mut own = Answers::new(self.pool.key.contract, &asked, own)?;
            self.itself = Some(self.understand(&mut own)?);
        }
        let rated = |coin: u8| self.rated.get(usize::from(coin)) == Some(&true);
        let more = self.followed.feed(self.pool.key.contract, of_vaults, rated)?;
        if !more.is_empty() {
            return Ok(ReadProgress::Calls(more));
        }
        let (mut state, timestamp) = self.itself.take().ok_or(short)?;
        let rate = |coin: u8| state.coins.get(usize::from(coin)).map(|coin| coin.rate);
        let followed = self.followed.followed(rate, timestamp).map_err(|what| self.impossible(what))?;
        state.followed = followed.into();
        for followed in state.followed.iter() {
            // a rate that follows from a vault is not stored, so an untouched pool has the same state in every block
            if let Some(coin) = state.coins.get_mut(usize::from(followed.coin)) {
                coin.rate = WAD;
            }
        }
        Ok(ReadProgress::Done(PoolState::BalancerV3(state.into())))
    }
}
