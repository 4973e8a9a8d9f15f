//! Compares pools read from their storage words with reserves that resolvers returned on mainnet.

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;

use super::{Fees, Limit, Reserves, Snapshot, Storage, reserves::PRICE_ONE};
use crate::{
    SwapError,
    fluid::{
        arith::{pack, ten_to},
        layer::{Token, exchange_prices},
    },
};

const NOW: u64 = 1_774_283_111;

fn at(timestamp: u64) -> ExecutionBlock {
    ExecutionBlock { number: 1, timestamp }
}

/// A recorded pool: decimals, centre price, range percentages in millionths, and real and imaginary reserves.
struct Recorded {
    decimals: [u8; 2],
    centre: u128,
    range: [u64; 2],
    real: [u128; 2],
    imaginary: [u128; 2],
}

/// The collateral of four pools at block 24,721,394, from a resolver. The percentages are those that give these
/// reserves.
const RECORDED: [Recorded; 4] = [
    // USDC / ETH
    Recorded {
        decimals: [6, 18],
        centre: 462_791_187_004_722_992_119_808,
        range: [200_000, 200_000],
        real: [2_295_042_598_570_000_000, 1_244_915_690_476_092],
        imaginary: [23_405_089_809_239_810_283, 11_014_459_496_827_715],
    },
    // weETH / ETH
    Recorded {
        decimals: [18, 18],
        centre: 1_090_930_550_273_175_723_606_223_422,
        range: [1, 1_440],
        real: [1_388_230_791_301_838, 4_776_679_525_699_032],
        imaginary: [8_002_012_751_533_435_304, 8_726_620_236_918_438_504],
    },
    // WBTC / cbBTC
    Recorded {
        decimals: [8, 8],
        centre: 998_499_999_848_481_969_944_920_064,
        range: [2_000, 2_000],
        real: [204_327_627_570_000, 128_197_770_430_000],
        imaginary: [166_309_410_656_937_838, 165_984_123_150_085_871],
    },
    // wstETH / ETH
    Recorded {
        decimals: [18, 18],
        centre: 1_230_082_909_193_581_274_000_000_000,
        range: [1, 1_500],
        real: [347_486_379_739_322, 18_325_990_579_509_676],
        imaginary: [20_306_720_310_730_719_440, 24_978_119_707_324_201_843],
    },
];

/// Returns a token of which the protocol has supplied an amount without interest, while all suppliers together have
/// three times as much.
fn token(supplied: U256) -> Token {
    let one = U256::from(1_000_000_000_000_u64);
    let everybody = pack(supplied * U256::from(3), 56, false);
    // There is never a limit: the base limit exceeds the supply, and expansion takes a second.
    let base = pack(supplied << 4_usize, 10, true);
    Token {
        exchange_prices: (U256::from(0x3fff) << 44_usize)
            | (U256::from(NOW) << 58_usize)
            | (one << 91_usize)
            | (one << 155_usize),
        total_amounts: everybody << 64_usize,
        max_utilization: 10_000,
        supply: (pack(supplied, 56, false) << 1_usize) | (U256::ONE << 176_usize) | (base << 200_usize),
        borrow: U256::ZERO,
        held: supplied,
    }
}

/// Returns the words of a recorded pool's collateral. The centre price comes from a contract, so that it keeps all
/// digits.
fn storage(recorded: &Recorded) -> Storage {
    let supplied = |place: usize| {
        let amount = U256::from(recorded.real[place]);
        if recorded.decimals[place] > 12 {
            // The largest amount that truncates to this one in twelve decimals.
            let unit = ten_to(recorded.decimals[place] - 12);
            amount * unit + unit - U256::ONE
        } else {
            amount / ten_to(12 - recorded.decimals[place])
        }
    };
    let price = U256::from(recorded.imaginary[1]) * PRICE_ONE / U256::from(recorded.imaginary[0]);
    let fee = U256::from(500);
    let variables2 = U256::ONE
        | (fee << 2_usize)
        | (U256::from(10) << 19_usize)
        | (U256::from(recorded.range[0]) << 27_usize)
        | (U256::from(recorded.range[1]) << 47_usize)
        | (U256::ONE << 112_usize)
        | (((U256::from(0xfffff) << 8_usize) | U256::from(0x80)) << 172_usize)
        | (U256::from(1_000) << 228_usize)
        | (U256::from(1_000) << 238_usize);
    Storage {
        addresses: [Address::ZERO; 2],
        decimals: recorded.decimals,
        variables: (pack(price, 32, false) << 41_usize) | (U256::from(NOW - 60) << 121_usize),
        variables2,
        shifts: U256::ZERO,
        centre_shift: U256::ZERO,
        external_centre: Some(U256::from(recorded.centre)),
        centre_told_by: None,
        tokens: [token(supplied(0)), token(supplied(1))],
        layer_paused: false,
    }
}

