//! Reads a pool of the vault: first what never changes about it, then what does.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::sol;
use arrayvec::ArrayVec;

use super::{
    Earning, Minting, Model, OwnToken, Rate, Shares, StableModel, State, VAULT,
    factories::{FACTORIES, Kind},
};
use crate::{
    DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader,
    answers::{Answers, Question, ask, calls, impossible, narrow},
    balancer::{Invariant, Power, StablePool, WeightedPool},
    pool::MAX_COINS,
};

sol! {
    function getPoolTokens(bytes32 poolId) external view returns (address[] tokens, uint256[] balances, uint256 lastChangeBlock);
    function getPoolId() external view returns (bytes32);
    function getSwapFeePercentage() external view returns (uint256);
    function getPausedState() external view returns (bool paused, uint256 pauseWindowEndTime, uint256 bufferPeriodEndTime);
    function getNormalizedWeights() external view returns (uint256[]);
    function getAmplificationParameter() external view returns (uint256 value, bool isUpdating, uint256 precision);
    function getRateProviders() external view returns (address[]);
    function getScalingFactors() external view returns (uint256[]);
    function isPoolFromFactory(address pool) external view returns (bool);
    function decimals() external view returns (uint8);
    function getRate() external view returns (uint256);
    function getTokenRateCache(address token) external view returns (uint256 rate, uint256 oldRate, uint256 duration, uint256 expires);
    function getPriceRateCache(address token) external view returns (uint256 rate, uint256 duration, uint256 expires);
    function totalSupply() external view returns (uint256);
    function getLastJoinExitData() external view returns (uint256 amplification, uint256 invariant);
    function getProtocolFeePercentageCache(uint256 feeType) external view returns (uint256);
    function isTokenExemptFromYieldProtocolFee(address token) external view returns (bool);
}

/// What the protocol may have a share of. Source: `ProtocolFeeType`.
const FEES_OF_SWAPS: U256 = U256::ZERO;
const YIELD: U256 = U256::from_limbs([2, 0, 0, 0]);

const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Reads one pool in two rounds, or in one where it was read before.
#[derive(Clone, Debug)]
pub(super) struct PoolReader {
    pool: Discovered,
    asked: Vec<Question>,
    fixed: Option<Fixed>,
}

/// What never changes.
#[derive(Clone, Debug)]
struct Fixed {
    product: Product,
    pool_id: B256,
    /// `10^(36 − decimals)` of each coin.
    factors: ArrayVec<U256, MAX_COINS>,
    kind: FixedKind,
}

#[derive(Clone, Debug)]
enum FixedKind {
    Weighted {
        weights: ArrayVec<U256, MAX_COINS>,
        power: Power,
    },
    /// Providers of rates in the order of the coins, zero where there is none; empty where no coin has one.
    Stable {
        invariant: Invariant,
        providers: ArrayVec<Address, MAX_COINS>,
        own: Option<FixedOwn>,
    },
}

/// What never changes about a pool's own token.
#[derive(Clone, Debug)]
struct FixedOwn {
    minting: Minting,
    /// Whether the protocol has no share of what each coin earns, as far as it was read.
    exempt: Option<ArrayVec<bool, MAX_COINS>>,
}

impl PoolReader {
    pub(super) fn new(pool: &Discovered) -> Self {
        Self { pool: pool.clone(), asked: Vec::new(), fixed: None }
    }

    /// A reader that knows what never changes from an earlier reading.
    pub(super) fn again(pool: &Discovered, product: Product, state: &State) -> Self {
        let (factors, kind) = match &state.model {
            Model::Weighted(weighted) => {
                let kind = FixedKind::Weighted { weights: weighted.weights.clone(), power: weighted.power };
                (weighted.scaling_factors.clone(), kind)
            }
            Model::Stable(model) => {
                let providers = model.rates.iter().map(|rate| rate.provider).collect();
                let own = model.own.as_ref().map(|own| FixedOwn {
                    minting: own.minting,
                    exempt: Some(own.earnings.iter().map(|earning| earning.exempt).collect()),
                });
                let kind = FixedKind::Stable { invariant: model.pool.invariant, providers, own };
                let plain = model.rates.iter().map(|rate| rate.plain_factor).collect();
                (if model.rates.is_empty() { model.pool.scaling_factors.clone() } else { plain }, kind)
            }
        };
        let fixed = Fixed { product, pool_id: state.pool_id, factors, kind };
        Self { pool: pool.clone(), asked: Vec::new(), fixed: Some(fixed) }
    }

