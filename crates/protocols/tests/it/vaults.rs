//! Tests of ERC-4626 vaults and Lido: their changes over time, and the laws that they obey.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{
    Call, Discovered, Pool, PoolState, Product, ReadProgress, SwapError,
    continuous::PairCurve,
    erc4626::{Accrual, Conversion, Limits, RAY, State, WAD},
    lido::{self, StakeLimit},
    vault::Rounding,
};
use proptest::{prelude::*, test_runner::RngSeed};

sol! {
    function asset() external view returns (address);
    function getCurrentBlockTimestamp() external view returns (uint256);
    function totalAssets() external view returns (uint256);
    function totalSupply() external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function maxDeposit(address receiver) external view returns (uint256);
    function previewDeposit(uint256 assets) external view returns (uint256);
    function convertToAssets(uint256 shares) external view returns (uint256);
    function chi() external view returns (uint256);
    function vsr() external view returns (uint256);
    function depositCap() external view returns (uint256);
    function rho() external view returns (uint256);
    function previewRedeem(uint256 shares) external view returns (uint256);
    function lastRewardAmount() external view returns (uint192);
    function lastSync() external view returns (uint32);
    function rewardsCycleEnd() external view returns (uint32);
}

/// Reads a listed vault with a number or a revert as the answer to each call.
fn answered(coins: [Address; 2], number: impl Fn(&Call) -> Option<U256>) -> State {
    let [asset, address] = coins;
    let found = Discovered {
        key: address.into(),
        product: Product::Erc4626,
        coins: coins.to_vec(),
        fee_pips: 0,
        tick_spacing: 0,
    };
    let mut reader = Product::Erc4626.reader(&found);
    let ReadProgress::Calls(calls) = reader.start() else { panic!("nothing is asked") };
    let answer = |call: &Call| match call.data[..4].try_into().unwrap() {
        assetCall::SELECTOR => Some(Bytes::from(asset.abi_encode())),
        getCurrentBlockTimestampCall::SELECTOR => Some(Bytes::from(U256::from(NOW.timestamp).abi_encode())),
        _ => number(call).map(|number| Bytes::from(number.abi_encode())),
    };
    let answers: Vec<_> = calls.iter().map(answer).collect();
    let ReadProgress::Done(PoolState::Erc4626(state)) = reader.feed(&answers).unwrap() else { panic!("not read") };
    *state
}

/// Returns the amount of a preview call.
fn asked(call: &Call) -> U256 {
    U256::from_be_slice(&call.data[4..])
}

const fn at(timestamp: u64) -> ExecutionBlock {
    ExecutionBlock { number: timestamp / 12, timestamp }
}

const NOW: ExecutionBlock = at(1_700_000_000);

fn units(amount: u64) -> U256 {
    U256::from(amount) * WAD
}

fn vault(conversion: Conversion, accrual: Accrual) -> State {
    State { conversion, accrual, limits: Limits::NONE, form: None }
}

fn ratio(total_assets: U256, total_shares: U256) -> Conversion {
    Conversion::Ratio { total_assets, total_shares, virtual_assets: U256::ZERO, virtual_shares: U256::ZERO }
}

#[test]
fn savings_compound_every_second() {
    // 0.0000001% per second, starting from a rate of one.
    let per_second_ray = RAY + RAY / U256::from(1_000_000_000_u64);
    let savings = vault(Conversion::Rate { rate: RAY, one: RAY }, Accrual::Compounding { per_second_ray, since: 100 });
    let worth = |now| savings.redeem(&at(now), units(1_000_000_000)).unwrap().0;
    assert_eq!(worth(100), units(1_000_000_000));
    assert_eq!(worth(101), units(1_000_000_001));
    assert_eq!(worth(102), units(1_000_000_002) + U256::from(1_000_000_000_u64), "interest on interest");
    assert!(savings.redeem(&at(99), WAD).is_err(), "the contract's clock does not run backwards");
}