fn reserves(storage: &Storage, now: u64) -> Reserves {
    storage.reserves(&at(now)).unwrap()
}

#[test]
fn the_words_make_the_reserves_that_resolvers_gave() {
    for recorded in &RECORDED {
        let side = reserves(&storage(recorded), NOW).collateral.unwrap();
        assert_eq!(side.real, recorded.real.map(U256::from));
        assert_eq!(side.imaginary, recorded.imaginary.map(U256::from));
    }
}

#[test]
fn words_and_reserves_pay_the_same() {
    for recorded in &RECORDED {
        let pool = storage(recorded);
        let snapshot = Snapshot {
            addresses: pool.addresses,
            reserves: reserves(&pool, NOW),
            decimals: recorded.decimals,
            withdrawable: None,
            borrowable: None,
            taken_at: NOW,
        };
        for zero_for_one in [true, false] {
            let decimals = recorded.decimals[usize::from(!zero_for_one)];
            for power in 0..6_u8 {
                let amount = ten_to(decimals + power) / U256::from(100);
                let stored = pool.swap(&at(NOW), zero_for_one, amount).map(|(out, ..)| out);
                let shown = snapshot.swap(&at(NOW), zero_for_one, amount).map(|(out, ..)| out);
                if let (Ok(stored), Ok(shown)) = (stored, shown) {
                    assert_eq!(stored, shown);
                }
            }
            assert!(pool.swap(&at(NOW), zero_for_one, ten_to(decimals)).is_ok());
        }
    }
}

#[test]
fn a_second_swap_sees_the_first_and_a_way_back_earns_nothing() {
    for recorded in &RECORDED {
        let pool = storage(recorded);
        for zero_for_one in [true, false] {
            let amount = ten_to(recorded.decimals[usize::from(!zero_for_one)]);
            let (out, _, after) = pool.swap(&at(NOW), zero_for_one, amount).unwrap();
            let after = pool.with(&after);
            let (again, ..) = after.swap(&at(NOW), zero_for_one, amount).unwrap();
            assert!(again <= out, "{again} after {out}");
            let (back, ..) = after.swap(&at(NOW), !zero_for_one, out).unwrap();
            assert!(back < amount, "{back} of {amount}");
        }
    }
}

#[test]
fn a_centre_that_has_arrived_is_told_to_its_last_digit_after_a_swap() {
    let mut pool = storage(&RECORDED[3]);
    let told = pool.external_centre.unwrap();
    // The shift began a thousandth below and has been over for a long time.
    pool.variables2.set_bit(248, true);
    pool.variables |= pack(told - told / U256::from(1_000), 32, false) << 81_usize;
    pool.centre_shift = U256::from(NOW - 90_000) | (U256::from(10_000) << 33_usize) | (U256::from(60) << 53_usize);
    let amount = ten_to(18);
    let (.., after) = pool.swap(&at(NOW), true, amount).unwrap();
    let after = pool.with(&after);
    assert_eq!(reserves(&after, NOW).centre_price, told, "not what 32 bits hold of it");
    // Halfway, the shift continues from the stored price.
    pool.centre_shift = U256::from(NOW - 90_000) | (U256::from(10_000) << 33_usize) | (U256::from(900_000) << 53_usize);
    let on_its_way = reserves(&pool, NOW).centre_price;
    let (.., after) = pool.swap(&at(NOW), true, amount).unwrap();
    let after = pool.with(&after);
    assert!(on_its_way < told && after.variables2.bit(248), "{on_its_way} of {told}");
}

#[test]
fn more_in_never_pays_less_and_never_more_than_there_is() {
    let pool = storage(&RECORDED[0]);
    let mut last = U256::ZERO;
    for step in 1..200_u64 {
        let Ok((out, ..)) = pool.swap(&at(NOW), true, U256::from(step) * ten_to(9)) else { break };
        assert!(out >= last && out <= pool.tokens[1].held);
        last = out;
    }
    assert!(last > U256::ZERO);
}

