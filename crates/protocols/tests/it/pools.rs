//! Compares pools of Uniswap V3 and PancakeSwap V3 with their own bytecode. SushiSwap V3 runs Uniswap's.

use alloy_primitives::U256;
use braid_protocols::{After, Swap, SwapError, uniswap_v3::State};

use crate::support::{
    chain::Reason,
    random::Random,
    v3::{Code, Outcome, Venue},
};

/// A fee tier, with the number of pools and swaps to try.
struct Tier {
    code: Code,
    fee_pips: u32,
    tick_spacing: i32,
    pools: usize,
    swaps_per_pool: usize,
    /// One swap in this many far exceeds the liquidity, and makes the contract search every bitmap word to the end.
    past_the_end_one_in: u64,
}

/// The results of a batch of swaps.
#[derive(Debug, Default)]
struct Tally {
    paid: usize,
    crossing: usize,
    exhausted: usize,
    nothing_out: usize,
    refused: usize,
}

fn differential(tier: &Tier, seed: u64) {
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    for _ in 0..tier.pools {
        let mut venue = Venue::of(tier.code, tier.fee_pips, tier.tick_spacing);
        venue.populate(&mut random, 40);
        let mut scales = [true, false].map(|zero_for_one| Scale::of(venue.state(), zero_for_one));
        for turn in 0..tier.swaps_per_pool {
            let zero_for_one = random.coin();
            let amount_in = random_amount(&mut random, &scales[usize::from(!zero_for_one)], tier.past_the_end_one_in);
            let contract = venue.try_swap(zero_for_one, amount_in);
            compare(&venue, zero_for_one, amount_in, &contract, &mut tally);
            // Some swaps are kept, so that the next ones begin where a swap ended.
            if turn % 8 == 7 && contract.is_ok_and(|outcome| outcome.consumed == amount_in) {
                venue.swap(zero_for_one, amount_in).unwrap();
                scales = [true, false].map(|zero_for_one| Scale::of(venue.state(), zero_for_one));
            }
        }
    }
    println!("{:?}, {} pips, spacing {}: {tally:?}", tier.code, tier.fee_pips, tier.tick_spacing);
    let all = tier.pools * tier.swaps_per_pool;
    assert!(tally.paid > all / 2 && tally.crossing > all / 10, "too few real swaps: {tally:?}");
    assert!(tally.exhausted > 0 && tally.nothing_out > 0 && tally.refused > 0, "a kind of error is missing: {tally:?}");
}

/// The model must agree with the contract, including errors and the state afterwards.
fn compare(venue: &Venue, zero_for_one: bool, amount_in: U256, contract: &Result<Outcome, Reason>, tally: &mut Tally) {
    let state = venue.state();
    let model = state.swap(zero_for_one, amount_in);
    let ok = match (contract, &model) {
        (Ok(contract), Ok(swap)) => {
            let After::UniswapV3(after) = &swap.after else { panic!("a V3 swap leaves a V3 state") };
            tally.paid += 1;
            tally.crossing += usize::from(after.liquidity != state.liquidity);
            (contract.consumed, contract.amount_out, &contract.after) == (amount_in, swap.amount_out, after)
        }
        (Ok(contract), Err(SwapError::ZeroOutput)) => {
            tally.nothing_out += 1;
            (contract.consumed, contract.amount_out) == (amount_in, U256::ZERO)
        }
        (Ok(contract), Err(SwapError::InsufficientLiquidity { consumed, .. })) => {
            tally.exhausted += 1;
            contract.consumed == *consumed && *consumed < amount_in
        }
        (Err(reason), Err(error)) => {
            tally.refused += 1;
            match error {
                SwapError::Overflow { .. } => reason == "amount",
                SwapError::InsufficientLiquidity { consumed, .. } => reason == "SPL" && consumed.is_zero(),
                SwapError::Closed => reason == "LOK",
                _ => false,
            }
        }
        _ => false,
    };
    assert!(
        ok,
        "zero_for_one={zero_for_one} amount_in={amount_in}\ncontract: {contract:?}\nmodel: {model:?}\nstate: {state:?}"
    );
}

/// The range of amounts that matter to a pool, as powers of two.
struct Scale {
    /// Approximately the smallest amount that pays anything.
    least_bits: u64,
    /// Approximately the amount that moves the price out of the densely placed ticks, or exhausts the liquidity.
    most_bits: u64,
}