#[test]
fn simple_interest_is_rounded_as_its_contract_rounds() {
    let (rate, interest_ray) = (RAY + RAY / U256::from(2), U256::ONE);
    let worth = |rounding, period_seconds, now| {
        let accrual = Accrual::Simple { interest_ray, period_seconds, since: 100, rounding };
        vault(Conversion::Rate { rate, one: RAY }, accrual).redeem(&at(now), RAY).unwrap().0 - rate
    };
    // One and a half more after a full period, and nothing after a part of it.
    assert_eq!(worth(Rounding::Down, 10, 110), U256::from(1));
    assert_eq!(worth(Rounding::Nearest, 10, 110), U256::from(2));
    assert_eq!(worth(Rounding::Nearest, 10, 109), U256::ZERO);
}

#[test]
fn a_vested_reward_is_there_at_the_end_and_not_before() {
    let vesting = Accrual::Vesting { amount: units(80), since: 1_000, duration_seconds: 800 };
    let vault = vault(ratio(units(180), units(100)), vesting);
    let worth = |now| vault.redeem(&at(now), units(10)).unwrap().0;
    assert_eq!([1_000, 1_400, 1_800, 9_999].map(worth), [10, 14, 18, 18].map(units));
}

#[test]
fn a_streamed_reward_comes_on_top_of_what_is_stored() {
    let streaming = Accrual::Streaming { amount: units(80), since: 1_000, until: 1_800 };
    let vault = vault(ratio(units(100), units(100)), streaming);
    let worth = |now| vault.redeem(&at(now), units(10)).unwrap().0;
    assert_eq!([1_000, 1_400, 1_800, 9_999].map(worth), [10, 14, 18, 18].map(units));
}

#[test]
fn a_performance_fee_dilutes_by_its_share_of_the_gain() {
    let fee = Accrual::PerformanceFee { last_total_assets: units(100), fee_wad: WAD / U256::from(10) };
    let vault = vault(ratio(units(200), units(100)), fee);
    // Of a gain of 100 the fee takes 10, paid in shares, so 100 old shares are worth 190.
    assert_eq!(vault.preview_redeem(&NOW, units(100)).unwrap(), units(190));
}

#[test]
fn limits_are_kept_and_used_up() {
    let limited = State {
        limits: Limits { max_deposit_assets: units(10), max_redeem_shares: units(5), ..Limits::NONE },
        ..vault(ratio(units(100), units(100)), Accrual::None)
    };
    let (shares, after) = limited.deposit(&NOW, units(4)).unwrap();
    assert_eq!((shares, after.limits.max_deposit_assets), (units(4), units(6)));
    let refused = SwapError::LimitExceeded { limit: units(6), amount: units(7) };
    assert_eq!(after.deposit(&NOW, units(7)), Err(refused));
    let (_, after) = after.redeem(&NOW, units(5)).unwrap();
    assert_eq!(after.redeem(&NOW, WAD), Err(SwapError::LimitExceeded { limit: U256::ZERO, amount: WAD }));
}

#[test]
fn sparks_vault_is_read_though_it_previews_no_more_than_it_has_and_its_cap_is_used_up_by_interest() {
    let weth = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
    let vault = address!("fE6eb3b609a7C8352A241f7F3A21CEA4e9209B8f");
    let chi = RAY * U256::from(5) / U256::from(4);
    let state = answered([weth, vault], |call| {
        Some(match call.data[..4].try_into().unwrap() {
            rhoCall::SELECTOR => U256::from(NOW.timestamp),
            totalAssetsCall::SELECTOR => units(1_250),
            totalSupplyCall::SELECTOR => units(1_000),
            balanceOfCall::SELECTOR => units(10),
            maxDepositCall::SELECTOR => units(750),
            depositCapCall::SELECTOR => units(2_000),
            previewDepositCall::SELECTOR => asked(call) * RAY / chi,
            convertToAssetsCall::SELECTOR => asked(call) * chi / RAY,
            chiCall::SELECTOR => chi,
            vsrCall::SELECTOR => RAY + RAY / U256::from(1_000_000_000_u64),
            // The `previewRedeem` of more than the vault's balance.
            _ => return None,
        })
    });
    // 1,250 earn 0.00125 in a thousand seconds.
    let later = at(NOW.timestamp + 1_000);
    assert!(state.deposit(&NOW, units(750)).is_ok() && state.deposit(&later, units(750)).is_err());
    let earned = units(1_250) / U256::from(1_000_000);
    assert!(state.deposit(&later, units(750) - earned * U256::from(2)).is_ok());
    assert!(state.deposit(&later, units(750) - earned / U256::from(2)).is_err());
}

