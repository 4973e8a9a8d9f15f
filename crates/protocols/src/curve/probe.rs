//! Checks an unlisted pool's model against the pool's own views. A pool whose views differ is excluded.

use alloy_primitives::{Address, U256};
use alloy_sol_types::sol;
use braid_primitives::ExecutionBlock;

use super::{
    partners,
    pool::{Model, State},
    stable::{MetaGeneration, ProductRule},
};
use crate::{
    Call, Discovered, PoolState, StateReader, SwapError,
    reading::{self, Reading, Stop, all, first_word},
};

sol! {
    function get_dy(int128 i, int128 j, uint256 dx) external view returns (uint256);
    function get_dy_underlying(int128 i, int128 j, uint256 dx) external view returns (uint256);
    interface Crypto { function get_dy(uint256 i, uint256 j, uint256 dx) external view returns (uint256); }
}

/// Returns a reader that accepts a pool only if its views agree with the model.
pub(super) fn reader(pool: &Discovered) -> Box<dyn StateReader> {
    let pool = pool.clone();
    reading::reader(pool.key.contract, move |reading| read(&pool, reading))
}

fn read(pool: &Discovered, reading: &mut Reading) -> Result<PoolState, Stop> {
    let read = reading.read_by(partners::reader(pool, None))?;
    let PoolState::Curve(state) = &read else { return Ok(read) };
    let probes = probes(state).ok_or(reading.impossible("a negligible balance of a coin"))?;
    let crypto = matches!(state.model, Model::Crypto(_));
    let (timestamp, number) = (reading.timestamp(), reading.block_number());
    let views = all(probes.iter().map(|probe| reading.call(probe.call(pool.key.contract, crypto))))?;
    let at = ExecutionBlock { number: number?, timestamp: timestamp? };
    for (probe, view) in probes.iter().zip(views) {
        let said = first_word(view.as_ref());
        let said = said.ok_or(reading.impossible("a view of its output that reverted"))?;
        if probe.expected(state, &at) != Ok(said) {
            return Err(reading.impossible("its own view of the output differs from the model"));
        }
    }
    Ok(read)
}

/// A view of a swap's output, with the model's prediction.
#[derive(Clone, Copy, Debug)]
struct Probe {
    coin_in: u8,
    coin_out: u8,
    amount_in: U256,
    underlying: bool,
}

/// Probed amount: the balance divided by this.
const PART: u64 = 1_000;

impl Probe {
    fn call(&self, pool: Address, crypto: bool) -> Call {
        let (i, j, dx) = (self.coin_in, self.coin_out, self.amount_in);
        match (crypto, self.underlying) {
            (true, _) => Call::new(pool, &Crypto::get_dyCall { i: U256::from(i), j: U256::from(j), dx }),
            (_, true) => Call::new(pool, &get_dy_underlyingCall { i: i.into(), j: j.into(), dx }),
            _ => Call::new(pool, &get_dyCall { i: i.into(), j: j.into(), dx }),
        }
    }

    fn expected(&self, state: &State, at: &ExecutionBlock) -> Result<U256, SwapError> {
        let (i, j, dx) = (self.coin_in, self.coin_out, self.amount_in);
        match &state.model {
            Model::Stable(pool) => pool.view(at, i, j, dx),
            Model::Meta(pool) if self.underlying => pool.view_underlying(at, i, j, dx),
            Model::Meta(pool) => pool.view(at, i, j, dx),
            Model::Crypto(pool) => pool.view(at, i, j, dx),
            // all lending pools are listed, so never probed
            Model::Lending(pool) => pool.swap(at, i, j, dx),
        }
    }
}

/// Returns probes between the first of these amounts of coins and each other, in both directions.
fn between(parts: &[U256], underlying: bool) -> Vec<Probe> {
    let probe = |coin_in: u8, coin_out: u8| {
        let amount_in = parts.get(usize::from(coin_in)).copied().unwrap_or_default();
        Probe { coin_in, coin_out, amount_in, underlying }
    };
    let others = 1..u8::try_from(parts.len()).unwrap_or(u8::MAX);
    let both = others.flat_map(|other| [probe(0, other), probe(other, 0)]);
    both.filter(|probe| !probe.amount_in.is_zero()).collect()
}

/// Returns the probes of a pool; `None` if its balance of a coin is negligible.
fn probes(state: &State) -> Option<Vec<Probe>> {
    let parts = |held: &[U256]| -> Option<Vec<U256>> {
        let part = |held: &U256| Some(*held / U256::from(PART)).filter(|part| !part.is_zero());
        held.iter().map(part).collect()
    };
    match &state.model {
        Model::Stable(pool) => Some(between(&parts(&pool.balances)?, false)),
        Model::Crypto(pool) => Some(between(&parts(pool.balances.get(..pool.kind.coins())?)?, false)),
        Model::Lending(_) => None,
        Model::Meta(meta) => {
            let own = parts(&meta.pool.balances)?;
            let mut all = between(&own, false);
            let [coin, shares] = own.try_into().ok()?;
            // the shares' claim on the base pool, coin by coin
            let claim = |held: &U256| held.checked_mul(shares)?.checked_div(meta.base.total_supply);
            let base: Option<Vec<U256>> = meta.base.state.balances.iter().map(claim).collect();
            let underlying = between(&[vec![coin], base?].concat(), true);
            // a view of the next generation estimates a deposit into a first-generation pool by its own rules
            let guesses =
                meta.generation == MetaGeneration::Next && meta.base.state.rules.product != ProductRule::Whole;
            all.extend(underlying.into_iter().filter(|probe| !guesses || probe.coin_in == 0));
            Some(all)
        }
    }
}