    fn impossible(&self, what: &'static str) -> DecodeError {
        impossible(self.pool.key.contract, what)
    }

    /// The coins but the pool's own token, which comes last.
    fn others(&self) -> &[Address] {
        match self.pool.coins.split_last() {
            Some((last, others)) if *last == self.pool.key.contract => others,
            _ => &self.pool.coins,
        }
    }

    fn first_round(&self) -> Vec<Question> {
        let to = self.pool.key.contract;
        let mut asked =
            vec![ask(to, &getPoolIdCall {}), ask(to, &getNormalizedWeightsCall {}), ask(to, &getRateProvidersCall {})];
        asked.extend(FACTORIES.iter().map(|(factory, _)| ask(*factory, &isPoolFromFactoryCall { pool: to })));
        asked.extend(self.others().iter().map(|coin| ask(*coin, &decimalsCall {})));
        asked
    }

    fn fixed(&self, answers: &mut Answers<'_>) -> Result<Fixed, DecodeError> {
        let pool_id = answers.next::<getPoolIdCall>()?;
        if pool_id.get(..20) != Some(self.pool.key.contract.as_slice()) {
            return Err(self.impossible("the vault knows it by another address"));
        }
        let weights = answers.try_next::<getNormalizedWeightsCall>();
        let providers = answers.try_next::<getRateProvidersCall>().unwrap_or_default();
        let mut made = None;
        for (_, kind) in FACTORIES {
            if answers.try_next::<isPoolFromFactoryCall>() == Some(true) {
                made = Some(kind);
            }
        }
        let made = made.ok_or_else(|| self.impossible("not made by a factory whose pools are known"))?;
        let mut factors = ArrayVec::new();
        for _ in self.others().iter().take(MAX_COINS) {
            let decimals = answers.next::<decimalsCall>()?;
            let power = 36_u8.checked_sub(decimals).filter(|power| *power >= 18);
            let factor = power.and_then(|power| U256::from(10).checked_pow(U256::from(power)));
            factors.push(factor.ok_or_else(|| self.impossible("a coin of more than 18 decimals"))?);
        }
        let (product, kind) = match made {
            Kind::Weighted(power) => {
                let weights = weights.ok_or_else(|| self.impossible("a weighted pool without weights"))?;
                let sum = weights.iter().fold(U256::ZERO, |sum, weight| sum.saturating_add(*weight));
                if weights.len() != self.pool.coins.len() || sum != WAD {
                    return Err(self.impossible("weights that do not fit its coins"));
                }
                let weights = weights.into_iter().take(MAX_COINS).collect();
                (Product::BalancerV2Weighted, FixedKind::Weighted { weights, power })
            }
            Kind::Stable(invariant) => (Product::BalancerV2Stable, self.stable(invariant, Vec::new(), None)?),
            Kind::MetaStable => (Product::BalancerV2Stable, self.stable(Invariant::Up, providers, None)?),
            Kind::Composable(minting) => {
                (Product::BalancerV2ComposableStable, self.stable(Invariant::Down, providers, Some(minting))?)
            }
        };
        Ok(Fixed { product, pool_id, factors, kind })
    }

    fn stable(
        &self,
        invariant: Invariant,
        mut providers: Vec<Address>,
        minting: Option<Minting>,
    ) -> Result<FixedKind, DecodeError> {
        let coins = self.others();
        if (coins.len() < self.pool.coins.len()) != minting.is_some() {
            return Err(self.impossible("its own token is not where its factory puts it"));
        }
        // the vault lists a pool's own token among its coins, in the order of addresses
        if providers.len() == coins.len() + 1 {
            let place = coins.iter().take_while(|coin| **coin < self.pool.key.contract).count();
            providers.remove(place);
        }
        let rated = providers.iter().any(|provider| !provider.is_zero());
        if rated && (providers.len() != coins.len() || coins.len() > MAX_COINS) {
            return Err(self.impossible("rate providers that do not fit its coins"));
        }
        let providers = if rated { providers.into_iter().collect() } else { ArrayVec::new() };
        let own = minting.map(|minting| FixedOwn { minting, exempt: None });
        Ok(FixedKind::Stable { invariant, providers, own })
    }