#[test]
fn what_is_too_small_too_large_or_paused_is_refused_with_its_reason() {
    let pool = storage(&RECORDED[0]);
    let swap = |pool: &Storage, amount: U256| pool.swap(&at(NOW), true, amount).map(|(out, ..)| out);
    assert_eq!(swap(&pool, U256::from(99)), Err(SwapError::ZeroOutput));
    assert!(matches!(swap(&pool, ten_to(6 + 8)), Err(SwapError::LimitExceeded { .. })));
    assert!(matches!(swap(&pool, U256::MAX), Err(SwapError::Overflow { .. })));
    // A tenth of the reserves moves the price by more than a twentieth.
    assert!(matches!(swap(&pool, U256::from(1_800_000) * ten_to(6)), Err(SwapError::LimitExceeded { .. })));
    let mut paused = pool.clone();
    paused.variables2 |= U256::ONE << 255_usize;
    assert_eq!(swap(&paused, ten_to(9)), Err(SwapError::Closed));
    let mut paused = pool.clone();
    paused.layer_paused = true;
    assert_eq!(swap(&paused, ten_to(9)), Err(SwapError::Closed));
    let mut paused = pool.clone();
    paused.tokens[1].supply |= U256::ONE << 255_usize;
    assert_eq!(swap(&paused, ten_to(9)), Err(SwapError::Closed));
    let mut empty = pool;
    empty.tokens[1].held = U256::ONE;
    assert!(matches!(swap(&empty, ten_to(9)), Err(SwapError::LimitExceeded { .. })));
}

/// A tenth of the supply can be withdrawn over an hour, so the limit grows with time.
#[test]
fn a_withdrawal_limit_expands_with_time() {
    let mut pool = storage(&RECORDED[0]);
    let token = &mut pool.tokens[1];
    let stored = (token.supply >> 1_usize) & U256::from(u64::MAX);
    token.supply = U256::ZERO
        | (stored << 1_usize)
        | (stored << 65_usize)
        | (U256::from(NOW) << 129_usize)
        | (U256::from(1_000) << 162_usize)
        | (U256::from(3_600) << 176_usize);
    let amount = U256::from(100_000) * ten_to(6);
    assert!(matches!(pool.swap(&at(NOW), true, amount), Err(SwapError::LimitExceeded { .. })));
    assert!(matches!(pool.swap(&at(NOW + 600), true, amount), Err(SwapError::LimitExceeded { .. })));
    assert!(pool.swap(&at(NOW + 3_600), true, amount).is_ok());
}

#[test]
fn a_limit_of_a_snapshot_expands_too() {
    let limit = Limit { available: U256::from(10), expands_to: U256::from(110), expand_seconds: 100 };
    assert_eq!([0, 50, 100, 1_000].map(|seconds| limit.after(seconds)), [10, 60, 110, 110].map(U256::from));
}

/// Borrowers pay ten percent a year and half of the supply is borrowed: debts grow by a tenth, and supplies by a
/// twentieth.
#[test]
fn interest_accrues_by_the_second() {
    let one = U256::from(1_000_000_000_000_u64);
    let word = U256::from(1_000)
        | (U256::from(5_000) << 30_usize)
        | (U256::from(NOW) << 58_usize)
        | (one << 91_usize)
        | (one << 155_usize);
    assert_eq!(exchange_prices(word, NOW).map(|prices| prices.supply), Some(one));
    let prices = exchange_prices(word, NOW + 365 * 86_400).unwrap();
    assert_eq!(prices.borrow, one * U256::from(11) / U256::from(10));
    assert_eq!(prices.supply, one * U256::from(105) / U256::from(100));
    assert!(exchange_prices(U256::ZERO, NOW).is_none());
}

/// A collateral side and a debt side around a centre of one, with a range of a fifth. The curve is that of the tests of
/// Fluid's own sources.
#[test]
fn both_sides_share_a_trade() {
    let side = |real: u128, imaginary: [u128; 2]| super::Side {
        real: [U256::from(real); 2],
        imaginary: imaginary.map(U256::from),
    };
    let reserves = Reserves {
        collateral: Some(side(20_000_000_006_000_000, [389_736_659_726_997_981, 389_736_659_619_871_949])),
        debt: Some(side(9_486_832_995_556_050, [184_868_330_099_560_759, 184_868_330_048_879_109])),
        centre_price: PRICE_ONE,
        fees: Fees { fee_pips: 0, revenue_cut_percent: 0 },
    };
    let parts = reserves.give(true, U256::from(1_000_000_000_000_000_u64)).unwrap();
    assert_eq!(parts.collateral.1 + parts.debt.1, U256::from(998_262_697_204_710_u64));
    let parts = reserves.take(true, U256::from(1_000_000_000_000_000_u64)).unwrap();
    assert_eq!(parts.collateral.0 + parts.debt.0, U256::from(1_001_743_360_284_199_u64));
}
