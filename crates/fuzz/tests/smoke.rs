//! Runs each fuzz target briefly, on its seeds and on variants with a few changed bytes. `make fuzz` runs them for
//! longer.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use braid_fuzz::TARGETS;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

const TRIES: usize = 400;

#[test]
fn no_bytes_from_outside_make_a_decoder_panic() {
    let mut dice = StdRng::seed_from_u64(7);
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty() && seeds.iter().all(|seed| !seed.is_empty()), "{}", target.name);
        seeds.iter().for_each(|seed| (target.run)(seed));
        for _ in 0..TRIES {
            let mut input = seeds[dice.random_range(0..seeds.len())].clone();
            for _ in 0..dice.random_range(1..6) {
                let at = dice.random_range(0..input.len());
                match dice.random_range(0..4) {
                    0 => input[at] = dice.random(),
                    1 => input[at] ^= 1 << dice.random_range(0..8),
                    2 => input.insert(at, dice.random()),
                    _ => input.truncate(at.max(1)),
                }
            }
            (target.run)(&input);
        }
    }
}

#[test]
fn every_target_has_a_binary_for_the_fuzzer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    for target in TARGETS {
        let path = format!("targets/{}.rs", target.name);
        assert!(manifest.contains(&path), "{path}");
        let text = std::fs::read_to_string(root.join(&path)).unwrap();
        assert!(text.contains(&format!("\"{}\"", target.name)), "{path}");
    }
}