    fn second_round(&self, fixed: &Fixed) -> Vec<Question> {
        let to = self.pool.key.contract;
        let mut asked = vec![
            ask(VAULT, &getPoolTokensCall { poolId: fixed.pool_id }),
            ask(to, &getSwapFeePercentageCall {}),
            ask(to, &getPausedStateCall {}),
        ];
        let FixedKind::Stable { providers, own, .. } = &fixed.kind else { return asked };
        asked.push(ask(to, &getAmplificationParameterCall {}));
        // a call that fails is made again on its own: nothing is asked here that a pool of its kind has not
        if !providers.is_empty() {
            asked.push(ask(to, &getScalingFactorsCall {}));
        }
        for (coin, provider) in self.others().iter().zip(providers).filter(|(_, provider)| !provider.is_zero()) {
            asked.push(ask(*provider, &getRateCall {}));
            asked.push(if own.is_some() {
                ask(to, &getTokenRateCacheCall { token: *coin })
            } else {
                ask(to, &getPriceRateCacheCall { token: *coin })
            });
            if own.as_ref().is_some_and(|own| own.exempt.is_none()) {
                asked.push(ask(to, &isTokenExemptFromYieldProtocolFeeCall { token: *coin }));
            }
        }
        if own.is_some() {
            asked.push(ask(to, &totalSupplyCall {}));
            asked.push(ask(to, &getLastJoinExitDataCall {}));
            asked.extend(
                [FEES_OF_SWAPS, YIELD].map(|kind| ask(to, &getProtocolFeePercentageCacheCall { feeType: kind })),
            );
        }
        asked
    }

    fn state(&self, fixed: &Fixed, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let held = answers.next::<getPoolTokensCall>()?;
        let balances = self.balances(&held)?;
        let fee_wad = answers.next::<getSwapFeePercentageCall>()?;
        if answers.next::<getPausedStateCall>()?.paused {
            return Err(self.impossible("it is paused"));
        }
        let scaling_factors = fixed.factors.clone();
        let model = match &fixed.kind {
            FixedKind::Weighted { weights, power } => {
                let (weights, power) = (weights.clone(), *power);
                Model::Weighted(WeightedPool { balances, scaling_factors, weights, fee_wad, power })
            }
            FixedKind::Stable { invariant, providers, own } => {
                let amplification = answers.next::<getAmplificationParameterCall>()?;
                if amplification.isUpdating {
                    return Err(self.impossible("its amplification is on its way"));
                }
                if amplification.precision != U256::from(1_000) {
                    return Err(self.impossible("an amplification of another precision"));
                }
                let said = if providers.is_empty() { Vec::new() } else { answers.next::<getScalingFactorsCall>()? };
                let (amp_times_1000, invariant) = (amplification.value, *invariant);
                let pool = StablePool { balances, scaling_factors, amp_times_1000, fee_wad, invariant };
                let place = held.tokens.iter().position(|token| *token == self.pool.key.contract);
                let mut model = StableModel { pool, own: None, rates: ArrayVec::new() };
                let earnings = self.rates(&mut model, providers, own.as_ref(), answers)?;
                if let Some(own) = own {
                    let of_the_pool = place.and_then(|place| held.balances.get(place)).copied().unwrap_or_default();
                    model.own = Some(self.own_token(own.minting, of_the_pool, earnings, answers)?);
                }
                let said = said.iter().enumerate().filter(|(at, _)| Some(*at) != place).map(|(_, factor)| factor);
                if said.clone().count() > 0 && !said.eq(&model.pool.scaling_factors) {
                    return Err(self.impossible("scaling factors that do not follow from its rates"));
                }
                Model::Stable(Box::new(model))
            }
        };
        let state = State { pool_id: fixed.pool_id, model };
        state.validate().map_err(|what| self.impossible(what))?;
        Ok(state)
    }

    /// What the vault holds of each coin: the pool's own token left out.
    fn balances(&self, held: &getPoolTokensReturn) -> Result<ArrayVec<U256, MAX_COINS>, DecodeError> {
        let others = || held.tokens.iter().zip(&held.balances).filter(|(token, _)| **token != self.pool.key.contract);
        let same = others().map(|(token, _)| token).eq(self.others());
        if !same || held.tokens.len() != held.balances.len() || self.pool.coins.len() > MAX_COINS {
            return Err(self.impossible("other coins than those that it announced"));
        }
        Ok(others().map(|(_, balance)| *balance).collect())
    }