#[test]
fn no_more_of_frax_ether_is_redeemed_than_is_stored_until_the_reward_is() {
    let coins =
        [address!("5E8422345238F34275888049021821E8E08CAa1f"), address!("aC3E018457B222d93114458476f3E3416Abbe38F")];
    let read = |ends: u64| {
        answered(coins, |call| {
            Some(match call.data[..4].try_into().unwrap() {
                // Ninety are stored. Half of a reward of twenty has arrived, or all of a reward of ten.
                totalAssetsCall::SELECTOR => units(100),
                totalSupplyCall::SELECTOR => units(100),
                balanceOfCall::SELECTOR => units(200),
                maxDepositCall::SELECTOR => U256::MAX,
                previewDepositCall::SELECTOR | previewRedeemCall::SELECTOR => asked(call),
                lastRewardAmountCall::SELECTOR => units(if ends > NOW.timestamp { 20 } else { 10 }),
                lastSyncCall::SELECTOR => U256::from(NOW.timestamp - 1_000),
                rewardsCycleEndCall::SELECTOR => U256::from(ends),
                _ => return None,
            })
        })
    };
    let running = read(NOW.timestamp + 1_000);
    assert!(running.redeem(&NOW, units(90)).is_ok() && running.redeem(&NOW, units(91)).is_err());
    assert!(read(NOW.timestamp).redeem(&NOW, units(100)).is_ok());
}

#[test]
fn an_empty_vault_converts_one_to_one() {
    let empty = vault(ratio(U256::ZERO, U256::ZERO), Accrual::None);
    assert_eq!(empty.deposit(&NOW, units(3)).unwrap().0, units(3));
}

fn lido(stake_limit: StakeLimit) -> lido::State {
    lido::State { total_pooled_ether_wei: units(12_000), total_shares: units(10_000), stake_limit, stopped: false }
}

#[test]
fn a_bound_goes_on_beyond_what_a_wrapper_is_assumed_to_take_and_stops_at_a_limit_of_the_contract() {
    let key = address!("0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0");
    let most = |product, state: lido::State| {
        let coins = [TokenId(1), TokenId(2)].into_iter().collect();
        let pool = Pool { key: key.into(), product, coins, state: PoolState::Lido(state) };
        let curve = PairCurve::of(&pool, [0, 1], &NOW).unwrap();
        // Sells ten times as much stETH, or ether, as there is.
        curve.direction(0).unwrap().most_earned(0.0, 1.0, 120_000e18, 0.0, 0.0)
    };
    let limit = StakeLimit::Limited {
        previous_wei: units(10),
        previous_block: 0,
        growth_per_block_wei: U256::ZERO,
        max_wei: units(10),
    };
    let wrapped = f64::from(lido(limit).wrap(units(120_000)).unwrap());
    assert!(most(Product::LidoWsteth, lido(limit)) >= wrapped);
    assert!(most(Product::LidoSteth, lido(limit)) < 10.001e18);
}