impl Scale {
    fn of(state: &State, zero_for_one: bool) -> Self {
        let spread = 80 * state.tick_spacing.unsigned_abs();
        let (mut least_bits, mut most_bits) = (0, 0);
        for bits in (0..200_u64).step_by(2) {
            match state.swap(zero_for_one, U256::ONE << bits) {
                Ok(Swap { after: After::UniswapV3(end), .. }) => {
                    most_bits = bits;
                    if end.tick.abs_diff(state.tick) > spread {
                        break;
                    }
                }
                Err(SwapError::ZeroOutput) => (least_bits, most_bits) = (bits, bits + 2),
                Err(SwapError::InsufficientLiquidity { consumed, .. }) => {
                    most_bits = consumed.bit_len().saturating_sub(1) as u64;
                    break;
                }
                _ => break,
            }
        }
        Self { least_bits, most_bits }
    }
}

/// Returns an amount from one wei to far more than the liquidity, more often where ticks are crossed.
fn random_amount(random: &mut Random, scale: &Scale, past_the_end_one_in: u64) -> U256 {
    if random.one_in(past_the_end_one_in) {
        return random.log_uniform(255);
    }
    match random.below(200) {
        0 => (U256::ONE << 255) + random.log_uniform(250),
        1..10 => U256::from(1 + random.below(1_000)),
        10..30 => random.up_to(U256::ONE << scale.most_bits).max(U256::ONE),
        30..110 => random.log_uniform_between(scale.most_bits.saturating_sub(8), scale.most_bits),
        _ => random.log_uniform_between(scale.least_bits, scale.most_bits),
    }
}

#[test]
fn pools_at_a_hundredth_of_a_percent_pay_what_the_model_says() {
    differential(
        &Tier {
            code: Code::Uniswap,
            fee_pips: 100,
            tick_spacing: 1,
            pools: 100,
            swaps_per_pool: 200,
            past_the_end_one_in: 4_000,
        },
        11,
    );
}

#[test]
fn pools_at_five_hundredths_of_a_percent_pay_what_the_model_says() {
    differential(
        &Tier {
            code: Code::Uniswap,
            fee_pips: 500,
            tick_spacing: 10,
            pools: 150,
            swaps_per_pool: 200,
            past_the_end_one_in: 400,
        },
        12,
    );
}

#[test]
fn pools_at_three_tenths_of_a_percent_pay_what_the_model_says() {
    differential(
        &Tier {
            code: Code::Uniswap,
            fee_pips: 3_000,
            tick_spacing: 60,
            pools: 150,
            swaps_per_pool: 200,
            past_the_end_one_in: 100,
        },
        13,
    );
}

#[test]
fn pools_at_one_percent_pay_what_the_model_says() {
    differential(
        &Tier {
            code: Code::Uniswap,
            fee_pips: 10_000,
            tick_spacing: 200,
            pools: 120,
            swaps_per_pool: 200,
            past_the_end_one_in: 30,
        },
        14,
    );
}

#[test]
fn pools_of_odd_fees_and_spacings_pay_what_the_model_says() {
    for (seed, fee_pips, tick_spacing) in [(15, 0, 7), (16, 999_999, 16_383), (17, 25, 128)] {
        differential(
            &Tier {
                code: Code::Uniswap,
                fee_pips,
                tick_spacing,
                pools: 15,
                swaps_per_pool: 120,
                past_the_end_one_in: 30,
            },
            seed,
        );
    }
}

/// PancakeSwap's own factory allows other fees, and its pools keep a third of each for the protocol. That does not
/// change what a swap pays.
#[test]
fn pancakeswaps_pools_pay_what_the_model_says() {
    let long = std::env::var_os("LONG").is_some();
    for (seed, fee_pips, tick_spacing, past_the_end_one_in) in
        [(21, 100, 1, 4_000), (22, 500, 10, 400), (23, 2_500, 50, 100), (24, 10_000, 200, 30)]
    {
        let (pools, swaps_per_pool) = if long { (150, 200) } else { (25, 120) };
        let tier = Tier { code: Code::PancakeSwap, fee_pips, tick_spacing, pools, swaps_per_pool, past_the_end_one_in };
        differential(&tier, seed);
    }
}

#[test]
fn a_pool_that_was_never_initialised_refuses_every_swap() {
    let mut venue = Venue::new(3_000, 60);
    for zero_for_one in [true, false] {
        let contract = venue.try_swap(zero_for_one, U256::from(1_000));
        assert_eq!(contract, Err("LOK".to_owned()));
        assert_eq!(venue.state().swap(zero_for_one, U256::from(1_000)), Err(SwapError::Closed));
    }
}
