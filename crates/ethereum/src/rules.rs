//! Rules for the pools of the market: lists of tokens and pools, and a floor on the ether that a pool holds. Pure.

use std::collections::BTreeSet;

use alloy::primitives::Log;
use braid_primitives::{Address, NATIVE_ETHER, PoolKey, WETH, is_native_ether};
use braid_protocols::{Discovered, PoolState, Product};
use braid_store::market::{Exclusion, ExclusionKind};

/// Rules of the configuration. By default every pool is accepted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolRules {
    /// Pools of ether that hold less of it than this, in ether, are excluded until they change. Pools without ether,
    /// and pools whose state does not contain their holdings, are not affected.
    pub min_ether: f64,
    /// Pools with one of these coins are excluded.
    pub deny_tokens: BTreeSet<Address>,
    /// These pools are excluded.
    pub deny_pools: BTreeSet<PoolKey>,
    /// If not empty, only pools whose coins are all among these are accepted. Ether and wrapped ether always are.
    pub allow_tokens: BTreeSet<Address>,
    /// These pools are accepted whatever the other rules say.
    pub allow_pools: BTreeSet<PoolKey>,
}

/// Returns why pools of a product that is not followed are excluded.
pub(crate) fn denied(product: Product) -> Exclusion {
    let reason = format!("the configuration denies {}", product.id());
    Exclusion { kind: ExclusionKind::Product(product), reason }
}

impl PoolRules {
    /// Returns why a pool is excluded by properties that never change.
    pub(crate) fn refuse(&self, pool: &Discovered) -> Option<Exclusion> {
        let reason = self.refused_by_list(pool)?.to_owned();
        Some(Exclusion { kind: ExclusionKind::Configuration, reason })
    }

    fn refused_by_list(&self, pool: &Discovered) -> Option<&'static str> {
        if self.allow_pools.contains(&pool.key) {
            return None;
        }
        let is_ether = |coin: &Address| *coin == WETH || is_native_ether(*coin);
        let denied = |coin: &Address| {
            self.deny_tokens.contains(coin) || (is_native_ether(*coin) && self.deny_tokens.contains(&NATIVE_ETHER))
        };
        if self.deny_pools.contains(&pool.key) {
            return Some("the configuration denies it");
        }
        if pool.coins.iter().any(denied) {
            return Some("the configuration denies one of its tokens");
        }
        // A pool's own share token needs no permission.
        let own = |coin: &Address| pool.coins.len() > 2 && *coin == pool.key.contract;
        let allowed = |coin: &Address| self.allow_tokens.contains(coin) || is_ether(coin) || own(coin);
        if !self.allow_tokens.is_empty() && !pool.coins.iter().all(allowed) {
            return Some("the configuration does not allow one of its tokens");
        }
        None
    }

    /// Returns why a pool in this state is excluded.
    pub(crate) fn refuse_state(&self, pool: &Discovered, state: &PoolState) -> Option<Exclusion> {
        if self.min_ether <= 0.0 || self.allow_pools.contains(&pool.key) {
            return None;
        }
        let held = ether_held(pool, state)?;
        let floor = || {
            let reason = "it holds less ether than the configured floor".to_owned();
            Exclusion { kind: ExclusionKind::Floor, reason }
        };
        (held < self.min_ether).then(floor)
    }

    /// Returns whether logs of an excluded pool determine its state, and the state is excluded for the same reason: the
    /// pool need not be read then. The newest log comes first.
    pub(crate) fn still_refuse<'a>(
        &self,
        pool: &Discovered,
        excluded_as: ExclusionKind,
        newest_first: impl IntoIterator<Item = &'a Log>,
    ) -> bool {
        let state = newest_first.into_iter().find_map(|log| pool.product.state_from_log(log));
        state.and_then(|state| self.refuse_state(pool, &state)).is_some_and(|now| now.kind == excluded_as)
    }
}