#[test]
fn a_stake_limit_grows_back_with_the_blocks() {
    let limit = StakeLimit::Limited {
        previous_wei: units(10),
        previous_block: 100,
        growth_per_block_wei: units(2),
        max_wei: units(50),
    };
    let block = |number| ExecutionBlock { number, timestamp: 0 };
    let refused = |limit| SwapError::LimitExceeded { limit: units(limit), amount: units(60) };
    for (number, expected) in [(100, 10), (105, 20), (120, 50), (9_999, 50)] {
        assert_eq!(lido(limit).stake(&block(number), units(60)), Err(refused(expected)));
    }
    let (_, after) = lido(limit).stake(&block(105), units(15)).unwrap();
    assert_eq!(after.stake_limit.current_wei(&block(105)), units(5));
    assert_eq!(after.stake_limit.current_wei(&block(106)), units(7));
}

#[test]
fn a_maximum_that_was_lowered_is_approached_from_above() {
    let limit = StakeLimit::Limited {
        previous_wei: units(90),
        previous_block: 100,
        growth_per_block_wei: units(2),
        max_wei: units(50),
    };
    let current = |number| limit.current_wei(&ExecutionBlock { number, timestamp: 0 });
    assert_eq!([100, 110, 120, 9_999].map(current), [90, 70, 50, 50].map(units));
}

#[test]
fn what_arrives_of_staked_ether_is_what_its_shares_are_worth() {
    let odd = lido::State { total_pooled_ether_wei: units(12_000) + U256::from(7), ..lido(StakeLimit::Unlimited) };
    for amount in 1..2_000_u64 {
        let arrived = odd.arrives(U256::from(amount)).unwrap();
        assert!(arrived <= U256::from(amount) && arrived + U256::from(2) >= U256::from(amount), "{amount}: {arrived}");
        assert_eq!(odd.arrives(arrived).unwrap(), arrived.min(odd.arrives(arrived).unwrap()));
    }
}

#[test]
fn lido_refuses_what_it_cannot_do() {
    assert_eq!(lido(StakeLimit::Paused).stake(&NOW, WAD), Err(SwapError::Closed));
    assert_eq!(lido(StakeLimit::Unlimited).stake(&NOW, U256::ZERO), Err(SwapError::ZeroAmount));
    assert_eq!(lido(StakeLimit::Unlimited).stake(&NOW, U256::ONE), Err(SwapError::ZeroOutput), "less than a share");
    assert_eq!(lido(StakeLimit::Unlimited).wrap(U256::ONE), Err(SwapError::ZeroOutput));
    let nothing =
        lido::State { total_pooled_ether_wei: U256::ZERO, total_shares: U256::ZERO, ..lido(StakeLimit::Unlimited) };
    assert_eq!(nothing.stake(&NOW, WAD), Err(SwapError::Closed));
}

fn amount(bits: usize) -> impl Strategy<Value = U256> {
    (1..=bits, any::<[u64; 4]>())
        .prop_map(|(length, limbs)| (U256::from_limbs(limbs) >> (256 - length)) | (U256::ONE << (length - 1)))
}

