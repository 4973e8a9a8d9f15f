//! What logs build up and what reads give is one and the same state.

use alloy_primitives::U256;

use crate::support::{random::Random, v3::Venue};

#[test]
fn a_pool_followed_by_its_logs_is_the_pool_that_its_views_show() {
    let mut random = Random::new(31);
    for (fee_pips, tick_spacing) in [(500, 10), (3_000, 60), (10_000, 200), (3_000, 60), (10_000, 200), (500, 10)] {
        let mut venue = Venue::new(fee_pips, tick_spacing);
        assert_eq!(venue.read(), venue.state, "before it is initialised");
        venue.populate(&mut random, 25);
        for _ in 0..40 {
            let position = random.below(venue.positions.len() as u64) as usize;
            match random.below(4) {
                0 => {
                    let (lower, upper, liquidity) = venue.positions[position];
                    venue.mint(lower, upper, (liquidity / 3).max(1));
                }
                1 => venue.burn(position, venue.positions[position].2),
                2 => venue.burn(position, venue.positions[position].2 / 2),
                _ => drop(venue.swap(random.coin(), random.log_uniform(80))),
            }
        }
        assert_eq!(venue.read(), venue.state, "{fee_pips} pips");
        venue.state().validate().unwrap();
    }
}

#[test]
fn a_pool_of_spacing_one_is_read_to_its_last_tick() {
    let mut venue = Venue::new(100, 1);
    venue.initialise(U256::ONE << 96);
    for (lower, upper) in
        [(-887_272, 887_272), (-887_272, -887_271), (887_271, 887_272), (-257, -256), (-1, 0), (255, 256)]
    {
        venue.mint(lower, upper, 1_000_000);
    }
    assert_eq!(venue.read(), venue.state);
    assert_eq!(venue.state().ticks.len(), 10);
}