/// Returns the ether that a pool holds, if its state contains that. Floating point is enough for the floor.
fn ether_held(pool: &Discovered, state: &PoolState) -> Option<f64> {
    let side = pool.coins.iter().position(|coin| *coin == WETH)?;
    let wei = pool.product.holds(state, u8::try_from(side).ok()?)?;
    Some(wei / 1e18)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy::primitives::b256;
    use braid_primitives::U256;
    use braid_protocols::{uniswap_v2, uniswap_v3};

    use super::*;

    const TOKEN: Address = Address::repeat_byte(0x11);
    const OTHER: Address = Address::repeat_byte(0x22);

    fn pool(coins: &[Address]) -> Discovered {
        let address = Address::repeat_byte(9);
        Discovered {
            key: address.into(),
            product: Product::UniswapV2,
            coins: coins.to_vec(),
            fee_pips: 0,
            tick_spacing: 0,
        }
    }

    #[test]
    fn lists_decide_by_tokens_and_pools_and_a_named_pool_beats_them_all() {
        let pair = pool(&[TOKEN, WETH]);
        let everything = PoolRules::default();
        assert_eq!(everything.refuse(&pair), None);
        let denied = PoolRules { deny_tokens: [TOKEN].into(), ..everything.clone() };
        assert!(denied.refuse(&pair).is_some() && denied.refuse(&pool(&[OTHER, WETH])).is_none());
        let named = PoolRules { allow_pools: [pair.key].into(), ..denied };
        assert_eq!(named.refuse(&pair), None);
        let few = PoolRules { allow_tokens: [TOKEN].into(), ..everything.clone() };
        assert!(few.refuse(&pair).is_none() && few.refuse(&pool(&[TOKEN, OTHER])).is_some());
        let with_its_own = Discovered { key: OTHER.into(), ..pool(&[TOKEN, WETH, OTHER]) };
        assert!(few.refuse(&with_its_own).is_none(), "a pool's own token is not asked about");
        let vault = Discovered { key: OTHER.into(), ..pool(&[TOKEN, OTHER]) };
        assert!(few.refuse(&vault).is_some(), "but the share of a vault is");
        let gone = PoolRules { deny_pools: [pair.key].into(), ..everything };
        assert!(gone.refuse(&pair).is_some());
    }

    #[test]
    fn the_floor_counts_ether_on_whichever_side_it_is() {
        let rules = PoolRules { min_ether: 1.0, ..PoolRules::default() };
        let state = |reserve0, reserve1| PoolState::UniswapV2(uniswap_v2::State { reserve0, reserve1, fee_bps: 30 });
        let ether = 1_000_000_000_000_000_000;
        assert!(rules.refuse_state(&pool(&[TOKEN, WETH]), &state(5, ether)).is_none());
        assert!(rules.refuse_state(&pool(&[TOKEN, WETH]), &state(ether, ether / 2)).is_some());
        assert!(rules.refuse_state(&pool(&[WETH, TOKEN]), &state(ether, 5)).is_none());
        assert!(rules.refuse_state(&pool(&[TOKEN, OTHER]), &state(0, 0)).is_none(), "not a pool of ether");
    }

    /// Every block of mainnet has many trades in pools below the minimum, which must not all cause reads.
    #[test]
    fn a_pool_below_the_floor_is_read_again_only_where_its_logs_do_not_say_that_it_stays_there() {
        let rules = PoolRules { min_ether: 1.0, ..PoolRules::default() };
        let pair = pool(&[TOKEN, WETH]);
        let sync = |ether: u128| {
            let topic = b256!("1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1");
            let data = [U256::from(5), U256::from(ether)].map(|word| word.to_be_bytes::<32>()).concat();
            Log::new_unchecked(pair.key.contract, vec![topic], data.into())
        };
        let reason =
            rules.refuse_state(&pair, &PoolState::from(uniswap_v2::State { reserve0: 0, reserve1: 0, fee_bps: 30 }));
        let reason = reason.unwrap().kind;
        let ether = 1_000_000_000_000_000_000;
        assert!(rules.still_refuse(&pair, reason, [&sync(ether / 2), &sync(2 * ether)]), "the newest counts");
        assert!(!rules.still_refuse(&pair, reason, [&sync(2 * ether), &sync(ether / 2)]));
        assert!(!rules.still_refuse(&pair, ExclusionKind::Unread, [&sync(ether / 2)]), "that has to be seen");
        assert!(!rules.still_refuse(&pair, reason, []));
        let concentrated = Discovered { product: Product::UniswapV3, ..pair.clone() };
        assert!(!rules.still_refuse(&concentrated, reason, [&sync(ether / 2)]), "no log of it tells what it holds");
    }

    #[test]
    fn a_position_around_the_price_holds_both_coins() {
        let tick = |index, net: i128| uniswap_v3::Tick::new(index, net, net.unsigned_abs()).unwrap();
        let liquidity = 1_000_000_000_000_000_000_000u128;
        let ticks = Arc::from([tick(-6_960, liquidity as i128), tick(6_960, -(liquidity as i128))]);
        let state = PoolState::UniswapV3(uniswap_v3::State {
            sqrt_price_x96: U256::ONE << 96,
            tick: 0,
            liquidity,
            fee_pips: 3_000,
            fee_protocol: 0,
            tick_spacing: 60,
            ticks,
        });
        // L · (1 − 1.0001^−3480) on each side.
        let expected = 1e21 * (1.0 - 1.0001f64.powi(-3_480));
        for of_coin0 in [true, false] {
            assert!((Product::UniswapV3.holds(&state, u8::from(!of_coin0)).unwrap() / expected - 1.0).abs() < 1e-9);
        }
    }
}