fn any_conversion(bits: usize) -> impl Strategy<Value = Conversion> {
    prop_oneof![
        (amount(bits), amount(bits), any::<bool>()).prop_map(|(total_assets, total_shares, virtual_one)| {
            let one = U256::from(u8::from(virtual_one));
            Conversion::Ratio { total_assets, total_shares, virtual_assets: one, virtual_shares: one }
        }),
        amount(bits).prop_map(|rate| Conversion::Rate { rate, one: RAY }),
        (amount(bits), amount(bits))
            .prop_map(|(total_assets, total_shares)| Conversion::Price { total_assets, total_shares }),
        (amount(bits), amount(bits)).prop_map(|(total_assets, inner_shares)| Conversion::Wrapped {
            total_assets,
            inner_shares,
            inner_per_share: U256::from(1_000),
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, rng_seed: RngSeed::Fixed(9), ..ProptestConfig::default() })]

    #[test]
    fn in_and_out_of_a_vault_never_profits(conversion in any_conversion(96), assets in amount(90)) {
        let vault = vault(conversion, Accrual::None);
        if let Ok((shares, after)) = vault.deposit(&NOW, assets)
            && let Ok((back, _)) = after.redeem(&NOW, shares)
        {
            prop_assert!(back <= assets);
        }
    }

    #[test]
    fn more_into_a_vault_never_gives_less(conversion in any_conversion(96), a in amount(90), b in amount(90)) {
        let vault = vault(conversion, Accrual::None);
        let (less, more) = (a.min(b), a.max(b));
        // A price of zero reverts for every amount.
        let bought = |amount| vault.preview_deposit(&NOW, amount).unwrap_or_default();
        prop_assert!(bought(less) <= bought(more));
        prop_assert!(vault.preview_redeem(&NOW, less).unwrap() <= vault.preview_redeem(&NOW, more).unwrap());
    }

    #[test]
    fn a_vault_never_pays_more_than_it_holds(conversion in any_conversion(96), shares in amount(96)) {
        let vault = vault(conversion, Accrual::None);
        if let (Conversion::Ratio { total_assets, .. }, Ok((assets, _))) = (conversion, vault.redeem(&NOW, shares)) {
            prop_assert!(assets <= total_assets);
        }
    }

    #[test]
    fn no_vault_panics(
        conversion in any_conversion(256), numbers in (amount(256), amount(256)), times in any::<(u64, u64)>(),
        kind in 0..10_u8, now: u64, amount_in in amount(256),
    ) {
        let accrual = match kind {
            0 => Accrual::None,
            1 => Accrual::Compounding { per_second_ray: numbers.0, since: times.0 },
            2 => Accrual::Vesting { amount: numbers.0, since: times.0, duration_seconds: times.1 },
            3 => Accrual::Streaming { amount: numbers.0, since: times.0, until: times.1 },
            4 => Accrual::Simple {
                interest_ray: numbers.0, period_seconds: times.1 % 2, since: times.0,
                rounding: if now % 2 == 0 { Rounding::Down } else { Rounding::Nearest },
            },
            5 => Accrual::Straight { per_year_bips: times.1, since: times.0, next: (now % 2 == 0).then_some((times.1, now)) },
            6 => Accrual::Ticking { ticks: times.0, since: times.1, per_second: now, mark: times.1, fee_millionths: u32::MAX },
            7 => Accrual::Unlocking { per_second: numbers.0, since: times.0, until: times.1, held: numbers.1 },
            8 => Accrual::Distributing {
                amount: numbers.0, from: times.0, until: times.1, since: now / 2, most_per_second_wad: numbers.1,
            },
            _ => Accrual::PerformanceFee { last_total_assets: numbers.0, fee_wad: numbers.1 },
        };
        let vault = vault(conversion, accrual);
        drop((vault.deposit(&at(now), amount_in), vault.redeem(&at(now), amount_in)));
    }

    #[test]
    fn staking_and_wrapping_never_profit(pooled in amount(100), shares in amount(100), ether in amount(90)) {
        let lido = lido::State { total_pooled_ether_wei: pooled, total_shares: shares, stake_limit: StakeLimit::Unlimited, stopped: false };
        if let Ok((steth, after)) = lido.stake(&NOW, ether) {
            prop_assert!(steth <= ether);
            if let Ok(wsteth) = after.wrap(steth) {
                prop_assert!(after.unwrap(wsteth).unwrap_or_default() <= steth);
            }
        }
    }

    #[test]
    fn lido_never_panics(pooled in amount(256), shares in amount(256), amount_in in amount(256)) {
        let lido = lido::State { total_pooled_ether_wei: pooled, total_shares: shares, stake_limit: StakeLimit::Unlimited, stopped: false };
        drop((lido.stake(&NOW, amount_in), lido.wrap(amount_in), lido.unwrap(amount_in)));
    }
}