    /// Puts the rates that the pool remembers into its scaling factors, and keeps those that its providers give now. What the coins
    /// earn is for the pool's own token.
    fn rates(
        &self,
        model: &mut StableModel,
        providers: &[Address],
        own: Option<&FixedOwn>,
        answers: &mut Answers<'_>,
    ) -> Result<ArrayVec<Earning, MAX_COINS>, DecodeError> {
        let mut earnings = ArrayVec::new();
        for (coin, (factor, provider)) in model.pool.scaling_factors.iter_mut().zip(providers).enumerate() {
            let (plain_factor, provider) = (*factor, *provider);
            if provider.is_zero() {
                model.rates.push(Rate { expires: u64::MAX, next_factor: plain_factor, plain_factor, provider });
                earnings.push(Earning { rate: WAD, next_rate: WAD, last_rate: WAD, exempt: false });
                continue;
            }
            let next_rate = answers.next::<getRateCall>()?;
            let (rate, last_rate, expires) = if own.is_some() {
                let cache = answers.next::<getTokenRateCacheCall>()?;
                (cache.rate, cache.oldRate, cache.expires)
            } else {
                let cache = answers.next::<getPriceRateCacheCall>()?;
                (cache.rate, cache.rate, cache.expires)
            };
            let exempt = match own {
                None => false,
                Some(FixedOwn { exempt: Some(exempt), .. }) => exempt.get(coin).copied().unwrap_or_default(),
                Some(FixedOwn { exempt: None, .. }) => answers.next::<isTokenExemptFromYieldProtocolFeeCall>()?,
            };
            let scaled = |rate: U256| plain_factor.checked_mul(rate).and_then(|product| product.checked_div(WAD));
            let too_large = || self.impossible("a rate too large");
            *factor = scaled(rate).ok_or_else(too_large)?;
            let next_factor = scaled(next_rate).ok_or_else(too_large)?;
            let expires = narrow(self.pool.key.contract, expires, "an expiry beyond 64 bits")?;
            model.rates.push(Rate { expires, next_factor, plain_factor, provider });
            earnings.push(Earning { rate, next_rate, last_rate, exempt });
        }
        Ok(earnings)
    }

    /// `held` is what the vault has for the pool of its own token.
    fn own_token(
        &self,
        minting: Minting,
        held: U256,
        earnings: ArrayVec<Earning, MAX_COINS>,
        answers: &mut Answers<'_>,
    ) -> Result<OwnToken, DecodeError> {
        let supply = answers.next::<totalSupplyCall>()?;
        let circulating = supply.checked_sub(held).ok_or_else(|| self.impossible("less of its token than is held"))?;
        let last = answers.next::<getLastJoinExitDataCall>()?;
        let (last_invariant, last_amp_times_1000) = (last.invariant, last.amplification);
        let fee_share_wad = answers.next::<getProtocolFeePercentageCacheCall>()?;
        let yield_share_wad = answers.next::<getProtocolFeePercentageCacheCall>()?;
        let shares = Shares { held, circulating, last_invariant, last_amp_times_1000 };
        Ok(OwnToken { shares, fee_share_wad, yield_share_wad, earnings, minting })
    }
}

impl StateReader for PoolReader {
    fn start(&mut self) -> ReadProgress {
        self.asked = match &self.fixed {
            Some(fixed) => self.second_round(fixed),
            None => self.first_round(),
        };
        ReadProgress::Calls(calls(&self.asked))
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = Answers::new(self.pool.key.contract, &asked, answers)?;
        if let Some(fixed) = &self.fixed {
            let state = self.state(fixed, &mut answers)?;
            return Ok(ReadProgress::Done(PoolState::BalancerV2(state.into())));
        }
        let fixed = self.fixed(&mut answers)?;
        self.asked = self.second_round(&fixed);
        self.fixed = Some(fixed);
        Ok(ReadProgress::Calls(calls(&self.asked)))
    }

    fn product(&self) -> Option<Product> {
        self.fixed.as_ref().map(|fixed| fixed.product)
    }
}
